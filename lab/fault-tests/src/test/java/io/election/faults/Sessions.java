package io.election.faults;

import io.election.support.TestServer;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;

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
    String ids = TestServer.query(
        administrator.getConnection(),
        "SELECT GROUP_CONCAT(id) FROM information_schema.processlist WHERE user = '" + user + "'");
    for (String id : ids == null ? new String[0] : ids.split(",")) {
      try {
        administrator.execute("KILL " + id);
      } catch (SQLException ex) {
        // The session has already ended.
      }
    }
  }
}
