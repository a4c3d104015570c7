package io.election.jdbc;

import io.election.AuditNote;
import io.election.ElectionSetupException;
import io.election.LeadershipAcquiredEvent;
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
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Stores leases in the table {@code leader_election} of a database.
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

  private final ElectionDatabase database;
  private final LeaderElectionSchema schema;
  private final Duration operationTimeout;
  private final long restSeconds;
  private final StoreConnection connection;
  private final ReleaseSignal signal;
  private final LeaseRows rows = new LeaseRows();
  private final TermHistory history;
  private final LeaseWrites writes;
  private final LeaseRenewal renewal;
  private final FollowedLeases followed = new FollowedLeases();

  private final Ticker ticker;
  private MemberTable members;

  /** How the tables are created: the values of the property {@code schema} of the product. */
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
    boolean migrates = schemaMode == SchemaMode.MIGRATE;
    this.schema = new LeaderElectionSchema(
        database, schemaMode != SchemaMode.NONE, migrates, operationTimeout);
    this.operationTimeout = operationTimeout;
    this.restSeconds = Session.restSeconds(renewInterval);
    this.connection =
        new StoreConnection(database, this.schema, operationTimeout, this.restSeconds);
    this.signal = new ReleaseSignal(this.connection, database, handBackSignals);
    this.renewal = new LeaseRenewal(database);
    this.history = new TermHistory(this.connection);
    this.writes = new LeaseWrites(this.rows, this.history);
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
        "Reading the leases", (session) -> this.rows.read(session, serviceIds));
    this.followed.read(serviceIds, readings);
    return readings;
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
      Renewals outcome = this.renewal.renew(session, this.rows.stamp(session), nodeId, terms);
      this.signal.prepare(session, nodeId);
      return outcome;
    });
  }

  @Override
  public Optional<LeaseRow> create(String serviceId, Claim claim) throws LeaseStoreException {
    return this.connection.call(
        "Creating the record of election '" + serviceId + "'",
        (session) ->
            asHolder(claim.nodeId(), session, (own) -> this.writes.create(own, serviceId, claim)));
  }

  @Override
  public Optional<LeaseRow> touch(String serviceId, LeaseRow seen) throws LeaseStoreException {
    return this.connection.call(
        "Touching the record of election '" + serviceId + "'",
        (session) ->
            asHolder(seen.leaderId(), session, (own) -> this.writes.touch(own, serviceId, seen)));
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
              ? this.writes.begin(own, serviceId, seen, claim)
              : this.writes.takeOver(own, serviceId, seen, claim));
      return new Outcome(term, term.isEmpty() && this.rows.isAsSeen(session, serviceId, seen));
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
      Optional<Boolean> released = session.inTransaction((own) -> {
        // A statement that waits for the row does not see what the history has got meanwhile.
        own.query(
            "SELECT 1 FROM leader_election WHERE service_id = ? FOR UPDATE",
            (row) -> "",
            serviceId);
        return Optional.of(
                successor != null
                    ? this.writes.handBack(own, serviceId, nodeId, term, successor)
                    : this.writes.cede(own, serviceId, nodeId, term))
            .filter((done) -> done);
      });
      if (released.isPresent()) {
        this.signal.send(session, nodeId);
        boolean replacesInstruction = successor != null || ending.auditNote() != null;
        this.history.end(session, serviceId, term, ending, replacesInstruction);
      }
      return released.isPresent();
    });
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
        (session) -> this.writes.designate(
            session, session.exact(serviceId), session.exact(leaderId), seen, auditNote));
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
    this.rows.disown();
    this.members = new MemberTable(this.ticker);
    this.followed.clear();
    disconnect();
  }

  /** Drops the connection, and the next call opens another; own records remain its own. */
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
