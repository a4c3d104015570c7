package io.election.faults;

import io.election.test.TestDatabase;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;

/**
 * A careful receiver of a leader's writes: it appends them, and refuses writes with a term below
 * the highest that it has seen.
 */
final class FencedRegister {

  private final Connection connection;

  /** Creates a writer's view of the register. */
  FencedRegister(Connection connection) {
    this.connection = connection;
  }

  static void create(TestDatabase database) {
    database.execute(
        "CREATE TABLE register (id int PRIMARY KEY, term bigint, node varchar(128), n bigint)",
        "INSERT INTO register VALUES (1, 0, '', 0)",
        """
        CREATE TABLE register_log (id bigint AUTO_INCREMENT PRIMARY KEY,
            term bigint, node varchar(128), n bigint, refused_for_term bigint)
        """,
        // Logs writes in the order in which they changed the register.
        """
        CREATE TRIGGER register_accepts AFTER UPDATE ON register FOR EACH ROW
        INSERT INTO register_log (term, node, n) VALUES (NEW.term, NEW.node, NEW.n)
        """);
  }

  /**
   * Writes with a single statement: a process that is paused inside a transaction would hold its
   * locks against the next leader.
   *
   * @return whether the write was accepted
   */
  boolean write(long term, String node, long n) throws SQLException {
    this.connection.setAutoCommit(true);
    return update(
            "UPDATE register SET term = ?, node = ?, n = ? WHERE id = 1 AND term <= ?",
            term,
            node,
            n,
            term)
        || !update("""
            INSERT INTO register_log (refused_for_term, term, node, n)
            SELECT term, ?, ?, ? FROM register WHERE id = 1
            """, term, node, n);
  }

  private boolean update(String sql, Object... parameters) throws SQLException {
    try (PreparedStatement statement = this.connection.prepareStatement(sql)) {
      for (int i = 0; i < parameters.length; i++) {
        statement.setObject(i + 1, parameters[i]);
      }
      return statement.executeUpdate() == 1;
    }
  }

  static long accepted(TestDatabase database) {
    return count(database, "refused_for_term IS NULL");
  }

  static long refused(TestDatabase database) {
    return count(database, "refused_for_term > term");
  }

  /**
   * Counts the accepted writes that come after a write of a higher term. The register must have
   * none.
   */
  static long outOfOrder(TestDatabase database) {
    return count(database, """
        refused_for_term IS NULL AND term < (
            SELECT MAX(earlier.term) FROM register_log earlier
            WHERE earlier.refused_for_term IS NULL AND earlier.id < register_log.id)
        """);
  }

  private static long count(TestDatabase database, String condition) {
    String count = database.query("SELECT COUNT(*) FROM register_log WHERE " + condition);
    return Long.parseLong(count != null ? count : "0");
  }
}
