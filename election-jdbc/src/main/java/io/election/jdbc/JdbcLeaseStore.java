package io.election.jdbc;

import io.election.AuditNote;
import io.election.ElectionSetupException;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipLostEvent;
import io.election.Member;
import io.election.PastTerm;
import io.election.store.ElectionDirectory;
import io.election.store.LeaseRow;
import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;
import io.election.store.RecordLockedException;
import io.election.store.TermEnd;
import io.election.store.Ticker;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Stores leases in the table {@code leader_election} of a MySQL, MariaDB or PostgreSQL database.
 *
 * <p>Uses connections of its own, one or with hand-back signals two, never one that other code uses
 * at the same time. After any failure the connection is closed hard and the next call opens
 * another. Every call, including connecting and session set-up, ends within the operation time-out.
 * A statement whose answer did not arrive in time may still run on the server later, so every
 * statement compares the record with what was read before. Only the schema work, before the tables
 * are first used and after they were found missing, may take longer.
 *
 * <p>Not thread-safe, except for {@link #ensureTables()}: use it from one thread at a time.
 */
public final class JdbcLeaseStore implements LeaseStore, ElectionDirectory {

  private static final String DISPLACED = LeadershipLostEvent.Reason.DISPLACED.name();

  private final ElectionDatabase database;
  private final LeaderElectionSchema schema;
  private final Duration operationTimeout;
  private final long restSeconds;
  private final StoreConnection connection;
  private final ReleaseSignal signal;
  private final LeaseRows rows = new LeaseRows();
  private final TermHistory history;
  private final Designation designation;
  private final LeaseRenewal renewal;
  private final FollowedLeases followed = new FollowedLeases();

  /**
   * Distinguishes what this process writes from what any other process writes, including a later
   * process of the same node. Generated at the first use, and again after {@link #close()}.
   * Processes restored from one checkpoint that was taken before the start, or while the elector
   * was stopped, therefore have different tokens.
   */
  private @Nullable UUID token;

  private final Ticker ticker;
  private MemberTable members;

  /** How the tables are created: the values of {@code as.election.mysql.schema} and {@code as.election.postgresql.schema}. */
  public enum SchemaMode {
    /** The store creates and upgrades the tables; needs the rights to create and alter tables. */
    MIGRATE,
    /** The tables are created otherwise; the store checks them and refuses to work without them. */
    VALIDATE,
    /** The tables are created otherwise; the store does not check them. */
    NONE
  }

  /**
   * Creates the store, which connects upon the first call.
   *
   * @param database the database with the tables
   * @param schemaMode how the tables are created
   * @param operationTimeout the bound of one call, at least 1 ms
   * @param renewInterval how often the store is called; the server ends a connection that is idle
   *     for twice as long, and for at least a second, together with the locks of a client that
   *     vanished
   * @param handBackSignals whether to signal followers by user-level locks that a lease was handed
   *     back, which costs each follower a second connection
   */
  public JdbcLeaseStore(
      ElectionDatabase database,
      SchemaMode schemaMode,
      Duration operationTimeout,
      Duration renewInterval,
      boolean handBackSignals) {
    this(database, schemaMode, operationTimeout, renewInterval, handBackSignals, System::nanoTime);
  }

  JdbcLeaseStore(
      ElectionDatabase database,
      SchemaMode schemaMode,
      Duration operationTimeout,
      Duration renewInterval,
      boolean handBackSignals,
      Ticker ticker) {
    this.ticker = ticker;
    this.members = new MemberTable(ticker);
    this.database = database;
    this.schema = new LeaderElectionSchema(database, schemaMode, operationTimeout);
    this.operationTimeout = operationTimeout;
    this.restSeconds = Session.restSeconds(renewInterval);
    this.connection =
        new StoreConnection(database, this.schema, operationTimeout, this.restSeconds);
    this.signal = new ReleaseSignal(this.connection, database, handBackSignals);
    this.renewal = new LeaseRenewal(database);
    this.history = new TermHistory(this.connection);
    this.designation = new Designation(this.history);
  }

  /**
   * Creates or checks the tables, depending on the schema mode, unless that was done before. If
   * this method is not called, the first call to the store does the same. Thread-safe, and may be
   * called by several nodes at the same time. Inspecting the tables may take 5 s if the operation
   * time-out is less.
   *
   * @throws ElectionSetupException if the tables, or the rights to create them, are missing and
   *     waiting does not help
   * @throws LeaseStoreException if the database is unreachable, read-only or locked, or refuses the
   *     credentials: try again later
   */
  public void ensureTables() throws LeaseStoreException {
    this.schema.ensure();
  }

  @Override
  public String name() {
    return this.database.dialect().shortName();
  }

  @Override
  public Map<String, Reading> read(Set<String> serviceIds) throws LeaseStoreException {
    if (serviceIds.isEmpty()) {
      return Map.of();
    }
    Map<String, Reading> readings = this.connection.call(
        "Reading the leases", (session) -> this.rows.read(session, stamp(session), serviceIds));
    this.followed.read(serviceIds, readings);
    return readings;
  }

  private OwnerStamp stamp(Session session) {
    UUID token = this.token;
    if (token == null) {
      token = UUID.randomUUID();
      this.token = token;
    }
    return new OwnerStamp(token, session.dialect(), session.isUsable());
  }

  /**
   * See {@link LeaseStore#renew}.
   *
   * <p>A record that another transaction has locked holds up the renewal of a lease only if it is
   * the only lease of this node.
   */
  @Override
  public Renewals renew(String nodeId, Map<String, Long> terms) throws LeaseStoreException {
    if (terms.isEmpty()) {
      return new Renewals(Set.of());
    }
    return this.connection.call("Renewing", (session) -> {
      Renewals outcome = this.renewal.renew(session, stamp(session), nodeId, terms);
      this.signal.prepare(session, nodeId);
      return outcome;
    });
  }

  @Override
  public Optional<LeaseRow> create(String serviceId, Claim claim) throws LeaseStoreException {
    return this.connection.call(
        "Creating the record of election '" + serviceId + "'",
        (session) -> asHolder(claim.nodeId(), session, (own) -> create(own, serviceId, claim)));
  }

  /** Inserts the row first, so that no other node changes the history meanwhile. */
  private Optional<LeaseRow> create(Session session, String serviceId, Claim claim)
      throws SQLException {
    try {
      boolean created = session.updateOne(
          """
          INSERT INTO leader_election
              (service_id, leader_id, last_active_time, term, version, lease_millis)
          SELECT ?, ?, CURRENT_TIMESTAMP(6), 0, 0, ? FROM DUAL WHERE %s
          """.formatted(session.isUsable()), serviceId, claim.nodeId(), claim.leaseMillis());
      if (!created) {
        return Optional.empty();
      }
    } catch (SQLException ex) {
      if (SqlError.DUPLICATE_KEY.is(ex)) {
        return Optional.empty();
      }
      throw ex;
    }
    TermHistory.LastTerm last = this.history.last(session, serviceId);
    long term = Math.addExact(Math.max(last.term(), claim.aboveTerm()), 1);
    long lease = Math.max(last.leaseMillis(), claim.leaseMillis());
    session.updateOne("""
        UPDATE leader_election
        SET version = version + 1, term = ?, lease_millis = ?
        WHERE service_id = ?
        """, term, lease, serviceId);
    Claim opened = new Claim(claim.nodeId(), lease, claim.aboveTerm(), claim.reason());
    if (!this.history.open(session, serviceId, term, opened, DISPLACED)) {
      return Optional.empty();
    }
    return Optional.of(this.rows.readLocked(session, stamp(session), serviceId));
  }

  @Override
  public Optional<LeaseRow> touch(String serviceId, LeaseRow seen) throws LeaseStoreException {
    return this.connection.call(
        "Touching the record of election '" + serviceId + "'",
        (session) -> asHolder(seen.leaderId(), session, (own) -> touch(own, serviceId, seen)));
  }

  /** Runs in a transaction, so that the row that it reads is the one that it wrote. */
  private Optional<LeaseRow> touch(Session session, String serviceId, LeaseRow seen)
      throws SQLException {
    boolean touched = session.updateOne(
        """
            UPDATE leader_election
            SET version = version + 1, last_active_time = CURRENT_TIMESTAMP(6)
            WHERE service_id = ?
            """ + LeaseRows.asSeen(session), LeaseRows.asSeen(List.of(serviceId), seen));
    return touched
        ? Optional.of(this.rows.readLocked(session, stamp(session), serviceId))
            .filter((row) -> Objects.equals(
                LeaseRows.Version.of(row).lastTerm(), LeaseRows.Version.of(seen).lastTerm()))
        : Optional.empty();
  }

  @Override
  public OptionalLong acquire(String serviceId, LeaseRow seen, Claim claim)
      throws LeaseStoreException {
    boolean created = claim.reason() == LeadershipAcquiredEvent.Reason.CREATED;
    String work = (created ? "Beginning to lead election '%s'" : "Taking election '%s' over")
        .formatted(serviceId);
    record Outcome(Optional<Long> term, boolean locked) {}
    Outcome outcome = this.connection.call(work, (session) -> {
      Optional<Long> term = asHolder(
          claim.nodeId(),
          session,
          (own) -> created
              ? beginTerm(own, serviceId, seen, claim)
              : takeOver(own, serviceId, seen, claim));
      return new Outcome(term, term.isEmpty() && isAsSeen(session, serviceId, seen));
    });
    if (outcome.locked()) {
      throw new RecordLockedException(
          work + " failed. " + Diagnosis.locked("its row", this.database));
    }
    if (outcome.term().isEmpty()) {
      return OptionalLong.empty();
    }
    this.followed.acquired(serviceId);
    return OptionalLong.of(outcome.term().get());
  }

  private boolean isAsSeen(Session session, String serviceId, LeaseRow seen) throws SQLException {
    Reading reading = this.rows.read(session, stamp(session), Set.of(serviceId)).get(serviceId);
    return reading != null && reading.row().isSameRecord(seen);
  }

  /**
   * Also sets the lease and the start of the term in the history. Nothing else can hold a lock on
   * that row, because no node has led the term before.
   */
  private Optional<Long> beginTerm(Session session, String serviceId, LeaseRow seen, Claim claim)
      throws SQLException {
    Optional<Boolean> historyCounts = LeaseRows.lockAsSeen(session, serviceId, seen, "");
    if (historyCounts.isEmpty()
        || (historyCounts.get()
            && !LeaseRows.isLast(this.history.last(session, serviceId), seen))) {
      return Optional.empty();
    }
    boolean begun = session.updateOne(
        """
            UPDATE leader_election
            SET seal = %s,
                version = version + 1, last_active_time = CURRENT_TIMESTAMP(6), lease_millis = ?
            WHERE service_id = ?
            """.formatted(stamp(session).renewed()) + LeaseRows.asSeen(session),
        LeaseRows.asSeen(List.of(claim.leaseMillis(), serviceId), seen));
    if (!begun) {
      return Optional.empty();
    }
    this.history.begin(session, serviceId, seen.term(), claim.leaseMillis());
    return Optional.of(seen.term());
  }

  /** Locks the row first, so that no other node changes the history. Gives up if it is locked. */
  private Optional<Long> takeOver(Session session, String serviceId, LeaseRow seen, Claim claim)
      throws SQLException {
    // Fails before the row is locked if there is no greater term: a dropped connection may hold the
    // lock for a while.
    long term = Math.addExact(Math.max(seen.term(), claim.aboveTerm()), 1);
    // Hundreds of nodes may try at once. If they waited here for the first of them, they would
    // delay its renewals.
    Optional<Boolean> historyCounts = LeaseRows.lockAsSeen(session, serviceId, seen, "SKIP LOCKED");
    if (historyCounts.isEmpty()) {
      return Optional.empty();
    }
    boolean taken = session.updateOne(
        """
            UPDATE leader_election
            SET seal = %s,
                version = version + 1, last_active_time = CURRENT_TIMESTAMP(6),
                leader_id = ?, term = ?, lease_millis = ?
            WHERE service_id = ?
            """.formatted(stamp(session).renewed()) + LeaseRows.asSeen(session),
        LeaseRows.asSeen(List.of(claim.nodeId(), term, claim.leaseMillis(), serviceId), seen));
    if (!taken) {
      return Optional.empty();
    }
    TermHistory.LastTerm last = this.history.last(session, serviceId);
    if (historyCounts.get() && !LeaseRows.isLast(last, seen)) {
      return Optional.empty();
    }
    if (last.term() >= term) {
      term = Math.addExact(last.term(), 1);
      session.updateOne("""
          UPDATE leader_election SET seal = %s, version = version + 1, term = ?
          WHERE service_id = ?
          """.formatted(stamp(session).versionAdded()), term, serviceId);
    }
    return this.history.open(session, serviceId, term, claim, TermEnd.asFound(seen))
        ? Optional.of(term)
        : Optional.empty();
  }

  /**
   * See {@link LeaseStore#release}.
   *
   * <p>The term's end in the history is informational. It is written by a separate statement, which
   * may fail: work that outlasted its drain may hold a lock on that entry until it commits, and
   * must not hold up the release. If the statement fails, a later take-over ends the term.
   */
  @Override
  public boolean release(
      String serviceId, String nodeId, long term, @Nullable String successor, TermEnd ending)
      throws LeaseStoreException {
    String work = successor != null ? "Releasing" : "Ceding";
    return this.connection.call("%s election '%s'".formatted(work, serviceId), (session) -> {
      boolean released = successor != null
          ? handBack(session, serviceId, nodeId, term, successor)
          : cede(session, serviceId, nodeId, term);
      if (released) {
        this.signal.send(session, nodeId);
        boolean replacesInstruction = successor != null || ending.auditNote() != null;
        this.history.end(session, serviceId, term, ending, replacesInstruction);
      }
      return released;
    });
  }

  private boolean handBack(
      Session session, String serviceId, String nodeId, long term, String successor)
      throws SQLException {
    return session.updateOne(
        """
            UPDATE leader_election
            SET version = version + 1, last_active_time = CURRENT_TIMESTAMP(6),
                leader_id = ?, lease_millis = 0
            WHERE service_id = ? AND leader_id = ? AND term = ? AND %s AND %s
            """.formatted(stamp(session).isMine(), TermHistory.NO_NEWER_TERM),
        successor,
        serviceId,
        nodeId,
        term,
        serviceId,
        term);
  }

  /**
   * The history must show the term as this node's, because a term number may recur after both
   * tables were emptied.
   */
  private boolean cede(Session session, String serviceId, String nodeId, long term)
      throws SQLException {
    return session.updateOne(
        """
            UPDATE leader_election
            SET version = version + 1, last_active_time = CURRENT_TIMESTAMP(6),
                lease_millis = 0
            WHERE service_id = ? AND leader_id <> ? AND term = ? AND %s AND %s
                AND EXISTS (SELECT 1 FROM leader_election_history
                    WHERE service_id = ? AND term = ? AND leader_id = ?)
            """.formatted(stamp(session).isMine(), TermHistory.NO_NEWER_TERM),
        serviceId,
        nodeId,
        term,
        serviceId,
        term,
        serviceId,
        term,
        nodeId);
  }

  @Override
  public Watch watch(String nodeId, Wake wake) {
    Optional<ReleaseWatch> signal = releaseWatch();
    if (signal.isEmpty()) {
      return () -> {};
    }
    ReleaseListener listener =
        new ReleaseListener(signal.get(), this.followed, nodeId, wake::now, this.ticker::read);
    listener.start();
    return listener;
  }

  /** Returns a new signal; empty if there are none. */
  Optional<ReleaseWatch> releaseWatch() {
    return this.signal.isAllowed()
        ? Optional.of(new ReleaseWatch(this.database, this.operationTimeout, this.restSeconds))
        : Optional.empty();
  }

  @Override
  public boolean designate(
      String serviceId, String leaderId, @Nullable LeaseRow seen, @Nullable AuditNote auditNote)
      throws LeaseStoreException {
    return this.connection.call(
        "Designating the leader of election '" + serviceId + "'",
        (session) -> this.designation.write(session, serviceId, leaderId, seen, auditNote));
  }

  @Override
  public Map<String, List<PastTerm>> history(Set<String> serviceIds) throws LeaseStoreException {
    if (serviceIds.isEmpty()) {
      return Map.of();
    }
    return this.connection.call(
        "Reading the history", (session) -> this.history.read(session, serviceIds));
  }

  /**
   * See {@link ElectionDirectory#prune}.
   *
   * <p>Does nothing, and logs that once, if the user lacks the right to delete.
   */
  @Override
  public void prune(Map<String, Long> belowTerms, Duration retention) throws LeaseStoreException {
    if (belowTerms.isEmpty()) {
      return;
    }
    this.connection.call("Pruning the history", (session) -> {
      this.members.prune(session);
      return this.history.prune(session, belowTerms, retention);
    });
  }

  @Override
  public void announce(Announcement self) throws LeaseStoreException {
    boolean stops = self.serviceIds().isEmpty();
    String work = (stops ? "Withdrawing" : "Announcing") + " node '" + self.nodeId() + "'";
    this.connection.call(work, (session) -> {
      if (stops) {
        this.members.withdraw(session, self.nodeId());
      } else {
        this.members.announce(session, self);
      }
      return self;
    });
  }

  @Override
  public Map<String, List<Member>> members(Set<String> serviceIds) throws LeaseStoreException {
    return this.connection.call(
        "Reading the members", (session) -> this.members.read(session, serviceIds));
  }

  /** {@inheritDoc} After that, no record counts as the store's {@linkplain LeaseRow#own() own}. */
  @Override
  public void close() {
    this.token = null;
    this.members = new MemberTable(this.ticker);
    this.followed.clear();
    disconnect();
  }

  /**
   * Drops the connection. The next call opens another, and the store's own records remain its own.
   */
  void disconnect() {
    this.connection.drop();
  }

  /** Runs a transaction that makes this node the holder of a record, or confirms that it is. */
  private <T> Optional<T> asHolder(
      String nodeId, Session session, SqlFunction<Session, Optional<T>> work) throws SQLException {
    Optional<T> result = session.inTransaction(work);
    if (result.isPresent()) {
      this.signal.prepare(session, nodeId);
    }
    return result;
  }
}
