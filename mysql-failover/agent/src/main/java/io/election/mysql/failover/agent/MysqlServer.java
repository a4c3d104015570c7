package io.election.mysql.failover.agent;

import io.election.mysql.failover.GtidSet;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;

/**
 * The agent's own server, on one connection. Used by one thread, except for {@link #another} and
 * {@link #abort}.
 */
final class MysqlServer implements AutoCloseable {

  /** All connections except those of replicas and the current one. */
  private static final String CLIENTS = """
      SELECT processlist_id FROM performance_schema.threads
      WHERE name = 'thread/sql/one_connection' AND processlist_id <> CONNECTION_ID()
          AND processlist_command NOT LIKE 'Binlog Dump%'
      """;

  private static final String REPLICAS = """
      SELECT processlist_id FROM performance_schema.threads
      WHERE name = 'thread/sql/one_connection' AND processlist_command LIKE 'Binlog Dump%'
      """;

  private static final String GUARDS =
      "SELECT processlist_id FROM performance_schema.threads WHERE " + Guard.RUNS;

  /** The applier's threads that are in the middle of a transaction. */
  private static final String APPLYING = """
      SELECT processlist_id FROM performance_schema.threads JOIN (
          SELECT thread_id FROM performance_schema.replication_applier_status_by_worker
          WHERE applying_transaction <> ''
          UNION ALL
          SELECT thread_id FROM performance_schema.replication_applier_status_by_coordinator
          WHERE processing_transaction <> '') AS applying USING (thread_id)
      """;

  private static final String APPLIERS = """
      SELECT thread_id FROM performance_schema.replication_applier_status_by_coordinator
      WHERE service_state = 'ON'
      """;

  private static final String IS_NEW =
      "SELECT COUNT(*) = 0 FROM information_schema.tables WHERE table_schema = 'mysql_failover' AND table_name = 'probe'";

  private static final List<String> TABLES = List.of(
      "CREATE DATABASE IF NOT EXISTS mysql_failover",
      """
      CREATE TABLE IF NOT EXISTS mysql_failover.promotion (
          term bigint NOT NULL PRIMARY KEY,
          server varchar(128) NOT NULL,
          promoted_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6))
      """,
      "CREATE TABLE IF NOT EXISTS mysql_failover.probe (id int NOT NULL PRIMARY KEY, number bigint NOT NULL)");

  private static final int NET_TIMEOUT_SECONDS = 2;

  /** The default time limit of a statement. */
  static final Duration PATIENCE = Duration.ofSeconds(5);

  private final ServerConnection connection;
  private final Tls tls;
  private final LongSupplier clock;

  /**
   * The instant, by the monotonic clock, by which the guard has acted if it is not notified again.
   */
  private long guardActsBy;

  private Guard guard;

  /** The last connection of this agent by which it managed the server; 0 if none did. */
  private long managed;

  /**
   * @param tls the security of its connections to other servers
   * @param clock reads the monotonic clock in nanoseconds
   */
  MysqlServer(String url, String user, String password, Tls tls, LongSupplier clock) {
    this(new ServerConnection(url, user, password, PATIENCE), tls, clock);
  }

  private MysqlServer(ServerConnection connection, Tls tls, LongSupplier clock) {
    this.tls = tls;
    this.connection = connection;
    this.clock = clock;
    this.guardActsBy = clock.getAsLong();
    this.guard = new Guard(this.guardActsBy);
  }

  /** Returns the rows of a query. */
  <T> List<T> query(String query, ServerConnection.RowReader<T> reader) throws SQLException {
    return this.connection.query(query, reader);
  }

  /** Reads the state of the server, with one statement. */
  ServerState state() throws SQLException {
    return inspect(this.guard.ticks());
  }

  /** Commits a transaction that is replicated. */
  void probe() throws SQLException {
    execute(
        "SET SESSION sql_log_bin = 1; INSERT INTO mysql_failover.probe VALUES (1, 1) ON DUPLICATE KEY UPDATE number = number + 1");
  }

  /**
   * Extends the time for which the guard lets the server serve, and reads the state of the server.
   * This takes one statement, or two if the guard's tick is not known.
   *
   * @param until the instant, by the monotonic clock, by which the guard must have acted if it is
   *     not notified again. If that is too soon, the guard is not notified
   */
  ServerState stateAndServe(long until) throws SQLException {
    if (until - this.clock.getAsLong() < Guard.SHORTEST_NANOS) {
      return state();
    }
    if (!this.guard.counts()) {
      state();
    }
    // The request may take effect even if its answer is lost.
    this.guardActsBy = until - this.guardActsBy > 0 ? until : this.guardActsBy;
    return inspect(this.guard.serving(until));
  }

