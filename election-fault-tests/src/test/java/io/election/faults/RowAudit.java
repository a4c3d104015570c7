package io.election.faults;

import io.election.test.TestDatabase;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Records in the database itself whether a node ever lowers the term or the version of a record.
 * Edits that tests make as root do not count.
 */
final class RowAudit {

  private final TestDatabase database;

  private RowAudit(TestDatabase database) {
    this.database = database;
  }

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
        CREATE TRIGGER row_audit_update AFTER UPDATE ON leader_election FOR EACH ROW
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

  /** Returns the values that were lowered. */
  List<String> falls() {
    List<String> falls = new ArrayList<>();
    try (Connection connection = this.database.connect();
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SELECT fall FROM row_audit")) {
      while (rows.next()) {
        falls.add(rows.getString(1));
      }
      return falls;
    } catch (SQLException ex) {
      throw new IllegalStateException(ex);
    }
  }
}
