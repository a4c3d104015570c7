package io.election.jdbc;

import io.election.ElectionService;
import io.election.LeadershipLostException;
import io.election.Names;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets a transaction on the election's database commit only if the term in which its work began
 * still lasts. A leader that was paused for an hour between {@link ElectionService#isLeader()} and
 * its commit cannot commit once another node has taken over.
 *
 * <p>Immediately before the commit, the fence locks the term's entry in {@code
 * leader_election_history} in share mode. It refuses the commit unless that entry is still open. A
 * node that takes the election over must first end the entry: either it does so before the lock,
 * and the commit is refused, or it waits for the lock. Renewals do not touch the history and are
 * never held up.
 *
 * <p>A client that vanishes between the lock and the commit would hold up the next leader until the
 * server notices. While the lock is held, the server therefore ends the session if it has been idle
 * for two renew intervals, and for at least a second. The session's own time-outs are restored
 * afterwards, unless they already ended it so soon. If they cannot be restored, the connection is
 * aborted, so that no pool hands it out again.
 *
 * <p>The term is a fencing token in the sense of Martin Kleppmann, "How to do distributed locking"
 * (2016). This class is thread-safe; each connection is used only on the thread that passes it.
 */
public final class CommitFence {

  private static final Logger log = LoggerFactory.getLogger(CommitFence.class);

  private final long restSeconds;

  private final @Nullable ElectionDatabase database;

  private final AtomicBoolean warned = new AtomicBoolean();

  /** Only saves statements: each statement that depends on it checks its session. */
  private volatile boolean sessionsAreBounded = true;

  /**
   * Creates a fence.
   *
   * @param renewInterval how often the leader renews; a client that vanishes before its commit
   *     holds up the next leader for twice as long, and for at least a second
   * @param database the election's database; {@code null} if it is the current one of each
   *     connection
   */
  public CommitFence(Duration renewInterval, @Nullable ElectionDatabase database) {
    this.restSeconds = Session.restSeconds(renewInterval);
    this.database = database;
  }

  /**
   * Commits if this node's term still lasts, and rolls back otherwise. For applications that manage
   * their transactions without a transaction manager.
   *
   * @param connection a connection to the election's database with an active transaction
   * @param election the election
   * @param term the term of this node in which the work began, as {@link
   *     io.election.Leadership#term()} returned it then
   * @throws LeadershipLostException if the term has ended or could not be confirmed; the
   *     transaction is rolled back
   * @throws IllegalStateException if the connection is in autocommit mode: its work is already
   *     committed and cannot be refused
   * @throws SQLException if the fence, the commit or the rollback fails; as with any commit, the
   *     outcome of a failed one is unknown
   */
  public void commit(Connection connection, ElectionService election, long term)
      throws SQLException {
    Held held;
    try {
      held = hold(connection, election.nodeId(), Map.of(election.serviceId(), term));
    } catch (LeadershipLostException ex) {
      try {
        connection.rollback();
      } catch (SQLException failure) {
        ex.addSuppressed(failure);
      }
      throw ex;
    }
    try {
      connection.commit();
    } finally {
      held.close();
    }
  }

  /**
   * Confirms terms and keeps them from ending until the transaction is over. Until then the server
   * ends the session if its client vanishes.
   *
   * @param connection a connection to the election's database with an active transaction; must
   *     still be open when the result is closed
   * @param nodeId this node
   * @param terms the term of this node in each election under which the transaction works
   * @return a handle that must be closed when the transaction is over, whatever its outcome
   * @throws LeadershipLostException if a term has ended or could not be confirmed; the transaction
   *     must be rolled back
   * @throws IllegalStateException if the connection is in autocommit mode
   * @throws SQLException if the database fails otherwise
   */
  public Held hold(Connection connection, String nodeId, Map<String, Long> terms)
      throws SQLException {
    FenceLock lock = lock(connection, Dialects.of(connection.getMetaData()));
    AtomicBoolean restores = new AtomicBoolean(true);
    Held held = () -> {
      if (restores.getAndSet(false)) {
        undo(connection, lock.restoration());
      }
    };
    String bounding = lock.bounding();
    if (bounding.isEmpty() || this.sessionsAreBounded) {
      if (confirm(connection, nodeId, terms, !bounding.isEmpty())) {
        restores.set(false); // there is nothing to restore
        return held;
      }
      this.sessionsAreBounded = false;
    }
    try {
      FenceLock.execute(connection, bounding);
      confirm(connection, nodeId, terms);
    } catch (SQLException | RuntimeException | Error ex) {
      held.close();
      throw ex;
    }
    return held;
  }

  /**
   * Confirms terms and keeps them from ending until the transaction is over, but leaves the session
   * as it is. For connections that return to their pool within the commit. Where a session's
   * time-outs cannot be set for a transaction alone, a client that vanishes before its commit holds
   * up the next leader until the session's own are over.
   *
   * <p>Takes what {@link #hold} takes, and throws what that throws.
   */
  public void confirm(Connection connection, String nodeId, Map<String, Long> terms)
      throws SQLException {
    confirm(connection, nodeId, terms, false);
  }

  /** Returns {@code false}, without having confirmed all terms, if the condition is not met. */
  private boolean confirm(
      Connection connection, String nodeId, Map<String, Long> terms, boolean ifBounded)
      throws SQLException {
    if (connection.getAutoCommit()) {
      throw new IllegalStateException(
          "The commit fence found autocommit switched on: what was done on this connection is committed already. Call setAutoCommit(false) before the work.");
    }
    for (Map.Entry<String, Long> term : terms.entrySet()) {
      if (!confirm(connection, nodeId, term.getKey(), term.getValue(), ifBounded)) {
        return false;
      }
    }
    return true;
  }

