package io.election.faults;

import static io.election.faults.Cluster.LEASE;
import static io.election.faults.Cluster.RENEW;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.ElectionService;
import io.election.jdbc.ElectionDatabase;
import io.election.jdbc.JdbcLeaseStore;
import io.election.lease.Elector;
import io.election.lease.LeaseElectionService;
import io.election.store.LeaseSettings;
import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;
import io.election.support.TestDatabase;
import io.election.support.TestServer;
import io.election.support.process.Claim;
import io.election.support.process.LocalSampler;
import io.election.support.process.Node;
import io.election.support.process.NodeProcess;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.springframework.aop.MethodBeforeAdvice;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;

/** Variants of a set-up: the number, names and settings of nodes, and repeated starts. */
@Tag("faults")
abstract class ConfigurationFaultsContract {

  private final Engine engine;

  ConfigurationFaultsContract(Engine engine) {
    this.engine = engine;
  }

  record LocalNode(LeaseElectionService service, Elector elector, AtomicBoolean dead) {

    void start() {
      this.elector.start(List.of(this.service));
    }
  }

  /** Starts a server that many nodes can use and that counts what they write. */
  abstract TestServer startCounting();

  /** Counts the statements so far that may write. */
  abstract long statements(TestDatabase database);

  /** Counts the rows that were written so far. */
  abstract long rows(TestDatabase database);

  @Test
  @Tag("long")
  void fault_39_hundred_nodes_start_at_once_and_their_leader_dies() throws Exception {
    int count = 100;
    LeaseSettings settings = settings(Duration.ofSeconds(10), Duration.ofSeconds(1), 3000);
    List<LocalNode> nodes = new ArrayList<>();
    try (TestServer server = startCounting();
        LocalSampler sampler = new LocalSampler()) {
      TestDatabase database = server.newDatabase();
      store(database, settings).ensureTables();
      for (int i = 0; i < count; i++) {
        LocalNode node = localNode("node-" + i, store(database, settings), settings);
        nodes.add(node);
        sampler.add("node-" + i, node.service());
      }
      nodes.forEach(LocalNode::start);
      LocalNode leader = awaitLeader(nodes);
      await("all nodes follow it")
          .until(() -> nodes.stream()
              .allMatch((node) ->
                  node.service().leaderId().equals(Optional.of(leader.service().nodeId()))));

      long statements = statements(database);
      long rows = rows(database);
      leader.dead().set(true);
      long died = System.nanoTime();
      await("it steps down").until(() -> !leader.service().isLeader());
      String next = awaitLeader(nodes).service().nodeId();
      await("its claim is sampled").until(() -> !sampler.claims(next).isEmpty());
      Claim first = sampler.claims(next).get(0);
      await("it goes on").until(() -> {
        List<Claim> claims = sampler.claims(next);
        return claims.size() > 1 || claims.get(0).to() - first.from() > 4e9;
      });
      assertThat(sampler.claims(next)).hasSize(1);
      statements = statements(database) - statements;
      rows = rows(database) - rows;
      Cluster.measured(
          "leader of %d nodes cut off: next leader after %.3f s; %d statements that may write changed %d rows until it had led for 4 renewals (%s)",
          count, (first.from() - died) / 1e9, statements, rows, settings);
      // Each follower tries at most once, and only one succeeds. Then there are renewals.
      assertThat(statements).as("statements").isLessThan(count + 20);
      assertThat(rows).as("rows").isLessThan(20);
      assertThat(sampler.judge().violations()).as("violations").isEmpty();
    } finally {
      nodes.parallelStream().forEach((node) -> node.elector().stop());
    }
  }

  static LeaseSettings settings(Duration lease, Duration renew, int timeoutMillis) {
    return new LeaseSettings(
        lease, renew, Duration.ofMillis(timeoutMillis), Duration.ofSeconds(1), true);
  }

  static JdbcLeaseStore store(TestDatabase database, LeaseSettings settings) {
    return new JdbcLeaseStore(
        new ElectionDatabase(database.dataSource(), database.jdbcUrl()),
        JdbcLeaseStore.SchemaMode.MIGRATE,
        settings.operationTimeout(),
        settings.renewInterval(),
        true);
  }

  static LocalNode localNode(String name, LeaseStore store, LeaseSettings settings) {
    AtomicBoolean dead = new AtomicBoolean();
    Elector elector = new Elector(
        mortal(store, dead),
        settings,
        () -> name,
        (serviceId) -> false,
        (event) -> {},
        System::nanoTime,
        InstantSource.system());
    return new LocalNode(new LeaseElectionService(Cluster.SERVICE, elector), elector, dead);
  }

