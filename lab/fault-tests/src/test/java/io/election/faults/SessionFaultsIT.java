package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.support.TestDatabase;
import io.election.support.process.Node;
import io.election.support.process.NodeProcess;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Faults of the connections, the locks and the account of three nodes. */
@Tag("faults")
class SessionFaultsIT {

  @RegisterExtension
  static final SharedCluster THREE_NODES = new SharedCluster();

  @Test
  void fault_21_application_pool_exhausted() throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
    List<Node> nodes = Cluster.threeNodes(DataSources.ExhaustedPool::on);
    Cluster.run(database, nodes, (cluster, leader) -> {
      cluster
          .nodes()
          .forEach(
              (node) -> cluster.awaitLog(node, "the pool is exhausted, 2 connections are held"));
      cluster.awaitWrites(5);
      Sessions.kill(database.server(), database.username());
      cluster.awaitWrites(3);
      assertThat(cluster.awaitLeader()).isEqualTo(leader);
      assertThat(leader.claims()).hasSize(1);

      leader.kill();
      NodeProcess next = cluster.awaitLeaderOtherThan(leader);
      cluster.printGap("21 leader killed, all pools exhausted", leader, next);
    });
  }

  @Test
  void fault_23_connection_of_the_election_killed() throws Exception {
    THREE_NODES.run((cluster, leader) -> {
      for (int i = 1; i <= 5; i++) {
        killSessions();
        cluster.awaitWrites(2);
      }
      cluster.awaitLog(leader, "the mysql store works again");
      assertThat(cluster.awaitRecovery("23 connections killed five times", System.nanoTime()))
          .isEqualTo(leader);
      assertThat(leader.claims()).hasSize(1);
      assertThat(leader.logLines("published LeadershipLostEvent")).isEmpty();
    });
  }

  @Test
  void fault_24_lock_wait_and_deadlock() throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
    List<Node> nodes =
        Cluster.threeNodes((node) -> node.with("as.election.operation-timeout=1500ms"));
    Cluster.run(
        database, Duration.ofSeconds(8), Duration.ofSeconds(1), nodes, (cluster, leader) -> {
          try (Connection holder = database.connect();
              Statement statement = holder.createStatement()) {
            holder.setAutoCommit(false);
            statement.executeQuery("SELECT * FROM leader_election FOR UPDATE").close();
            cluster.awaitLog(leader, "(Lock wait timeout exceeded");
            holder.rollback();
            cluster.awaitWrites(2);
            assertThat(leader.claims()).hasSize(1);
            assertThat(leader.announcements(Cluster.SERVICE)).hasSize(1);

            database.execute("CREATE TABLE heavy (id int PRIMARY KEY AUTO_INCREMENT, v int)");
            lockHistory(statement);
            leader.stop();
            cluster
                .within(Duration.ofSeconds(60), "a follower is the victim of a deadlock")
                // InnoDB refreshes its list of transactions only if it was not read for 100 ms.
                .pollInterval(Duration.ofMillis(250))
                .until(() -> {
                  if (isTakingOver(database)) {
                    statement
                        .executeQuery("SELECT * FROM leader_election FOR UPDATE")
                        .close();
                    holder.rollback();
                    lockHistory(statement);
                  } else if (cluster.leader().isPresent()) {
                    // A node took over in the moment without locks: force another take-over.
                    database.execute("UPDATE leader_election SET leader_id = ''");
                  }
                  return cluster.nodes().stream()
                      .anyMatch((node) -> !node.logLines("(Deadlock found").isEmpty());
                });
            holder.rollback();
          }
          cluster.awaitRecovery("24 deadlock of a take-over", System.nanoTime());
        });
  }

  /** Locks the second of the two tables that a take-over locks, in the heavier transaction. */
  private static void lockHistory(Statement statement) throws SQLException {
    statement.execute("INSERT INTO heavy (v) VALUES (1)" + ", (1)".repeat(500));
    statement.executeQuery("SELECT * FROM leader_election_history FOR UPDATE").close();
  }

  /** Whether a node has changed the first table and waits for the second. */
  private static boolean isTakingOver(TestDatabase database) {
    return !"0".equals(database.query("""
            SELECT COUNT(*)
            FROM information_schema.innodb_trx JOIN information_schema.processlist
                ON id = trx_mysql_thread_id AND user = '%s'
            WHERE trx_state = 'LOCK WAIT' AND trx_rows_modified > 0
            """.formatted(database.username())));
  }

  @Test
  void fault_38_rights_revoked_password_changed_account_locked() throws Exception {
    THREE_NODES.run((cluster, leader) -> {
      TestDatabase database = THREE_NODES.database();
      String user = "'" + database.username() + "'@'%'";
      String rights = "ALL ON " + database.name() + ".*";
      String password = database.password();
      refuse(
          "38 rights revoked",
          cluster,
          "REVOKE " + rights + " FROM " + user,
          "GRANT " + rights + " TO " + user);
      refuse(
          "38 password changed",
          cluster,
          "ALTER USER " + user + " IDENTIFIED BY 'another'",
          "ALTER USER " + user + " IDENTIFIED BY '" + password + "'");
      refuse(
          "38 account locked",
          cluster,
          "ALTER USER " + user + " ACCOUNT LOCK",
          "ALTER USER " + user + " ACCOUNT UNLOCK");
    });
  }

  private static void refuse(String fault, Cluster cluster, String sql, String undo) {
    NodeProcess leader = cluster.awaitLeader();
    int refused = leader.logLines("refuses the user").size();
    THREE_NODES.database().execute(sql);
    // Open connections continue to work for a while.
    killSessions();
    cluster.awaitNoLeader();
    cluster.awaitLoss(leader);
    cluster.await(
        leader + " says why", () -> leader.logLines("refuses the user").size() > refused);
    THREE_NODES.database().execute(undo);
    cluster.awaitRecovery(fault, System.nanoTime());
  }

  private static void killSessions() {
    Sessions.kill(THREE_NODES.database().server(), THREE_NODES.database().username());
  }
}
