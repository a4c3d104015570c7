package io.election.keyvalue;

import io.election.keyvalue.KeyValueServer.Commit;
import io.election.keyvalue.KeyValueServer.Create;
import io.election.keyvalue.KeyValueServer.Entry;
import io.election.keyvalue.KeyValueServer.Put;
import io.election.keyvalue.KeyValueServer.Snapshot;
import io.election.keyvalue.KeyValueServer.Version;
import io.election.keyvalue.KeyValueServer.Write;
import io.election.store.LeaseRow;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The knowledge of a store from its first use to its close: the leases that it holds, and the
 * heartbeat that renews them. Its token is drawn at the first use, so that processes restored from
 * one checkpoint have different ones.
 *
 * <p>A heartbeat in a version that no request of this process can have written shows that another
 * process has the same token, or that the key was edited, or the server's history replaced. Then
 * this process holds no lease any more, and goes on under another token.
 */
class HeldLeases {

  private static final Logger log = LoggerFactory.getLogger(HeldLeases.class);

  /**
   * A lease that is held.
   *
   * @param record the version of its record
   * @param led its term, as this process has written it; {@code null} if it must be read
   */
  record Held(
      String nodeId, long term, Version record, @Nullable Entry led) {}

  private final Supplier<String> random;

  private @Nullable String token;

  /** The version of the heartbeat; {@code null} if it was not written or read yet. */
  private @Nullable Version heartbeat;

  /** The values of the heartbeat that requests without an answer have written, or may still write. */
  private final Set<String> unanswered = new HashSet<>();

  /** How many renewals were sent. */
  private long renewals;

  /** The revision at which all held leases were last checked. */
  private long heldAt;

  private final Map<String, Held> held = new HashMap<>();

  /** The elections whose records may name this heartbeat. */
  private final Set<String> named = new TreeSet<>();

  /** Those of them that are not renewed, each with the number of the first renewal without it. */
  private final Map<String, Long> paused = new HashMap<>();

  /** The records that the last take-over of this life has left. */
  private final Map<String, Taken> own = new HashMap<>();

  /** A record as it was taken, and the history in which it was. */
  private record Taken(
      ElectionReading.Version left, @Nullable String history) {}

  HeldLeases(Supplier<String> random) {
    this.random = random;
  }

  String token() {
    if (this.token == null) {
      this.token = this.random.get();
    }
    return this.token;
  }

  String heartbeatKey() {
    return Keys.heartbeat(token());
  }

  @Nullable
  LeaseRow row(ElectionReading view) {
    boolean mine = view.heartbeat().equals(token());
    Taken taken = mine ? this.own.get(view.serviceId()) : null;
    return view.row(taken != null ? taken.left() : null);
  }

  boolean holdsAll(String nodeId, Map<String, Long> terms) {
    return held(nodeId, terms).size() == terms.size();
  }

  /** Returns those of the leases that are held. */
  Map<String, Held> held(String nodeId, Map<String, Long> terms) {
    Map<String, Held> leases = new HashMap<>();
    terms.forEach((id, term) -> {
      Held lease = this.held.get(id);
      if (lease != null
          && lease.nodeId().equals(nodeId)
          && lease.term() == term
          && this.heartbeat != null) {
        leases.put(id, lease);
      }
    });
    return leases;
  }

  /**
   * The small write that renews all leases. It compares what the followers watch: the records, and
   * this heartbeat.
   */
  Commit renewal(Map<String, Held> renewing, long now) {
    this.renewals++;
    Map<String, Version> checks = new HashMap<>();
    renewing.forEach((id, lease) -> checks.put(Keys.record(id), lease.record()));
    this.paused.keySet().retainAll(this.named);
    this.paused.keySet().removeAll(renewing.keySet());
    Map<String, Long> except = new TreeMap<>();
    for (String id : this.named) {
      if (!renewing.containsKey(id)) {
        except.put(Keys.record(id), this.paused.computeIfAbsent(id, (begins) -> this.renewals));
      }
    }
    Version last = this.heartbeat;
    if (last == null) {
      throw new IllegalStateException("nothing is held");
    }
    String value = new Heartbeat(now, this.random.get(), except).value();
    return new Commit(checks, List.of(new Put(heartbeatKey(), value, last)), this.heldAt);
  }

  Optional<Create> heartbeatIfAbsent(long now) {
    return this.heartbeat == null
        ? Optional.of(
            new Create(heartbeatKey(), new Heartbeat(now, this.random.get(), Map.of()).value()))
        : Optional.empty();
  }

  /** The heartbeat as this process knows it, for what must not happen beside another one's. */
  void check(Map<String, Version> checks) {
    if (this.heartbeat != null) {
      checks.put(heartbeatKey(), this.heartbeat);
    }
  }

  /**
   * The lease, if this process knows what a release of it would read: it has written the record and
   * the term, and its last renewal shows that the server still has what this process has seen last.
   *
   * @param seen the greatest revision that this process has seen
   */
  Optional<Held> known(String serviceId, String nodeId, long term, long seen) {
    Held lease = held(nodeId, Map.of(serviceId, term)).get(serviceId);
    return lease != null
            && lease.led() != null
            && this.heartbeat != null
            && this.heartbeat.written() == seen
        ? Optional.of(lease)
        : Optional.empty();
  }

