package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.test.TestDatabase;
import io.election.test.TestServer;
import io.election.test.process.Node;
import io.election.test.process.NodeProcess;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** People and monitors use the endpoint of three nodes while a fault lasts. */
@Tag("faults")
class OperatorFaultsIT {

  private static TestServer server;

  private final TestDatabase database = server.newDatabase();

  private final Map<String, Endpoint> endpoints = new LinkedHashMap<>();

  @BeforeAll
  static void start() {
    server = TestServer.startOwn();
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  @Test
  void fault_46_designate_and_force_during_pauses_and_partitions() throws Exception {
    try (TcpProxies proxies = TcpProxies.to(this.database)) {
      Cluster.run(this.database, nodes(proxies), (cluster, first) -> {
        decideDuring("a pause of the leader", cluster, NodeProcess::pause, NodeProcess::resume);
        decideDuring(
            "a partition of the leader",
            cluster,
            (leader) -> proxies.of(leader).cut(),
            (leader) -> proxies.of(leader).heal());
        decideDuring(
            "the loss of the leader's answers",
            cluster,
            (leader) -> proxies.of(leader).loseAnswers(),
            (leader) -> proxies.of(leader).heal());
        decideDuring(
            "a pause of the database",
            cluster,
            (leader) -> server.pause(),
            (leader) -> server.resume());
      });
    }
  }

  /**
   * Designates and forces continuously, during a fault longer than a lease and after it is healed.
   */
  private void decideDuring(
      String fault, Cluster cluster, Consumer<NodeProcess> how, Consumer<NodeProcess> heal) {
    NodeProcess leader = cluster.awaitLeader();
    int during;
    int after;
    try (Loop operator = new Loop("operator", Duration.ofMillis(200), new Decisions())) {
      operator.awaitRounds(5);
      how.accept(leader);
      long begin = System.nanoTime();
      try {
        cluster
            .within(Duration.ofSeconds(60), "decisions for two leases")
            .until(
                () -> System.nanoTime() - begin > Cluster.LEASE.multipliedBy(2).toNanos());
        during = operator.successes();
      } finally {
        heal.accept(leader);
      }
      operator.awaitRounds(operator.rounds() + 10);
      after = operator.successes() - during;
    }
    assertThat(after).as("decisions that were accepted when all was well again").isPositive();
    System.out.printf(
        "Measured: 46 during %s: %d decisions accepted, then %d more%n", fault, during, after);
    cluster.awaitRecovery("46 decisions during " + fault, System.nanoTime());
  }

  /** Asks a random node to designate another, or to force a new election. */
  private final class Decisions implements Round {

    private final Random random = new Random(46);

    private final List<String> names = List.copyOf(OperatorFaultsIT.this.endpoints.keySet());

    @Override
    public void run() throws IOException {
      Endpoint endpoint = OperatorFaultsIT.this.endpoints.get(anyone());
      if (this.random.nextInt(4) == 0) {
        endpoint.forceElection();
      } else {
        endpoint.designate(anyone());
      }
    }

    private String anyone() {
      return this.names.get(this.random.nextInt(this.names.size()));
    }
  }

  @Test
  void fault_47_endpoint_scraped_during_a_partition_and_a_pause_of_the_database() throws Exception {
    try (TcpProxies proxies = TcpProxies.to(this.database)) {
      Cluster.run(this.database, nodes(proxies), (cluster, first) -> {
        List<Long> nanos = new CopyOnWriteArrayList<>();
        try (Loop monitor = new Loop("monitor", Duration.ofMillis(5), () -> {
          for (Endpoint endpoint : this.endpoints.values()) {
            long begin = System.nanoTime();
            assertThat(endpoint.show()).contains("\"leader\":");
            assertThat(endpoint.health()).isIn(200, 503);
            nanos.add(System.nanoTime() - begin);
          }
        })) {
          monitor.awaitRounds(20);
          long asked = requests(proxies);
          int scrapes = nanos.size();
          long begin = System.nanoTime();
          monitor.awaitRounds(120);
          // The electors continue meanwhile: one statement in each renew interval, or a new
          // session.
          long intervals = (System.nanoTime() - begin) / Cluster.RENEW.toNanos() + 1;
          assertThat(requests(proxies) - asked)
              .as("packets to the database during %d scrapes", nanos.size() - scrapes)
              .isLessThan(
                  (nanos.size() - scrapes) / 3 + 2 * intervals * cluster.nodes().size());

          NodeProcess leader = cluster.awaitLeader();
          nanos.clear();
          proxies.of(leader).cut();
          cluster.awaitLeaderOtherThan(leader);
          cluster.awaitLoss(leader);
          proxies.of(leader).heal();
          printLatency("47 scrapes during a partition", nanos);

          nanos.clear();
          server.pause();
          try {
            cluster.awaitNoLeader();
            awaitHealth(cluster, 503);
          } finally {
            server.resume();
          }
          printLatency("47 scrapes during a pause of the database", nanos);
          cluster.awaitRecovery("47 partition and pause of the database", System.nanoTime());
          awaitHealth(cluster, 200);
          assertThat(monitor.failures()).isZero();
        }
        for (NodeProcess node : cluster.nodes()) {
          assertThat(node.log().lines().count()).as("lines logged by %s", node).isLessThan(60);
        }
      });
    }
  }

  private void awaitHealth(Cluster cluster, int status) {
    for (Endpoint endpoint : this.endpoints.values()) {
      cluster
          .within(Duration.ofSeconds(20), "health is " + status)
          .until(() -> endpoint.health() == status);
    }
  }

  private static long requests(TcpProxies proxies) {
    long[] sum = new long[1];
    proxies.forEach((proxy) -> sum[0] += proxy.requestCount());
    return sum[0];
  }

  /** Uses the median, since a busy machine delays single scrapes. */
  private static void printLatency(String what, List<Long> nanos) {
    List<Long> sorted = nanos.stream().sorted().toList();
    long median = sorted.get(sorted.size() / 2);
    System.out.printf(
        "Measured: %s: %d, median %.1f ms, slowest %.1f ms%n",
        what, sorted.size(), median / 1e6, sorted.get(sorted.size() - 1) / 1e6);
    assertThat(Duration.ofNanos(median)).isLessThan(Cluster.OPERATION_TIMEOUT);
  }

  private List<Node> nodes(TcpProxies proxies) {
    List<Node> nodes = new ArrayList<>();
    for (Node node : proxies.nodes()) {
      Endpoint endpoint = Endpoint.onFreePort();
      this.endpoints.put(node.name(), endpoint);
      nodes.add(endpoint.on(node));
    }
    return nodes;
  }

  /** One round of a loop. */
  @FunctionalInterface
  private interface Round {

    void run() throws IOException;
  }

  /** A client that repeats a request, whether it succeeds or not. */
  private static final class Loop implements AutoCloseable {

    private final Thread thread;

    private volatile boolean closed;

    private volatile int rounds;

    private volatile int failures;

    Loop(String name, Duration pause, Round round) {
      this.thread = new Thread(() -> run(pause, round), name);
      this.thread.setDaemon(true);
      this.thread.start();
    }

    private void run(Duration pause, Round round) {
      int done = 0;
      int failed = 0;
      while (!this.closed) {
        try {
          round.run();
        } catch (IOException | AssertionError ex) {
          this.failures = ++failed;
        }
        this.rounds = ++done;
        LockSupport.parkNanos(pause.toNanos());
      }
    }

    int rounds() {
      return this.rounds;
    }

    int successes() {
      return this.rounds - this.failures;
    }

    int failures() {
      return this.failures;
    }

    void awaitRounds(int count) {
      Awaitility.await(count + " rounds")
          .atMost(Duration.ofSeconds(60))
          .until(() -> this.rounds >= count);
    }

    @Override
    public void close() {
      this.closed = true;
      Awaitility.await("the last round").atMost(Cluster.SLACK).until(() -> !this.thread.isAlive());
    }
  }
}
