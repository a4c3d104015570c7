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
final class PostgresqlFenceLock implements FenceLock {

  static final PostgresqlFenceLock INSTANCE = new PostgresqlFenceLock();

  private static final String SAVEPOINT = "election_fence";

  private PostgresqlFenceLock() {}

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
        statement.execute("""
            SAVEPOINT %s;
            SELECT %s, %s;
            SELECT leader_id, ended_at IS NULL FROM %s WHERE service_id = %s AND term = %s FOR SHARE
            """.formatted(
                SAVEPOINT,
                PostgresqlText.set("lock_timeout", "'1s'"),
                PostgresqlText.set("idle_in_transaction_session_timeout", "'" + restSeconds + "s'"),
                history,
                PostgresqlText.literal(serviceId),
                term));
      } catch (SQLException ex) {
        if (!SqlErrors.key(ex).equals(SqlErrors.READ_ONLY_SERVER)) {
          throw ex;
        }
        statement.execute("ROLLBACK TO SAVEPOINT " + SAVEPOINT);
        return NOTHING_TO_FENCE;
      }
      statement.getMoreResults();
      statement.getMoreResults();
      try (ResultSet row = statement.getResultSet()) {
        return row.next() ? new FenceEntry(Columns.string(row, 1), row.getBoolean(2), "") : null;
      }
    }
  }

  @Override
  public boolean isLocal() {
    return true;
  }

  @Override
  public void bound(Connection connection, long restSeconds) {}

  @Override
  public String restoration() {
    return "";
  }

  /** An error would end the transaction. */
  @Override
  public boolean reaches(Connection connection, String history) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery(
            "SELECT COALESCE(has_table_privilege(to_regclass(%s), 'UPDATE'), FALSE)"
                .formatted(PostgresqlText.literal(history)))) {
      return row.next() && row.getBoolean(1);
    }
  }

  @Override
  public String quoted(String name) {
    return PostgresqlText.quotedName(name);
  }
}
