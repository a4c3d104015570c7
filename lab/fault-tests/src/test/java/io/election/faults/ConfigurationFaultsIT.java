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
import io.election.support.Checkpoint;
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
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.aop.MethodBeforeAdvice;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.jdbc.core.JdbcTemplate;

/** Variants of a set-up: the number, names and settings of nodes, and repeated starts. */
@Order(2)
@Tag("faults")
class ConfigurationFaultsIT {

  private record LocalNode(LeaseElectionService service, Elector elector, AtomicBoolean dead) {

    void start() {
      this.elector.start(List.of(this.service));
    }
  }

  @Test
  void fault_39_hundred_nodes_start_at_once_and_their_leader_dies() throws Exception {
    int count = 100;
    LeaseSettings settings = settings(Duration.ofSeconds(5), Duration.ofSeconds(1), 1000);
    List<LocalNode> nodes = new ArrayList<>();
    // The test has its own server, since the server counts statements.
    try (TestServer server = TestServer.startOwn();
        LocalSampler sampler = new LocalSampler()) {
      TestDatabase database = server.newDatabase();
      database.execute("SET GLOBAL max_connections = 500");
      mysqlStore(database, settings).ensureTables();
      for (int i = 0; i < count; i++) {
        LocalNode node = localNode("node-" + i, mysqlStore(database, settings), settings);
        nodes.add(node);
        sampler.add("node-" + i, node.service());
      }
      nodes.forEach(LocalNode::start);
      LocalNode leader = awaitLeader(nodes);
      await("all nodes follow it")
          .until(() -> nodes.stream()
              .allMatch((node) ->
                  node.service().leaderId().equals(Optional.of(leader.service().nodeId()))));

      long statements = sum(database, "Com_update", "Com_insert");
      long rows = sum(database, "Innodb_rows_updated", "Innodb_rows_inserted");
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
      statements = sum(database, "Com_update", "Com_insert") - statements;
      rows = sum(database, "Innodb_rows_updated", "Innodb_rows_inserted") - rows;
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

  private static LeaseSettings settings(Duration lease, Duration renew, int timeoutMillis) {
    return new LeaseSettings(
        lease, renew, Duration.ofMillis(timeoutMillis), Duration.ofSeconds(1), true);
  }

  private static JdbcLeaseStore mysqlStore(TestDatabase database, LeaseSettings settings) {
    return new JdbcLeaseStore(
        new ElectionDatabase(database.dataSource(), database.jdbcUrl()),
        JdbcLeaseStore.SchemaMode.MIGRATE,
        settings.operationTimeout(),
        settings.renewInterval(),
        true);
  }

  private static LocalNode localNode(String name, LeaseStore store, LeaseSettings settings) {
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

  private static LocalNode awaitLeader(List<LocalNode> nodes) {
    return await("one of many leads")
        .until(
            () -> nodes.stream().filter((node) -> node.service().isLeader()).findFirst(),
            Optional::isPresent)
        .orElseThrow();
  }

  private static ConditionFactory await(String what) {
    return Awaitility.await(what)
        .atMost(Duration.ofSeconds(60))
        .pollInterval(Duration.ofMillis(10));
  }

  private static long sum(TestDatabase database, String... counters) {
    return new JdbcTemplate(database.dataSource())
        .queryForList("SHOW GLOBAL STATUS").stream()
            .filter((row) -> List.of(counters).contains(row.get("Variable_name")))
            .mapToLong((row) -> Long.parseLong((String) row.get("Value")))
            .sum();
  }

  @Test
  void fault_52_process_restored_twice_from_one_checkpoint() throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
    LeaseSettings settings = settings(LEASE, RENEW, 500);
    Cluster.prepare(database);
    JdbcLeaseStore first = mysqlStore(database, settings);
    JdbcLeaseStore second = mysqlStore(database, settings);
    Checkpoint.restore(first, second);
    List<LocalNode> nodes =
        List.of(localNode("restored", first, settings), localNode("restored", second, settings));
    try (LocalSampler sampler = new LocalSampler()) {
      sampler.add("first", nodes.get(0).service());
      sampler.add("second", nodes.get(1).service());
      nodes.forEach(LocalNode::start);
      LocalNode leader = awaitLeader(nodes);
      long goal = version(database) + 10;
      await("it goes on").until(() -> version(database) > goal);
      leader.elector().stop();
      awaitLeader(nodes);
      assertThat(sampler.judge().violations()).as("violations").isEmpty();
    } finally {
      nodes.forEach((node) -> node.elector().stop());
    }
  }

  private static long version(TestDatabase database) {
    return Long.parseLong(database.query("SELECT version FROM leader_election"));
  }

  @Test
  void fault_40_two_nodes_with_one_id() throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
    Cluster.run(database, Cluster.threeNodes().subList(0, 2), (cluster, leader) -> {
      NodeProcess twin =
          cluster.add(SamplingNode.named("twin").with("as.election.node-id=" + leader.name()));
      cluster.awaitUp();
      cluster.awaitLog(twin, "another process uses node id '" + leader.name() + "'");
      leader.kill();
      cluster.awaitLeaderOtherThan(leader);
    });
  }

  @Test
  void fault_40_twins_alone_and_the_leading_one_restarted_again_and_again() throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
    List<Node> nodes =
        List.of(SamplingNode.named("a"), SamplingNode.named("twin").with("as.election.node-id=a"));
    Cluster.run(database, nodes, (cluster, first) -> {
      NodeProcess leader = first;
      for (int i = 1; i <= 4; i++) {
        if (i % 2 == 0) {
          leader.stop();
        } else {
          leader.kill();
        }
        cluster.join(SamplingNode.named("twin-" + i).with("as.election.node-id=a"));
        NodeProcess next = cluster.awaitLeaderOtherThan(leader);
        cluster.printGap("a twin ended and started again", leader, next);
        leader = next;
      }
    });
  }

