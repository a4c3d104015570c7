package io.election.mysql.failover.agent;

import io.election.mysql.failover.GtidSet;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.UnaryOperator;

/**
 * The server beside the agent, on one connection. Used by one thread, but for {@link #another} and
 * {@link #abort}.
 */
final class MysqlServer implements AutoCloseable {

  /** The error of a clone that ends because of its donor. */
  static final int CLONE_DONOR_ERROR = 3862;

  /** The connections but those of replicas, and the own one. */
  private static final String CLIENTS = """
      SELECT processlist_id FROM performance_schema.threads
      WHERE name = 'thread/sql/one_connection' AND processlist_id <> CONNECTION_ID()
          AND processlist_command NOT LIKE 'Binlog Dump%'
      """;

  private static final String REPLICAS = """
      SELECT processlist_id FROM performance_schema.threads
      WHERE name = 'thread/sql/one_connection' AND processlist_command LIKE 'Binlog Dump%'
      """;

  /** The threads of the applier that are in the middle of a transaction. */
  private static final String APPLYING = """
      SELECT processlist_id
      FROM performance_schema.threads
          JOIN performance_schema.replication_applier_status_by_worker USING (thread_id)
      WHERE applying_transaction <> ''
      """;

  private static final String APPLIERS = """
      SELECT thread_id FROM performance_schema.replication_applier_status_by_coordinator
      WHERE service_state = 'ON'
      """;

  /** Also after a fence that has failed half-way. */
  private static final String ONLINE = "SET GLOBAL offline_mode = OFF";

  private static final int NET_TIMEOUT_SECONDS = 2;

  /** How long a statement may take, unless told otherwise. */
  static final Duration PATIENCE = Duration.ofSeconds(5);

  private final ServerConnection connection;

  /** When the guard has acted if it is told nothing more, by the monotonic clock. */
  private long guardActsBy = System.nanoTime();

  /** How often the guard was told that the server may serve. */
  private long guardTold;

  /** The ticks that the guard had counted when they were seen last. */
  private long guardTicks;

  private long guardSeenAt;

  /** Whether it has counted without interruption since then, as far as this agent knows. */
  private boolean guardCounts;

  /** Whether the data have a term, as seen last. */
  private boolean hasTerm = true;

  MysqlServer(String url, String user, String password) {
    this(new ServerConnection(url, user, password, PATIENCE));
  }

  private MysqlServer(ServerConnection connection) {
    this.connection = connection;
  }

  /** Returns what a query finds. */
  <T> List<T> query(String query, ServerConnection.RowReader<T> reader) throws SQLException {
    return this.connection.query(query, reader);
  }

  /** Returns the connection of another agent to this server, and its remedy; empty if there is none. */
  String otherAgent() throws SQLException {
    return this.connection.otherAgent();
  }

  /** Looks at the server, with one statement. */
  ServerState state() throws SQLException {
    return look("0").state();
  }

  /**
   * Lets the server serve for a while without its agent, and looks at it: with one statement, or two
   * if the guard's ticks are not known.
   *
   * @param until when its guard must have acted if it is told nothing more, by the monotonic clock;
   *     nothing is told if that is too soon
   */
  ServerState stateAndServe(long until) throws SQLException {
    if (until - System.nanoTime() < Guard.SHORTEST_NANOS) {
      return state();
    }
    connection(); // nothing is told if there is none
    try {
      if (!this.guardCounts) {
        see(look(Guard.COUNTED));
      }
      // The server may hear it without an answer.
      this.guardActsBy = until - this.guardActsBy > 0 ? until : this.guardActsBy;
      Look look = look(Guard.mayServe(++this.guardTold, this.guardTicks, until - this.guardSeenAt));
      see(look);
      this.guardActsBy = until;
      return look.state();
    } catch (SQLException ex) {
      this.guardCounts = false; // the server may be paused
      throw ex;
    }
  }

  private void see(Look look) {
    this.guardSeenAt = System.nanoTime(); // later than it was, so that the guard acts rather early
    this.guardTicks = look.guardTicks();
    this.guardCounts = true;
  }