  /** Notes a request before it is sent. */
  void sends(Commit commit) {
    heartbeatIn(commit).ifPresent(this.unanswered::add);
  }

  /** Notes the answer to a request: the versions that it wrote; empty if it wrote nothing. */
  void answered(Commit commit, Optional<Map<String, Version>> versions) {
    heartbeatIn(commit).ifPresent((value) -> {
      if (versions.isPresent()) {
        wrote(versions.get().get(heartbeatKey()));
      } else {
        this.unanswered.remove(value);
      }
    });
  }

  final void wrote(@Nullable Version version) {
    this.heartbeat = version;
    // All others compare an earlier version.
    this.unanswered.clear();
  }

  private Optional<String> heartbeatIn(Commit commit) {
    return valueIn(commit, heartbeatKey());
  }

  /** Returns what a commit that deletes nothing writes to a key. */
  static Optional<String> valueIn(Commit commit, String key) {
    for (Write write : commit.writes()) {
      if (write.key().equals(key)) {
        return write instanceof Put put
            ? Optional.of(put.value())
            : Optional.of(((Create) write).value());
      }
    }
    return Optional.empty();
  }

  /**
   * Notes the heartbeat as a fresh reading shows it.
   *
   * @return whether it exists, as this process has written it
   */
  boolean sawHeartbeat(Snapshot snapshot) {
    Entry found = snapshot.entries().get(heartbeatKey());
    Version version = found != null ? found.version() : null;
    if (Objects.equals(version, this.heartbeat)) {
      return found != null;
    }
    if (found != null && this.unanswered.contains(found.value())) {
      wrote(version);
      return true;
    }
    log.warn(
        "the heartbeat of this process, {}, {}; it holds no lease any more, and goes on under another name. Was the process copied while it ran, the key edited by hand, or the server set back to an earlier state?",
        heartbeatKey(),
        found != null ? "was written by another one" : "was deleted");
    beginAnew();
    return false;
  }

  /** Holds nothing any more, and goes on under another token. */
  void beginAnew() {
    this.token = null;
    this.heartbeat = null;
    this.unanswered.clear();
    this.held.clear();
    this.named.clear();
    this.own.clear();
  }

  /** Notes whether a record names this heartbeat. */
  void saw(ElectionReading view) {
    if (view.heartbeat().equals(token())) {
      this.named.add(view.serviceId());
    } else {
      this.named.remove(view.serviceId());
    }
  }

  void forgetHeld(long heldAt) {
    this.held.clear();
    this.heldAt = heldAt;
  }

  /** Returns whether the record was not written since, as a reading shows that followed a renewal. */
  static boolean isUnchanged(Map<String, Held> renewed, Snapshot after) {
    return renewed.entrySet().stream().allMatch((lease) -> {
      Entry record = after.entries().get(Keys.record(lease.getKey()));
      return record != null && record.version().equals(lease.getValue().record());
    });
  }

  /** Returns whether a record shows a term as held by this life. */
  boolean holds(ElectionReading view, String nodeId, long term) {
    return namesTerm(view, nodeId, term) && token().equals(view.lease().heartbeat());
  }

  /**
   * Returns whether a record was written by hand over the one of this life, which led last, and
   * names its node.
   */
  boolean ledBefore(ElectionReading view, String nodeId, long term, @Nullable Entry termEntry) {
    Term led = termEntry != null ? Term.of(termEntry.value()) : Term.MARK;
    return namesTerm(view, nodeId, term)
        && view.lease().heartbeat() == null
        && led.open()
        && token().equals(led.heartbeat());
  }

  static boolean namesTerm(ElectionReading view, String nodeId, long term) {
    LeaseRecord lease = view.lease();
    return view.entry() != null
        && !view.entry().foreign()
        && lease.leader().equals(nodeId)
        && (lease.term() == null || lease.term() == term)
        && (lease.leaseMillis() == null || lease.leaseMillis() > 0);
  }

  /** Returns the history in which this life took a record; {@code null} if it has not. */
  @Nullable
  String history(String serviceId) {
    Taken taken = this.own.get(serviceId);
    return taken != null ? taken.history() : null;
  }

  void holds(String serviceId, Held lease) {
    this.held.put(serviceId, lease);
  }

  /** Notes that the record of an election names this heartbeat, or will if a request arrives. */
  void names(String serviceId) {
    this.named.add(serviceId);
  }

  void leads(ElectionReading view, Held lease) {
    holds(view.serviceId(), lease);
    ElectionReading.Version left =
        new ElectionReading.Version(lease.record().written(), view.identity(), 0);
    this.own.put(view.serviceId(), new Taken(left, view.history().id()));
  }

  void released(String serviceId) {
    this.held.remove(serviceId);
    this.named.remove(serviceId);
    this.own.remove(serviceId);
  }
}
