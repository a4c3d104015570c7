package io.election.faults;

import io.election.support.TestDatabase;
import io.election.support.TestServer;
import org.jspecify.annotations.Nullable;

/**
 * Records in the database itself whether a node ever lowers the term or the version of a record.
 * Edits that tests make as root do not count.
 */
record RowAudit(TestDatabase database) {

  private static final String[] POSTGRESQL = {"""
    CREATE OR REPLACE FUNCTION row_audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF CURRENT_USER <> 'root' THEN
            INSERT INTO row_audit VALUES (CONCAT(CURRENT_USER, ' changed ', OLD, ' to ', NEW));
        END IF;
        RETURN NULL;
    END $$
    """, """
    CREATE OR REPLACE TRIGGER row_audit_update AFTER UPDATE ON leader_election FOR EACH ROW
    WHEN (NEW.term < OLD.term OR NEW.version < OLD.version) EXECUTE FUNCTION row_audit()
    """};

  /** Begins the audit. Returns {@code null} if the table has no terms yet. */
  static @Nullable RowAudit install(TestDatabase database) {
    if (!hasColumns(database, "term", "version")) {
      return null;
    }
    database.execute("CREATE TABLE IF NOT EXISTS row_audit (fall varchar(1000))");
    if (database.server().product() == TestServer.Product.POSTGRESQL) {
      database.execute(POSTGRESQL);
      return new RowAudit(database);
    }
    database.execute("""
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

  /** Whether the table of leases is there, with these columns. */
  static boolean hasColumns(TestDatabase database, String... names) {
    return ("" + names.length)
        .equals(database.query("""
            SELECT COUNT(*) FROM information_schema.columns
            WHERE table_schema IN ('public', '%s') AND table_name = 'leader_election'
                AND column_name IN ('%s')
            """.formatted(database.name(), String.join("', '", names))));
  }

  @Nullable
  String regressions() {
    return this.database.query("SELECT MIN(fall) FROM row_audit");
  }
}
