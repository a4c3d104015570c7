package io.election.keyvalue;

import io.election.Member;
import io.election.keyvalue.KeyValueServer.Change;
import io.election.store.LeaseStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The records that this node follows: the keys that a read of each record includes, so that one
 * request suffices, and the watch that wakes the node when a record changes.
 *
 * <p>When a leader hands back, only the first candidate reads at once. The next one reads in its
 * turn, unless the watch has shown by then that another node leads. The watch also follows the
 * candidates that came before this node, so that no node needs to read the order of candidates when
 * a leader hands back.
 *
 * <p>The watch decides only when the node reads, and which keys.
 */
class WatchedKeys {

  private static final Logger log = LoggerFactory.getLogger(WatchedKeys.class);

  /** The pause after an unexpected failure. */
  private static final long PAUSE_NANOS = Duration.ofMillis(500).toNanos();

  private final Map<String, String> heartbeats = new ConcurrentHashMap<>();
  private final Set<String> needTerms = ConcurrentHashMap.newKeySet();

  /** The followed elections, by the keys of their records and by those above their terms. */
  private final Map<String, String> elections = new ConcurrentHashMap<>();

  /** The revision at which the record of an election was written, as this node knows it. */
  private final Map<String, Long> written = new ConcurrentHashMap<>();

  /** How many changes the watch has shown. */
  private final AtomicLong arrivals = new AtomicLong();

  /** How many of them had come when the last reading of an election was asked for. */
  private final Map<String, Long> read = new ConcurrentHashMap<>();

  /** The same for the reading that is on its way: it may miss changes in the meantime. */
  private long asked;

  /** The last leader of each election. */
  private final Map<String, String> leaders = new ConcurrentHashMap<>();

  /** The elections whose leader may have handed back since it was seen. */
  private final Set<String> handedBack = ConcurrentHashMap.newKeySet();

  /** Those of them that no other candidate tries for before this node, until they are read. */
  private final Set<String> open = ConcurrentHashMap.newKeySet();

  /** The candidates that came before this node. */
  private final Map<String, Set<String>> earlier = new ConcurrentHashMap<>();

  /** Those of all elections, by the keys of their entries. */
  private volatile Map<String, String> members = Map.of();

  private volatile KeyValueServer.@Nullable Watch watch;

  /** A change, and how many there were with it. */
  private record Arrival(Change change, long number) {}

  Optional<String> heartbeat(String serviceId) {
    return Optional.ofNullable(this.heartbeats.get(serviceId));
  }

  boolean needsTerms(String serviceId) {
    return this.needTerms.contains(serviceId);
  }

  /** Notes that the records are asked for now. */
  void asks() {
    this.asked = this.arrivals.get();
  }

  /** Returns those of the elections that this node will probably try for once it has read them. */
  Set<String> open(Set<String> serviceIds) {
    Set<String> open = new HashSet<>(this.open);
    open.retainAll(serviceIds);
    return open;
  }

  void saw(Collection<ElectionReading> views) {
    for (ElectionReading view : views) {
      String id = view.serviceId();
      this.read.put(id, this.asked);
      this.open.remove(id);
      sawHeartbeat(id, view.heartbeat());
      if (view.needsTerms()) {
        this.needTerms.add(id);
      } else {
        this.needTerms.remove(id);
      }
      if (view.entry() == null) {
        this.written.remove(id);
      } else {
        wrote(id, view.entry().version());
      }
      String leader = view.lease().leader();
      if (!leader.isEmpty()) {
        String last = this.leaders.put(id, leader);
        boolean left = this.handedBack.remove(id);
        if (last != null && !last.equals(leader) && !left) {
          // Its lease has expired. It is probably dead.
          leaves(id, last);
        }
      }
    }
  }

  private void sawHeartbeat(String serviceId, String token) {
    if (token.isEmpty()) {
      this.heartbeats.remove(serviceId);
    } else {
      this.heartbeats.put(serviceId, Keys.heartbeat(token));
    }
  }

  /** Notes the version of a record that was read, or written by this node. */
  void wrote(String serviceId, KeyValueServer.Version version) {
    this.written.put(serviceId, version.written());
  }

  /** Notes the members of elections, in the order in which they came. */
  void saw(Map<String, List<Member>> members, String self) {
    Map<String, String> keys = new ConcurrentHashMap<>();
    members.forEach((id, all) -> {
      Set<String> earlier = ConcurrentHashMap.newKeySet();
      for (Member member : all) {
        if (member.nodeId().equals(self)) {
          break;
        }
        if (member.eligible() && !member.paused()) {
          earlier.add(member.nodeId());
          keys.put(Keys.member(member.nodeId()), member.nodeId());
        }
      }
      this.earlier.put(id, earlier);
    });
    if (!this.members.keySet().equals(keys.keySet())) {
      this.members = keys;
      followAll();
    }
  }