  @Test
  void fault_41_ids_that_differ_in_case_or_accent() throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
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

  @ParameterizedTest
  @ResourceLock(MoveIT.THREADS)
  @ValueSource(strings = {"as.election.node-id", "as.election.service-id"})
  void fault_41_ids_that_cannot_be_told_apart_are_refused(String property) {
    TestDatabase database = TestDatabase.newDatabase();
    for (String id :
        List.of("trailing ", "\u2003leading", "bell\u0007", "zero\u200bwidth", "x".repeat(129))) {
      assertThatThrownBy(() -> SamplingNode.run(database, property + "=" + id).close())
          .as("%s '%s'", property, id)
          .extracting(
              (failure) -> NestedExceptionUtils.getMostSpecificCause(failure).getMessage())
          .asString()
          .containsPattern("white space|control characters|128");
    }
    assertThat(electionThreads()).isEmpty();
  }

  @Test
  void fault_42_nodes_have_other_lease_settings() throws Exception {
    Duration long_ = LEASE.multipliedBy(3);
    TestDatabase database = TestDatabase.newDatabase();
    Node patient =
        SamplingNode.named("patient").with("as.election.lease-duration=" + long_.toMillis() + "ms");
    Cluster.run(database, List.of(patient), (cluster, leader) -> {
      NodeProcess hasty = cluster.add(SamplingNode.named("hasty"));
      cluster.awaitUp();
      cluster.awaitLog(hasty, "is held by patient");
      leader.kill();
      long killed = System.nanoTime();
      cluster.await("the other node leads", () -> hasty.leads());
      cluster.printGap("kill -9 of a leader with a lease of " + long_, leader, hasty);
      assertThat(Duration.ofNanos(hasty.lastClaim().from() - killed))
          .as("the holder's promise counts")
          .isGreaterThan(long_.minus(RENEW.multipliedBy(2)));
    });
  }

  @Test
  @ResourceLock(MoveIT.THREADS)
  void fault_43_started_and_stopped_a_hundred_times() throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
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
  void fault_43_two_contexts_in_one_process() throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
    ConfigurableApplicationContext one = SamplingNode.run(database);
    try (LocalSampler sampler = new LocalSampler()) {
      ElectionService first = one.getBean(ElectionService.class);
      sampler.add("first", first);
      awaitLeads(first);
      try (ConfigurableApplicationContext two = SamplingNode.run(database)) {
        ElectionService second = two.getBean(ElectionService.class);
        sampler.add("second", second);
        assertThat(second.nodeId()).isEqualTo(first.nodeId());
        long term = first.leadership().orElseThrow().term();
        long end = System.nanoTime() + LEASE.multipliedBy(2).toNanos();
        await("two leases have passed").until(() -> System.nanoTime() - end > 0);
        assertThat(first.leadership().orElseThrow().term()).isEqualTo(term);
        assertThat(sampler.claims("second")).isEmpty();
        one.close();
        awaitLeads(second);
        assertThat(sampler.judge().violations()).as("violations").isEmpty();
      }
    } finally {
      one.close();
    }
    assertNothingIsLeft(database);
  }

  @Test
  @ResourceLock(MoveIT.THREADS)
  void fault_43_start_that_fails_half_way() {
    TestDatabase database = TestDatabase.newDatabase();
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

  private static void awaitLeads(ElectionService election) {
    await("it leads").until(election::isLeader);
  }

  private static void assertNothingIsLeft(TestDatabase database) {
    await("all threads have ended").until(() -> electionThreads().isEmpty());
    await("all connections are closed").until(() -> connections(database) == 0);
  }

  private static List<String> electionThreads() {
    return Thread.getAllStackTraces().keySet().stream()
        .map(Thread::getName)
        .filter((name) -> name.startsWith("election-"))
        .toList();
  }

  private static long connections(TestDatabase database) {
    String count =
        database.query("SELECT COUNT(*) FROM information_schema.processlist WHERE user = '"
            + database.username() + "'");
    return Long.parseLong(count);
  }
}