  /**
   * A server as it was looked at.
   *
   * @param guardTicks what its guard had counted
   */
  private record Look(ServerState state, long guardTicks) {}

  private Look look(String guard) throws SQLException {
    try {
      Look look = look(guard, this.hasTerm ? ServerState.TERM : ServerState.NO_TERM);
      if (look.state().term() >= 0) {
        return look;
      }
      this.hasTerm = true;
      return look(guard, ServerState.TERM);
    } catch (SQLException ex) {
      if (!this.hasTerm
          || !(ex.getErrorCode() == ServerConnection.NO_TABLE || ex.getErrorCode() == 1049)) {
        close();
        throw ex;
      }
      this.hasTerm = false; // the next look finds out why, if it fails too
      return look(guard);
    }
  }

  private Look look(String guard, String term) throws SQLException {
    try (Statement statement = connection().createStatement();
        ResultSet row = statement.executeQuery(ServerState.query(term, guard))) {
      row.next();
      return new Look(ServerState.of(row), row.getLong(ServerState.GUARD_COLUMN));
    }
  }

  /**
   * Returns the same server, for another thread.
   *
   * @param patience how long to wait for each answer
   */
  MysqlServer another(Duration patience) {
    return new MysqlServer(this.connection.another(patience));
  }

  /** Connects anew, and from now on waits at most for a time for each answer. */
  void answerWithin(Duration time) {
    this.connection.answerWithin(time);
  }

  /** Connects, if that is not done and the server answers. */
  void connect() {
    try {
      connection();
    } catch (SQLException ex) {
      // The next statement tries again.
    }
  }

  /** From now on the server acknowledges nothing to the source. What it has received, it applies. */
  void stopReceiver() throws SQLException {
    execute("STOP REPLICA IO_THREAD");
  }

  /** Applies what was received, if somebody has stopped that. */
  void startApplier() throws SQLException {
    execute("START REPLICA SQL_THREAD");
  }

  /**
   * Waits until the server has executed transactions.
   *
   * @return whether it has
   */
  boolean awaitExecuted(GtidSet transactions, int seconds) throws SQLException {
    try (PreparedStatement statement =
        connection().prepareStatement("SELECT WAIT_FOR_EXECUTED_GTID_SET(?, ?)")) {
      statement.setString(1, transactions.toString());
      statement.setInt(2, seconds);
      try (ResultSet row = statement.executeQuery()) {
        row.next();
        return row.getInt(1) == 0;
      }
    } catch (SQLException ex) {
      close();
      throw ex;
    }
  }

  /** Ends all replication, so that nothing but clients can change the server. */
  void stopReplicating() throws SQLException {
    stopReplica();
    execute("RESET REPLICA ALL");
  }

  /** Notes until it ends that it has all that it has acknowledged. */
  void noteWhole() throws SQLException {
    execute("SET GLOBAL " + ServerState.WHOLE);
  }

  /**
   * Stops receiver and applier. If the receiver has ended in the middle of a transaction, MySQL waits
   * for the rest of it for a minute before it stops the applier. So what has begun is rolled back; it
   * is received again.
   */
  private void stopReplica() throws SQLException {
    stopReceiver();
    if (end(APPLYING)) {
      // A stop that comes before the applier has noticed that would wait all the same.
      long deadline = System.nanoTime() + this.connection.patience().toNanos();
      while (!query(APPLIERS, row -> row.getLong(1)).isEmpty()
          && System.nanoTime() - deadline < 0) {
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
      }
    }
    execute("STOP REPLICA");
  }

  /**
   * Notes a promotion in the data themselves, where it travels with them, and sets the guard.
   *
   * @param until when its guard must have acted if it is told nothing more, by the monotonic clock
   */
  void noteTerm(long term, String server, long until) throws SQLException {
    execute("SET GLOBAL rpl_semi_sync_source_enabled = OFF");
    open(
        until,
        (micros) -> String.join(
            ";",
            "SET SESSION sql_log_bin = 1",
            "CREATE DATABASE IF NOT EXISTS mysql_failover",
            "SET SESSION sql_log_bin = 0",
            String.join(";", Guard.creation(micros, CLIENTS))));
    execute(
        "SET SESSION sql_log_bin = 1",
        """
        CREATE TABLE IF NOT EXISTS mysql_failover.promotion (
            term bigint NOT NULL PRIMARY KEY,
            server varchar(128) NOT NULL,
            promoted_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6))
        """,
        "INSERT INTO mysql_failover.promotion (term, server) VALUES (%d, '%s') ON DUPLICATE KEY UPDATE term = term"
            .formatted(term, server.replace("'", "''")),
        "SET SESSION sql_log_bin = 0");
  }

