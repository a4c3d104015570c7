package io.election.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;

/**
 * Sends a statement together with what it needs set, locally to its transaction, in one round trip.
 * Nothing is left in the session, which a pooler gives to other clients between two transactions.
 */
final class RoundTrip {

  /** A role may want messages already while the transaction begins that switches them off. */
  private static final String MERE_MESSAGE = "00000";

  private RoundTrip() {}

  /**
   * Runs a statement.
   *
   * @param locally what begins its transaction, two statements; empty within a transaction
   * @param outcome reads what the statement has returned
   */
  static <T> T run(
      Connection connection, String locally, String sql, SqlFunction<Statement, T> outcome)
      throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.setEscapeProcessing(false);
      if (locally.isEmpty()) {
        statement.execute(sql);
        return outcome.apply(statement);
      }
      try {
        statement.execute(locally + sql + ";\nCOMMIT");
        requireNoWarning(statement);
        statement.getMoreResults();
        statement.getMoreResults();
        return outcome.apply(statement);
      } catch (SQLException ex) {
        rollBack(statement, ex);
        throw ex;
      }
    }
  }

  /**
   * Fails if there is a warning. A server confirms a commit whose copy to a standby was not awaited
   * to its end, and only warns: its outcome is unknown.
   */
  static void requireNoWarning(Statement statement) throws SQLException {
    SQLWarning warning = statement.getWarnings();
    while (warning != null && MERE_MESSAGE.equals(warning.getSQLState())) {
      warning = warning.getNextWarning();
    }
    if (warning != null) {
      throw new SQLException(
          "confirmed with a warning, and thus unknown: " + warning.getMessage(),
          warning.getSQLState());
    }
  }

  private static void rollBack(Statement statement, SQLException cause) {
    try {
      statement.execute("ROLLBACK");
    } catch (SQLException ex) {
      cause.addSuppressed(ex);
    }
  }
}
