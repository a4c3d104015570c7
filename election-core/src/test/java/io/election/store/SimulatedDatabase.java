package io.election.store;

import io.election.AuditNote;
import io.election.LeadershipAcquiredEvent;
import io.election.Member;
import io.election.PastTerm;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The two tables in memory, which operators, older tools and failing servers change, and their
 * stores.
 */
public final class SimulatedDatabase extends MemoryLeaseStore {

  private static final AtomicInteger DATABASES = new AtomicInteger();

  /** Differs from other databases, so that what one test leaves to its process harms no other. */
  private final String name = "simulation-" + DATABASES.incrementAndGet();

  private final @Nullable LongSupplier clock;

  private final AtomicInteger stores = new AtomicInteger();

  private int failovers;

  /** A database that gives every write its own time, which means nothing. */
  public SimulatedDatabase() {
    this.clock = null;
  }

  /** A database with a clock in microseconds, right or wrong. */
  public SimulatedDatabase(LongSupplier clock) {
    this.clock = clock;
  }

  @Override
  public long time() {
    return this.clock != null ? this.clock.getAsLong() : super.time();
  }

  @Override
  public Instant instant() {
    return this.clock != null
        ? Instant.EPOCH.plus(this.clock.getAsLong(), ChronoUnit.MICROS)
        : Instant.EPOCH;
  }

  @Override
  public String name() {
    return this.name;
  }

  @Override
  public String source() {
    return "server-" + this.failovers;
  }

  public synchronized void insertTerm(
      String serviceId, long term, String leaderId, long leaseMillis) {
    history(serviceId).put(term, new MemoryTerm(leaderId, leaseMillis, "by hand", instant()));
  }

  public synchronized void endTerm(String serviceId, long term, Duration ago) {
    history(serviceId)
        .computeIfPresent(
            term,
            (number, old) -> new MemoryTerm(
                old.leaderId(),
                old.leaseMillis(),
                old.reason(),
                old.from(),
                instant().minus(ago),
                old.endReason(),
                old.auditNote()));
  }

  public synchronized void deleteRow(String serviceId) {
    this.rows.remove(serviceId);
  }

  public synchronized void emptyTables() {
    this.rows.clear();
    this.history.clear();
  }

  /** Changes a row as an operator would: version and time change only if the edit changes them. */
  public synchronized void edit(String serviceId, UnaryOperator<Row> edit) {
    Row before = this.rows.get(serviceId);
    if (before == null) {
      throw new IllegalStateException("no row for " + serviceId);
    }
    this.rows.put(serviceId, edit.apply(before));
  }

  public synchronized void copy(String from, String to) {
    this.rows.put(to, Objects.requireNonNull(this.rows.get(from)));
  }

  /** Returns the records of the parts of which the record of a list consists. */
  public static List<@Nullable LeaseRow> parts(LeaseRow joint) {
    return JointRule.parts(joint);
  }

  public static Row named(Row row, String leaderId) {
    return edited(row, leaderId, row.term(), row.leaseMillis());
  }

  /** The record after an edit by hand, which leaves the version and the time as they are. */
  public static Row edited(Row row, String leaderId, long term, @Nullable Long leaseMillis) {
    return new Row(leaderId, term, row.version(), leaseMillis, row.written(), row.seal());
  }

  /** Replaces a row as an operator or an older tool would that knows only three columns. */
  public synchronized void replace(String serviceId, String leaderId) {
    write(serviceId, leaderId, 0, 0, null);
  }

  /** Replaces a row by a statement that names the time, so that the row is the same each time. */
  public synchronized void replace(
      String serviceId, String leaderId, @Nullable Long leaseMillis, long written) {
    this.writes++;
    this.rows.put(serviceId, new Row(leaderId, 0, 0, leaseMillis, written, null));
  }

  /**
   * Runs the statement of {@code HandWrittenLease}, as a node of an older tool does every second,
   * and returns whether it changed a row: then that node believes that it leads. Needs a clock.
   */
  public synchronized boolean contend(String serviceId, String nodeId, Duration interval) {
    // now() has no fraction.
    long now = Math.floorDiv(time(), 1_000_000) * 1_000_000;
    Row row = this.rows.get(serviceId);
    if (row == null) {
      this.rows.put(serviceId, new Row(nodeId, 0, 0, null, now, null));
      return true;
    }
    boolean rested = row.written() <= now - interval.toNanos() / 1_000;
    String leader = rested ? nodeId : row.leaderId();
    long written = leader.equals(nodeId) ? now : row.written();
    Row after = new Row(leader, row.term(), row.version(), row.leaseMillis(), written, row.seal());
    this.rows.put(serviceId, after);
    return !after.equals(row);
  }

  /**
   * All state that affects an election.
   *
   * @param row its row; {@code null} if there is none
   * @param seal the seal of the process that wrote the row last, as the row states it
   * @param newestTerm the newest term of its history; 0 if there is none
   * @param newest the entry of that term
   * @param writes how many writes there have been
   */
  public record Snapshot(
      @Nullable LeaseRow row,
      @Nullable Seal seal,
      long newestTerm,
      @Nullable MemoryTerm newest,
      long writes) {

    /** The process that led last; {@code null} if none has led since the row was created again. */
    @Nullable
    public String owner() {
      return this.seal != null ? this.seal.owner() : null;
    }

    /** Whether the row is as its owner left it. */
    public boolean sealed() {
      if (this.row == null || this.seal == null) {
        return false;
      }
      Version version = Version.of(this.row);
      return this.seal.version() == version.number()
          && this.seal.written() == version.written()
          && this.seal.source().equals(version.source());
    }

    /** The row as one of the processes that share the database sees it. */
    @Nullable
    public LeaseRow row(String reader) {
      return this.row != null ? this.row.own(sealed() && reader.equals(owner())) : null;
    }
  }

