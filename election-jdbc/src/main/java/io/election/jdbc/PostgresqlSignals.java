package io.election.jdbc;

import java.sql.SQLException;
import java.util.concurrent.TimeUnit;
import org.postgresql.PGConnection;

/**
 * Signals by NOTIFY. Sending one is a transaction like any other. Listening needs a session of one's
 * own, which a pooler does not give: the server process would then be another one than the driver
 * was told at the login.
 *
 * @see <a href="https://www.postgresql.org/docs/current/sql-notify.html">NOTIFY</a>
 */
record PostgresqlSignals() implements Signals {

  @Override
  public boolean prepare(Session session, String holder) {
    return true;
  }

  @Override
  public boolean send(Session session, String holder) throws SQLException {
    session.query("SELECT pg_notify(?, '')", (row) -> "", channel(session, holder));
    return true;
  }

  @Override
  public boolean await(Session session, String holder, long seconds) throws SQLException {
    PGConnection connection = session.connection().unwrap(PGConnection.class);
    int process =
        session.query("SELECT pg_backend_pid()", (row) -> row.getInt(1)).get(0);
    if (process != connection.getBackendPID()) {
      throw new SQLException(
          "a pooler in between delivers no notifications; for the election alone a direct connection by @ElectionDataSource can be used");
    }
    session.execute("LISTEN " + channel(session, holder));
    return connection.getNotifications((int) TimeUnit.SECONDS.toMillis(seconds)).length > 0;
  }

  private static String channel(Session session, String holder) {
    return "leader_election_" + Digest.of(session.schema() + '\n' + holder);
  }
}
