package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.test.TestDatabase;
import io.election.test.process.Node;
import io.election.test.process.NodeProcess;
import io.election.test.process.TcpProxy;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The database is unavailable when the nodes start, or moves to another address. */
@Tag("faults")
class StartFaultsIT {

  private final TestDatabase database = TestDatabase.newDatabase();

  @Test
  void fault_44_database_absent_silent_or_refusing_at_start() throws Exception {
    String user = this.database.newUser(
        "late_" + this.database.name(), "ALL ON " + this.database.name() + ".*");
    this.database.execute("ALTER USER '" + user + "'@'%' IDENTIFIED BY 'another'");
    try (TcpProxy absent = TcpProxy.to(this.database);
        TcpProxy silent = TcpProxy.to(this.database)) {
      absent.refuse();
      silent.cut();
      List<Node> nodes = List.of(
          SamplingNode.named("absent").through(absent),
          SamplingNode.named("silent").through(silent),
          SamplingNode.named("refused").with("spring.datasource.username=" + user),
          SamplingNode.named("wrong")
              .with("spring.datasource.url="
                  + this.database.jdbcUrl().replace(this.database.name(), "elsewhere")));
      Cluster.start(this.database, Cluster.LEASE, Cluster.RENEW, nodes, (cluster) -> {
        cluster.awaitLog(cluster.nodes().get(0), "cannot be reached");
        cluster.awaitLog(cluster.nodes().get(1), "did not answer within");
        cluster.awaitLog(cluster.nodes().get(2), "refuses the user");
        cluster.awaitLog(cluster.nodes().get(3), " WARN ");
        assertThat(cluster.judge().claims()).isEmpty();

        this.database.execute(
            "ALTER USER '" + user + "'@'%' IDENTIFIED BY '" + this.database.password() + "'");
        absent.heal();
        silent.heal();
        NodeProcess leader = cluster.awaitRecovery(
            "44 database absent, silent or refusing at start", System.nanoTime());
        for (NodeProcess node : cluster.nodes().subList(0, 3)) {
          if (node != leader) {
            cluster.awaitLog(node, "is held by " + leader);
          }
        }
        assertThat(cluster.nodes().get(3).claims()).isEmpty();
      });
    }
  }

  @Test
  void fault_45_database_host_moves_to_another_address(@TempDir Path folder) throws Exception {
    Assumptions.assumeTrue(
        PacketFilter.succeeds("unshare", "-m", "mount", "--bind", "/etc/hosts", "/etc/hosts"),
        "a hosts file of one's own needs mount namespaces, as root");
    Path hosts = folder.resolve("hosts");
    Files.writeString(hosts, "127.0.0.1 localhost database.test\n");
    String[] inOwnNamespace = {
      "unshare", "-m", "sh", "-c", "mount --bind " + hosts + " /etc/hosts && exec \"$0\" \"$@\""
    };
    try (TcpProxy here = TcpProxy.to(this.database);
        TcpProxy there =
            TcpProxy.at(InetAddress.getByName("127.0.0.2"), here.port(), this.database)) {
      Cluster.run(
          this.database,
          Cluster.threeNodes((node) -> node.startedBy(inOwnNamespace)
              // By default a JVM caches an address for 30 s.
              .withJvmOption("-Dsun.net.inetaddr.ttl=1")
              .with("spring.datasource.url=" + here.jdbcUrl("database.test"))),
          (cluster, leader) -> {
            Files.writeString(hosts, "127.0.0.1 localhost\n127.0.0.2 database.test\n");
            here.refuse();
            here.reset();
            long moved = System.nanoTime();
            cluster.await(
                "all are connected to the new address", () -> there.connectionCount() >= 3);
            Cluster.measured(
                "45 database moved: all nodes are connected to the new address after %.3f s",
                (System.nanoTime() - moved) / 1e9);
            cluster.awaitRecovery("45 database moved", moved);
            assertThat(here.connectionCount()).isZero();
            cluster.awaitWrites(2);
          });
    }
  }
}
