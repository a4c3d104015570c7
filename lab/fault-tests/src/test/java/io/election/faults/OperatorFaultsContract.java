package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.support.TestServer;
import io.election.support.process.NodeProcess;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.web.client.RestClientException;

/** People and monitors use the endpoint of three nodes while a fault lasts. */
@Tag("faults")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class OperatorFaultsContract {

  private final Random random = new Random(46);

  private final TcpProxies proxies = new TcpProxies();

  private final Map<String, Endpoint> endpoints = new LinkedHashMap<>();

  @RegisterExtension
  final SharedCluster threeNodes = new SharedCluster(
      Cluster.LEASE,
      Cluster.RENEW,
      () -> this.server.newDatabase(),
      (database) -> this.proxies.between(database, Cluster.threeNodes()).stream()
          .map((node) -> this.endpoints
              .computeIfAbsent(node.name(), (name) -> new Endpoint())
              .on(node))
          .toList());

  private final Engine engine;

  /** Is closed after the cluster. */
  @AutoClose
  private TestServer server;

  OperatorFaultsContract(Engine engine) {
    this.engine = engine;
  }

  @BeforeAll
  void start() {
    this.server = this.engine.startOwn();
  }

  @Test
  void fault_46_designate_and_force_during_pauses_and_partitions() throws Exception {
    this.threeNodes.run((cluster, first) -> {
      decideDuring("a pause of the leader", cluster, NodeProcess::pause, NodeProcess::resume);
      decideDuring(
          "a partition of the leader",
          cluster,
          (leader) -> this.proxies.of(leader).cut(),
          (leader) -> this.proxies.of(leader).heal());
      decideDuring(
          "the loss of the leader's answers",
          cluster,
          (leader) -> this.proxies.of(leader).loseAnswers(),
          (leader) -> this.proxies.of(leader).heal());
      decideDuring(
          "a pause of the database",
          cluster,
          (leader) -> this.server.pause(),
          (leader) -> this.server.resume());
    });
  }

  /** Designates and forces during a fault that outlasts a lease, and after it is healed. */
  private void decideDuring(
      String fault, Cluster cluster, Consumer<NodeProcess> how, Consumer<NodeProcess> heal) {
    NodeProcess leader = cluster.awaitLeader();
    int during;
    int after;
    try (Loop operator = new Loop(Duration.ofMillis(200), this::decide)) {
      operator.awaitRounds(5);
      how.accept(leader);
      try {
        cluster.letPass(Cluster.LEASE.multipliedBy(2));
        during = operator.successes();
      } finally {
        heal.accept(leader);
      }
      operator.awaitRounds(operator.rounds() + 10);
      after = operator.successes() - during;
    }
    assertThat(after).as("decisions that were accepted when all was well again").isPositive();
    Cluster.measured("46 during %s: %d decisions accepted, then %d more", fault, during, after);
    cluster.awaitRecovery("46 decisions during " + fault, System.nanoTime());
  }

  /** Asks a random node to designate another, or to force a new election. */
  private void decide() {
    Endpoint endpoint = this.endpoints.get(anyone());
    if (this.random.nextInt(4) == 0) {
      endpoint.forceElection();
    } else {
      endpoint.designate(anyone());
    }
  }

  private String anyone() {
    return List.of("a", "b", "c").get(this.random.nextInt(3));
  }

  @Test
  @Tag("long")
  void fault_47_endpoint_scraped_during_a_partition_and_a_pause_of_the_database() throws Exception {
    this.threeNodes.run((cluster, first) -> {
      List<Long> nanos = new CopyOnWriteArrayList<>();
      try (Loop monitor = new Loop(Duration.ofMillis(5), () -> {
        for (Endpoint endpoint : this.endpoints.values()) {
          long begin = System.nanoTime();
          assertThat(endpoint.show()).contains("\"leader\":");
          assertThat(endpoint.health()).isIn(200, 503);
          nanos.add(System.nanoTime() - begin);
        }
      })) {
        monitor.awaitRounds(20);
        long asked = requests();
        int scrapes = nanos.size();
        long begin = System.nanoTime();
        monitor.awaitRounds(120);
        // The electors continue meanwhile: one statement in each renew interval, or a new session.
        long intervals = (System.nanoTime() - begin) / Cluster.RENEW.toNanos() + 1;
        assertThat(requests() - asked)
            .as("packets to the database during %d scrapes", nanos.size() - scrapes)
            .isLessThan(
                (nanos.size() - scrapes) / 3 + 2 * intervals * cluster.nodes().size());

        NodeProcess leader = cluster.awaitLeader();
        nanos.clear();
        this.proxies.of(leader).cut();
        cluster.awaitLeaderOtherThan(leader);
        cluster.awaitLoss(leader);
        this.proxies.of(leader).heal();
        printLatency("47 scrapes during a partition", nanos);

        nanos.clear();
        this.server.pause();
        try {
          cluster.awaitNoLeader();
          awaitHealth(cluster, 503);
        } finally {
          this.server.resume();
        }
        printLatency("47 scrapes during a pause of the database", nanos);
        cluster.awaitRecovery("47 partition and pause of the database", System.nanoTime());
        awaitHealth(cluster, 200);
        assertThat(monitor.failures()).isZero();
      }
      for (NodeProcess node : cluster.nodes()) {
        assertThat(node.logLines("")).as("lines logged by %s", node).hasSizeLessThan(60);
      }
    });
  }

  private void awaitHealth(Cluster cluster, int status) {
    for (Endpoint endpoint : this.endpoints.values()) {
      cluster.await("health is " + status, () -> endpoint.health() == status);
    }
  }

  private long requests() {
    AtomicLong sum = new AtomicLong();
    this.proxies.forEach((proxy) -> sum.addAndGet(proxy.requestCount()));
    return sum.get();
  }

  /** Uses the median, since a busy machine delays single scrapes. */
  private static void printLatency(String what, List<Long> nanos) {
    List<Long> sorted = nanos.stream().sorted().toList();
    long median = sorted.get(sorted.size() / 2);
    Cluster.measured(
        "%s: %d, median %.1f ms, slowest %.1f ms",
        what, sorted.size(), median / 1e6, sorted.get(sorted.size() - 1) / 1e6);
    assertThat(Duration.ofNanos(median)).isLessThan(Cluster.OPERATION_TIMEOUT);
  }

  /** A client that repeats a request, whether it succeeds or not. */
  private static final class Loop implements AutoCloseable {

    private final ScheduledExecutorService client = Executors.newSingleThreadScheduledExecutor();

    private final AtomicInteger rounds = new AtomicInteger();

    private final AtomicInteger failures = new AtomicInteger();

    Loop(Duration pause, Runnable round) {
      this.client.scheduleWithFixedDelay(
          () -> play(round), 0, pause.toNanos(), TimeUnit.NANOSECONDS);
    }

    private void play(Runnable round) {
      try {
        round.run();
      } catch (RestClientException | AssertionError ex) {
        this.failures.incrementAndGet();
      }
      this.rounds.incrementAndGet();
    }

    int rounds() {
      return this.rounds.get();
    }

    int successes() {
      return rounds() - failures();
    }

    int failures() {
      return this.failures.get();
    }

    void awaitRounds(int count) {
      Awaitility.await(count + " rounds")
          .atMost(Duration.ofSeconds(60))
          .until(() -> rounds() >= count);
    }

    @Override
    public void close() {
      this.client.shutdown();
      Awaitility.await("the last round").atMost(Cluster.SLACK).until(this.client::isTerminated);
    }
  }
}
