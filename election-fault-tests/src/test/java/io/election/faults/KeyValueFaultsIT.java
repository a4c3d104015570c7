package io.election.faults;

import static io.election.faults.Cluster.LEASE;
import static io.election.faults.Cluster.SERVICE;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.test.process.Claim;
import io.election.test.process.NodeProcess;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Three processes on three members of ZooKeeper or etcd, which fail one after the other. */
@Tag("faults")
@Order(1)
class KeyValueFaultsIT {

  @Test
  void fault_48_nodes_on_zookeeper_are_killed_stopped_and_paused() throws Exception {
    nodesFail(KeyValueStore.ZOOKEEPER);
  }

  @Test
  void fault_49_nodes_on_etcd_are_killed_stopped_and_paused() throws Exception {
    nodesFail(KeyValueStore.ETCD);
  }

  @Test
  void fault_48_members_of_zookeeper_are_killed_and_paused() throws Exception {
    membersFail(KeyValueStore.ZOOKEEPER);
  }

  @Test
  void fault_49_members_of_etcd_are_killed_and_paused() throws Exception {
    membersFail(KeyValueStore.ETCD);
  }

  private static void nodesFail(KeyValueStore store) throws Exception {
    try (KeyValueStore.Members members = store.start()) {
      Cluster.run(members.properties(), (all) -> {
        all.play((cluster, leader) -> {
          leader.kill();
          NodeProcess next = cluster.awaitLeaderOtherThan(leader);
          cluster.printGap("kill -9 of the leader, " + store, leader, next);
          cluster.awaitLog(next, "become leader by " + store.logName());
          assertThat(next.lastClaim().term()).isGreaterThan(leader.lastClaim().term());
        });
        all.play((cluster, leader) -> {
          leader.stop();
          NodeProcess next = cluster.awaitLeaderOtherThan(leader);
          cluster.printGap("SIGTERM of the leader, " + store, leader, next);
          cluster.awaitLog(next, "RELEASED");
        });
        all.play((cluster, leader) -> {
          leader.pause();
          NodeProcess next = cluster.awaitLeaderOtherThan(leader);
          Claim claim = next.lastClaim();
          leader.resume();
          cluster.awaitLoss(leader);
          cluster.staysLeader(next, LEASE);
          assertThat(claim.term()).isGreaterThan(leader.lastClaim().term());
        });
        all.play((cluster, leader) -> {
          long term = leader.lastClaim().term();
          members.delete().accept(SERVICE);
          cluster.awaitLoss(leader);
          cluster.await(
              "a node leads in a later term",
              () -> cluster
                  .leader()
                  .filter((next) -> next.lastClaim().term() > term)
                  .isPresent());
        });
      });
    }
  }

  private static void membersFail(KeyValueStore store) throws Exception {
    try (KeyValueStore.Members members = store.start()) {
      Cluster.run(members.properties(), (all) -> {
        for (KeyValueStore.Member member : members.all()) {
          all.play((cluster, leader) -> {
            member.kill().run();
            cluster.awaitSteady(cluster.awaitLeader(), LEASE);
            member.start().run();
          });
        }
        all.play((cluster, leader) -> {
          members.all().get(0).pause().run();
          cluster.awaitSteady(cluster.awaitLeader(), LEASE);
          members.all().get(1).pause().run();
          cluster.awaitNoLeader();
          members.all().get(0).resume().run();
          members.all().get(1).resume().run();
          cluster.awaitRecovery("no quorum, " + store, System.nanoTime());
        });
      });
    }
  }
}
