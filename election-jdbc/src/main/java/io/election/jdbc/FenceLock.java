package io.election.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Locks entries of terms, each until the transaction of the application is over. */
interface FenceLock {

  /** What is read-only if the transaction cannot write, so that there is nothing to fence. */
  String TRANSACTION = "transaction";

  /**
   * Reads and locks the entry of a term. Waits at most one second for a row, and for a table.
   *
   * @param ifBounded whether to do so only in a session that the server ends if it rests for too
   *     long
   * @return the entry, or {@code null} if there is none; if {@link #TRANSACTION} is read-only, an
   *     entry that is not locked, of nobody if there is none
   */
  @Nullable
  FenceEntry read(String serviceId, long term, boolean ifBounded) throws SQLException;

  /**
   * The statement that lets the server end the session if it rests for too long; empty if each lock
   * bounds its transaction, so that nothing must be restored.
   */
  default String bounding() {
    return "";
  }

  /** The statement that undoes {@link #bounding}; correct even if that has not run. */
  default String restoration() {
    return "";
  }

  /** Whether the session is where the election's with a source are; null if a term must tell. */
  @Nullable
  Boolean reaches(String source) throws SQLException;

  /** Runs a query and closes its statement. */
  static List<String> texts(Statement statement, String sql) throws SQLException {
    try (statement) {
      return Statements.all(statement.executeQuery(sql), (row) -> Columns.string(row, 1));
    }
  }

  static void execute(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }
}
