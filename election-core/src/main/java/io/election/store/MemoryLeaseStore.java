package io.election.store;

import io.election.AuditNote;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipLostEvent;
import io.election.Member;
import io.election.PastTerm;
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
 * A store in the memory of one process, which shows what each method of {@link LeaseStore} means
 * without a database.
 *
 * <p>Use it for tests, or if all nodes are in one process: they share one such store, whose calls
 * are atomic. Thread-safe. {@link #close()} does nothing, because other nodes may continue to use
 * the store.
 */
public class MemoryLeaseStore implements LeaseStore, ElectionDirectory {

  /**
   * The row of an election.
   *
   * @param leaderId the holder or the designated holder; empty if vacant
   * @param term the term of the last leadership
   * @param version increases with every write of this class
   * @param leaseMillis the lease in milliseconds; 0 if released; {@code null} if it is not stated
   * @param written the time of the last write
   * @param seal the last leader, and what it left; {@code null} if there was none
   */
  public record Row(
      String leaderId,
      long term,
      long version,
      @Nullable Long leaseMillis,
      long written,
      @Nullable Seal seal) {}

  /**
   * The version of a row: everything that does not change without a write.
   *
   * @param number increases with every write of this class
   * @param leaseMillis the lease as found
   * @param lastTerm the newest term of the history; {@code null} if there is none, or if the row
   *     cannot have been written by hand
   * @param written the time of the last write
   * @param source the server that answers
   */
  public record Version(
      long number,
      @Nullable Long leaseMillis,
      @Nullable Long lastTerm,
      long written,
      String source) {

    /** Returns the version of a record of such a store. */
    public static Version of(LeaseRow row) {
      return (Version) row.version();
    }
  }

  /**
   * The last leader, and the row that it left. Every write other than one of its renewals makes the
   * seal outdated, because the row then differs from it.
   *
   * @param serviceId the election that it led
   * @param owner the last leader
   * @param version the version that it left
   * @param written the time that it left
   * @param source the server that it wrote to
   */
  public record Seal(String serviceId, String owner, long version, long written, String source) {}

  /** The owner of all leaderships of the nodes that share this store directly. */
  private static final String SHARED = "";

  final Map<String, Row> rows = new HashMap<>();

  final Map<String, NavigableMap<Long, MemoryTerm>> history = new HashMap<>();

  private final MemoryMembers members = new MemoryMembers();

  long writes;

  private final InstantSource clock;

  /** Creates a store without records, whose history uses the clock of this machine. */
  public MemoryLeaseStore() {
    this(InstantSource.system());
  }

  /**
   * Creates a store without records.
   *
   * @param clock the clock for the times in the history, which are for display only
   */
  public MemoryLeaseStore(InstantSource clock) {
    this.clock = clock;
  }

  /** Returns the time for the history. */
  Instant instant() {
    return this.clock.instant();
  }

  /** Returns what is stored as the time of a write; only compared for equality. */
  long time() {
    return this.writes;
  }

  /** Returns how long ago a row was written, as a hint. */
  Duration age(LeaseRow row) {
    return Duration.ZERO;
  }

  synchronized NavigableMap<Long, MemoryTerm> history(String serviceId) {
    return this.history.computeIfAbsent(serviceId, (id) -> new TreeMap<>());
  }

  /** Returns the record of an election; {@code null} if there is none. */
  @Nullable
  LeaseRow row(String serviceId) {
    return row(serviceId, null);
  }

  /** Returns the record as one of the nodes that share the store reads it. */
  synchronized @Nullable LeaseRow row(String serviceId, @Nullable String reader) {
    Row row = this.rows.get(serviceId);
    if (row == null) {
      return null;
    }
    Map.Entry<Long, MemoryTerm> last = history(serviceId).lastEntry();
    boolean unknown = row.leaseMillis() == null || row.leaseMillis() < 0;
    Long lease = LeaseRow.leaseMillis(
        row.leaseMillis(), last != null ? last.getValue().leaseMillis() : null);
    Version version = new Version(
        row.version(),
        row.leaseMillis(),
        (unknown || row.seal() == null) && last != null ? last.getKey() : null,
        row.written(),
        source());
    return new LeaseRow(
        row.leaderId(), row.term(), lease, version, isSealed(serviceId, row, reader));
  }

  private boolean isSealed(String serviceId, Row row, @Nullable String owner) {
    return owner != null
        && new Seal(serviceId, owner, row.version(), row.written(), source()).equals(row.seal());
  }

  /** Returns whether no other node has led since, even if others have written. */
  private boolean isOwner(String serviceId, String owner) {
    Row row = this.rows.get(serviceId);
    return row != null
        && row.seal() != null
        && row.seal().serviceId().equals(serviceId)
        && row.seal().owner().equals(owner);
  }

  private boolean isAsSeen(String serviceId, LeaseRow seen) {
    LeaseRow row = row(serviceId);
    return row != null && row.isSameRecord(seen);
  }

  /** Returns the server that answers. */
  String source() {
    return "memory";
  }

  void write(
      String serviceId, String leaderId, long term, long version, @Nullable Long leaseMillis) {
    write(serviceId, leaderId, term, version, leaseMillis, null);
  }

  /** Keeps the seal, which is outdated by this write. */
  private void change(Row row, String serviceId, String leaderId, @Nullable Long lease) {
    this.writes++;
    this.rows.put(
        serviceId, new Row(leaderId, row.term(), row.version() + 1, lease, time(), row.seal()));
  }

  private synchronized void write(
      String serviceId,
      String leaderId,
      long term,
      long version,
      @Nullable Long leaseMillis,
      @Nullable String owner) {
    this.writes++;
    long time = time();
    Seal seal = owner != null ? new Seal(serviceId, owner, version, time, source()) : null;
    this.rows.put(serviceId, new Row(leaderId, term, version, leaseMillis, time, seal));
  }

  @Override
  public String name() {
    return "memory";
  }

  @Override
  public Map<String, Reading> read(Set<String> serviceIds) {
    return read(serviceIds, null);
  }

  synchronized Map<String, Reading> read(Set<String> serviceIds, @Nullable String reader) {
    Map<String, Reading> readings = new LinkedHashMap<>();
    for (String id : serviceIds) {
      LeaseRow row = row(id, reader);
      if (row != null) {
        readings.put(id, new Reading(row, age(row)));
      }
    }
    return readings;
  }

  @Override
  public Renewals renew(String nodeId, Map<String, Long> terms) {
    return renew(nodeId, terms, SHARED);
  }

  synchronized Renewals renew(String nodeId, Map<String, Long> terms, String owner) {
    Set<String> renewed = new LinkedHashSet<>();
    terms.forEach((id, term) -> {
      Row row = this.rows.get(id);
      if (row != null
          && row.leaderId().equals(nodeId)
          && row.term() == term
          && row.leaseMillis() != null
          && row.leaseMillis() > 0
          && isOwner(id, owner)) {
        if (isSealed(id, row, owner)) {
          write(id, nodeId, term, row.version() + 1, row.leaseMillis(), owner);
        } else {
          change(row, id, nodeId, row.leaseMillis());
        }
        renewed.add(id);
      }
    });
    return new Renewals(renewed);
  }

  @Override
  public synchronized Optional<LeaseRow> create(String serviceId, Claim claim)
      throws LeaseStoreException {
    if (row(serviceId) != null) {
      return Optional.empty();
    }
    Map.Entry<Long, MemoryTerm> last = history(serviceId).lastEntry();
    long lease = last != null
        ? Math.max(claim.leaseMillis(), last.getValue().leaseMillis())
        : claim.leaseMillis();
    long term = termAbove(serviceId, claim.aboveTerm());
    write(serviceId, claim.nodeId(), term, 1, lease);
    openTerm(
        serviceId,
        LeadershipLostEvent.Reason.DISPLACED.name(),
        term,
        new MemoryTerm(claim.nodeId(), lease, claim.reason().name(), instant()));
    return Optional.ofNullable(row(serviceId));
  }

  @Override
  public synchronized Optional<LeaseRow> touch(String serviceId, LeaseRow seen) {
    Row row = this.rows.get(serviceId);
    if (row == null || !isAsSeen(serviceId, seen)) {
      return Optional.empty();
    }
    change(row, serviceId, row.leaderId(), row.leaseMillis());
    return Optional.ofNullable(row(serviceId));
  }

  @Override
  public OptionalLong acquire(String serviceId, LeaseRow seen, Claim claim)
      throws LeaseStoreException {
    return acquire(serviceId, seen, claim, SHARED);
  }

  synchronized OptionalLong acquire(String serviceId, LeaseRow seen, Claim claim, String owner)
      throws LeaseStoreException {
    if (!isAsSeen(serviceId, seen)) {
      return OptionalLong.empty();
    }
    boolean created = claim.reason() == LeadershipAcquiredEvent.Reason.CREATED;
    long term =
        created ? seen.term() : termAbove(serviceId, Math.max(seen.term(), claim.aboveTerm()));
    long version = Version.of(seen).number() + 1;
    write(serviceId, claim.nodeId(), term, version, claim.leaseMillis(), owner);
    if (created) {
      note(serviceId, term, (entry) -> entry.led(claim.leaseMillis(), instant()));
    } else {
      openTerm(
          serviceId,
          TermEnd.asFound(seen),
          term,
          new MemoryTerm(claim.nodeId(), claim.leaseMillis(), claim.reason().name(), instant()));
    }
    return OptionalLong.of(term);
  }

  @Override
  public boolean release(
      String serviceId, String nodeId, long term, @Nullable String successor, TermEnd ending) {
    return release(serviceId, nodeId, term, successor, ending, SHARED);
  }

  synchronized boolean release(
      String serviceId,
      String nodeId,
      long term,
      @Nullable String successor,
      TermEnd ending,
      String owner) {
    Row row = this.rows.get(serviceId);
    if (row == null
        || row.leaderId().equals(nodeId) != (successor != null)
        || row.term() != term
        || newestTerm(serviceId) > term
        || !isOwner(serviceId, owner)) {
      return false;
    }
    if (successor != null) {
      note(serviceId, term, (entry) -> entry.ended() ? entry : entry.noting(null));
    } else {
      MemoryTerm held = history(serviceId).get(term);
      if (held == null || !held.leaderId().equals(nodeId)) {
        return false;
      }
    }
    change(row, serviceId, successor != null ? successor : row.leaderId(), 0L);
    endTerm(serviceId, term, ending);
    return true;
  }

  @Override
  public synchronized boolean designate(
      String serviceId, String leaderId, @Nullable LeaseRow seen, @Nullable AuditNote auditNote) {
    Row row = this.rows.get(serviceId);
    if (row == null || (seen != null && !isAsSeen(serviceId, seen))) {
      return false;
    }
    change(row, serviceId, leaderId, row.leaseMillis());
    if (auditNote != null) {
      note(
          serviceId,
          row.term(),
          (entry) -> entry.ended() || entry.auditNote() != null ? entry : entry.noting(auditNote));
    }
    return true;
  }

  @Override
  public void announce(Announcement self) {
    this.members.announce(self, instant());
  }

  @Override
  public Map<String, List<Member>> members(Set<String> serviceIds) {
    return this.members.read(serviceIds, instant());
  }

  @Override
  public synchronized Map<String, List<PastTerm>> history(Set<String> serviceIds) {
    Map<String, List<PastTerm>> histories = new LinkedHashMap<>();
    for (String id : serviceIds) {
      NavigableMap<Long, MemoryTerm> terms = history(id).descendingMap();
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

  private void openTerm(String serviceId, String lastEnd, long term, MemoryTerm entry) {
    NavigableMap<Long, MemoryTerm> terms = history(serviceId);
    terms.replaceAll((number, old) -> old.over(instant(), lastEnd, null));
    terms.put(term, entry);
  }

  private void endTerm(String serviceId, long term, TermEnd ending) {
    note(
        serviceId,
        term,
        (entry) -> entry.over(instant(), ending.reason().name(), ending.auditNote()));
  }

  private void note(String serviceId, long term, UnaryOperator<MemoryTerm> note) {
    history(serviceId).computeIfPresent(term, (number, entry) -> note.apply(entry));
  }

  private long newestTerm(String serviceId) {
    NavigableMap<Long, MemoryTerm> terms = history(serviceId);
    return terms.isEmpty() ? 0 : Math.max(0, terms.lastKey());
  }

  private long termAbove(String serviceId, long term) throws LeaseStoreException {
    long last = Math.max(term, newestTerm(serviceId));
    if (last == Long.MAX_VALUE) {
      throw new LeaseStoreException(
          "The term in the record or its history is the greatest possible. Was it edited by hand? Set it"
              + " back in both tables, then restart all nodes: each remembers the highest term that it"
              + " has seen.");
    }
    return last + 1;
  }
}
