package io.election.jdbc;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Locks by {@code FOR SHARE}, in one round trip with settings that end with the transaction. Such a
 * lock sees what is committed now at every isolation level.
 *
 * @param history the history table
 * @param restSeconds how long the session may be idle while it holds the lock
 */
record PostgresqlFenceLock(Dialect dialect, Connection connection, String history, long restSeconds)
    implements FenceLock {

  private static final String SAVEPOINT = "election_fence";

  @Override
  public @Nullable FenceEntry read(String serviceId, long term, boolean ifBounded)
      throws SQLException {
    String select = "SELECT leader_id, ended_at IS NULL FROM %s WHERE service_id = %s AND term = %s"
        .formatted(this.history, this.dialect.literal(serviceId), term);
    try (Statement statement = this.dialect.statement(this.connection)) {
      // The driver's word does not bind the server: readOnlyMode=ignore, SET TRANSACTION READ
      // WRITE.
      if (this.connection.isReadOnly() && texts("""
          SELECT concat(current_setting('transaction_read_only'), pg_current_xact_id_if_assigned())
          """).contains("on")) {
        return unlocked(statement, select, TRANSACTION);
      }
      try {
        statement.execute("""
            SAVEPOINT %1$s;
            SELECT set_config('election.fence', current_setting('lock_timeout'), true),
                set_config('lock_timeout', '1s', true),
                set_config('idle_in_transaction_session_timeout', '%2$ss', true);
            %3$s FOR SHARE;
            SELECT set_config('lock_timeout', current_setting('election.fence'), true);
            RELEASE SAVEPOINT %1$s
            """.formatted(SAVEPOINT, this.restSeconds, select));
      } catch (SQLException ex) {
        // The transaction may go on, as after an error of another product.
        Statements.undo(
            statement,
            "ROLLBACK TO SAVEPOINT %1$s; RELEASE SAVEPOINT %1$s".formatted(SAVEPOINT),
            ex);
        // A transaction may become read-only after it has written.
        if (SqlError.key(ex).equals(SqlError.READ_ONLY_SERVER)
            && texts("SELECT pg_current_xact_id_if_assigned()").contains("")) {
          return unlocked(statement, select, TRANSACTION);
        }
        if (SqlError.CONFLICT.is(ex)) {
          return unlocked(statement, select, "");
        }
        throw ex;
      }
      statement.getMoreResults();
      statement.getMoreResults();
      try (ResultSet row = statement.getResultSet()) {
        return row.next() ? new FenceEntry(Columns.string(row, 1), row.getBoolean(2), "") : null;
      }
    }
  }

  /**
   * Tells whether the history is the election's also where nothing can be written, or the entry has
   * changed since the snapshot and thus ended. A transaction that the server has doomed for its own
   * work reads nothing any more: then this fails by that conflict.
   */
  private static FenceEntry unlocked(Statement statement, String select, String readOnly)
      throws SQLException {
    try (ResultSet row = statement.executeQuery(select)) {
      return new FenceEntry(row.next() ? Columns.string(row, 1) : "", false, readOnly);
    }
  }

  /** An error would be in the log of a server that has nothing to do with the election. */
  @Override
  public @Nullable Boolean reaches(String source) throws SQLException {
    List<String> usable = texts("""
        SELECT CAST(has_schema_privilege(relnamespace, 'USAGE')
            AND has_any_column_privilege(oid, 'UPDATE') AS text) FROM pg_class WHERE relname = 'leader_election_history'
        """);
    // Not every product that speaks the protocol knows when it was started.
    if (!usable.isEmpty()
        && source.contains(texts(
                "SELECT '.' || EXTRACT(EPOCH FROM pg_postmaster_start_time()) || '/' || oid || '.' FROM pg_database WHERE datname = current_database()")
            .get(0))) {
      return true;
    }
    return usable.contains("true") ? null : Boolean.FALSE;
  }

  private List<String> texts(String sql) throws SQLException {
    return FenceLock.texts(this.dialect.statement(this.connection), sql);
  }
}
