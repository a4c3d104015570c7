package io.election.faults;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/** The sessions of a user on a database server. */
final class Sessions {

  private Sessions() {}

  static List<Long> of(Statement administrator, String user) throws SQLException {
    List<Long> ids = new ArrayList<>();
    try (ResultSet rows = administrator.executeQuery(
        "SELECT id FROM information_schema.processlist WHERE user = '" + user + "'")) {
      while (rows.next()) {
        ids.add(rows.getLong(1));
      }
    }
    return ids;
  }

  /** Kills all sessions of a user. */
  static void kill(Statement administrator, String user) throws SQLException {
    for (long id : of(administrator, user)) {
      try {
        administrator.execute("KILL " + id);
      } catch (SQLException ex) {
        // The session has already ended.
      }
    }
  }
}
