package io.election.keyvalue;

import io.election.keyvalue.HeldLeases.Held;
import io.election.keyvalue.KeyValueServer.Commit;
import io.election.keyvalue.KeyValueServer.Entry;
import io.election.keyvalue.KeyValueServer.Put;
import io.election.keyvalue.KeyValueServer.Query;
import io.election.keyvalue.KeyValueServer.Snapshot;
import io.election.keyvalue.KeyValueServer.Version;
import io.election.store.LeaseStore.Renewals;
import io.election.store.LeaseStoreException;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Renews the leases that a process holds. */
final class Renewal {

  /** A server that checks all records at once also finds those that others are writing. */
  private static final int ATTEMPTS = 10;

  private final KeyValueServer server;
  private final InstantSource clock;
  private final Lineage lineage;
  private final HeldLeases life;

  Renewal(KeyValueServer server, InstantSource clock, Lineage lineage, HeldLeases life) {
    this.server = server;
    this.clock = clock;
    this.lineage = lineage;
    this.life = life;
  }

  /** Renews leases by one small write. */
  Renewals renew(String nodeId, Map<String, Long> terms) throws LeaseStoreException {
    for (int attempt = 0; ; attempt++) {
      if (attempt > 0 || !this.life.holdsAll(nodeId, terms)) {
        lookAtHeld(nodeId, terms);
      }
      Map<String, Held> renewing = this.life.held(nodeId, terms);
      if (renewing.isEmpty()) {
        return new Renewals(Set.of());
      }
      if (commit(this.life.renewal(renewing, this.clock.millis())).isPresent()
          && wereUnchanged(renewing)) {
        return new Renewals(Set.copyOf(renewing.keySet()));
      }
      if (attempt == ATTEMPTS) {
        return new Renewals(
            Set.of(),
            Set.copyOf(renewing.keySet()),
            "Records change while they are renewed. Does another client write to them in a loop?");
      }
    }
  }

  /**
   * Returns whether the renewal that was just executed found the records as they were read, and not
   * others with the same numbers.
   */
  private boolean wereUnchanged(Map<String, Held> renewed) throws LeaseStoreException {
    if (!this.server.reusesVersions()) {
      return true;
    }
    Set<String> records = new HashSet<>();
    renewed.keySet().forEach((id) -> records.add(Keys.record(id)));
    return HeldLeases.isUnchanged(renewed, this.server.read(new Query(records, Set.of(), false)));
  }

  /** Executes a commit in which this process may write its heartbeat. */
  Optional<Map<String, Version>> commit(Commit commit) throws LeaseStoreException {
    this.life.sends(commit);
    Optional<Map<String, Version>> versions = this.server.commit(commit);
    if (versions.isPresent() && !this.lineage.wrote(versions.get())) {
      this.life.beginAnew();
      return Optional.empty();
    }
    this.life.answered(commit, versions);
    return versions;
  }

  /** Finds out which leases are still held after a renewal was refused. */
  private void lookAtHeld(String nodeId, Map<String, Long> terms) throws LeaseStoreException {
    Set<String> keys = new HashSet<>(Set.of(this.life.heartbeatKey()));
    terms.keySet().forEach((id) -> keys.add(Keys.record(id)));
    Snapshot snapshot = this.server.read(new Query(keys, Set.of(), true));
    boolean byHand = false;
    for (Map.Entry<String, Long> held : terms.entrySet()) {
      if (ElectionReading.of(held.getKey(), snapshot, false).lease().heartbeat() == null) {
        byHand |= keys.add(Keys.term(held.getKey(), held.getValue()));
      }
    }
    if (byHand) {
      snapshot = this.server.read(new Query(keys, Set.of(), true));
    }
    if (!this.life.sawHeartbeat(snapshot)) {
      return;
    }
    this.life.forgetHeld(snapshot.revision());
    for (Map.Entry<String, Long> held : terms.entrySet()) {
      ElectionReading view = ElectionReading.of(held.getKey(), snapshot, byHand);
      long term = held.getValue();
      Entry led = snapshot.entries().get(Keys.term(held.getKey(), term));
      this.life.saw(view);
      if (this.life.holds(view, nodeId, term) && view.entry() != null) {
        this.life.holds(view.serviceId(), new Held(nodeId, term, view.entry().version(), null));
      } else if (led != null && this.life.ledBefore(view, nodeId, term, led)) {
        restore(view, nodeId, term, led);
      }
    }
  }

  /**
   * Writes a record anew that was written by hand over this node's and names this node without a
   * heartbeat: others watch only the heartbeat that it names.
   */
  private void restore(ElectionReading view, String nodeId, long term, Entry led)
      throws LeaseStoreException {
    Entry byHand = view.entry();
    if (byHand == null) {
      return;
    }
    long lease = Term.of(led.value()).leaseMillis();
    LeaseRecord record = new LeaseRecord(view.serviceId(), nodeId, term, lease, this.life.token());
    Map<String, Version> checks = new HashMap<>();
    checks.put(Keys.term(view.serviceId(), term), led.version());
    this.life.check(checks);
    Put put = new Put(Keys.record(view.serviceId()), Json.write(record), byHand.version());
    this.life.names(view.serviceId());
    Optional<Map<String, Version>> restored = commit(new Commit(checks, List.of(put), 0));
    if (restored.isPresent()) {
      this.life.holds(
          view.serviceId(), new Held(nodeId, term, version(restored.get(), put.key()), null));
    }
  }

  /** Returns a key as a commit has left it; {@code null} if it has not written it. */
  static @Nullable Entry entry(Commit commit, Map<String, Version> versions, String key) {
    Version version = versions.get(key);
    return version != null
        ? new Entry(HeldLeases.valueIn(commit, key).orElseThrow(), version, false)
        : null;
  }

  static Version version(Map<String, Version> versions, String key) {
    Version version = versions.get(key);
    if (version == null) {
      throw new IllegalStateException("The commit did not return the version of " + key);
    }
    return version;
  }
}
