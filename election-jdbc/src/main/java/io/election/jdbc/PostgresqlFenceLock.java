package io.election.jdbc;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Locks by {@code FOR SHARE}, in one round trip with settings that end with the transaction. Such a
 * lock sees what is committed now at every isolation level.
 */
record PostgresqlFenceLock(Dialect dialect) implements FenceLock {

  private static final String SAVEPOINT = "election_fence";

  @Override
  public @Nullable FenceEntry read(
      Connection connection,
      String history,
      String serviceId,
      long term,
      BiConsumer<Connection, String> undoing,
      boolean ifBounded,
      long restSeconds)
      throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.setEscapeProcessing(false);
      try {
        statement.execute(
            """
            SAVEPOINT %1$s;
            SELECT set_config('lock_timeout', '1s', true),
                set_config('idle_in_transaction_session_timeout', '%2$ss', true);
            SELECT leader_id, ended_at IS NULL FROM %3$s WHERE service_id = %4$s AND term = %5$s
            FOR SHARE;
            RELEASE SAVEPOINT %1$s
            """.formatted(SAVEPOINT, restSeconds, history, this.dialect.literal(serviceId), term));
      } catch (SQLException ex) {
        undo(statement, ex);
        if (SqlErrors.key(ex).equals(SqlErrors.READ_ONLY_SERVER)) {
          return NOTHING_TO_FENCE;
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

  /** The transaction may go on, as after an error of another product. */
  private static void undo(Statement statement, SQLException cause) {
    try {
      statement.execute("ROLLBACK TO SAVEPOINT %1$s; RELEASE SAVEPOINT %1$s".formatted(SAVEPOINT));
    } catch (SQLException ex) {
      cause.addSuppressed(ex);
    }
  }

  /** An error would be in the log of a server that has nothing to do with the election. */
  @Override
  public boolean reaches(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery("""
            SELECT EXISTS (SELECT FROM pg_class WHERE relname = 'leader_election_history'
                AND has_schema_privilege(relnamespace, 'USAGE')
                AND has_any_column_privilege(oid, 'UPDATE'))
            """)) {
      return row.next() && row.getBoolean(1);
    }
  }
}
