package io.election.faults;

import io.election.support.TestDatabase;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.junit.jupiter.api.Tag;

/** Faults of the connections, the locks and the account on PostgreSQL. */
@Tag("long")
class PostgresqlSessionFaultsIT extends SessionFaultsContract {

  PostgresqlSessionFaultsIT() {
    super(Engine.POSTGRESQL);
  }

  @Override
  String lockTimeout() {
    return "due to lock timeout";
  }

  @Override
  String deadlock() {
    return "deadlock detected";
  }

  /** The victim is who looks for a deadlock first: here a node, before its wait times out. */
  @Override
  void preferNodesAsVictims(Statement administrator, String user) throws SQLException {
    administrator.execute("SET deadlock_timeout = '30s'");
    administrator.execute("ALTER USER " + user + " SET deadlock_timeout = '300ms'");
    administrator.execute("COMMIT");
  }

  @Override
  void lockHistory(Statement administrator) throws SQLException {
    administrator
        .executeQuery("SELECT * FROM leader_election_history FOR UPDATE")
        .close();
  }

  @Override
  String countTakeOversThatWait(String user) {
    return "SELECT COUNT(*) FROM " + Engine.POSTGRESQL.sessionsOf(user)
        + " AND backend_xid IS NOT NULL AND wait_event_type = 'Lock'";
  }

  @Override
  List<Refusal> refusals(TestDatabase database, String user) {
    String rights = "ALL ON ALL TABLES IN SCHEMA public";
    String account = "ALTER USER " + user;
    String logged = "refuses the user";
    return List.of(
        new Refusal(
            "rights revoked",
            "lacks a right",
            "REVOKE " + rights + " FROM " + user,
            "GRANT " + rights + " TO " + user),
        new Refusal(
            "password changed",
            logged,
            account + " PASSWORD 'another'",
            account + " PASSWORD '" + database.password() + "'"),
        new Refusal(
            "account locked",
            logged,
            Engine.POSTGRESQL.lockAccount(user, true),
            Engine.POSTGRESQL.lockAccount(user, false)));
  }
}
