package io.election.faults;

import io.election.test.TestDatabase;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * A careful receiver of a leader's writes: it appends them, and refuses writes with a term below
 * the highest that it has seen.
 */
final class FencedRegister {

  private FencedRegister() {}

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
   */
  static void write(JdbcTemplate jdbc, long term, String node, long n) {
    String accept = "UPDATE register SET term = ?, node = ?, n = ? WHERE id = 1 AND term <= ?";
    if (jdbc.update(accept, term, node, n, term) == 0) {
      jdbc.update("""
          INSERT INTO register_log (refused_for_term, term, node, n)
          SELECT term, ?, ?, ? FROM register WHERE id = 1
          """, term, node, n);
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
