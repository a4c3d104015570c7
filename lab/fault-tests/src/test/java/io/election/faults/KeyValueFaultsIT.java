package io.election.faults;

import static io.election.faults.Cluster.LEASE;
import static io.election.faults.Cluster.SERVICE;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.etcd.EtcdProcess;
import io.election.support.process.Claim;
import io.election.support.process.IsolatedHosts;
import io.election.support.process.Node;
import io.election.support.process.NodeProcess;
import io.election.support.process.TcpProxy;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Three processes on three members of ZooKeeper or etcd, which fail one after the other. */
@Tag("faults")
@Order(2)
class KeyValueFaultsIT {

  @Test
  @Tag("long")
  void fault_48_nodes_on_zookeeper_and_its_members_fail() throws Exception {
    nodesAndMembersFail(KeyValueStore.ZOOKEEPER);
  }

  @Test
  void fault_49_nodes_on_etcd_and_its_members_fail() throws Exception {
    nodesAndMembersFail(KeyValueStore.ETCD);
  }

  @Test
  @Tag("long")
  void fault_49_member_of_etcd_is_cut_off_with_the_leader_on_it() throws Exception {
    memberIsCutOff(false);
    memberIsCutOff(true);
  }

  /**
   * The leader's member is cut off from the others. It still answers the leader's connections and
   * its local reads, which must not keep the leader in office.
   */
  private static void memberIsCutOff(boolean leadsCluster) throws Exception {
    try (IsolatedHosts hosts = new IsolatedHosts(3)) {
      List<EtcdProcess> servers = EtcdProcess.startCluster(hosts, 3);
      EtcdProcess member = servers.stream()
          .filter((server) -> server.leads() == leadsCluster)
          .findFirst()
          .orElseThrow();
      String endpoints = "as.election.etcd.endpoints=";
      String others = servers.stream()
          .filter((server) -> server != member)
          .map(EtcdProcess::url)
          .collect(Collectors.joining(",", endpoints, ""));
      Node onMember = SamplingNode.named("a").with(endpoints + member.url());
      try (KeyValueStore.Members members = KeyValueStore.etcd(servers)) {
        Cluster.run(members.properties(), List.of(onMember), (all) -> {
          NodeProcess first = all.awaitLeader();
          all.join(SamplingNode.named("b").with(others), SamplingNode.named("c").with(others));
          all.play((cluster, leader) -> {
            assertThat(leader).isSameAs(first);
            assertThat(member.leads()).as("the member leads").isEqualTo(leadsCluster);
            hosts.cutOff(servers.indexOf(member) + 1);
            assertThat(member.ctl("get", "--consistency=s", "/election/" + SERVICE))
                .as("a local read of the member that is cut off")
                .contains("\"a\"");
            NodeProcess next = cluster.awaitLeaderOtherThan(leader);
            cluster.awaitLoss(leader);
            String what = leadsCluster ? "leads etcd" : "follows";
            cluster.printGap("a member is cut off that " + what, leader, next);
            assertThat(next.lastClaim().term()).isGreaterThan(leader.lastClaim().term());
            cluster.staysLeader(next, LEASE);
            hosts.heal();
            // The member that comes back may make etcd elect its own leader again.
            cluster.awaitSteadyLeader(LEASE);
            long term = next.lastClaim().term();
            cluster.nodes().stream().filter((node) -> node != leader).forEach(NodeProcess::stop);
            cluster.awaitLeads(leader);
            assertThat(leader.lastClaim().term()).isGreaterThanOrEqualTo(term);
          });
        });
      }
    }
  }

  @Test
  @Tag("long")
  void fault_59_etcd_is_restored_from_a_snapshot() throws Exception {
    isSetBack(KeyValueStore.ETCD);
  }

  @Test
  @Tag("long")
  void fault_59_data_of_zookeeper_are_put_back() throws Exception {
    isSetBack(KeyValueStore.ZOOKEEPER);
  }

  /**
   * The data are saved while no node leads. Then a node leads, is cut off, and the data are put
   * back: neither a node that knew the leader nor one that starts may lead beside it, nor in its
   * term.
   */
  private static void isSetBack(KeyValueStore store) throws Exception {
    try (KeyValueStore.Members members = store.start();
        TcpProxy link = TcpProxy.to(members.port(), () -> (packet) -> 1).awaitServer()) {
      Node before = patient("before");
      Cluster.run(members.properties(), List.of(before), (all) -> {
        all.play((cluster, leader) -> leader.stop());
        Runnable restore = members.backup().get();
        NodeProcess cutOff = all.add(patient("cut-off").with(members.through(link)));
        all.awaitLeads(cutOff);
        all.join(patient("follower"));
        long term = cutOff.lastClaim().term();
        link.cut();
        restore.run();
        all.join(patient("newcomer"));
        NodeProcess next = all.awaitLeaderOtherThan(cutOff);
        all.printGap("the store is set back, " + store, cutOff, next);
        if (store == KeyValueStore.ETCD) {
          assertThat(next.lastClaim().term()).isGreaterThan(term);
        }
        link.heal();
        all.staysLeader(next, LEASE);
      });
    }
  }

  private static Node patient(String name) {
    return SamplingNode.named(name)
        .with("as.election.lease-duration=20s")
        .with("as.election.renew-interval=2s");
  }

  private static void nodesAndMembersFail(KeyValueStore store) throws Exception {
    try (KeyValueStore.Members members = store.start()) {
      Cluster.run(members.properties(), (all) -> {
        nodesFail(store, members, all);
        membersFail(store, members, all);
      });
    }
  }

  private static void nodesFail(KeyValueStore store, KeyValueStore.Members members, Cluster all)
      throws Exception {
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
    for (Runnable deletion :
        List.<Runnable>of(() -> members.delete().accept(SERVICE), members.deleteAll())) {
      all.play((cluster, leader) -> {
        long term = leader.lastClaim().term();
        deletion.run();
        cluster.awaitLoss(leader);
        cluster.await(
            "a node leads in a later term",
            () -> cluster
                .leader()
                .filter((next) -> next.lastClaim().term() > term)
                .isPresent());
      });
    }
  }

  private static void membersFail(KeyValueStore store, KeyValueStore.Members members, Cluster all)
      throws Exception {
    for (KeyValueStore.Member member : members.all()) {
      all.play((cluster, leader) -> {
        member.kill().run();
        cluster.awaitSteadyLeader(LEASE);
        member.start().run();
      });
    }
    all.play((cluster, leader) -> {
      members.all().get(0).pause().run();
      cluster.awaitSteadyLeader(LEASE);
      members.all().get(1).pause().run();
      cluster.awaitNoLeader();
      members.all().get(0).resume().run();
      members.all().get(1).resume().run();
      cluster.awaitRecovery("no quorum, " + store, System.nanoTime());
      cluster.awaitSteadyLeader(LEASE);
    });
    all.play((cluster, leader) -> {
      for (KeyValueStore.Member member : members.all()) {
        member.stop().run();
        member.start().run();
      }
      cluster.awaitSteadyLeader(LEASE);
      cluster.printGaps("rolling restart of the members, " + store);
    });
  }
}
