package io.election.mysql.failover.agent;

import io.election.mysql.failover.GtidSet;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The state of a server at one instant, read with one statement.
 *
 * @param received the transactions that it has executed or received
 * @param readOnly whether ordinary users cannot write
 * @param term the term found in its data; 0 if there is none
 * @param lagSeconds the lag of the applier, in seconds, at least its delay
 * @param acknowledging the number of connected replicas that acknowledge its transactions
 * @param acknowledgers the {@code server_uuid} of each connected replica that offers to acknowledge
 * @param administrators the users of clients, other than the agent's, that no setting keeps out,
 *     by their own privileges or those of their roles; empty if there are none
 * @param connection the id of the connection that read this
 * @param manager the id of the connection by which an agent manages the server
 */
record ServerState(
    String uuid,
    long id,
    GtidSet executed,
    GtidSet received,
    boolean superReadOnly,
    boolean readOnly,
    long term,
    Receiver receiver,
    boolean applying,
    String applierError,
    long lagSeconds,
    long delaySeconds,
    int acknowledging,
    Set<String> acknowledgers,
    String administrators,
    Preconditions settings,
    long connection,
    long manager) {

  /**
   * The receiver of a server.
   *
   * @param runs whether it is connected or tries to connect
   * @param received the transactions that it has received in this life of its relay log, which ends
   *     when the server restarts, with {@code RESET REPLICA}, and when the source is changed
   */
  record Receiver(String source, boolean runs, boolean connected, String error, GtidSet received) {}

  /** Returns the other agent that manages the server, with a remedy; empty if there is none. */
  String otherAgent() {
    return this.manager == this.connection
        ? ""
        : "another agent manages this server by its connection %1$s: stop one of the two. If the other one has ended: KILL %1$s"
            .formatted(this.manager);
  }

  private static final String RECEIVER =
      "performance_schema.replication_connection_status WHERE channel_name = ''";

  /** Takes the lock by which an agent manages the server alone, until its connection ends. */
  private static final String MANAGER =
      "IF(GET_LOCK('mysql_failover.agent', 0), CONNECTION_ID(), COALESCE(IS_USED_LOCK('mysql_failover.agent'), 0))";

  private static final String STATE =
      """
      SELECT @@GLOBAL.server_uuid AS uuid, @@GLOBAL.server_id AS id,
          @@GLOBAL.gtid_executed AS executed,
          @@GLOBAL.super_read_only AS super_read_only, @@GLOBAL.read_only AS read_only,
          (SELECT received_transaction_set FROM %1$s) AS received,
          (SELECT service_state <> 'OFF' FROM %1$s) AS runs,
          (SELECT service_state = 'ON' FROM %1$s) AS connected,
          (SELECT last_error_message FROM %1$s) AS receiver_error,
          (SELECT CONCAT(host, ':', port)
           FROM performance_schema.replication_connection_configuration
           WHERE channel_name = '') AS source,
          (SELECT MAX(service_state = 'ON')
           FROM performance_schema.replication_applier_status) AS applying,
          (SELECT MAX(last_error_message)
           FROM performance_schema.replication_applier_status_by_worker) AS applier_error,
          (SELECT COALESCE(MAX(TIMESTAMPDIFF(SECOND,
               applying_transaction_original_commit_timestamp, CURRENT_TIMESTAMP(6))), 0)
           FROM performance_schema.replication_applier_status_by_worker
           WHERE applying_transaction <> '') AS lag_seconds,
          (SELECT COALESCE(MAX(desired_delay), 0)
           FROM performance_schema.replication_applier_configuration) AS delay_seconds,
          (SELECT variable_value FROM performance_schema.global_status
           WHERE variable_name = 'Rpl_semi_sync_source_clients') AS acknowledging,
          (SELECT GROUP_CONCAT(CONVERT(uuid.variable_value USING utf8mb4) SEPARATOR '\\n')
           FROM performance_schema.user_variables_by_thread AS uuid
               JOIN performance_schema.user_variables_by_thread AS acknowledges USING (thread_id)
               JOIN performance_schema.threads USING (thread_id)
           WHERE uuid.variable_name = 'replica_uuid'
               AND acknowledges.variable_name = 'rpl_semi_sync_replica'
               AND processlist_command LIKE 'Binlog Dump%%') AS acknowledgers,
          (WITH RECURSIVE holder (client, account) AS (
               SELECT processlist_user, processlist_user FROM performance_schema.threads
               WHERE name = 'thread/sql/one_connection'
                   AND processlist_user <> SUBSTRING_INDEX(USER(), '@', 1)
               UNION
               SELECT client, from_user FROM holder JOIN mysql.role_edges ON to_user = account)
           SELECT GROUP_CONCAT(DISTINCT client ORDER BY client SEPARATOR ', ')
           FROM holder JOIN information_schema.user_privileges
               ON grantee LIKE CONCAT('''', REPLACE(account, '_', '\\_'), '''@%%')
           WHERE privilege_type IN ('SUPER', 'CONNECTION_ADMIN')) AS administrators,
          CONNECTION_ID() AS connection, %4$s AS manager,
          (%2$s) AS variables, (%3$s) AS problems
      """.formatted(RECEIVER, Preconditions.VARIABLES, Preconditions.PROBLEMS, MANAGER);

  static final String TERM = "(SELECT COALESCE(MAX(term), 0) FROM mysql_failover.promotion)";

  /** The column with the value of the guard's expression. */
  static final String GUARD_COLUMN = "guard";

  /**
   * Returns the query for the state.
   *
   * @param term the expression for the term
   * @param guard an expression for one more column
   */
  static String query(String term, String guard) {
    return STATE + ", %s AS term, %s AS %s".formatted(term, guard, GUARD_COLUMN);
  }

  static ServerState of(ResultSet row) throws SQLException {
    GtidSet executed = GtidSet.parse(text(row, "executed"));
    GtidSet received = GtidSet.parse(text(row, "received"));
    long delay = row.getLong("delay_seconds");
    return new ServerState(
        text(row, "uuid"),
        row.getLong("id"),
        executed,
        executed.union(received),
        row.getBoolean("super_read_only"),
        row.getBoolean("read_only"),
        row.getLong("term"),
        new Receiver(
            text(row, "source"),
            row.getBoolean("runs"),
            row.getBoolean("connected"),
            text(row, "receiver_error"),
            received),
        row.getBoolean("applying"),
        text(row, "applier_error"),
        Math.max(row.getLong("lag_seconds"), delay),
        delay,
        row.getInt("acknowledging"),
        text(row, "acknowledgers").lines().collect(Collectors.toSet()),
        text(row, "administrators"),
        Preconditions.of(text(row, "variables"), text(row, "problems")),
        row.getLong("connection"),
        row.getLong("manager"));
  }

  private static String text(ResultSet row, String column) throws SQLException {
    return Objects.requireNonNullElse(row.getString(column), "");
  }
}