  /**
   * Returns whether a connection leads to the election's database: whether it is that of the
   * election's own connections, or else whether its server has one of the terms in the history.
   * May lock that entry, as {@link #confirm(Connection, String, Map)} does.
   *
   * @param connection a connection to any database, with an active transaction
   * @param nodeId this node
   * @param terms terms of this node, lasting or ended
   * @throws LeadershipLostException if the entry is there but locked by another node
   * @throws SQLException if the database fails otherwise
   */
  public boolean reaches(Connection connection, String nodeId, Map<String, Long> terms)
      throws SQLException {
    Dialect dialect = Dialects.of(connection.getMetaData().getDatabaseProductName());
    if (dialect == null) {
      return false;
    }
    FenceLock lock = lock(connection, dialect);
    for (Map.Entry<String, Long> term : terms.entrySet()) {
      try {
        Boolean known = lock.reaches(this.database != null ? this.database.serverSource : "");
        if (known != null) {
          return known;
        }
        FenceEntry entry = lock.read(term.getKey(), term.getValue(), false);
        if (entry != null && nodeId.equals(entry.leaderId())) {
          return true;
        }
      } catch (SQLException ex) {
        if (SqlError.isInterrupted(ex)) {
          throw new LeadershipLostException(
              term.getKey(), nodeId, term.getValue(), unconfirmed(ex, connection, dialect), ex);
        }
        if (!SqlError.OUT_OF_REACH.is(ex)) {
          throw ex;
        }
      }
    }
    return false;
  }

  private boolean confirm(
      Connection connection, String nodeId, String serviceId, long term, boolean ifBounded)
      throws SQLException {
    Dialect dialect = Dialects.of(connection.getMetaData());
    FenceEntry entry;
    try {
      entry = lock(connection, dialect).read(serviceId, term, ifBounded);
    } catch (SQLException ex) {
      if (SqlError.isInterrupted(ex) || SqlError.OUT_OF_REACH.is(ex)) {
        throw new LeadershipLostException(
            serviceId, nodeId, term, unconfirmed(ex, connection, dialect), ex);
      }
      throw ex;
    }
    if (entry != null && entry.readOnly().equals(FenceLock.TRANSACTION)) {
      return true;
    }
    if (entry == null && ifBounded) {
      return false;
    }
    String reason = null;
    if (entry == null) {
      reason = "is not in leader_election_history";
    } else if (!nodeId.equals(entry.leaderId())) {
      reason = "belongs to node '" + Names.printable(entry.leaderId()) + "'";
    } else if (!entry.isOpen()) {
      reason = "has ended";
    } else if (!entry.readOnly().isEmpty()) {
      reason =
          "could not be confirmed (the server is read-only: %s; mark transactions that only read as read-only)"
              .formatted(entry.readOnly());
    }
    if (reason != null) {
      throw new LeadershipLostException(serviceId, nodeId, term, reason, null);
    }
    return true;
  }

  /** Asks only a connection that has refused a right, and so is open, for its user. */
  private String unconfirmed(SQLException ex, Connection connection, Dialect dialect)
      throws SQLException {
    return "could not be confirmed %s(%s%s%s)"
        .formatted(
            SqlError.isLockTrouble(ex) ? "because its entry is locked, as by a take-over " : "",
            SqlError.text(ex),
            SqlError.MISSING_RIGHT.is(ex)
                ? "; user '%s' needs the use of the schema, and: GRANT SELECT, UPDATE ON %s TO …"
                    .formatted(connection.getMetaData().getUserName(), history(dialect))
                : "",
            SqlError.isInterrupted(ex)
                ? ""
                : SqlError.MISSING_TABLE.is(ex)
                    ? "; create it again, as the logs of followers say"
                    : "; as.election.%s.commit-fence=false switches this check off"
                        .formatted(dialect.shortName()));
  }

  private FenceLock lock(Connection connection, Dialect dialect) {
    return dialect.fenceLock(
        connection, history(dialect), this.restSeconds, (sql) -> undo(connection, sql));
  }

  private String history(Dialect dialect) {
    String schema = this.database != null ? this.database.schema() : null;
    return (schema != null ? dialect.quoted(schema) + "." : "") + LeaseTables.HISTORY;
  }

  /** Restores the session, or aborts its connection so that it is not used again. Never throws. */
  private void undo(Connection connection, String statement) {
    try {
      FenceLock.execute(connection, statement);
    } catch (SQLException | RuntimeException ex) {
      if (!this.warned.getAndSet(true)) {
        log.warn(
            "The session's time-outs could not be restored after a leader-only transaction ({}). The connection is aborted, so that nothing else runs with the changed time-outs; the transaction is not affected if it was committed",
            SqlError.text(ex));
      }
      log.debug("The session's time-outs could not be restored", ex);
      abort(connection);
    }
  }

  private static void abort(Connection connection) {
    try {
      connection.abort(Runnable::run);
      // A pool notices a failed statement, but not an abort.
      FenceLock.execute(connection, "SELECT 1");
    } catch (SQLException | RuntimeException ex) {
      log.debug("The connection is aborted", ex);
    }
  }

  /** Terms that cannot end before the transaction does. */
  @FunctionalInterface
  public interface Held extends AutoCloseable {

    /**
     * Restores the session's own time-out, or aborts its connection if that fails. Never throws. A
     * second call does nothing.
     */
    @Override
    void close();
  }
}