  private ServerState inspect(String guard) throws SQLException {
    try {
      return inspect(guard, ServerState.TERM);
    } catch (SQLException ex) {
      if (String.valueOf(ex.getMessage()).contains("clone_status")) {
        throw new SQLException(
            "the plugin clone is not loaded: plugin_load_add=mysql_clone.so", ex);
      }
      if (ex.getErrorCode() == ServerConnection.NO_TABLE || ex.getErrorCode() == 1049) {
        return inspect(guard, "0"); // it has never replicated from a promoted server
      }
      close();
      this.guard.forget();
      throw ex;
    }
  }

  private ServerState inspect(String guard, String term) throws SQLException {
    ServerState state;
    try (Statement statement = connection().createStatement();
        ResultSet row = statement.executeQuery(ServerState.query(term, guard))) {
      row.next();
      // Later than the tick: the guard acts early.
      this.guard.see(row.getLong(ServerState.GUARD_COLUMN), this.clock.getAsLong());
      state = ServerState.of(row);
    }
    if (state.manager() == state.connection()) {
      this.managed = state.connection();
    } else if (state.manager() == this.managed) {
      execute("KILL " + this.managed); // a lost connection of this agent
    }
    return state;
  }

  /** Returns whether the guard of the open server does not count, so that it would never act. */
  boolean guardStandsStill() {
    return this.guard.standsStill();
  }

  /**
   * Returns the same server, for another thread.
   *
   * @param patience the time limit for each answer
   */
  MysqlServer another(Duration patience) {
    return new MysqlServer(this.connection.another(patience), this.tls, this.clock);
  }

  /** From now on limits the time for each answer. */
  void answerWithin(Duration time) throws SQLException {
    this.connection.answerWithin(time);
  }

  /**
   * Stops the receiver, so that the server acknowledges nothing more to the source. Received
   * transactions are still applied.
   */
  void stopReceiver() throws SQLException {
    execute("STOP REPLICA IO_THREAD");
  }

  /** Starts the applier, if it was stopped. */
  void startApplier() throws SQLException {
    execute("START REPLICA SQL_THREAD");
  }

  /**
   * Waits until the server has executed the given transactions.
   *
   * @return whether it has
   */
  boolean awaitExecuted(GtidSet transactions, int seconds) throws SQLException {
    String wait = "SELECT WAIT_FOR_EXECUTED_GTID_SET('%s', %s)".formatted(transactions, seconds);
    return query(wait, (row) -> row.getInt(1)).get(0) == 0;
  }

  /** Ends all replication, so that only clients can change the server. */
  void stopReplicating() throws SQLException {
    stopReplica();
    execute("RESET REPLICA ALL");
  }

  /**
   * Stops the receiver and the applier. If the receiver stopped in the middle of a transaction,
   * MySQL waits a minute for the rest of it before it stops the applier. To avoid this, the partial
   * transaction is rolled back; it will be received again.
   */
  private void stopReplica() throws SQLException {
    stopReceiver();
    if (end(APPLYING)) {
      // If the applier were stopped before it notices the end of the thread, MySQL would still
      // wait.
      long deadline = this.clock.getAsLong() + this.connection.patience().toNanos();
      while (!query(APPLIERS, (row) -> row.getLong(1)).isEmpty()
          && this.clock.getAsLong() - deadline < 0) {
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
      }
    }
    execute("STOP REPLICA");
  }

  /**
   * Lets clients write, with acknowledgements from the first transaction on, and records the
   * promotion in the data themselves, so that it is replicated with them.
   *
   * @param until the instant, by the monotonic clock, by which the guard must have acted if it is
   *     not notified again
   */
  void openForWrites(long term, String server, int acknowledging, long until) throws SQLException {
    awaitAcknowledgements(acknowledging);
    // The server is also read-only when it starts again without its agent.
    execute("SET PERSIST_ONLY super_read_only = ON");
    open(until);
    noteTerm(term, server);
    execute("SET GLOBAL read_only = OFF");
  }

  private void awaitAcknowledgements(int replicas) throws SQLException {
    if (replicas > 0) {
      execute(Preconditions.ofSource(replicas).entrySet().stream()
          .map((each) -> "SET GLOBAL %s = %s".formatted(each.getKey(), each.getValue()))
          .toArray(String[]::new));
    }
  }

