package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.support.TestDatabase;
import io.election.support.process.Node;
import io.election.support.process.NodeProcess;
import io.election.support.process.TcpProxy;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The database is unavailable when the nodes start, or moves to another address. */
@Tag("faults")
abstract class StartFaultsContract {

  private final Engine engine;

  private final TestDatabase database;

  StartFaultsContract(Engine engine) {
    this.engine = engine;
    this.database = engine.newDatabase();
  }

  /** Changes the password of a user. */
  abstract String identify(String user, String password);

  @Test
  void fault_44_database_absent_silent_or_refusing_at_start() throws Exception {
    String user = this.engine.newOwner(this.database, "late_" + this.database.name());
    this.database.execute(identify(user, "another"));
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

        this.database.execute(identify(user, this.database.password()));
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
  @Tag("long")
  void fault_45_database_host_moves_to_another_address(@TempDir Path folder) throws Exception {
    Path hosts = Files.writeString(folder.resolve("hosts"), "127.0.0.1 localhost database.test\n");
    String[] inOwnNamespace = withFiles(Map.of("/etc/hosts", hosts));
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

  /** The name server is there, and answers nothing: each look-up takes ten seconds or more. */
  @Test
  @Tag("long")
  void fault_63_name_server_does_not_answer(@TempDir Path folder) throws Exception {
    Path hosts = Files.writeString(folder.resolve("hosts"), "127.0.0.1 localhost\n");
    Random random = ThreadLocalRandom.current(); // the other product's test may run meanwhile
    String address = "127.63." + random.nextInt(256) + '.' + random.nextInt(1, 255);
    Path resolver =
        Files.writeString(folder.resolve("resolv.conf"), "nameserver " + address + '\n');
    String[] inOwnNamespace = withFiles(Map.of("/etc/hosts", hosts, "/etc/resolv.conf", resolver));
    try (DatagramSocket silent = new DatagramSocket(53, InetAddress.getByName(address));
        TcpProxy proxy = TcpProxy.to(this.database)) {
      List<Node> nodes = List.of(
          SamplingNode.named("by-address").startedBy(inOwnNamespace),
          SamplingNode.named("by-name")
              .startedBy(inOwnNamespace)
              .with("spring.datasource.url=" + proxy.jdbcUrl("database.test")));
      long started = System.nanoTime();
      Cluster.start(this.database, Cluster.LEASE, Cluster.RENEW, nodes, (cluster) -> {
        cluster.awaitUp();
        Cluster.measured(
            "63 name server does not answer: both nodes are up after %.3f s",
            (System.nanoTime() - started) / 1e9);
        NodeProcess leader = cluster.awaitLeader();
        NodeProcess byName = cluster.nodes().get(1);
        assertThat(leader).isNotSameAs(byName);
        cluster.awaitLog(byName, " WARN ");
        silent.setSoTimeout(30_000);
        silent.receive(new DatagramPacket(new byte[512], 512));

        Files.writeString(hosts, "127.0.0.1 localhost database.test\n");
        cluster.awaitLog(byName, "is held by " + leader);
      });
    }
  }

  /** The beginning of a command line whose process sees other contents of some files. */
  private static String[] withFiles(Map<String, Path> contents) {
    Assumptions.assumeTrue(
        PacketFilter.succeeds("unshare", "-m", "mount", "--bind", "/etc/hosts", "/etc/hosts"),
        "a file of one's own needs mount namespaces, as root");
    StringBuilder mounts = new StringBuilder();
    contents.forEach((file, content) ->
        mounts.append("mount --bind ").append(content).append(' ').append(file).append(" && "));
    return new String[] {"unshare", "-m", "sh", "-c", mounts + "exec \"$0\" \"$@\""};
  }
}
