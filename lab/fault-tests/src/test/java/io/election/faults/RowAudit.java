package io.election.faults;

import io.election.support.TestDatabase;
import org.jspecify.annotations.Nullable;

/**
 * Records in the database itself whether a node ever lowers the term or the version of a record.
 * Edits that tests make as root do not count.
 */
record RowAudit(TestDatabase database) {

  /** Begins the audit. Returns {@code null} if the table has no terms yet. */
  static @Nullable RowAudit install(TestDatabase database) {
    String columns = database.query("""
        SELECT COUNT(*) FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = 'leader_election'
            AND column_name IN ('term', 'version')
        """);
    if (!"2".equals(columns)) {
      return null;
    }
    database.execute("CREATE TABLE IF NOT EXISTS row_audit (fall varchar(1000))", """
        CREATE TRIGGER IF NOT EXISTS row_audit_update AFTER UPDATE ON leader_election FOR EACH ROW
        INSERT INTO row_audit
            SELECT CONCAT(USER(), ' changed ', OLD.service_id,
                ' from term ', OLD.term, ', version ', OLD.version,
                ' to term ', NEW.term, ', version ', NEW.version)
            FROM (SELECT 1) AS one
            WHERE (NEW.term < OLD.term OR NEW.version < OLD.version)
                AND USER() NOT LIKE 'root@%'
        """);
    return new RowAudit(database);
  }

  @Nullable
  String regressions() {
    return this.database.query("SELECT GROUP_CONCAT(fall) FROM row_audit");
  }
}
