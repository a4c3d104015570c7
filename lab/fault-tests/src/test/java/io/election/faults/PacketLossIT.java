package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.support.process.NodeProcess;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The kernel really drops packets. Skipped where it cannot be made to drop them. */
@Tag("faults")
class PacketLossIT {

  private static final TcpProxies PROXIES = new TcpProxies();

  @RegisterExtension
  static final SharedCluster THREE_NODES = PROXIES.cluster(Engine.MYSQL);

  @Test
  void fault_10_11_12_packets_of_the_leader_dropped() throws Exception {
    PacketFilter.assumeUsable();
    THREE_NODES.run((cluster, first) -> {
      Map<String, Consumer<PacketFilter>> faults = Map.of(
          "10 all packets of the leader dropped", PacketFilter::loseBoth,
          "11 packets from the leader dropped", PacketFilter::loseRequests,
          "12 packets to the leader dropped", PacketFilter::loseAnswers);
      for (Map.Entry<String, Consumer<PacketFilter>> fault : faults.entrySet()) {
        NodeProcess leader = cluster.awaitLeader();
        try (PacketFilter filter = new PacketFilter(PROXIES.of(leader).port())) {
          fault.getValue().accept(filter);
          NodeProcess next = cluster.awaitLeaderOtherThan(leader);
          cluster.printGap(fault.getKey(), leader, next);
          cluster.awaitLoss(leader);
          filter.heal();
          cluster.awaitLog(
              leader, "is held by " + next + " in term " + next.lastClaim().term());
          assertThat(cluster.awaitLeader()).isEqualTo(next);
        }
      }
    });
  }

  @Test
  @Tag("long")
  void fault_14_ten_percent_of_packets_lost() throws Exception {
    PacketFilter.assumeUsable();
    THREE_NODES.run((cluster, leader) -> {
      try (PacketFilter filter = new PacketFilter(PROXIES.ports())) {
        filter.lose(0.1);
        cluster.awaitWrites(20);
      }
      NodeProcess last = cluster.awaitRecovery("14 a tenth of all packets lost", System.nanoTime());
      Cluster.measured(
          "14 a tenth of all packets lost: %d terms until 20 writes were done",
          last.lastClaim().term());
    });
  }
}
