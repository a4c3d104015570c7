package io.election.jdbc;

import io.election.ElectionService;
import io.election.LeadershipLostException;
import io.election.Names;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Locale;
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

  private static final String SHORTEN = ofEach("""
      @election_%1$s = CAST(COALESCE(@election_%1$s, @@SESSION.%1$s) AS UNSIGNED),
          SESSION %1$s = %%1$s
      """);

  /** Correct even if {@link #SHORTEN} has not run, or if this has run before. */
  private static final String RESTORE = ofEach("""
      SESSION %1$s = CAST(COALESCE(@election_%1$s, @@SESSION.%1$s) AS UNSIGNED),
          @election_%1$s = NULL
      """);

  /** Whether the server ends the session itself if it is idle in a transaction for so long. */
  private static final String BOUNDED = """
      AND /*!50700 @@SESSION.wait_timeout */ /*M! GREATEST(
          COALESCE(NULLIF(@@SESSION.idle_write_transaction_timeout, 0),
              NULLIF(@@SESSION.idle_transaction_timeout, 0), @@SESSION.wait_timeout),
          COALESCE(NULLIF(@@SESSION.idle_readonly_transaction_timeout, 0),
              NULLIF(@@SESSION.idle_transaction_timeout, 0), @@SESSION.wait_timeout)) */ <= %s\
      """;

  private static final String MARIADB_LOCK = " LOCK IN SHARE MODE WAIT 1";

  private final long restSeconds;

  private final @Nullable ElectionDatabase database;

  private final AtomicBoolean warned = new AtomicBoolean();

  /** Only saves statements: each statement that depends on it checks its session. */
  private volatile boolean sessionsAreBounded = true;

  /**
   * Creates a fence for connections whose current database is the election's.
   *
   * @param renewInterval how often the leader renews; a client that vanishes before its commit
   *     holds up the next leader for twice as long, and for at least a second
   */
  public CommitFence(Duration renewInterval) {
    this.restSeconds = Session.restSeconds(renewInterval);
    this.database = null;
  }

  /**
   * Creates a fence for connections to the election's server, whatever their current database is.
   *
   * @param renewInterval how often the leader renews; a client that vanishes before its commit
   *     holds up the next leader for twice as long, and for at least a second
   * @param database the election's database
   */
  public CommitFence(Duration renewInterval, ElectionDatabase database) {
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
    Held held = new Held(this, connection);
    if (this.sessionsAreBounded) {
      if (confirm(connection, nodeId, terms, BOUNDED.formatted(this.restSeconds))) {
        held.closed = true; // nothing to restore
        return held;
      }
      this.sessionsAreBounded = false;
    }
    try {
      execute(connection, SHORTEN.formatted(this.restSeconds));
      confirm(connection, nodeId, terms);
    } catch (SQLException | RuntimeException | Error ex) {
      held.close();
      throw ex;
    }
    return held;
  }

  /**
   * Confirms terms and keeps them from ending until the transaction is over, but leaves the session
   * as it is. For connections that return to their pool within the commit. A client that vanishes
   * before its commit holds up the next leader until the session's own {@code wait_timeout} is
   * over.
   *
   * @param connection a connection to the election's database with an active transaction
   * @param nodeId this node
   * @param terms the term of this node in each election under which the transaction works
   * @throws LeadershipLostException if a term has ended or could not be confirmed; the transaction
   *     must be rolled back
   * @throws IllegalStateException if the connection is in autocommit mode
   * @throws SQLException if the database fails otherwise
   */
  public void confirm(Connection connection, String nodeId, Map<String, Long> terms)
      throws SQLException {
    confirm(connection, nodeId, terms, "");
  }

  /** Returns {@code false}, without having confirmed all terms, if the condition is not met. */
  private boolean confirm(
      Connection connection, String nodeId, Map<String, Long> terms, String condition)
      throws SQLException {
    requireTransaction(connection);
    for (Map.Entry<String, Long> term : terms.entrySet()) {
      if (!confirm(connection, nodeId, term.getKey(), term.getValue(), condition)) {
        return false;
      }
    }
    return true;
  }

  /**
   * Returns whether a connection leads to the election's database: whether its server has one of
   * the terms in the history. Locks the entry that it finds, as {@link #confirm(Connection, String,
   * Map)} does.
   *
   * @param connection a connection to any database, with an active transaction
   * @param nodeId this node
   * @param terms terms of this node, lasting or ended
   * @return whether one of them is in the history that the connection reaches
   * @throws LeadershipLostException if the entry is there but locked by another node
   * @throws SQLException if the database fails otherwise
   */
  public boolean reaches(Connection connection, String nodeId, Map<String, Long> terms)
      throws SQLException {
    if (!Dialect.speaksMysql(connection.getMetaData().getDatabaseProductName())) {
      return false;
    }
    for (Map.Entry<String, Long> term : terms.entrySet()) {
      try {
        Entry entry = read(connection, term.getKey(), term.getValue(), "");
        if (entry != null && nodeId.equals(entry.leaderId())) {
          return true;
        }
      } catch (SQLException ex) {
        if (SqlErrors.isInterrupted(ex)) {
          throw unconfirmed(ex, nodeId, term.getKey(), term.getValue());
        }
        if (!SqlErrors.isOutOfReach(ex)) {
          throw ex;
        }
      }
    }
    return false;
  }

  private static void requireTransaction(Connection connection) throws SQLException {
    if (connection.getAutoCommit()) {
      throw new IllegalStateException(
          "The commit fence found autocommit switched on: what was done on this connection is committed already. Call setAutoCommit(false) before the work.");
    }
  }

  private boolean confirm(
      Connection connection, String nodeId, String serviceId, long term, String condition)
      throws SQLException {
    Entry entry;
    try {
      entry = read(connection, serviceId, term, condition);
    } catch (SQLException ex) {
      if (SqlErrors.isInterrupted(ex) || SqlErrors.isMissingTable(ex)) {
        throw unconfirmed(ex, nodeId, serviceId, term);
      }
      throw ex;
    }
    if (entry == null && !condition.isEmpty()) {
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

  private static LeadershipLostException unconfirmed(
      SQLException ex, String nodeId, String serviceId, long term) {
    String reason = "could not be confirmed (%s)";
    if (SqlErrors.isLockTrouble(ex)) {
      reason = "could not be confirmed while another node was taking over (%s)";
    } else if (SqlErrors.isMissingTable(ex)) {
      reason =
          "could not be confirmed (%s; as.election.mysql.commit-fence=false switches this check off)";
    }
    return new LeadershipLostException(
        serviceId, nodeId, term, reason.formatted(SqlErrors.text(ex)), ex);
  }

  /**
   * Reads and locks the entry of a term. Waits at most one second for a row, and for a table.
   *
   * @param condition a further condition, as SQL
   * @return the entry, or {@code null} if there is none
   */
  private @Nullable Entry read(Connection connection, String serviceId, long term, String condition)
      throws SQLException {
    // Even under MySQL's REPEATABLE READ a locking read sees what is committed now. MariaDB refuses
    // it if that is newer than its snapshot. FOR SHARE is unknown to MariaDB, WAIT to MySQL.
    String version = connection.getMetaData().getDatabaseProductVersion();
    if (version.toLowerCase(Locale.ROOT).contains("mariadb")) {
      return read(connection, serviceId, term, "", condition + MARIADB_LOCK);
    }
    String hint = "/*+ SET_VAR(lock_wait_timeout = 1) */";
    try {
      return read(connection, serviceId, term, hint, condition + " FOR SHARE NOWAIT");
    } catch (SQLException ex) {
      if (SqlErrors.isSyntax(ex)) {
        // A proxy in front of MariaDB may report a version of MySQL.
        return read(connection, serviceId, term, "", condition + MARIADB_LOCK);
      }
      if (!SqlErrors.isLockedNow(ex)) {
        throw ex;
      }
    }
    // MySQL has neither a statement nor a hint that waits one second for a row.
    execute(connection, """
        SET @election_lock_wait_timeout = @@SESSION.innodb_lock_wait_timeout,
            SESSION innodb_lock_wait_timeout = 1
        """);
    try {
      return read(connection, serviceId, term, hint, condition + " FOR SHARE");
    } finally {
      restore(connection, "SET SESSION innodb_lock_wait_timeout = @election_lock_wait_timeout");
    }
  }

  private @Nullable Entry read(
      Connection connection, String serviceId, long term, String hint, String lock)
      throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement("""
        SELECT %s leader_id, ended_at IS NULL, %s FROM %s
        WHERE service_id = ? AND term = ? %s
        """.formatted(hint, Session.READ_ONLY, history(), lock))) {
      statement.setString(1, serviceId);
      statement.setLong(2, term);
      try (ResultSet row = statement.executeQuery()) {
        return row.next()
            ? new Entry(Session.string(row, 1), row.getBoolean(2), Session.string(row, 3))
            : null;
      }
    }
  }

  private String history() {
    String schema = this.database != null ? this.database.schema() : null;
    return schema != null
        ? "`" + schema.replace("`", "``") + "`." + LeaseTables.HISTORY
        : LeaseTables.HISTORY;
  }

  /** Restores the session, or aborts its connection so that it is not used again. Never throws. */
  private void restore(Connection connection, String sql) {
    try {
      execute(connection, sql);
    } catch (SQLException | RuntimeException ex) {
      if (!this.warned.getAndSet(true)) {
        log.warn(
            "The session's time-outs could not be restored after a leader-only transaction ({}). The connection is aborted, so that nothing else runs with the changed time-outs; the transaction is not affected if it was committed",
            SqlErrors.text(ex));
      }
      log.debug("The session's time-outs could not be restored", ex);
      abort(connection);
    }
  }

  private static void abort(Connection connection) {
    try {
      connection.abort(Runnable::run);
      // A pool notices a failed statement, but not an abort.
      execute(connection, "DO 0");
    } catch (SQLException | RuntimeException ex) {
      log.debug("The connection is aborted", ex);
    }
  }

  /**
   * A statement that sets each variable that bounds how long a session may be idle in a
   * transaction. MariaDB alone runs what is in the comment: if these are set, {@code wait_timeout}
   * does not count there.
   */
  private static String ofEach(String assignments) {
    return "SET %s /*M! , %s, %s */"
        .formatted(
            assignments.formatted("wait_timeout"),
            assignments.formatted("idle_write_transaction_timeout"),
            assignments.formatted("idle_readonly_transaction_timeout"));
  }

  private static void execute(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  /**
   * The entry of a term in the history.
   *
   * @param readOnly what makes its server read-only; empty if it accepts writes
   */
  private record Entry(String leaderId, boolean isOpen, String readOnly) {}

  /** Terms that cannot end before the transaction does. */
  public static final class Held implements AutoCloseable {

    private final CommitFence fence;

    private final Connection connection;

    private boolean closed;

    private Held(CommitFence fence, Connection connection) {
      this.fence = fence;
      this.connection = connection;
    }

    /**
     * Restores the session's own time-out, or aborts its connection if that fails. Never throws. A
     * second call does nothing.
     */
    @Override
    public void close() {
      if (!this.closed) {
        this.closed = true;
        this.fence.restore(this.connection, RESTORE);
      }
    }
  }
}