  /**
   * Lets clients write.
   *
   * @param until when its guard must have acted if it is told nothing more, by the monotonic clock
   */
  void openForWrites(int acknowledgingReplicas, long until) throws SQLException {
    if (acknowledgingReplicas > 0) {
      execute(
          "SET GLOBAL rpl_semi_sync_source_timeout = 4294967295",
          "SET GLOBAL rpl_semi_sync_source_wait_for_replica_count = " + acknowledgingReplicas,
          "SET GLOBAL rpl_semi_sync_source_enabled = ON");
    }
    open(until, Guard::beginning);
    execute("SET GLOBAL read_only = OFF", ONLINE);
  }

  /**
   * Makes the server writable, and tells its guard until when it may serve, in one request: otherwise
   * nobody would end what an agent leaves that dies in between. The server refuses a request that
   * comes too late, by its own clock: while the agent was paused, or the request was on its way,
   * another server may have become the source.
   *
   * @param guard what tells the guard, by the expression of the microseconds that are left
   */
  private void open(long until, UnaryOperator<String> guard) throws SQLException {
    this.guardActsBy = until - this.guardActsBy > 0 ? until : this.guardActsBy;
    this.guardCounts = false; // it does not while the server is read-only
    String clock =
        query("SELECT CAST(UTC_TIMESTAMP(6) AS CHAR)", row -> row.getString(1)).get(0);
    long left = TimeUnit.NANOSECONDS.toMicros(until - System.nanoTime());
    String micros =
        "(%d - TIMESTAMPDIFF(MICROSECOND, '%s', UTC_TIMESTAMP(6)))".formatted(left, clock);
    execute(Guard.opening(micros) + ";" + guard.apply(micros));
    this.guardActsBy = until;
  }

  /**
   * Lets nobody write, and waits for no acknowledgement of what is being written: nobody gets an
   * answer to it. Replicas that come from now on acknowledge.
   */
  void closeForWrites() throws SQLException {
    fence();
    execute("SET GLOBAL rpl_semi_sync_source_enabled = ON");
    // Who has connected before would never acknowledge.
    end(REPLICAS);
  }

  /** Returns when the guard has acted if it is told nothing more, by the monotonic clock. */
  long guardActsBy() {
    return this.guardActsBy;
  }

  /**
   * Lets nobody begin to write. What is being committed is finished first, with the acknowledgements
   * of replicas.
   *
   * @throws SQLException also if somebody holds a lock on tables
   */
  void drain() throws SQLException {
    execute("SET SESSION lock_wait_timeout = 1", "SET GLOBAL super_read_only = ON");
  }

  /**
   * Does the same, and waits for a time of its own for the answer.
   *
   * @throws SQLException also if somebody holds a lock on tables
   */
  void drain(Duration patience) throws SQLException {
    Connection connection = connection();
    connection.setNetworkTimeout(Runnable::run, (int) patience.toMillis());
    drain();
    connection.setNetworkTimeout(Runnable::run, (int) this.connection.patience().toMillis());
  }

  /** Lets nobody write, and ends the connections of those who could be in the middle of it. */
  void fence() throws SQLException {
    // Ends ordinary clients and lets no new ones in, so that nobody gets an answer to what still
    // commits when replicas no longer have to acknowledge it.
    execute("SET GLOBAL offline_mode = ON");
    endClients();
    try {
      drain();
    } catch (SQLException ex) {
      closeWithoutAcknowledgements(); // Somebody waits for one that never comes.
    }
    execute(ONLINE);
  }

