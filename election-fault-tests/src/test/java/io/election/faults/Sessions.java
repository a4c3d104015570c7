package io.election.faults;

import io.election.test.TestServer;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/** The sessions of a user on a database server. */
final class Sessions {

  private Sessions() {}

  /** Kills all sessions of a user. The user may connect again at once. */
  static void kill(TestServer server, String user) {
    try (Connection connection = server.connectAsRoot();
        Statement administrator = connection.createStatement()) {
      kill(administrator, user);
    } catch (SQLException ex) {
      throw new IllegalStateException(ex);
    }
  }

  static void kill(Statement administrator, String user) throws SQLException {
    List<Long> ids = new ArrayList<>();
    try (ResultSet rows = administrator.executeQuery(
        "SELECT id FROM information_schema.processlist WHERE user = '" + user + "'")) {
      while (rows.next()) {
        ids.add(rows.getLong(1));
      }
    }
    for (long id : ids) {
      try {
        administrator.execute("KILL " + id);
      } catch (SQLException ex) {
        // The session has already ended.
      }
    }
  }
}
