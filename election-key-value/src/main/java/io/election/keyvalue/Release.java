package io.election.keyvalue;

import io.election.LeadershipLostEvent;
import io.election.keyvalue.ElectionReading.TermEntry;
import io.election.keyvalue.HeldLeases.Held;
import io.election.keyvalue.KeyValueServer.Commit;
import io.election.keyvalue.KeyValueServer.Entry;
import io.election.keyvalue.KeyValueServer.Put;
import io.election.keyvalue.KeyValueServer.Version;
import io.election.keyvalue.KeyValueServer.Write;
import io.election.store.LeaseStoreException;
import io.election.store.TermEnd;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Releases the leases that a process holds. */
final class Release {

  private final KeyValueServer server;
  private final InstantSource clock;
  private final Records records;
  private final Lineage lineage;
  private final HeldLeases life;
  private final WatchedKeys followed;
  private final Members members;

  Release(
      KeyValueServer server,
      InstantSource clock,
      Records records,
      Lineage lineage,
      HeldLeases life,
      WatchedKeys followed,
      Members members) {
    this.server = server;
    this.clock = clock;
    this.records = records;
    this.lineage = lineage;
    this.life = life;
    this.followed = followed;
    this.members = members;
  }

  /**
   * Releases a lease, by one request if possible.
   *
   * @return whether it was held
   */
  boolean release(
      String serviceId, String nodeId, long term, @Nullable String successor, TermEnd ending)
      throws LeaseStoreException {
    if (successor != null && releaseUnread(serviceId, nodeId, term, successor, ending)) {
      return true;
    }
    for (int i = 0; i < Records.ATTEMPTS; i++) {
      ElectionReading view = this.records.inspect(serviceId);
      Entry entry = view.entry();
      TermEntry ended = view.terms().get(term);
      if (entry == null
          || entry.foreign()
          || ended == null
          || !nodeId.equals(ended.term().leader())
          || view.term() != term
          || view.newestTerm() > term
          || view.lease().leader().equals(nodeId) != (successor != null)
          || !view.ledLast().equals(this.life.token())) {
        return false;
      }
      Term noted =
          successor != null && ended.term().open() ? ended.term().noting(null) : ended.term();
      List<Write> writes = List.of(
          released(
              serviceId,
              successor != null ? successor : view.lease().leader(),
              term,
              entry.version()),
          view.put(term, ended, ended(noted, ending)));
      if (commit(serviceId, new Commit(Map.of(), writes, 0))) {
        return true;
      }
    }
    throw new LeaseStoreException(
        "The record of election '%s' changes while it is released. Does another client write to it in a loop?"
            .formatted(serviceId));
  }

  /**
   * Releases a lease by one request, if nothing has changed that this process has written, and what
   * it wrote last is the last that it has seen: then the server was not set back behind it.
   */
  private boolean releaseUnread(
      String serviceId, String nodeId, long term, String successor, TermEnd ending)
      throws LeaseStoreException {
    Optional<Held> held = this.server.reusesVersions()
        ? Optional.empty()
        : this.life.known(serviceId, nodeId, term, this.lineage.greatest());
    if (held.isEmpty() || held.get().led() == null) {
      return false;
    }
    Entry led = held.get().led();
    Map<String, Version> checks = new HashMap<>();
    this.life.check(checks);
    List<Write> writes = new ArrayList<>(List.of(
        released(serviceId, successor, term, held.get().record()),
        new Put(
            Keys.term(serviceId, term),
            Json.write(ended(Term.of(led.value()), ending)),
            led.version())));
    List<Write> leaving =
        ending.reason() == LeadershipLostEvent.Reason.STOPPED ? this.members.leaving() : List.of();
    writes.addAll(leaving);
    boolean released = commit(serviceId, new Commit(checks, writes, 0));
    if (released && !leaving.isEmpty()) {
      this.members.forget();
    }
    return released;
  }

  private Put released(String serviceId, String leader, long term, Version before) {
    LeaseRecord record =
        LeaseRecord.released(serviceId, leader, term, this.life.history(serviceId));
    return new Put(Keys.record(serviceId), Json.write(record), before);
  }

  private Term ended(Term term, TermEnd ending) {
    return term.over(ending.reason().name(), ending.auditNote(), this.clock.millis());
  }

  private boolean commit(String serviceId, Commit commit) throws LeaseStoreException {
    Optional<Map<String, Version>> released = this.server.commit(commit);
    if (released.isEmpty()) {
      return false;
    }
    this.life.released(serviceId);
    this.followed.wrote(serviceId, Renewal.version(released.get(), Keys.record(serviceId)));
    return true;
  }
}