  /** A store that becomes unreachable when its node dies. */
  private static LeaseStore mortal(LeaseStore store, AtomicBoolean dead) {
    // Not the store's other interfaces: members would write too.
    ProxyFactory factory = new ProxyFactory(new Class<?>[] {LeaseStore.class});
    factory.setTarget(store);
    factory.addAdvice((MethodBeforeAdvice) (method, arguments, target) -> {
      if (dead.get() && !Set.of("name", "close").contains(method.getName())) {
        throw new LeaseStoreException("dead");
      }
    });
    return (LeaseStore) factory.getProxy();
  }

  static LocalNode awaitLeader(List<LocalNode> nodes) {
    return await("one of many leads")
        .until(
            () -> nodes.stream().filter((node) -> node.service().isLeader()).findFirst(),
            Optional::isPresent)
        .orElseThrow();
  }

  static ConditionFactory await(String what) {
    return Awaitility.await(what)
        .atMost(Duration.ofSeconds(60))
        .pollInterval(Duration.ofMillis(10));
  }

  @Test
  void fault_41_ids_that_differ_in_case_or_accent() throws Exception {
    TestDatabase database = this.engine.newDatabase();
    List<Node> nodes = Stream.of("node", "NODE", "nod\u00e9")
        .map((id) -> SamplingNode.named(id).with("as.election.services=Jobs,j\u00f6bs"))
        .toList();
    Cluster.run(database, nodes, (cluster, first) -> {
      for (NodeProcess node : cluster.nodes()) {
        database.execute("UPDATE leader_election SET leader_id = '%s' WHERE service_id = '%s'"
            .formatted(node.name(), Cluster.SERVICE));
        cluster.awaitLeads(node);
        cluster.awaitSteady(node, RENEW.multipliedBy(2));
        assertThat(cluster.nodes().stream().filter(NodeProcess::leads)).containsExactly(node);
      }
      cluster
          .within(LEASE.multipliedBy(3), "three elections have a leader each")
          .pollInterval(Duration.ofMillis(100))
          .until(() -> "3"
              .equals(
                  database.query("SELECT COUNT(*) FROM leader_election WHERE lease_millis > 0")));
    });
  }

  @Test
  @ResourceLock(MoveIT.THREADS)
  void fault_43_started_and_stopped_a_hundred_times() throws Exception {
    TestDatabase database = this.engine.newDatabase();
    try (ConfigurableApplicationContext context = SamplingNode.run(database)) {
      ElectionService election = context.getBean(ElectionService.class);
      awaitLeads(election);
      for (int i = 0; i < 100; i++) {
        context.stop();
        assertThat(election.isLeader()).isFalse();
        context.start();
        if (i % 10 == 0) {
          awaitLeads(election);
        }
      }
      awaitLeads(election);
      assertThat(electionThreads()).hasSizeLessThanOrEqualTo(4);
      assertThat(connections(database)).isLessThanOrEqualTo(2);
    }
    assertNothingIsLeft(database);

    // Contexts start one after the other in one process.
    for (int i = 0; i < 5; i++) {
      try (ConfigurableApplicationContext context = SamplingNode.run(database)) {
        awaitLeads(context.getBean(ElectionService.class));
      }
    }
    assertNothingIsLeft(database);
  }

  @Test
  @ResourceLock(MoveIT.THREADS)
  void fault_43_start_that_fails_half_way() {
    TestDatabase database = this.engine.newDatabase();
    for (int i = 0; i < 3; i++) {
      assertThatThrownBy(() -> SamplingNode.run(
                  database, "spring.main.sources=" + FailingStart.class.getName())
              .close())
          .rootCause()
          .hasMessage("the start fails when the node leads");
      assertNothingIsLeft(database);
      assertThat(database.query("SELECT CONCAT(leader_id, '/', lease_millis) FROM leader_election"))
          .as("the lease was handed back")
          .isEqualTo("/0");
    }
  }

  /** The component that starts last, and fails once the node leads. */
  record FailingStart(ElectionService election) implements SmartLifecycle {

    @Override
    public void start() {
      awaitLeads(this.election);
      throw new IllegalStateException("the start fails when the node leads");
    }

    @Override
    public void stop() {}

    @Override
    public boolean isRunning() {
      return false;
    }
  }

  static void awaitLeads(ElectionService election) {
    await("it leads").until(election::isLeader);
  }

  void assertNothingIsLeft(TestDatabase database) {
    await("all threads have ended").until(() -> electionThreads().isEmpty());
    await("all connections are closed").until(() -> connections(database) == 0);
  }

  static List<String> electionThreads() {
    return Thread.getAllStackTraces().keySet().stream()
        .map(Thread::getName)
        .filter((name) -> name.startsWith("election-"))
        .toList();
  }

  long connections(TestDatabase database) {
    String count =
        database.query("SELECT COUNT(*) FROM " + this.engine.sessionsOf(database.username()));
    return Long.parseLong(count);
  }
}