  /**
   * Returns how many candidates came before this node, as far as it knows. The last leader, which
   * stops or stands aside, is not one of them.
   */
  int ahead(String serviceId) {
    Set<String> earlier = this.earlier.getOrDefault(serviceId, Set.of());
    String leader = this.leaders.get(serviceId);
    return earlier.size() - (leader != null && earlier.contains(leader) ? 1 : 0);
  }

  void follow(Set<String> serviceIds) {
    boolean more = false;
    for (String id : serviceIds) {
      more |= this.elections.put(Keys.record(id), id) == null;
      this.elections.put(Keys.terms(id), id);
    }
    if (more) {
      followAll();
    }
  }

  private void followAll() {
    KeyValueServer.Watch watch = this.watch;
    if (watch != null) {
      Set<String> keys = ConcurrentHashMap.newKeySet();
      keys.addAll(this.elections.keySet());
      keys.addAll(this.members.keySet());
      watch.follow(Set.copyOf(keys));
    }
  }

  LeaseStore.Watch watch(KeyValueServer server, String nodeId, LeaseStore.Wake wake) {
    BlockingQueue<Arrival> changes = new LinkedBlockingQueue<>();
    KeyValueServer.Watch watch =
        server.watch((change) -> changes.add(new Arrival(change, this.arrivals.incrementAndGet())));
    try {
      this.watch = watch;
      followAll();
      Thread thread = new Thread(() -> wake(changes, wake), "election-watch-" + nodeId);
      thread.setDaemon(true);
      thread.start();
      return () -> {
        this.watch = null;
        thread.interrupt();
        watch.close();
      };
    } catch (Throwable ex) {
      this.watch = null;
      watch.close();
      throw ex;
    }
  }

  /** Wakes the node for changes until the thread is interrupted, whatever fails. */
  private void wake(BlockingQueue<Arrival> changes, LeaseStore.Wake wake) {
    while (!Thread.currentThread().isInterrupted()) {
      try {
        List<Arrival> batch = new ArrayList<>(List.of(changes.take()));
        changes.drainTo(batch);
        wake(batch, wake);
      } catch (InterruptedException ex) {
        return;
      } catch (Throwable ex) {
        logAndPause(ex);
      }
    }
  }

  private static void logAndPause(Throwable failure) {
    try {
      log.warn(
          "a change of the records was missed; the next poll shows it, within a renew interval",
          failure);
    } catch (Throwable ex) {
      // Out of memory: logging is not possible.
    }
    LockSupport.parkNanos(PAUSE_NANOS);
  }

  private void wake(List<Arrival> changes, LeaseStore.Wake wake) {
    int ahead = Integer.MAX_VALUE;
    Set<String> vacant = new HashSet<>();
    Map<String, Long> led = new HashMap<>();
    for (Arrival arrival : changes) {
      Change change = arrival.change();
      String id = this.elections.get(change.key());
      if (id == null) {
        left(change);
      } else if (isNews(id, arrival)) {
        if (!mayBeVacant(id, change)) {
          led.put(id, change.revision());
          this.open.remove(id);
        } else if (led.getOrDefault(id, -1L) < change.revision()) {
          vacant.add(id);
          if (ahead(id) == 0) {
            this.open.add(id);
          }
        }
      }
    }
    this.handedBack.addAll(vacant);
    for (String id : vacant) {
      ahead = Math.min(ahead, ahead(id));
    }
    if (!led.isEmpty()) {
      wake.now();
    } else if (ahead < Integer.MAX_VALUE) {
      wake.inTurn(ahead);
    }
  }

  /** Returns whether a change is later than what this node knows of an election. */
  private boolean isNews(String serviceId, Arrival arrival) {
    return arrival.change().revision() == Change.UNKNOWN
        ? this.read.getOrDefault(serviceId, 0L) < arrival.number()
        : this.written.getOrDefault(serviceId, 0L) < arrival.change().revision();
  }

  private void left(Change change) {
    String member = this.members.get(change.key());
    if (member != null && change.kind() == Change.Kind.DELETED) {
      this.earlier.keySet().forEach((id) -> leaves(id, member));
    }
  }

  private void leaves(String serviceId, String candidate) {
    Set<String> earlier = this.earlier.get(serviceId);
    if (earlier != null) {
      earlier.remove(candidate);
    }
  }

  /** Returns whether a record may have been handed back to any node, or deleted. */
  private boolean mayBeVacant(String serviceId, Change change) {
    return switch (change.kind()) {
      // A node that takes an existing record begins a term.
      case BELOW -> !this.written.containsKey(serviceId);
      case DELETED -> true;
      case WRITTEN -> {
        if (change.value() == null) {
          yield true;
        }
        LeaseRecord record = LeaseRecord.of(change.value(), serviceId);
        if (record.heartbeat() != null) {
          sawHeartbeat(serviceId, record.released() ? "" : record.heartbeat());
        }
        yield record.released() && record.leader().isEmpty();
      }
    };
  }
}
