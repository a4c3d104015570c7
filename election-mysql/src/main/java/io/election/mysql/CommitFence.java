package io.election.mysql;

import io.election.ElectionService;
import io.election.LeadershipLostException;
import io.election.lease.Identifiers;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets a transaction on the election's database commit only if the term in which its work began still
 * lasts: even a leader that was paused for an hour between {@link ElectionService#isLeader()} and its
 * commit cannot commit once another node has taken over.
 *
 * <p>The fence locks the term's entry in {@code leader_election_history} in share mode as the last
 * thing before the commit, and finds it open or refuses. Whoever takes the election over has to end
 * that entry first, and so either comes before, and the commit is refused, or waits for it. Renewals
 * do not touch the history: they are never held up.
 *
 * <p>A client that vanishes between the two would hold up the next leader until the server notices.
 * So while the lock is held the server ends the session when it has been idle for two renew intervals,
 * and at least a second; the session's own {@code wait_timeout} is put back afterwards.
 *
 * <p>The term is a fencing token in the sense of Martin Kleppmann, "How to do distributed locking"
 * (2016). Safe for use by any thread; a connection is used by its owner's alone.
 */
public final class CommitFence {

  private static final Logger log = LoggerFactory.getLogger(CommitFence.class);

  private static final String RESTORE = """
      SET SESSION wait_timeout = @election_wait_timeout,
          innodb_lock_wait_timeout = @election_lock_wait_timeout
      """;

  private final long restSeconds;

  /**
   * Creates the fence.
   *
   * @param renewInterval how often the leader renews; a client that vanishes before its commit holds
   *     up the next leader for twice as long, and at least a second
   */
  public CommitFence(Duration renewInterval) {
    this.restSeconds = Session.restSeconds(renewInterval);
  }

  /**
   * Commits if this node's term still lasts, and rolls back if not. For those who manage their
   * transactions by hand.
   *
   * @param connection a connection to the election's database, with a transaction under way
   * @param election the election
   * @param term the term of this node in which the work began, as {@link
   *     io.election.Leadership#term()} told it then
   * @throws LeadershipLostException if the term has ended or could not be confirmed; the transaction
   *     is rolled back
   * @throws SQLException if the fence, the commit or the roll-back fails; as with any commit, the
   *     outcome of one that failed is unknown
   */
  public void commit(Connection connection, ElectionService election, long term)
      throws SQLException {
    Held held;
    try {
      held = hold(connection, election.nodeId(), Map.of(election.serviceId(), term));
    } catch (LeadershipLostException ex) {
      connection.rollback();
      throw ex;
    }
    try {
      connection.commit();
    } finally {
      held.close();
    }
  }

  /**
   * Confirms terms, and keeps them from ending until the transaction is over. The last statement
   * before the commit.
   *
   * @param connection a connection to the election's database, with a transaction under way
   * @param nodeId this node
   * @param terms the term of this node in each election under which the transaction works
   * @return to be closed when the transaction is over, however it ended
   * @throws LeadershipLostException if a term has ended or could not be confirmed; the transaction
   *     must be rolled back
   * @throws SQLException if the database fails otherwise
   */
  public Held hold(Connection connection, String nodeId, Map<String, Long> terms)
      throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute("""
          SET @election_wait_timeout = @@SESSION.wait_timeout,
              @election_lock_wait_timeout = @@SESSION.innodb_lock_wait_timeout,
              SESSION wait_timeout = %d, SESSION innodb_lock_wait_timeout = 1
          """.formatted(this.restSeconds));
    }
    Held held = new Held(connection);
    try {
      for (Map.Entry<String, Long> term : terms.entrySet()) {
        confirm(connection, nodeId, term.getKey(), term.getValue());
      }
    } catch (SQLException | RuntimeException | Error ex) {
      held.close();
      throw ex;
    }
    return held;
  }

  private static void confirm(Connection connection, String nodeId, String serviceId, long term)
      throws SQLException {
    // Also under MySQL's REPEATABLE READ a locking read sees what is committed now; MariaDB refuses
    // it if that is newer than its snapshot. FOR SHARE is unknown to MariaDB.
    try (PreparedStatement statement = connection.prepareStatement("""
        SELECT leader_id, ended_at IS NULL FROM leader_election_history
        WHERE service_id = ? AND term = ? LOCK IN SHARE MODE
        """)) {
      statement.setString(1, serviceId);
      statement.setLong(2, term);
      try (ResultSet row = statement.executeQuery()) {
        String reason = null;
        if (!row.next()) {
          reason = "is not in leader_election_history";
        } else if (!nodeId.equals(row.getString(1))) {
          reason = "belongs to node '" + Identifiers.printable(row.getString(1)) + "'";
        } else if (!row.getBoolean(2)) {
          reason = "has ended";
        }
        if (reason != null) {
          throw new LeadershipLostException(serviceId, nodeId, term, reason, null);
        }
      }
    } catch (SQLException ex) {
      if (SqlFailure.isLockTrouble(ex)) {
        throw new LeadershipLostException(
            serviceId,
            nodeId,
            term,
            "could not be confirmed while another node was taking over (%s)"
                .formatted(SqlFailure.text(ex)),
            ex);
      }
      if (SqlFailure.isMissingTable(ex)) {
        throw new LeadershipLostException(
            serviceId,
            nodeId,
            term,
            "could not be confirmed (%s; as.election.mysql.commit-fence=false switches this check off)"
                .formatted(SqlFailure.text(ex)),
            ex);
      }
      throw ex;
    }
  }

  /** Terms that cannot end before the transaction does. */
  public static final class Held implements AutoCloseable {

    private final Connection connection;

    private Held(Connection connection) {
      this.connection = connection;
    }

    /**
     * Gives the session back its own time-outs. Never throws: a connection that fails here is of no
     * use to anybody, which its owner will notice.
     */
    @Override
    public void close() {
      try {
        if (this.connection.isClosed()) {
          log.debug("The connection was given back before its time-outs could be");
          return;
        }
        try (Statement statement = this.connection.createStatement()) {
          statement.execute(RESTORE);
        }
      } catch (SQLException ex) {
        log.debug("The session's time-outs could not be put back", ex);
      }
    }
  }
}
