package io.election.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** How a product locks the entry of a term until a transaction of the application is over. */
interface FenceLock {

  /** What is read-only if the transaction cannot write, so that there is nothing to fence. */
  String TRANSACTION = "transaction";

  /**
   * Reads and locks the entry of a term. Waits at most one second for a row, and for a table.
   *
   * @param history the history table
   * @param undoing runs a statement that restores the session, or aborts the connection
   * @param ifBounded whether to do so only in a session that the server ends if it is idle for
   *     longer than that
   * @param restSeconds how long the session may be idle while it holds the lock
   * @return the entry, or {@code null} if there is none; if {@link #TRANSACTION} is read-only, an
   *     entry that is not locked, of nobody if there is none
   */
  @Nullable
  FenceEntry read(
      Connection connection,
      String history,
      String serviceId,
      long term,
      BiConsumer<Connection, String> undoing,
      boolean ifBounded,
      long restSeconds)
      throws SQLException;

  /**
   * The statement that lets the server end the session if it is idle for so long; empty if each lock
   * bounds its transaction, so that nothing must be restored.
   */
  default String bounding(long restSeconds) {
    return "";
  }

  /** The statement that undoes {@link #bounding}; correct even if that has not run. */
  default String restoration() {
    return "";
  }

  /** Whether a session may have a history to read. */
  default boolean reaches(Connection connection) throws SQLException {
    return true;
  }

  static void execute(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }
}
