package io.election.mysql.failover.agent;

import io.election.mysql.failover.GtidSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;

/** What makes a server a replica, or no replica any more. Used by the agent's thread. */
record Replication(ServerConnection connection, Tls tls, LongSupplier clock) {

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

  private static final int NET_TIMEOUT_SECONDS = 2;

  /**
   * Stops the receiver, so that the server acknowledges nothing more to the source. Received
   * transactions are still applied.
   */
  void stopReceiver() throws SQLException {
    this.connection.execute("STOP REPLICA IO_THREAD");
  }

  void startApplier() throws SQLException {
    this.connection.execute("START REPLICA SQL_THREAD");
  }

  /** Waits until the server has executed transactions, and returns whether it has. */
  boolean awaitExecuted(GtidSet transactions, int seconds) throws SQLException {
    return this.connection.is(
        "WAIT_FOR_EXECUTED_GTID_SET('%s', %s) = 0".formatted(transactions, seconds));
  }

  /** Ends all replication, so that only clients can change the server. */
  void end() throws SQLException {
    stop();
    this.connection.execute("RESET REPLICA ALL");
  }

  /**
   * Stops the receiver and the applier. If the receiver stopped in the middle of a transaction,
   * MySQL waits a minute for the rest of it before it stops the applier. To avoid this, the partial
   * transaction is rolled back; it will be received again.
   */
  private void stop() throws SQLException {
    stopReceiver();
    if (this.connection.kill(this.connection.query(APPLYING))) {
      // If the applier were stopped before it notices the end of the thread, MySQL would still
      // wait.
      long deadline = this.clock.getAsLong() + this.connection.patience().toNanos();
      while (!this.connection.query(APPLIERS).isEmpty() && this.clock.getAsLong() - deadline < 0) {
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
      }
    }
    this.connection.execute("STOP REPLICA");
  }

  /**
   * Replicates from a source, starting at this server's position. MySQL then discards transactions
   * that were received but not applied, so the server may lack what it acknowledged until it has
   * caught up.
   */
  void follow(String address, String user, String password) throws SQLException {
    stop();
    this.connection.execute(
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
                ServerConnection.literal(user),
                ServerConnection.literal(password),
                this.tls.ofReplication()),
        "START REPLICA");
  }

  /**
   * Replaces all data of this server by those of a source, with the clone plugin. The server then
   * restarts, or stays down if no service manager restarts it.
   *
   * @throws SQLException if the clone failed; also if the server shut down
   */
  void rebuild(String address, String user, String password) throws SQLException {
    stop();
    // A clone needs a server that is open to administrators. Those who write to it get no answer;
    // most cannot, since they would hold up the clone.
    this.connection.execute(Preconditions.setting(1));
    this.connection.execute("SET GLOBAL transaction_read_only = ON");
    this.connection.kill(this.connection.query(ServerConnection.CLIENTS));
    this.connection.execute("SET GLOBAL super_read_only = OFF");
    // The duration of a clone depends on the amount of data.
    try (ServerConnection patient = this.connection.another(Duration.ZERO)) {
      patient.execute(
          "SET SESSION lock_wait_timeout = 60",
          "SET GLOBAL clone_valid_donor_list = '%s'".formatted(ServerConnection.literal(address)),
          "SET GLOBAL clone_ssl_ca = '%s'".formatted(this.tls.ofServer()),
          "RESET REPLICA ALL",
          "CLONE INSTANCE FROM '%s'@'%s':%s IDENTIFIED BY '%s' %s"
              .formatted(
                  ServerConnection.literal(user),
                  host(address),
                  port(address),
                  ServerConnection.literal(password),
                  this.tls.ofClone()));
    }
  }

  private static String host(String address) {
    return ServerConnection.literal(address.substring(0, address.lastIndexOf(':')));
  }

  private static String port(String address) {
    return address.substring(address.lastIndexOf(':') + 1);
  }
}