  /**
   * Writes the term on a connection of its own, which waits for acknowledgements as all do. Returns
   * when it is in the binary log, before what clients write from now on; in a new set, when the
   * tables for it are.
   */
  private void noteTerm(long term, String server) throws SQLException {
    List<String> statements = new ArrayList<>(List.of("SET SESSION sql_log_bin = 1"));
    if (query(IS_NEW, (row) -> row.getBoolean(1)).get(0)) {
      statements.addAll(TABLES);
    }
    statements.add(
        "INSERT INTO mysql_failover.promotion (term, server) VALUES (%s, '%s') ON DUPLICATE KEY UPDATE term = term"
            .formatted(term, literal(server)));
    ServerConnection writer = this.connection.another(Duration.ZERO);
    String commits = "SELECT @@GLOBAL.gtid_owned REGEXP '#%s\\\\b'"
        .formatted(
            writer.query("SELECT CONNECTION_ID()", (row) -> row.getLong(1)).get(0));
    Future<Void> noted = VitalThread.start("term", () -> {
      try (writer) {
        writer.execute(statements.toArray(String[]::new));
      }
      return null;
    });
    long deadline = this.clock.getAsLong() + this.connection.patience().toNanos();
    while (!isDone(noted, 5) && !query(commits, (row) -> row.getBoolean(1)).get(0)) {
      if (this.clock.getAsLong() - deadline >= 0) {
        throw new SQLException("the term cannot be written");
      }
    }
  }

  /**
   * Makes the server writable, and creates its guard, in one request. With two requests, an agent
   * that dies between them would leave a writable server without a guard. The server refuses a
   * request that arrives too late by its own clock: while the agent was paused or the request was
   * on its way, another server may have become the source.
   */
  private void open(long until) throws SQLException {
    List<Long> before = query(GUARDS, (row) -> row.getLong(1));
    Guard guard = new Guard(this.clock.getAsLong());
    this.guardActsBy = until - this.guardActsBy > 0 ? until : this.guardActsBy;
    String clock = query("SELECT CAST(UTC_TIMESTAMP(6) AS CHAR)", (row) -> row.getString(1))
        .get(0);
    long left = TimeUnit.NANOSECONDS.toMicros(until - this.clock.getAsLong());
    String micros =
        "(%s - TIMESTAMPDIFF(MICROSECOND, '%s', UTC_TIMESTAMP(6)))".formatted(left, clock);
    execute(guard.opening(micros, CLIENTS));
    this.guard = guard;
    this.guardActsBy = until;
    end(before);
  }

  /**
   * Makes the server read-only, without waiting for acknowledgements of transactions in progress:
   * their clients get no answer. Replicas that connect from now on acknowledge.
   */
  void closeForWrites() throws SQLException {
    fenceWithoutAcknowledgements();
    execute("SET GLOBAL rpl_semi_sync_source_enabled = ON");
    // Replicas that connected earlier would never acknowledge.
    end(REPLICAS);
  }

  /**
   * Returns the instant, by the monotonic clock, by which the guard has acted if it is not notified
   * again.
   */
  long guardActsBy() {
    return this.guardActsBy;
  }

  /**
   * Makes the server read-only after transactions that are being committed have finished, with the
   * acknowledgements of replicas.
   *
   * @throws SQLException also if a connection holds a lock on tables
   */
  void drain() throws SQLException {
    execute("SET SESSION lock_wait_timeout = 1", "SET GLOBAL super_read_only = ON");
    end(GUARDS);
  }

  /** Does the same as {@link #drain()}, with a different time limit for the answer. */
  void drain(Duration patience) throws SQLException {
    Connection connection = connection();
    connection.setNetworkTimeout(Runnable::run, (int) patience.toMillis());
    drain();
    connection.setNetworkTimeout(Runnable::run, (int) this.connection.patience().toMillis());
  }

  /**
   * Makes the server read-only, and ends all connections that could be writing. Transactions that
   * are being committed have a second to be acknowledged, but their clients get no answer.
   */
  void fence() throws SQLException {
    fence(1_000);
  }

  /**
   * Does the same as {@link #fence} without awaiting acknowledgements, as on a former source, whose
   * replicas have left.
   */
  void fenceWithoutAcknowledgements() throws SQLException {
    fence(0);
  }

