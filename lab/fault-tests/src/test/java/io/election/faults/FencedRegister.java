package io.election.faults;

import io.election.support.TestDatabase;
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
        CREATE TABLE register_log (id serial PRIMARY KEY,
            term bigint, node varchar(128), n bigint, refused_for_term bigint)
        """);
    // Logs writes in the order in which they changed the register.
    database.execute(Engine.of(database.server())
        .trigger(
            "register_accepts",
            "AFTER UPDATE ON register",
            "INSERT INTO register_log (term, node, n) VALUES (NEW.term, NEW.node, NEW.n)"));
  }

  /** Returns whether a write was accepted; it locks nothing while its process is paused. */
  static boolean write(JdbcTemplate jdbc, long term, String node, long n) {
    String accept = "UPDATE register SET term = ?, node = ?, n = ? WHERE id = 1 AND term <= ?";
    if (jdbc.update(accept, term, node, n, term) > 0) {
      return true;
    }
    jdbc.update("""
        INSERT INTO register_log (refused_for_term, term, node, n)
        SELECT term, ?, ?, ? FROM register WHERE id = 1
        """, term, node, n);
    return false;
  }

  static long accepted(TestDatabase database) {
    return count(database, "refused_for_term IS NULL");
  }

  static long refused(TestDatabase database) {
    return count(database, "refused_for_term > term");
  }

  /** Counts how often the register accepted a term below the one before. It must never do so. */
  static long falls(TestDatabase database) {
    return number(database, """
        SELECT COUNT(*) FROM (
            SELECT term, LAG(term) OVER (ORDER BY id) AS earlier FROM register_log
            WHERE refused_for_term IS NULL) accepted
        WHERE term < earlier
        """);
  }

  static long terms(TestDatabase database) {
    return number(database, "SELECT COUNT(DISTINCT term) FROM register_log");
  }

  /** Counts the terms in which several nodes wrote, whether the register accepted it or not. */
  static long sharedTerms(TestDatabase database) {
    return number(database, """
        SELECT COUNT(*) FROM (
            SELECT term FROM register_log GROUP BY term HAVING COUNT(DISTINCT node) > 1) shared
        """);
  }

  private static long count(TestDatabase database, String condition) {
    return number(database, "SELECT COUNT(*) FROM register_log WHERE " + condition);
  }

  private static long number(TestDatabase database, String sql) {
    String number = database.query(sql);
    return Long.parseLong(number != null ? number : "0");
  }
}
