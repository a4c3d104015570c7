package io.election.keyvalue;

import io.election.Member;
import io.election.lease.LeaseStore;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/**
 * The records that this node follows: what a look at each of them must read beside it, so that one
 * request suffices, and the watch that wakes the node when one changes.
 */
final class Followed {

  private final Map<String, String> heartbeats = new HashMap<>();
  private final Set<String> needTerms = new HashSet<>();
  private final Set<String> keys = ConcurrentHashMap.newKeySet();
  /** Who led each election last. */
  private final Map<String, String> leaders = new HashMap<>();

  private volatile KeyValueServer.@Nullable Watch watch;

  /** The node whose look a change has caused; {@code null} if its looks are the regular ones. */
  private volatile @Nullable String woken;

  Optional<String> heartbeat(String serviceId) {
    return Optional.ofNullable(this.heartbeats.get(serviceId));
  }

  boolean needsTerms(String serviceId) {
    return this.needTerms.contains(serviceId);
  }

  void saw(Collection<View> views) {
    for (View view : views) {
      String id = view.serviceId();
      if (view.heartbeat().isEmpty()) {
        this.heartbeats.remove(id);
      } else {
        this.heartbeats.put(id, Keys.heartbeat(view.heartbeat()));
      }
      if (view.needsTerms()) {
        this.needTerms.add(id);
      } else {
        this.needTerms.remove(id);
      }
      if (!view.lease().leader().isEmpty()) {
        this.leaders.put(id, view.lease().leader());
      }
    }
  }

  /** The elections of these that a change has shown to be handed back to any node. */
  Set<String> handedBack(Collection<View> views) {
    Set<String> ids = new HashSet<>();
    if (this.woken != null) {
      for (View view : views) {
        if (view.isVacant()) {
          ids.add(view.serviceId());
        }
      }
    }
    return ids;
  }

  /**
   * Returns how many candidates came before this node. The last leader, which stops or stands
   * aside, is not one of them.
   */
  int ahead(String serviceId, List<Member> members) {
    String self = this.woken;
    int ahead = 0;
    for (Member member : members) {
      if (member.nodeId().equals(self)) {
        break;
      }
      boolean candidate = member.eligible() && !member.paused();
      if (candidate && !member.nodeId().equals(this.leaders.get(serviceId))) {
        ahead++;
      }
    }
    return ahead;
  }

  void follow(Set<String> serviceIds) {
    boolean more = false;
    for (String id : serviceIds) {
      more |= this.keys.add(Keys.record(id));
    }
    KeyValueServer.Watch watch = this.watch;
    if (more && watch != null) {
      watch.follow(Set.copyOf(this.keys));
    }
  }

  LeaseStore.Watch watch(KeyValueServer server, String nodeId, Runnable changed) {
    Semaphore changes = new Semaphore(0);
    KeyValueServer.Watch watch = server.watch(key -> changes.release());
    Thread thread = new Thread(
        () -> {
          while (!Thread.currentThread().isInterrupted()) {
            try {
              changes.acquire();
              changes.drainPermits();
              this.woken = nodeId;
              changed.run();
              this.woken = null;
            } catch (InterruptedException ex) {
              return;
            }
          }
        },
        "election-watch-" + nodeId);
    thread.setDaemon(true);
    thread.start();
    this.watch = watch;
    watch.follow(Set.copyOf(this.keys));
    return () -> {
      this.watch = null;
      watch.close();
      thread.interrupt();
    };
  }

  void forget() {
    this.heartbeats.clear();
    this.needTerms.clear();
    this.leaders.clear();
    this.keys.clear();
  }
}
