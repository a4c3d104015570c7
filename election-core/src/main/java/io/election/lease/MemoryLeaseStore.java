package io.election.lease;

import io.election.HistoryEntry;
import io.election.Instruction;
import io.election.LeadershipLostEvent;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Leases in the memory of one process: what each method of {@link LeaseStore} means, without a
 * database.
 *
 * <p>For tests, and for the nodes of one process alone: they share one such store, whose calls are
 * atomic. Safe for use by any thread. {@link #close()} does nothing, since others go on.
 */
public class MemoryLeaseStore implements LeaseStore {

  record Row(
      String leaderId, long term, long version, @Nullable Long leaseMillis, long written) {}

  /**
   * An entry of the history.
   *
   * @param until when it ended; {@code null} if it has not
   * @param endReason why it ended; {@code null} if it has not, or nobody has noted it
   * @param instruction who ended it; {@code null} if nobody has noted that
   */
  record Term(
      String leaderId,
      long leaseMillis,
      String reason,
      Instant from,
      @Nullable Instant until,
      @Nullable String endReason,
      @Nullable Instruction instruction) {

    Term(String leaderId, long leaseMillis, String reason, Instant from) {
      this(leaderId, leaseMillis, reason, from, null, null, null);
    }

    boolean ended() {
      return this.until != null;
    }

    Term led(long leaseMillis, Instant from) {
      return new Term(
          this.leaderId,
          leaseMillis,
          this.reason,
          from,
          this.until,
          this.endReason,
          this.instruction);
    }

    Term over(Instant until, String reason, @Nullable Instruction instruction) {
      return ended()
          ? this
          : new Term(
              this.leaderId,
              this.leaseMillis,
              this.reason,
              this.from,
              until,
              reason,
              instruction != null ? instruction : this.instruction);
    }

    Term noting(@Nullable Instruction instruction) {
      return new Term(
          this.leaderId,
          this.leaseMillis,
          this.reason,
          this.from,
          this.until,
          this.endReason,
          instruction);
    }

    HistoryEntry entry(long term) {
      return new HistoryEntry(
          term,
          this.leaderId,
          this.from,
          this.until,
          this.reason,
          this.endReason,
          this.instruction != null ? this.instruction.by() : null,
          this.instruction != null ? this.instruction.note() : null);
    }
  }

  final Map<String, Row> rows = new HashMap<>();

  final Map<String, NavigableMap<Long, Term>> history = new HashMap<>();

  long writes;

  private final InstantSource clock;

  /** Creates a store without records, whose history tells the time of this machine. */
  public MemoryLeaseStore() {
    this(InstantSource.system());
  }

  /**
   * Creates a store without records.
   *
   * @param clock the time in the history, which is for people
   */
  public MemoryLeaseStore(InstantSource clock) {
    this.clock = clock;
  }

  /** The time in the history. */
  Instant instant() {
    return this.clock.instant();
  }

  /** What is kept as the time of a write; only ever compared for equality. */
  long time() {
    return this.writes;
  }

  /** How long ago a row was written, as a hint. */
  Duration age(LeaseRow row) {
    return Duration.ZERO;
  }

  synchronized NavigableMap<Long, Term> history(String serviceId) {
    return this.history.computeIfAbsent(serviceId, (id) -> new TreeMap<>());
  }

  /** The record of an election; {@code null} if there is none. */
  synchronized @Nullable LeaseRow row(String serviceId) {
    Row row = this.rows.get(serviceId);
    if (row == null) {
      return null;
    }
    boolean unknown = row.leaseMillis() == null || row.leaseMillis() < 0;
    Map.Entry<Long, Term> last = history(serviceId).lastEntry();
    return new LeaseRow(
        row.leaderId(),
        row.term(),
        row.version(),
        row.leaseMillis(),
        unknown && last != null ? last.getValue().leaseMillis() : null,
        Long.toString(row.written()),
        source());
  }

  /** The server that answers. */
  String source() {
    return "memory";
  }

  synchronized void write(
      String serviceId, String leaderId, long term, long version, @Nullable Long leaseMillis) {
    this.writes++;
    this.rows.put(serviceId, new Row(leaderId, term, version, leaseMillis, time()));
  }

  @Override
  public String name() {
    return "memory";
  }

  @Override
  public synchronized Map<String, Reading> read(Set<String> serviceIds) {
    Map<String, Reading> readings = new LinkedHashMap<>();
    for (String id : serviceIds) {
      LeaseRow row = row(id);
      if (row != null) {
        readings.put(id, new Reading(row, age(row)));
      }
    }
    return readings;
  }

  @Override
  public synchronized Set<String> renew(String nodeId, Map<String, Long> terms) {
    Set<String> renewed = new LinkedHashSet<>();
    terms.forEach((id, term) -> {
      LeaseRow row = row(id);
      if (row != null
          && row.leaderId().equals(nodeId)
          && row.term() == term
          && row.leaseMillis() != null
          && row.leaseMillis() > 0) {
        write(id, nodeId, term, row.version() + 1, row.leaseMillis());
        renewed.add(id);
      }
    });
    return renewed;
  }

  @Override
  public synchronized Optional<LeaseRow> create(
      String serviceId, String nodeId, long leaseMillis, long aboveTerm)
      throws LeaseStoreException {
    if (row(serviceId) != null) {
      return Optional.empty();
    }
    Map.Entry<Long, Term> last = history(serviceId).lastEntry();
    long lease = last != null ? Math.max(leaseMillis, last.getValue().leaseMillis()) : leaseMillis;
    long term = termAbove(serviceId, aboveTerm);
    write(serviceId, nodeId, term, 1, lease);
    openTerm(
        serviceId,
        LeadershipLostEvent.Reason.DISPLACED.name(),
        term,
        new Term(nodeId, lease, "CREATED", instant()));
    return Optional.ofNullable(row(serviceId));
  }

  @Override
  public synchronized Optional<LeaseRow> keepWarm(String serviceId, LeaseRow seen) {
    if (!seen.equals(row(serviceId))) {
      return Optional.empty();
    }
    write(serviceId, seen.leaderId(), seen.term(), seen.version() + 1, seen.leaseMillis());
    return Optional.ofNullable(row(serviceId));
  }

  @Override
  public synchronized boolean lead(String serviceId, LeaseRow seen, long leaseMillis) {
    if (!seen.equals(row(serviceId))) {
      return false;
    }
    write(serviceId, seen.leaderId(), seen.term(), seen.version() + 1, leaseMillis);
    note(serviceId, seen.term(), (entry) -> entry.led(leaseMillis, instant()));
    return true;
  }

  @Override
  public synchronized OptionalLong take(
      String serviceId,
      LeaseRow seen,
      String nodeId,
      long leaseMillis,
      long aboveTerm,
      String reason)
      throws LeaseStoreException {
    if (!seen.equals(row(serviceId))) {
      return OptionalLong.empty();
    }
    long term = termAbove(serviceId, Math.max(seen.term(), aboveTerm));
    write(serviceId, nodeId, term, seen.version() + 1, leaseMillis);
    openTerm(
        serviceId, Ending.asFound(seen), term, new Term(nodeId, leaseMillis, reason, instant()));
    return OptionalLong.of(term);
  }

  @Override
  public synchronized boolean release(
      String serviceId, String nodeId, long term, String successor, Ending ending) {
    LeaseRow row = row(serviceId);
    if (row == null || !row.leaderId().equals(nodeId) || row.term() != term) {
      return false;
    }
    write(serviceId, successor, term, row.version() + 1, 0L);
    note(serviceId, term, (entry) -> entry.ended() ? entry : entry.noting(null));
    endTerm(serviceId, term, ending);
    return true;
  }

  @Override
  public synchronized boolean giveWay(String serviceId, String nodeId, long term, Ending ending) {
    LeaseRow row = row(serviceId);
    Term held = history(serviceId).get(term);
    if (row == null
        || row.leaderId().equals(nodeId)
        || row.term() != term
        || held == null
        || !held.leaderId().equals(nodeId)) {
      return false;
    }
    write(serviceId, row.leaderId(), term, row.version() + 1, 0L);
    endTerm(serviceId, term, ending);
    return true;
  }

  @Override
  public synchronized boolean designate(
      String serviceId, String leaderId, @Nullable Instruction instruction) {
    LeaseRow row = row(serviceId);
    if (row == null) {
      return false;
    }
    write(serviceId, leaderId, row.term(), row.version() + 1, row.leaseMillis());
    if (instruction != null && !row.isReleased()) {
      note(
          serviceId,
          row.term(),
          (entry) ->
              entry.ended() || entry.instruction() != null ? entry : entry.noting(instruction));
    }
    return true;
  }

  @Override
  public synchronized Map<String, List<HistoryEntry>> history(Set<String> serviceIds) {
    Map<String, List<HistoryEntry>> histories = new LinkedHashMap<>();
    for (String id : serviceIds) {
      NavigableMap<Long, Term> terms = history(id).descendingMap();
      if (!terms.isEmpty()) {
        histories.put(
            id,
            terms.entrySet().stream()
                .limit(HISTORY_LENGTH)
                .map((entry) -> entry.getValue().entry(entry.getKey()))
                .toList());
      }
    }
    return histories;
  }

  @Override
  public synchronized void prune(Map<String, Long> belowTerms, Duration retention) {
    Instant oldest = instant().minus(retention);
    belowTerms.forEach((id, term) -> history(id)
        .headMap(term)
        .values()
        .removeIf((entry) -> entry.until() != null && entry.until().isBefore(oldest)));
  }

  @Override
  public void close() {}

  private void openTerm(String serviceId, String lastEnd, long term, Term entry) {
    NavigableMap<Long, Term> terms = history(serviceId);
    terms.replaceAll((number, old) -> old.over(instant(), lastEnd, null));
    terms.put(term, entry);
  }

  private void endTerm(String serviceId, long term, Ending ending) {
    note(
        serviceId,
        term,
        (entry) -> entry.over(instant(), ending.reason().name(), ending.instruction()));
  }

  private void note(String serviceId, long term, UnaryOperator<Term> note) {
    history(serviceId).computeIfPresent(term, (number, entry) -> note.apply(entry));
  }

  private long newestTerm(String serviceId) {
    NavigableMap<Long, Term> terms = history(serviceId);
    return terms.isEmpty() ? 0 : Math.max(0, terms.lastKey());
  }

  private long termAbove(String serviceId, long term) throws LeaseStoreException {
    long last = Math.max(term, newestTerm(serviceId));
    if (last == Long.MAX_VALUE) {
      throw new LeaseStoreException("There is no greater term");
    }
    return last + 1;
  }
}
