package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.support.TestDatabase;
import io.election.support.process.Claim;
import io.election.support.process.Node;
import io.election.support.process.NodeProcess;
import io.election.support.process.TcpProxy;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Faults of the network between the database and three nodes, each behind its own proxy. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class NetworkFaultsContract {

  @RegisterExtension
  final SharedCluster threeNodes;

  private final TcpProxies proxies = new TcpProxies();

  private final Engine engine;

  NetworkFaultsContract(Engine engine) {
    this.engine = engine;
    this.threeNodes = this.proxies.cluster(engine);
  }

  @Test
  @Tag("faults")
  void fault_10_node_and_database_cut_off_both_ways() throws Exception {
    breakLinks("10 leader cut off", TcpProxy::cut);
  }

  @Test
  @Tag("faults")
  void fault_11_only_requests_lost() throws Exception {
    breakLinks("11 the leader's requests lost", TcpProxy::loseRequests);
  }

  @Test
  @Tag("faults")
  void fault_12_only_answers_lost() throws Exception {
    breakLinks("12 the leader's answers lost", TcpProxy::loseAnswers);
  }

  private void breakLinks(String fault, Consumer<TcpProxy> how) throws Exception {
    this.threeNodes.run((cluster, leader) -> {
      breakLeader(fault, cluster, leader, this.proxies.of(leader), how);

      this.proxies.forEach(how);
      cluster.awaitNoLeader();
      this.proxies.forEach(TcpProxy::heal);
      cluster.awaitRecovery(fault + ", then all nodes", System.nanoTime());
    });
  }

  /** A node that loses the database is replaced. It follows when it reaches the database again. */
  private void breakLeader(
      String fault, Cluster cluster, NodeProcess leader, TcpProxy proxy, Consumer<TcpProxy> how) {
    Claim last = leader.lastClaim();
    how.accept(proxy);
    NodeProcess next = cluster.awaitLeaderOtherThan(leader);
    cluster.printGap(fault, leader, next);
    cluster.awaitLoss(leader);
    String lost = "lost leader by " + this.engine;
    cluster.awaitLog(leader, lost);
    assertThat(leader.logLines(lost)).last().asString().contains("EXPIRED");
    assertThat(next.lastClaim().term()).isGreaterThan(last.term());
    int claims = leader.claims().size();

    proxy.heal();
    cluster.awaitLog(
        leader, "is held by " + next + " in term " + next.lastClaim().term());
    assertThat(leader.claims()).hasSize(claims);
    assertThat(cluster.awaitLeader()).isEqualTo(next);
  }

  @Test
  @Tag("faults")
  void fault_13_connection_reset_after_the_commit_of_a_renewal_a_take_over_and_a_release()
      throws Exception {
    this.threeNodes.run((cluster, leader) -> {
      Claim claim = leader.lastClaim();
      TcpProxy.Trap renewal = this.proxies.of(leader).resetAfterAnswerTo("lease_millis > 0");
      cluster.await("a renewal", renewal::isSprung);
      cluster.awaitLog(leader, "the " + this.engine + " store works again");
      cluster.awaitWrites(2);
      assertThat(cluster.awaitLeader()).isEqualTo(leader);
      assertThat(leader.claims()).hasSize(1);
      assertThat(leader.lastClaim().term()).isEqualTo(claim.term());

      Map<NodeProcess, TcpProxy.Trap> takeOvers = new HashMap<>();
      for (NodeProcess node : cluster.nodes()) {
        if (node != leader) {
          takeOvers.put(
              node,
              this.proxies
                  .of(node)
                  .resetAfterAnswerTo("INSERT INTO leader_election_history", "COMMIT"));
        }
      }
      TcpProxy.Trap release = this.proxies.of(leader).resetAfterAnswerTo("lease_millis = 0");
      long stopping = System.nanoTime();
      leader.stop();
      assertThat(release.isSprung()).isTrue();
      assertThat(System.nanoTime() - stopping).isLessThan(TimeUnit.SECONDS.toNanos(20));
      cluster.await(
          "a take-over", () -> takeOvers.values().stream().anyMatch(TcpProxy.Trap::isSprung));
      this.proxies.forEach(TcpProxy::heal);
      NodeProcess next = cluster.awaitRecovery(
          "13 reset after the commit of a release and a take-over", System.nanoTime());
      assertThat(next.lastClaim().term()).isGreaterThan(claim.term());
    });
  }

  @Test
  @Tag("long")
  void fault_14_delay_with_jitter_and_56_kbit_a_second() throws Exception {
    TestDatabase database = this.engine.newDatabase();
    try (TcpProxies proxies = new TcpProxies()) {
      List<Node> nodes = Cluster.threeNodes(
          (node) -> this.engine.withoutSignals(node).with("as.election.operation-timeout=11s"));
      Cluster.run(
          database,
          Duration.ofSeconds(24),
          Duration.ofSeconds(1),
          proxies.between(database, nodes),
          (cluster, leader) -> {
            proxies.forEach((proxy) -> proxy.delay(Duration.ofMillis(450), Duration.ofMillis(100)));
            cluster.awaitWrites(6);
            assertThat(proxies.of(leader).longestWait()).isGreaterThan(Duration.ofMillis(900));
            assertThat(leader.claims()).hasSize(1);

            proxies.forEach(TcpProxy::heal);
            proxies.forEach((proxy) -> proxy.limit(7_000));
            proxies.forEach(TcpProxy::reset);
            cluster.awaitWrites(4);
            assertThat(leader.claims()).hasSize(1);
            proxies.forEach(TcpProxy::heal);
            assertThat(cluster.awaitRecovery("14 delay and 56 kbit/s", System.nanoTime()))
                .isEqualTo(leader);
          });
    }
  }

  @Test
  @Tag("faults")
  void fault_15_connection_cut_every_200_ms() throws Exception {
    Assumptions.assumeTrue(
        Files.isDirectory(Path.of("/proc/self/task")), "no /proc to count threads");
    this.threeNodes.run((cluster, leader) -> {
      Map<NodeProcess, Integer> threads = new HashMap<>();
      for (NodeProcess node : cluster.nodes()) {
        threads.put(node, threads(node, "").size());
      }
      assertThat(threads(leader, "election")).hasSize(4);

      this.proxies.forEach((proxy) -> proxy.resetEvery(Duration.ofMillis(200)));
      for (NodeProcess node : cluster.nodes()) {
        cluster.await(
            "15 connections of " + node + " are cut",
            () -> this.proxies.of(node).resetCount() >= 15);
      }
      this.proxies.forEach(TcpProxy::heal);
      cluster.awaitRecovery("15 connections cut every 200 ms", System.nanoTime());
      for (NodeProcess node : cluster.nodes()) {
        cluster.await(
            "only the four threads of " + node + " are left",
            () -> threads(node, "election").size() == 4);
        assertThat(threads(node, "").size())
            .as("threads of %s", node)
            .isLessThanOrEqualTo(threads.get(node) + 4);
      }
      cluster
          .within(Duration.ofSeconds(60), "each node has one connection, and followers another")
          .pollInterval(Duration.ofMillis(200))
          .until(() -> this.threeNodes
              .database()
              .query("SELECT COUNT(*) FROM "
                  + this.engine.sessionsOf(this.threeNodes.database().username()))
              .equals("5"));
    });
  }

  private static List<String> threads(NodeProcess node, String prefix) throws IOException {
    try (Stream<Path> tasks = Files.list(Path.of("/proc/" + node.pid() + "/task"))) {
      return tasks
          .map(NetworkFaultsContract::nameOf)
          .filter((name) -> name.startsWith(prefix))
          .toList();
    }
  }

  private static String nameOf(Path task) {
    try {
      return Files.readString(task.resolve("comm")).strip();
    } catch (IOException ex) {
      return "(ended)";
    }
  }
}
