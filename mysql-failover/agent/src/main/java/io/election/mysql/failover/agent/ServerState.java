package io.election.mysql.failover.agent;

import io.election.mysql.failover.GtidSet;
import java.sql.ResultSet;
import java.sql.SQLException;

/**
 * The state of a server at one instant.
 *
 * @param uuid its {@code server_uuid}
 * @param executed the transactions that it has executed
 * @param received the transactions that it has executed or received
 * @param superReadOnly whether no user can write
 * @param readOnly whether ordinary users cannot write
 * @param term the term found in its data; 0 if there is none
 * @param source the address of the source from which it replicates, {@code host:port}; empty if
 *     none
 * @param receiving whether its receiver is connected or trying to connect
 * @param connected whether its receiver is connected
 * @param applying whether its applier runs
 * @param lagSeconds the lag of the applier, in seconds
 * @param acknowledging the number of connected replicas that acknowledge its transactions
 * @param id its {@code server_id}
 * @param receiverError the last error of its receiver; empty if there is none
 * @param applierError the last error of its applier; empty if there is none
 * @param whole whether its agent has marked it, since the server started, as having every
 *     transaction that it acknowledged
 */
record ServerState(
    String uuid,
    GtidSet executed,
    GtidSet received,
    boolean superReadOnly,
    boolean readOnly,
    long term,
    String source,
    boolean receiving,
    boolean connected,
    boolean applying,
    long lagSeconds,
    int acknowledging,
    long id,
    String receiverError,
    String applierError,
    boolean whole) {

  /**
   * The setting that marks the server as whole. A replica does not use this variable, and its value
   * is lost when the server shuts down.
   */
  static final String WHOLE = "rpl_semi_sync_source_timeout = 4294967294";

  /** The setting that removes the mark; its value is the default. */
  static final String NOT_WHOLE = "rpl_semi_sync_source_timeout = 10000";

  private static final String STATE = """
      SELECT @@GLOBAL.gtid_executed, @@GLOBAL.super_read_only, @@GLOBAL.read_only,
          (SELECT received_transaction_set FROM performance_schema.replication_connection_status
           WHERE channel_name = ''),
          (SELECT CONCAT(host, ':', port)
           FROM performance_schema.replication_connection_configuration LIMIT 1),
          (SELECT MAX(service_state <> 'OFF')
           FROM performance_schema.replication_connection_status),
          (SELECT MAX(service_state = 'ON')
           FROM performance_schema.replication_connection_status),
          (SELECT MAX(service_state = 'ON')
           FROM performance_schema.replication_applier_status),
          (SELECT COALESCE(MAX(TIMESTAMPDIFF(SECOND,
               applying_transaction_original_commit_timestamp, CURRENT_TIMESTAMP(6))), 0)
           FROM performance_schema.replication_applier_status_by_worker
           WHERE applying_transaction <> ''),
          @@GLOBAL.server_uuid,
          (SELECT variable_value FROM performance_schema.global_status
           WHERE variable_name = 'Rpl_semi_sync_source_clients'),
          @@GLOBAL.server_id,
          (SELECT MAX(last_error_message) FROM performance_schema.replication_connection_status),
          (SELECT MAX(last_error_message)
           FROM performance_schema.replication_applier_status_by_worker),
          (SELECT COUNT(*) FROM performance_schema.global_variables
           WHERE CONCAT(variable_name, ' = ', variable_value) = '%s'),
          %s, %s
      """;

  static final String TERM = "(SELECT COALESCE(MAX(term), 0) FROM mysql_failover.promotion)";

  /**
   * The expression for the term of a server that has never replicated from a promoted one; -1 if it
   * has since then.
   */
  static final String NO_TERM = """
      (SELECT -COUNT(*) FROM information_schema.tables
       WHERE table_schema = 'mysql_failover' AND table_name = 'promotion')
      """;

  /** The column with the value of the guard's expression. */
  static final int GUARD_COLUMN = 17;

  /**
   * Returns the query for the state.
   *
   * @param term the expression for the term
   * @param guard an expression for one more column
   */
  static String query(String term, String guard) {
    return STATE.formatted(WHOLE, term, guard);
  }

  /** Returns the state from a row of the query. */
  static ServerState of(ResultSet row) throws SQLException {
    GtidSet executed = GtidSet.parse(text(row, 1));
    return new ServerState(
        text(row, 10),
        executed,
        executed.union(GtidSet.parse(text(row, 4))),
        row.getBoolean(2),
        row.getBoolean(3),
        row.getLong(16),
        text(row, 5),
        row.getBoolean(6),
        row.getBoolean(7),
        row.getBoolean(8),
        Math.max(row.getLong(9), 0),
        row.getInt(11),
        row.getLong(12),
        text(row, 13),
        text(row, 14),
        row.getBoolean(15));
  }

  private static String text(ResultSet row, int column) throws SQLException {
    String text = row.getString(column);
    return text != null ? text : "";
  }
}
