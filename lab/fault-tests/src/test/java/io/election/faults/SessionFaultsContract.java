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
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Faults of the connections, the locks and the account of three nodes. */
@Tag("faults")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class SessionFaultsContract {

  @RegisterExtension
  final SharedCluster threeNodes;

  private final Engine engine;

  SessionFaultsContract(Engine engine) {
    this.engine = engine;
    this.threeNodes = new SharedCluster(engine);
  }

  /** How the server says that a lock was not free in time. */
  abstract String lockTimeout();

  /** How the server says that it has chosen a victim. */
  abstract String deadlock();

  /** Prepares that the server chooses nodes as victims of deadlocks, not an administrator. */
  abstract void preferNodesAsVictims(Statement administrator, String user) throws SQLException;

  /** Locks the second of the two tables that a take-over locks. */
  abstract void lockHistory(Statement administrator) throws SQLException;

  /** Counts the sessions of a user that have changed a row and wait for another. */
  abstract String countTakeOversThatWait(String user);

  /** Changes after which the server refuses the user of a database. */
  abstract List<Refusal> refusals(TestDatabase database, String user);

  /** A change, what the log says of it, and how to undo it. */
  record Refusal(String what, String logged, String sql, String undo) {}

  @Test
  void fault_21_application_pool_exhausted() throws Exception {
    TestDatabase database = this.engine.newDatabase();
    List<Node> nodes = Cluster.threeNodes(DataSources.ExhaustedPool::on);
    Cluster.run(database, nodes, (cluster, leader) -> {
      cluster
          .nodes()
          .forEach(
              (node) -> cluster.awaitLog(node, "the pool is exhausted, 2 connections are held"));
      cluster.awaitWrites(5);
      Engine.killSessions(database.server(), database.username());
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
    this.threeNodes.run((cluster, leader) -> {
      TestDatabase database = this.threeNodes.database();
      for (int i = 1; i <= 5; i++) {
        Engine.killSessions(database.server(), database.username());
        cluster.awaitWrites(2);
      }
      cluster.awaitLog(leader, "the " + this.engine + " store works again");
      assertThat(cluster.awaitRecovery("23 connections killed five times", System.nanoTime()))
          .isEqualTo(leader);
      assertThat(leader.claims()).hasSize(1);
      assertThat(leader.logLines("published LeadershipLostEvent")).isEmpty();
    });
  }

  @Test
  void fault_24_lock_wait_and_deadlock() throws Exception {
    TestDatabase database = this.engine.newDatabase();
    List<Node> nodes =
        Cluster.threeNodes((node) -> node.with("as.election.operation-timeout=1500ms"));
    Cluster.run(
        database, Duration.ofSeconds(8), Duration.ofSeconds(1), nodes, (cluster, leader) -> {
          try (Connection holder = database.connect();
              Statement statement = holder.createStatement()) {
            holder.setAutoCommit(false);
            statement.executeQuery("SELECT * FROM leader_election FOR UPDATE").close();
            cluster.awaitLog(leader, lockTimeout());
            holder.rollback();
            cluster.awaitWrites(2);
            assertThat(leader.claims()).hasSize(1);
            assertThat(leader.announcements(Cluster.SERVICE)).hasSize(1);

            preferNodesAsVictims(statement, database.username());
            lockHistory(statement);
            leader.stop();
            cluster
                .within(Duration.ofSeconds(60), "a follower is the victim of a deadlock")
                // InnoDB refreshes its list of transactions only if it was not read for 100 ms.
                .pollInterval(Duration.ofMillis(150))
                .until(() -> {
                  if (!"0".equals(database.query(countTakeOversThatWait(database.username())))) {
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
                      .anyMatch((node) -> !node.logLines(deadlock()).isEmpty());
                });
            holder.rollback();
          }
          cluster.awaitRecovery("24 deadlock of a take-over", System.nanoTime());
        });
  }

  @Test
  @Tag("long")
  void fault_38_rights_revoked_password_changed_account_locked() throws Exception {
    this.threeNodes.run((cluster, leader) -> {
      TestDatabase database = this.threeNodes.database();
      for (Refusal refusal : refusals(database, database.username())) {
        refuse(refusal, database, cluster);
      }
    });
  }

  private static void refuse(Refusal refusal, TestDatabase database, Cluster cluster) {
    NodeProcess leader = cluster.awaitLeader();
    int refused = leader.logLines(refusal.logged()).size();
    database.execute(refusal.sql());
    // Open connections continue to work for a while.
    Engine.killSessions(database.server(), database.username());
    cluster.awaitNoLeader();
    cluster.awaitLoss(leader);
    cluster.await(leader + " says why", () -> leader.logLines(refusal.logged()).size() > refused);
    database.execute(refusal.undo());
    cluster.awaitRecovery("38 " + refusal.what(), System.nanoTime());
  }
}