  /**
   * Does the same on a server that is not the source any more. Its replicas have left, so nothing
   * waits for their acknowledgements.
   */
  void fenceFormerSource() throws SQLException {
    execute("SET GLOBAL offline_mode = ON");
    endClients();
    closeWithoutAcknowledgements();
    execute(ONLINE);
  }

  /** Takes up to a second if somebody waits for an acknowledgement. */
  private void closeWithoutAcknowledgements() throws SQLException {
    execute("SET GLOBAL rpl_semi_sync_source_enabled = OFF", "SET GLOBAL super_read_only = ON");
  }

  /** Ends all connections but those of the server itself and of replicas. */
  void endClients() throws SQLException {
    end(CLIENTS);
  }

  /** Ends what a query finds, and returns whether that was anything. */
  private boolean end(String which) throws SQLException {
    List<Long> connections = query(which, row -> row.getLong(1));
    for (long connection : connections) {
      try {
        execute("KILL " + connection);
      } catch (SQLException ex) {
        if (ex.getErrorCode() != ServerConnection.NO_SUCH_CONNECTION) { // it has gone already
          throw ex;
        }
      }
    }
    return !connections.isEmpty();
  }

  /**
   * Replaces all data of this server by those of a source, by the clone plugin. The server then
   * restarts, or ends if nothing starts it again.
   *
   * @throws SQLException if the clone failed, with {@link #CLONE_DONOR_ERROR} because of the source;
   *     also if the server has ended
   */
  void rebuild(String host, int port, String user, String password) throws SQLException {
    stopReplica();
    execute(
        "RESET REPLICA ALL",
        "SET GLOBAL rpl_semi_sync_source_enabled = OFF",
        "SET GLOBAL super_read_only = OFF",
        // A clone takes longer than the guard lets an agent be silent. One that runs fails now.
        "DROP EVENT IF EXISTS mysql_failover.guard",
        "DROP TABLE IF EXISTS mysql_failover.guard");
    try (Statement statement = connection().createStatement()) {
      statement.execute("INSTALL PLUGIN clone SONAME 'mysql_clone.so'");
    } catch (SQLException ex) {
      if (ex.getErrorCode() != 1125) { // it is installed already
        throw ex;
      }
    }
    // A clone takes as long as its data.
    try (ServerConnection patient = this.connection.another(Duration.ZERO)) {
      patient.execute(
          "SET GLOBAL clone_valid_donor_list = '%s:%d'".formatted(literal(host), port),
          "CLONE INSTANCE FROM '%s'@'%s':%d IDENTIFIED BY '%s'"
              .formatted(literal(user), literal(host), port, literal(password)));
    } catch (SQLException ex) {
      if (ex.getErrorCode() == CLONE_DONOR_ERROR) {
        execute("SET GLOBAL super_read_only = ON"); // it goes on as it was
      }
      throw ex;
    }
  }

  /** Replicates from a source, from where this server is. */
  void follow(String host, int port, String user, String password) throws SQLException {
    stopReplica();
    execute(
        ONLINE,
        "SET GLOBAL rpl_semi_sync_source_enabled = OFF",
        // A receiver that waits for a source that is cut off cannot be stopped for so long.
        "SET GLOBAL replica_net_timeout = " + NET_TIMEOUT_SECONDS,
        """
        CHANGE REPLICATION SOURCE TO SOURCE_HOST = '%s', SOURCE_PORT = %d, SOURCE_USER = '%s',
            SOURCE_PASSWORD = '%s', SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1,
            SOURCE_CONNECT_RETRY = 1, SOURCE_HEARTBEAT_PERIOD = 1
        """.formatted(literal(host), port, literal(user), literal(password)),
        "START REPLICA");
  }

  private static String literal(String text) {
    return text.replace("\\", "\\\\").replace("'", "''");
  }

  private void execute(String... statements) throws SQLException {
    this.connection.execute(statements);
  }

  private Connection connection() throws SQLException {
    return this.connection.get();
  }

  /** Ends the connection at once and for good, also while another thread waits for an answer. */
  void abort() {
    this.connection.abort();
  }

  @Override
  public void close() {
    this.connection.close();
  }
}
