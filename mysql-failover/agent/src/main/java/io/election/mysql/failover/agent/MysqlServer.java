package io.election.mysql.failover.agent;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * The agent's own server, on one connection. Used by one thread, except for {@link #another} and
 * {@link #abort}.
 */
final class MysqlServer implements AutoCloseable {

  private static final String REPLICAS = """
      SELECT processlist_id FROM performance_schema.threads
      WHERE name = 'thread/sql/one_connection' AND processlist_command LIKE 'Binlog Dump%'
      """;

  private static final String GUARDS =
      "SELECT processlist_id FROM performance_schema.threads WHERE " + Guard.RUNS;

  private static final String IS_NEW =
      "NOT EXISTS (SELECT * FROM information_schema.tables WHERE table_schema = 'mysql_failover' AND table_name = 'probe')";

  private static final List<String> TABLES = List.of(
      "CREATE DATABASE IF NOT EXISTS mysql_failover",
      """
      CREATE TABLE IF NOT EXISTS mysql_failover.promotion (
          term bigint NOT NULL PRIMARY KEY,
          server varchar(128) NOT NULL,
          promoted_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6))
      """,
      "CREATE TABLE IF NOT EXISTS mysql_failover.probe (id int NOT NULL PRIMARY KEY, number bigint NOT NULL)");

  /** The error codes for a table, or a database, that does not exist. */
  private static final List<Integer> NO_TABLE = List.of(1146, 1049);

  /** The default time limit of a statement. */
  static final Duration PATIENCE = Duration.ofSeconds(5);

  /**
   * How long the server may take to become read-only in a switch-over. The server itself gives up
   * after a second, and this limit leaves time for its answer: a statement that the client has
   * abandoned may still succeed.
   */
  private static final Duration DRAIN = Duration.ofMillis(1_500);

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

  /** Returns what makes it a replica, on the same connection. */
  Replication replication() {
    return new Replication(this.connection, this.tls, this.clock);
  }

  /** Reads the state of the server, with one statement. */
  ServerState state() throws SQLException {
    return inspect(this.guard.ticks());
  }

  /** Commits a transaction that is replicated. */
  void probe() throws SQLException {
    this.connection.execute(
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
    noteGuardActsBy(until);
    return inspect(this.guard.serving(until));
  }

  /** Notes a request that may take effect even if its answer is lost. */
  private void noteGuardActsBy(long until) {
    this.guardActsBy = until - this.guardActsBy > 0 ? until : this.guardActsBy;
  }

  private ServerState inspect(String guard) throws SQLException {
    try {
      return inspect(guard, ServerState.TERM);
    } catch (SQLException ex) {
      if (String.valueOf(ex.getMessage()).contains("clone_status")) {
        throw new SQLException(
            "the plugin clone is not loaded: plugin_load_add=mysql_clone.so", ex);
      }
      if (NO_TABLE.contains(ex.getErrorCode())) {
        return inspect(guard, "0"); // it has never replicated from a promoted server
      }
      close();
      this.guard.forget();
      throw ex;
    }
  }

  private ServerState inspect(String guard, String term) throws SQLException {
    ServerState state;
    try (Statement statement = this.connection.get().createStatement();
        ResultSet row = statement.executeQuery(ServerState.query(term, guard))) {
      row.next();
      // Later than the tick: the guard acts early.
      this.guard.see(row.getLong(ServerState.GUARD_COLUMN), this.clock.getAsLong());
      state = ServerState.of(row);
    }
    if (state.manager() == state.connection()) {
      this.managed = state.connection();
    } else if (state.manager() == this.managed) {
      this.connection.kill(List.of(String.valueOf(this.managed))); // a lost one of this agent
    }
    return state;
  }

  /** Returns whether the guard of the open server does not count, so that it would never act. */
  boolean guardStandsStill() {
    return this.guard.standsStill();
  }

  /** Returns the same server, for another thread. */
  MysqlServer another(Duration patience) {
    return new MysqlServer(this.connection.another(patience), this.tls, this.clock);
  }

  void answerWithin(Duration time) throws SQLException {
    this.connection.answerWithin(time);
  }

  /**
   * Lets clients write, with acknowledgements from the first transaction on, and records the
   * promotion in the data themselves, so that it is replicated with them.
   *
   * @param until the instant, by the monotonic clock, by which the guard must have acted if it is
   *     not notified again
   */
  void openForWrites(long term, String server, int acknowledging, long until) throws SQLException {
    if (acknowledging > 0) {
      this.connection.execute(Preconditions.setting(acknowledging));
    }
    // The server is also read-only when it starts again without its agent.
    this.connection.execute("SET PERSIST_ONLY super_read_only = ON");
    open(until);
    noteTerm(term, server);
    this.connection.execute("SET GLOBAL read_only = OFF");
  }

  /**
   * Writes the term on a connection of its own, which waits for acknowledgements as all do. Returns
   * when it is in the binary log, before what clients write from now on; in a new set, when the
   * tables for it are.
   */
  private void noteTerm(long term, String server) throws SQLException {
    List<String> statements = new ArrayList<>(List.of("SET SESSION sql_log_bin = 1"));
    if (this.connection.is(IS_NEW)) {
      statements.addAll(TABLES);
    }
    statements.add(
        "INSERT INTO mysql_failover.promotion (term, server) VALUES (%s, '%s') ON DUPLICATE KEY UPDATE term = term"
            .formatted(term, ServerConnection.literal(server)));
    ServerConnection writer = this.connection.another(Duration.ZERO);
    String commits =
        "@@GLOBAL.gtid_owned REGEXP '#%s\\\\b'".formatted(writer.value("CONNECTION_ID()"));
    Future<Void> noted = VitalThread.start("term", () -> {
      try (writer) {
        writer.execute(statements.toArray(String[]::new));
      }
      return null;
    });
    long deadline = this.clock.getAsLong() + this.connection.patience().toNanos();
    while (!VitalThread.isDone(noted, 5) && !this.connection.is(commits)) {
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
    List<String> before = this.connection.query(GUARDS);
    Guard guard = new Guard(this.clock.getAsLong());
    noteGuardActsBy(until);
    String clock = this.connection.value("CAST(UTC_TIMESTAMP(6) AS CHAR)");
    long left = TimeUnit.NANOSECONDS.toMicros(until - this.clock.getAsLong());
    String micros =
        "(%s - TIMESTAMPDIFF(MICROSECOND, '%s', UTC_TIMESTAMP(6)))".formatted(left, clock);
    this.connection.execute(guard.opening(micros, ServerConnection.CLIENTS));
    this.guard = guard;
    this.guardActsBy = until;
    this.connection.kill(before);
  }

  /**
   * Makes the server read-only, without waiting for acknowledgements of transactions in progress:
   * their clients get no answer. Replicas that connect from now on acknowledge.
   */
  void closeForWrites() throws SQLException {
    fenceWithoutAcknowledgements();
    this.connection.execute("SET GLOBAL rpl_semi_sync_source_enabled = ON");
    // Replicas that connected earlier would never acknowledge.
    this.connection.kill(this.connection.query(REPLICAS));
  }

  /** Returns when, by the monotonic clock, the guard has acted if it is not notified again. */
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
    Duration usual = this.connection.patience();
    this.connection.answerWithin(DRAIN);
    try {
      this.connection.execute(
          "SET SESSION lock_wait_timeout = 1", "SET GLOBAL super_read_only = ON");
      this.connection.kill(this.connection.query(GUARDS));
    } finally {
      this.connection.answerWithin(usual);
    }
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
      String id = door.value("CONNECTION_ID()");
      String isShut = Guard.DOOR.formatted("processlist_id = " + id);
      Future<Void> readOnly = VitalThread.start("door", () -> {
        // One request, which the server executes even if its agent is gone.
        door.execute("FLUSH TABLES WITH READ LOCK; SET GLOBAL super_read_only = ON; UNLOCK TABLES");
        return null;
      });
      while (!VitalThread.isDone(readOnly, 5) && !this.connection.is(isShut)) {
        // It has not reached the server yet.
      }
      List<String> clients = this.connection.query(ServerConnection.CLIENTS);
      clients.remove(id);
      this.connection.kill(clients);
      if (!VitalThread.isDone(readOnly, acknowledgementMillis)) {
        this.connection.execute(
            "SET GLOBAL rpl_semi_sync_source_enabled = IF(%s, 'OFF', 'ON')".formatted(isShut));
        if (!VitalThread.isDone(readOnly, this.connection.patience().toMillis())) {
          throw new SQLException("a statement keeps the server from becoming read-only");
        }
      }
    } finally {
      door.abort(); // a request that is still waiting is still executed
    }
    this.connection.kill(this.connection.query(GUARDS));
    endClients(); // those that have connected meanwhile
  }

  /** Ends the connections of replicas, by their {@code server_uuid}. */
  void endReplicas(Set<String> uuids) throws SQLException {
    this.connection.kill(this.connection.query(REPLICAS
        + " AND thread_id IN (SELECT thread_id FROM performance_schema.user_variables_by_thread WHERE variable_name = 'replica_uuid' AND variable_value IN ('%s'))"
            .formatted(String.join("', '", uuids))));
  }

  /** Ends all connections except those of the server itself and of replicas. */
  void endClients() throws SQLException {
    this.connection.kill(this.connection.query(ServerConnection.CLIENTS));
  }

  void abort() {
    this.connection.abort();
  }

  @Override
  public void close() {
    this.connection.close();
  }
}