  /**
   * Shuts the door before it releases those who wait for an acknowledgement: a request for the
   * global read lock holds up all who begin to write, also administrators. Of those who began
   * earlier, no client is left.
   */
  private void fence(long acknowledgementMillis) throws SQLException {
    ServerConnection door = this.connection.another(PATIENCE);
    try {
      Long id = door.query("SELECT CONNECTION_ID()", (row) -> row.getLong(1)).get(0);
      String isShut = Guard.DOOR.formatted("processlist_id = " + id);
      Future<Void> readOnly = VitalThread.start("door", () -> {
        // One request, which the server executes even if its agent is gone.
        door.execute("FLUSH TABLES WITH READ LOCK; SET GLOBAL super_read_only = ON; UNLOCK TABLES");
        return null;
      });
      while (!isDone(readOnly, 5)
          && !query("SELECT " + isShut, (row) -> row.getBoolean(1)).get(0)) {
        // It has not reached the server yet.
      }
      List<Long> clients = query(CLIENTS, (row) -> row.getLong(1));
      clients.remove(id);
      end(clients);
      if (!isDone(readOnly, acknowledgementMillis)) {
        execute("SET GLOBAL rpl_semi_sync_source_enabled = IF(%s, 'OFF', 'ON')".formatted(isShut));
        if (!isDone(readOnly, this.connection.patience().toMillis())) {
          throw new SQLException("a statement keeps the server from becoming read-only");
        }
      }
    } finally {
      door.abort(); // a request that is still waiting is still executed
    }
    end(GUARDS);
    endClients(); // those that have connected meanwhile
  }

  private static boolean isDone(Future<Void> task, long millis) throws SQLException {
    try {
      task.get(millis, TimeUnit.MILLISECONDS);
      return true;
    } catch (TimeoutException ex) {
      return false;
    } catch (ExecutionException ex) {
      throw new SQLException(ex.getCause());
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
      throw new SQLException(ex);
    }
  }

  /** Ends all connections except those of the server itself and of replicas. */
  void endClients() throws SQLException {
    end(CLIENTS);
  }

  /** Kills the connections that a query finds, and returns whether there were any. */
  private boolean end(String which) throws SQLException {
    return end(query(which, (row) -> row.getLong(1)));
  }

  private boolean end(List<Long> connections) throws SQLException {
    for (long connection : connections) {
      try {
        execute("KILL " + connection);
      } catch (SQLException ex) {
        if (ex.getErrorCode() != ServerConnection.NO_SUCH_CONNECTION) { // it is already gone
          throw ex;
        }
      }
    }
    return !connections.isEmpty();
  }

  /**
   * Replaces all data of this server by those of a source, with the clone plugin. The server then
   * restarts, or stays down if no service manager restarts it.
   *
   * @throws SQLException if the clone failed; also if the server shut down
   */
  void rebuild(String address, String user, String password) throws SQLException {
    stopReplica();
    // A clone needs a server that is open to administrators. Those who write to it get no answer;
    // most cannot, since they would hold up the clone.
    awaitAcknowledgements(1);
    execute("SET GLOBAL transaction_read_only = ON");
    endClients();
    execute("SET GLOBAL super_read_only = OFF");
    // The duration of a clone depends on the amount of data.
    try (ServerConnection patient = this.connection.another(Duration.ZERO)) {
      patient.execute(
          "SET SESSION lock_wait_timeout = 60",
          "SET GLOBAL clone_valid_donor_list = '%s'".formatted(literal(address)),
          "SET GLOBAL clone_ssl_ca = '%s'".formatted(this.tls.ofServer()),
          "RESET REPLICA ALL",
          "CLONE INSTANCE FROM '%s'@'%s':%s IDENTIFIED BY '%s' %s"
              .formatted(
                  literal(user),
                  host(address),
                  port(address),
                  literal(password),
                  this.tls.ofClone()));
    }
  }

  /**
   * Replicates from a source, starting at this server's position. MySQL then discards transactions
   * that were received but not applied, so the server may lack what it acknowledged until it has
   * caught up.
   */
  void follow(String address, String user, String password) throws SQLException {
    stopReplica();
    execute(
        "SET GLOBAL rpl_semi_sync_source_enabled = OFF",
        "SET GLOBAL transaction_read_only = OFF", // a rebuild may have failed
        // While a receiver waits for an unreachable source, it cannot be stopped for this long.
        "SET GLOBAL replica_net_timeout = " + NET_TIMEOUT_SECONDS,
        """
        CHANGE REPLICATION SOURCE TO SOURCE_HOST = '%s', SOURCE_PORT = %s, SOURCE_USER = '%s',
            SOURCE_PASSWORD = '%s', SOURCE_AUTO_POSITION = 1, %s,
            SOURCE_CONNECT_RETRY = 1, SOURCE_RETRY_COUNT = 86400, SOURCE_HEARTBEAT_PERIOD = 1
        """.formatted(
                host(address),
                port(address),
                literal(user),
                literal(password),
                this.tls.ofReplication()),
        "START REPLICA");
  }

  private static String host(String address) {
    return literal(address.substring(0, address.lastIndexOf(':')));
  }

  private static String port(String address) {
    return address.substring(address.lastIndexOf(':') + 1);
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

  /** Closes the connection at once and for good, even while another thread waits for an answer. */
  void abort() {
    this.connection.abort();
  }

  @Override
  public void close() {
    this.connection.close();
  }
}
