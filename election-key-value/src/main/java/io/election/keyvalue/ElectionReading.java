package io.election.keyvalue;

import io.election.keyvalue.KeyValueServer.Entry;
import io.election.keyvalue.KeyValueServer.Put;
import io.election.keyvalue.KeyValueServer.Snapshot;
import io.election.keyvalue.KeyValueServer.Write;
import io.election.store.LeaseRow;
import io.election.store.LeaseStoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * One election as one reading of the server shows it.
 *
 * @param entry the record; {@code null} if there is none
 * @param lease its content; vacant and released if there is none
 * @param terms the newest terms
 * @param values parses what the reading shows
 */
record ElectionReading(
    String serviceId,
    Snapshot snapshot,
    @Nullable Entry entry,
    LeaseRecord lease,
    TreeMap<Long, TermEntry> terms,
    Values values) {

  private static final LeaseRecord NONE =
      new LeaseRecord(null, "", 0L, 0L, LeaseRecord.NO_HEARTBEAT);

  /** {@link #beat} of a record that no process renews. */
  private static final long NO_BEAT = 0;

  record TermEntry(Entry entry, Term term) {}

  /** All that changes with a write to the record, or with a renewal by its holder. */
  record Version(long written, String identity, long beat) {}

  static ElectionReading of(String serviceId, Snapshot snapshot, boolean withTerms) {
    return of(serviceId, snapshot, withTerms, new Values());
  }

  static ElectionReading of(String serviceId, Snapshot snapshot, boolean withTerms, Values values) {
    TreeMap<Long, TermEntry> terms = new TreeMap<>();
    if (withTerms) {
      String prefix = Keys.terms(serviceId) + "/";
      snapshot.entries().forEach((key, entry) -> {
        if (key.startsWith(prefix) && Keys.isTerm(key)) {
          terms.put(Long.parseLong(Keys.name(key)), new TermEntry(entry, Term.of(entry.value())));
        }
      });
    }
    String key = Keys.record(serviceId);
    Entry entry = snapshot.entries().get(key);
    LeaseRecord lease = entry != null
        ? values.of(
            LeaseRecord.class, key, entry.value(), (value) -> LeaseRecord.of(value, serviceId))
        : NONE;
    return new ElectionReading(serviceId, snapshot, entry, lease, terms, values);
  }

  /** The history that the records belong to. */
  Lineage.Identity history() {
    return Lineage.Identity.in(this.snapshot, this.values);
  }

  /**
   * Returns whether no node leads because the last one has handed back. A server that went back to
   * an earlier state may show that although a node has taken the record since; and whoever led in
   * that state may hand back later, though another node has led.
   */
  private boolean isFree() {
    String takenIn = this.lease.history();
    return this.lease.released() && takenIn != null && takenIn.equals(history().id());
  }

  /** Returns whether the record can only be understood with the newest term. */
  boolean needsTerms() {
    LeaseRecord lease = this.lease;
    return lease.released()
        ? this.entry != null && !isFree()
        : lease.heartbeat() == null || lease.leaseMillis() == null || lease.leaseMillis() < 0;
  }

  /** Returns whether the record was handed back, to any node. */
  boolean isVacant() {
    return this.entry != null
        && !this.entry.foreign()
        && isFree()
        && this.lease.leader().isEmpty();
  }

  /** Returns the number of the last leadership; 0 if there was none. */
  long newestTerm() {
    for (Map.Entry<Long, TermEntry> found : this.terms.descendingMap().entrySet()) {
      if (found.getValue().term().leader() != null) {
        return found.getKey();
      }
    }
    return 0;
  }

  private Term newest() {
    TermEntry found = this.terms.get(newestTerm());
    return found != null ? found.term() : Term.MARK;
  }

  /** Returns the lease of the last leadership; 0 if there was none. */
  long newestLeaseMillis() {
    return newest().leaseMillis();
  }

  /** The term of the record; if it was written by hand, that of the last leadership. */
  long term() {
    Long term = this.lease.term();
    return term != null ? term : newestTerm();
  }

  /**
   * The token of the process whose renewals the record counts; empty if there is none. A record that
   * was written by hand without one is not renewed.
   */
  String heartbeat() {
    String heartbeat = this.lease.heartbeat();
    return heartbeat != null && !this.lease.released() ? heartbeat : LeaseRecord.NO_HEARTBEAT;
  }

  /** The token of the process that led last; empty if it has handed back. */
  String ledLast() {
    if (this.lease.released() || this.lease.heartbeat() != null) {
      return heartbeat();
    }
    Term newest = newest();
    return newest.open() && newest.heartbeat() != null
        ? newest.heartbeat()
        : LeaseRecord.NO_HEARTBEAT;
  }

  /** The entry of the heartbeat, if there is one. */
  @Nullable
  Entry heartbeatEntry() {
    return this.snapshot.entries().get(Keys.heartbeat(heartbeat()));
  }

  private Heartbeat parsed(Entry heartbeat) {
    return this.values.of(
        Heartbeat.class, Keys.heartbeat(heartbeat()), heartbeat.value(), Heartbeat::of);
  }

  /**
   * Changes with each renewal, and never becomes what it was before: it is negative while the process
   * renews other records alone.
   */
  private long beat() {
    Entry heartbeat = heartbeatEntry();
    if (heartbeat == null) {
      return NO_BEAT;
    }
    Long paused = parsed(heartbeat).except().get(Keys.record(this.serviceId));
    return paused != null ? -paused : heartbeat.version().written();
  }

  /**
   * How long ago the holder renewed, by the clocks of two nodes; negative if it does not, or has not
   * since the record was written.
   */
  Duration age(long now) {
    Entry heartbeat = heartbeatEntry();
    return heartbeat != null
            && beat() > 0
            && this.entry != null
            && heartbeat.version().written() >= this.entry.version().written()
        ? Duration.ofMillis(now - parsed(heartbeat).at())
        : Duration.ofMillis(-1);
  }

  private @Nullable Long leaseMillis() {
    return LeaseRow.leaseMillis(
        this.lease.released() && !isFree() ? null : this.lease.leaseMillis(),
        newestTerm() != 0 ? (Long) newestLeaseMillis() : null);
  }

  /**
   * The record as the protocol knows it.
   *
   * @param own the version that the last take-over of this store has left; {@code null} if it has
   *     not led last
   */
  @Nullable
  LeaseRow row(@Nullable Version own) {
    if (this.entry == null) {
      return null;
    }
    LeaseRecord lease = this.lease;
    Version version = new Version(this.entry.version().written(), identity(), beat());
    boolean isOwn = own != null
        && own.written() == version.written()
        && own.identity().equals(version.identity());
    return new LeaseRow(
        lease.leader(), lease.term() != null ? lease.term() : 0, leaseMillis(), version, isOwn);
  }

  /** The cluster and the history that the record belongs to. */
  String identity() {
    return this.snapshot.identity() + "/" + history().id();
  }

  boolean shows(LeaseRow seen) {
    LeaseRow row = row(null);
    return row != null && row.isSameRecord(seen);
  }

  /** Ends the open terms, and changes the newest one in any case. */
  List<Write> ending(String reason, long now) {
    List<Write> writes = new ArrayList<>();
    for (Map.Entry<Long, TermEntry> term : this.terms.entrySet()) {
      TermEntry found = term.getValue();
      if (found.term().open() || term.getKey().equals(this.terms.lastKey())) {
        writes.add(put(term.getKey(), found, found.term().over(reason, null, now)));
      }
    }
    return writes;
  }

  /** Writes a term whose key is as it was read. */
  Put put(long number, TermEntry found, Term term) {
    return new Put(
        Keys.term(this.serviceId, number), Json.write(term), found.entry().version());
  }

  /** The heartbeat of the holder as it was read: a renewal in between must not go unseen. */
  Map<String, KeyValueServer.Version> checks() {
    Map<String, KeyValueServer.Version> checks = new HashMap<>();
    Entry heartbeat = heartbeatEntry();
    if (heartbeat != null) {
      checks.put(Keys.heartbeat(heartbeat()), heartbeat.version());
    }
    if (!this.terms.isEmpty()) {
      checks.put(
          Keys.term(this.serviceId, this.terms.lastKey()),
          this.terms.lastEntry().getValue().entry().version());
    }
    return checks;
  }

  /** A term that has never been used, even if the history was deleted. */
  long unusedTerm(long above) throws LeaseStoreException {
    return termAbove(Math.max(above, history().skipped() + this.snapshot.revision()));
  }

  long termAbove(long term) throws LeaseStoreException {
    long used = Math.max(term, history().usedTerms());
    long last = this.terms.isEmpty() ? used : Math.max(used, this.terms.lastKey());
    if (last == Long.MAX_VALUE) {
      throw new LeaseStoreException(
          "The term in the record of election '%s' or in its history is the greatest possible. Was it edited by hand? Set it back in both, then restart all nodes: each remembers the highest term that it has seen."
              .formatted(this.serviceId));
    }
    return last + 1;
  }
}
