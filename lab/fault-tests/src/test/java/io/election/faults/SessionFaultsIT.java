package io.election.faults;

import io.election.support.TestDatabase;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;

/** Faults of the connections, the locks and the account on MySQL. */
class SessionFaultsIT extends SessionFaultsContract {

  SessionFaultsIT() {
    super(Engine.MYSQL);
  }

  @Override
  String lockTimeout() {
    return "(Lock wait timeout exceeded";
  }

  @Override
  String deadlock() {
    return "(Deadlock found";
  }

  @Override
  void preferNodesAsVictims(Statement administrator, String user) throws SQLException {
    administrator.execute("CREATE TABLE heavy (id int PRIMARY KEY AUTO_INCREMENT, v int)");
  }

  /** In the heavier transaction. */
  @Override
  void lockHistory(Statement administrator) throws SQLException {
    administrator.execute("INSERT INTO heavy (v) VALUES (1)" + ", (1)".repeat(500));
    administrator
        .executeQuery("SELECT * FROM leader_election_history FOR UPDATE")
        .close();
  }

  @Override
  String countTakeOversThatWait(String user) {
    return """
        SELECT COUNT(*)
        FROM information_schema.innodb_trx JOIN information_schema.processlist
            ON id = trx_mysql_thread_id AND user = '%s'
        WHERE trx_state = 'LOCK WAIT' AND trx_rows_modified > 0
        """.formatted(user);
  }

  @Override
  List<Refusal> refusals(TestDatabase database, String user) {
    String account = "'" + user + "'@'%'";
    String rights = "ALL ON " + database.name() + ".*";
    String identified = "ALTER USER " + account + " IDENTIFIED BY ";
    String logged = "refuses the user";
    return List.of(
        new Refusal(
            "rights revoked",
            logged,
            "REVOKE " + rights + " FROM " + account,
            "GRANT " + rights + " TO " + account),
        new Refusal(
            "password changed",
            logged,
            identified + "'another'",
            identified + "'" + database.password() + "'"),
        new Refusal(
            "account locked",
            logged,
            Engine.MYSQL.lockAccount(user, true),
            Engine.MYSQL.lockAccount(user, false)));
  }
}