  private @Nullable Seal seal(String serviceId) {
    Row row = this.rows.get(serviceId);
    return row != null ? row.seal() : null;
  }

  private void put(String serviceId, LeaseRow row, @Nullable Seal seal) {
    Version version = Version.of(row);
    this.rows.put(
        serviceId,
        new Row(
            row.leaderId(),
            row.term(),
            version.number(),
            version.leaseMillis(),
            version.written(),
            seal));
  }

  public synchronized Snapshot snapshot(String serviceId) {
    Map.Entry<Long, MemoryTerm> newest = history(serviceId).lastEntry();
    return newest == null
        ? new Snapshot(row(serviceId), seal(serviceId), 0, null, this.writes)
        : new Snapshot(
            row(serviceId), seal(serviceId), newest.getKey(), newest.getValue(), this.writes);
  }

  public synchronized void restore(String serviceId, Snapshot snapshot) {
    emptyTables();
    if (snapshot.newest() != null) {
      history(serviceId).put(snapshot.newestTerm(), snapshot.newest());
    }
    LeaseRow row = snapshot.row();
    if (row != null) {
      put(serviceId, row, snapshot.seal());
    }
    this.writes = snapshot.writes();
  }

  /** Fails over to a server that has missed the latest writes of a row. */
  public synchronized void failOver(String serviceId, Snapshot behind) {
    this.failovers++;
    put(serviceId, Objects.requireNonNull(behind.row()), behind.seal());
  }

  @Override
  public synchronized Duration age(LeaseRow row) {
    return this.clock == null
        ? super.age(row)
        : Duration.of(time() - Version.of(row).written(), ChronoUnit.MICROS);
  }

  /** Returns the rows by election. */
  public Map<String, Row> rows() {
    return this.rows;
  }

  @Override
  public synchronized NavigableMap<Long, MemoryTerm> history(String serviceId) {
    return super.history(serviceId);
  }

  @Override
  public LeaseRow row(String serviceId) {
    return super.row(serviceId);
  }

  @Override
  public synchronized @Nullable LeaseRow row(String serviceId, @Nullable String reader) {
    return super.row(serviceId, reader);
  }

  public class Store implements LeaseStore, ElectionDirectory {

    /** Runs before each call; may throw, block or let time pass. */
    @FunctionalInterface
    public interface Before {
      void call(String name) throws LeaseStoreException;
    }

    private volatile String token;

    private volatile Before before = (name) -> {};

    public volatile Runnable onClose = () -> {};

    public final Queue<String> calls = new ConcurrentLinkedQueue<>();

    public Store() {
      this(newToken());
    }

    /** Creates the store of the process that a token distinguishes from all others. */
    public Store(String token) {
      this.token = token;
    }

    public void before(Before before) {
      this.before = before;
    }

    private void call(String name) throws LeaseStoreException {
      this.calls.add(name);
      this.before.call(name);
    }

    @Override
    public String name() {
      return SimulatedDatabase.this.name;
    }

    @Override
    public Map<String, Reading> read(Set<String> serviceIds) throws LeaseStoreException {
      call("read");
      return SimulatedDatabase.this.read(serviceIds, this.token);
    }

    @Override
    public Renewals renew(String nodeId, Map<String, Long> terms) throws LeaseStoreException {
      call("renew");
      return SimulatedDatabase.this.renew(nodeId, terms, this.token);
    }

    @Override
    public Optional<LeaseRow> create(String serviceId, Claim claim) throws LeaseStoreException {
      call("create");
      return SimulatedDatabase.this.create(serviceId, claim);
    }

    @Override
    public Optional<LeaseRow> touch(String serviceId, LeaseRow seen) throws LeaseStoreException {
      call("touch");
      return SimulatedDatabase.this.touch(serviceId, seen);
    }

    @Override
    public OptionalLong acquire(String serviceId, LeaseRow seen, Claim claim)
        throws LeaseStoreException {
      call(claim.reason() == LeadershipAcquiredEvent.Reason.CREATED ? "lead" : "take");
      return SimulatedDatabase.this.acquire(serviceId, seen, claim, this.token);
    }

    @Override
    public boolean release(
        String serviceId, String nodeId, long term, @Nullable String successor, TermEnd ending)
        throws LeaseStoreException {
      call(successor != null ? "release" : "cede");
      return SimulatedDatabase.this.release(serviceId, nodeId, term, successor, ending, this.token);
    }

    @Override
    public boolean designate(
        String serviceId, String leaderId, @Nullable LeaseRow seen, @Nullable AuditNote auditNote)
        throws LeaseStoreException {
      call("designate");
      return SimulatedDatabase.this.designate(serviceId, leaderId, seen, auditNote);
    }

    @Override
    public Map<String, List<PastTerm>> history(Set<String> serviceIds) throws LeaseStoreException {
      call("history");
      return SimulatedDatabase.this.history(serviceIds);
    }

    /** Not recorded as a call: an announcement affects nothing. */
    @Override
    public void announce(Announcement self) throws LeaseStoreException {}

    @Override
    public Map<String, List<Member>> members(Set<String> serviceIds) throws LeaseStoreException {
      return Map.of();
    }

    @Override
    public void prune(Map<String, Long> belowTerms, Duration retention) throws LeaseStoreException {
      call("prune");
      SimulatedDatabase.this.prune(belowTerms, retention);
    }

    /** {@inheritDoc} Calls after this one belong to another life of the process. */
    @Override
    public void close() {
      this.token = newToken();
      this.onClose.run();
    }
  }

  private String newToken() {
    return "store " + this.stores.incrementAndGet();
  }
}
