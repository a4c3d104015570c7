package io.election.faults;

import static io.election.faults.Cluster.LEASE;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.test.TestDatabase;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Three real processes on one database, and what may happen to them. */
class ElectionProcessIT {

  @Test
  void aKilledLeaderIsFollowedByAnotherNotBeforeItsDeadline() throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
    Cluster.run(database, (cluster, leader) -> {
      leader.kill();
      long killed = System.nanoTime();
      NodeProcess next = cluster.awaitLeaderOtherThan(leader);
      cluster.printGap("kill -9 of the leader", leader, next);
      Claim last = leader.claims().get(leader.claims().size() - 1);
      Claim first = next.claims().get(0);
      assertThat(first.term()).isEqualTo(last.term() + 1);
      assertThat(first.from() - killed).isLessThan(LEASE.multipliedBy(3).toNanos());
      assertThat(next.logLines("become leader by mysql")).hasSize(1);
      assertThat(next.logLines("try acquire leader by mysql with result: true")).hasSize(1);
    });
  }

  @Test
  void aLeaderThatIsStoppedCleanlyHandsBackItsLease() throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
    Cluster.run(database, (cluster, leader) -> {
      leader.stop();
      NodeProcess next = cluster.awaitLeaderOtherThan(leader);
      cluster.printGap("SIGTERM of the leader", leader, next);
      assertThat(leader.logLines("published LeadershipLostEvent")).hasSize(1);
      assertThat(leader.logLines("handed term 1 back")).hasSize(1);
      assertThat(next.logLines("RELEASED")).isNotEmpty();
    });
  }

  @Test
  void aLeaderThatIsPausedForLongerThanItsLeaseNeverClaimsToLeadWhenItWakes() throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
    Cluster.run(database, (cluster, leader) -> {
      leader.pause();
      NodeProcess next = cluster.awaitLeaderOtherThan(leader);
      int claims = leader.claims().size();
      leader.resume();
      cluster
          .within(Duration.ofSeconds(20), "the woken node knows that it lost")
          .until(() -> leader.logLines("published LeadershipLostEvent").size() == 1);
      assertThat(leader.claims()).hasSize(claims);
      assertThat(next.leads()).isTrue();
    });
  }

  @Test
  @Tag("faults")
  void aLeaderThatIsPausedForLessThanItsLeaseStaysOrChangesCleanly() throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
    Cluster.run(database, (cluster, leader) -> {
      for (int i = 0; i < 5; i++) {
        long until = System.nanoTime() + LEASE.toNanos() / 2;
        leader.pause();
        cluster.within(LEASE, "half a lease has passed").until(() -> System.nanoTime() - until > 0);
        leader.resume();
        cluster.awaitLeader();
      }
    });
  }

  @Test
  void aRowThatIsEditedByHandMovesTheLeadership() throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
    Cluster.run(database, (cluster, leader) -> {
      NodeProcess designated = cluster.follower();
      database.execute("UPDATE leader_election SET leader_id = '%s' WHERE service_id = '%s'"
          .formatted(designated.name(), Cluster.SERVICE));
      cluster.awaitLeads(designated);
      cluster.printGap("leader designated by SQL", leader, designated);
      assertThat(leader.logLines("DISPLACED")).isNotEmpty();

      NodeProcess back = leader;
      database.execute("REPLACE INTO leader_election (service_id, leader_id) VALUES ('%s', '%s')"
          .formatted(Cluster.SERVICE, back.name()));
      cluster.awaitLeads(back);
      assertThat(cluster.history().violations()).isEmpty();
    });
  }

  @Test
  void aRowThatIsDeletedByHandForcesAnElectionAfterAWholeLease() throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
    Cluster.run(database, (cluster, leader) -> {
      Claim before = leader.claims().get(0);
      database.execute("DELETE FROM leader_election WHERE service_id = '" + Cluster.SERVICE + "'");
      cluster.awaitNoLeader();
      NodeProcess next = cluster.awaitLeader();
      cluster.printGap("row deleted by hand", leader, next);
      Claim first = next.claims().get(next.claims().size() - 1);
      assertThat(first.term()).isGreaterThan(before.term());
    });
  }

  @Test
  @Tag("faults")
  void termsGrowThoughBothTablesAreEmptied() throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
    Cluster.run(database, (cluster, leader) -> {
      database.execute("DELETE FROM leader_election", "DELETE FROM leader_election_history");
      cluster.awaitNoLeader();
      cluster.awaitLeader();
    });
  }

  @Test
  void ofTwoNodesWithOneIdOneLeadsAndTheOtherWarns() throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
    Cluster.run(database, (cluster, leader) -> {
      NodeProcess twin = cluster.add(twinOf(leader, "twin"));
      cluster.awaitUp();
      cluster
          .within(Duration.ofSeconds(30), "the twin warns")
          .until(() -> !twin.logLines("another process uses node id '" + leader.name() + "'")
              .isEmpty());
      leader.kill();
      cluster.awaitLeaderOtherThan(leader);
    });
  }

  @Test
  @Tag("faults")
  void twinsAloneDoNotBlockEachOther() throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
    Cluster.run(database, (cluster, leader) -> {
      List<NodeProcess> others =
          cluster.nodes().stream().filter((node) -> node != leader).toList();
      others.forEach(NodeProcess::stop);
      NodeProcess twin = cluster.add(twinOf(leader, "twin"));
      cluster.awaitUp();
      NodeProcess third = cluster.add(twinOf(leader, "triplet"));
      cluster.awaitUp();
      leader.kill();
      NodeProcess next = cluster.awaitLeaderOtherThan(leader);
      assertThat(next).isIn(twin, third);
    });
  }

  private static Node twinOf(NodeProcess node, String name) {
    return Node.named(name).with("as.election.node-id=" + node.name());
  }
}
