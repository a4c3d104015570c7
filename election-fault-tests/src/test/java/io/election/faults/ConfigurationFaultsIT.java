package io.election.faults;

import static io.election.faults.Cluster.LEASE;
import static io.election.faults.Cluster.RENEW;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.ElectionService;
import io.election.lease.Elector;
import io.election.lease.LeaseElectionService;
import io.election.lease.LeaseSettings;
import io.election.lease.LeaseStore;
import io.election.lease.LeaseStoreException;
import io.election.mysql.ElectionDatabase;
import io.election.mysql.MysqlLeaseStore;
import io.election.test.Checkpoint;
import io.election.test.TestDatabase;
import io.election.test.TestServer;
import io.election.test.process.Claim;
import io.election.test.process.Node;
import io.election.test.process.NodeProcess;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.NestedExceptionUtils;

/** Variants of a set-up: the number, names and settings of nodes, and repeated starts. */
class ConfigurationFaultsIT {

  /** One of many nodes in this process. */
  private record LocalNode(
      String name, ElectionService service, Elector elector, AtomicBoolean dead) {}

  @Test
  @Tag("faults")
  void fault_39_hundred_nodes_start_at_once_and_their_leader_dies(@TempDir Path folder)
      throws Exception {
    int count = 100;
    Duration lease = Duration.ofSeconds(5);
    Duration renew = Duration.ofSeconds(1);
    // The test has its own server, since the server counts statements.
    try (TestServer server = TestServer.startOwn()) {
      TestDatabase database = server.newDatabase();
      hundredNodes(folder, count, lease, renew, database);
    }
  }

  private static void hundredNodes(
      Path folder, int count, Duration lease, Duration renew, TestDatabase database)
      throws Exception {
    database.execute("SET GLOBAL max_connections = 500");
    LeaseSettings settings =
        new LeaseSettings(lease, renew, Duration.ofSeconds(1), Duration.ofSeconds(1), true);
    mysqlStore(database, settings).ensureTables();
    List<LocalNode> nodes = new ArrayList<>();
    try (LocalSampler sampler = new LocalSampler(folder)) {
      for (int i = 0; i < count; i++) {
        LocalNode node = localNode("node-" + i, database, settings);
        nodes.add(node);
        sampler.add(node.name(), node.service());
      }
      nodes.forEach((node) -> node.elector().start(List.of((LeaseElectionService) node.service())));
      LocalNode leader = awaitLeader(nodes);
      Awaitility.await("all nodes follow it")
          .atMost(Duration.ofSeconds(30))
          .until(() -> nodes.stream()
              .allMatch((node) -> node.service().leaderId().equals(Optional.of(leader.name()))));

      long statements = sum(database, "Com_update", "Com_insert");
      long rows = sum(database, "Innodb_rows_updated", "Innodb_rows_inserted");
      leader.dead().set(true);
      long died = System.nanoTime();
      Awaitility.await("it steps down")
          .atMost(lease.multipliedBy(2).plus(Cluster.SLACK))
          .pollInterval(Duration.ofMillis(10))
          .until(() -> !leader.service().isLeader());
      LocalNode next = awaitLeader(nodes);
      Claim first = sampler.claims(next.name()).get(0);
      Awaitility.await("it goes on")
          .atMost(lease.multipliedBy(4).plus(Cluster.SLACK))
          .until(() -> {
            List<Claim> claims = sampler.claims(next.name());
            return claims.size() > 1
                || claims.get(0).to() - first.from() > renew.multipliedBy(4).toNanos();
          });
      assertThat(sampler.claims(next.name())).hasSize(1);
      statements = sum(database, "Com_update", "Com_insert") - statements;
      rows = sum(database, "Innodb_rows_updated", "Innodb_rows_inserted") - rows;
      System.out.printf(
          "Measured: leader of %d nodes cut off: next leader after %.3f s; %d statements that may write changed %d rows until it had led for 4 renewals (lease %s, renew interval %s)%n",
          count, (first.from() - died) / 1e9, statements, rows, lease, renew);
      // Each follower tries at most once, and only one succeeds. Then there are renewals.
      assertThat(statements).as("statements").isLessThan(count + 20);
      assertThat(rows).as("rows").isLessThan(20);
      assertThat(sampler.judge().violations()).isEmpty();
    } finally {
      nodes.parallelStream().forEach((node) -> node.elector().stop());
    }
  }

  private static LocalNode localNode(String name, TestDatabase database, LeaseSettings settings) {
    return localNode(name, mysqlStore(database, settings), settings);
  }

  private static MysqlLeaseStore mysqlStore(TestDatabase database, LeaseSettings settings) {
    return new MysqlLeaseStore(
        new ElectionDatabase(database.dataSource(), database.jdbcUrl()),
        MysqlLeaseStore.SchemaMode.MIGRATE,
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
    return new LocalNode(name, new LeaseElectionService(Cluster.SERVICE, elector), elector, dead);
  }

  /** A store that becomes unreachable when its node dies. */
  private static LeaseStore mortal(LeaseStore store, AtomicBoolean dead) {
    return (LeaseStore) Proxy.newProxyInstance(
        LeaseStore.class.getClassLoader(),
        new Class<?>[] {LeaseStore.class},
        (proxy, method, arguments) -> {
          boolean talks = !method.getName().equals("name") && !method.getName().equals("close");
          if (dead.get() && talks) {
            throw new LeaseStoreException("dead");
          }
          try {
            return method.invoke(store, arguments);
          } catch (InvocationTargetException ex) {
            throw ex.getCause();
          }
        });
  }

  private static LocalNode awaitLeader(List<LocalNode> nodes) {
    return Awaitility.await("one of many leads")
        .atMost(Duration.ofSeconds(60))
        .pollInterval(Duration.ofMillis(10))
        .until(
            () -> nodes.stream().filter((node) -> node.service().isLeader()).findFirst(),
            Optional::isPresent)
        .orElseThrow();
  }

  private static long sum(TestDatabase database, String... counters) throws SQLException {
    try (Connection connection = database.connect();
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SHOW GLOBAL STATUS WHERE Variable_name IN ('"
            + String.join("', '", counters)
            + "')")) {
      long sum = 0;
      while (rows.next()) {
        sum += rows.getLong(2);
      }
      return sum;
    }
  }

  @Test
  @Tag("faults")
  void fault_52_process_restored_twice_from_one_checkpoint(@TempDir Path folder) throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
    LeaseSettings settings =
        new LeaseSettings(LEASE, RENEW, Duration.ofMillis(500), Duration.ofSeconds(1), true);
    mysqlStore(database, settings).ensureTables();
    MysqlLeaseStore first = mysqlStore(database, settings);
    MysqlLeaseStore second = mysqlStore(database, settings);
    Checkpoint.restore(first, second);
    List<LocalNode> nodes =
        List.of(localNode("restored", first, settings), localNode("restored", second, settings));
    try (LocalSampler sampler = new LocalSampler(folder)) {
      sampler.add("first", nodes.get(0).service());
      sampler.add("second", nodes.get(1).service());
      nodes.forEach((node) -> node.elector().start(List.of((LeaseElectionService) node.service())));
      LocalNode leader = awaitLeader(nodes);
      long version = Long.parseLong(database.query("SELECT version FROM leader_election"));
      Awaitility.await("it goes on")
          .atMost(Duration.ofSeconds(60))
          .until(() ->
              Long.parseLong(database.query("SELECT version FROM leader_election")) > version + 10);
      leader.elector().stop();
      awaitLeader(nodes);
      assertThat(sampler.judge().violations()).isEmpty();
    } finally {
      nodes.forEach((node) -> node.elector().stop());
    }
  }

  @Test
  @Tag("faults")
  void fault_40_two_nodes_with_one_id() throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
    Cluster.run(database, (cluster, leader) -> {
      NodeProcess twin = cluster.add(twinOf(leader, "twin"));
      cluster.awaitUp();
      cluster.awaitLog(twin, "another process uses node id '" + leader.name() + "'");
      leader.kill();
      cluster.awaitLeaderOtherThan(leader);
    });
  }

  @Test
  @Tag("faults")
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
        cluster.add(SamplingNode.named("twin-" + i).with("as.election.node-id=a"));
        cluster.awaitUp();
        NodeProcess next = cluster.awaitLeaderOtherThan(leader);
        cluster.printGap("a twin ended and started again", leader, next);
        leader = next;
      }
    });
  }

  private static Node twinOf(NodeProcess node, String name) {
    return SamplingNode.named(name).with("as.election.node-id=" + node.name());
  }

  @Test
  @Tag("faults")
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
  @ValueSource(strings = {"as.election.node-id", "as.election.service-id"})
  @Tag("faults")
  void fault_41_ids_that_cannot_be_told_apart_are_refused(String property) {
    TestDatabase database = TestDatabase.newDatabase();
    for (String id :
        List.of("trailing ", "\u2003leading", "bell\u0007", "zero\u200bwidth", "x".repeat(129))) {
      assertThatThrownBy(
              () -> run(database, SamplingNode.class, property + "=" + id).close())
          .as("%s '%s'", property, id)
          .extracting(
              (failure) -> NestedExceptionUtils.getMostSpecificCause(failure).getMessage())
          .asString()
          .containsPattern("white space|control characters|128");
    }
    assertThat(electionThreads()).isEmpty();
  }

  @Test
  @Tag("faults")
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
      cluster.within(long_.multipliedBy(2), "the other node leads").until(() -> hasty.leads());
      cluster.printGap("kill -9 of a leader with a lease of " + long_, leader, hasty);
      assertThat(Duration.ofNanos(hasty.lastClaim().from() - killed))
          .as("the holder's promise counts")
          .isGreaterThan(long_.minus(RENEW.multipliedBy(2)));
    });
  }

  @Test
  @Tag("faults")
  void fault_43_started_and_stopped_a_hundred_times() throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
    try (ConfigurableApplicationContext context = run(database, SamplingNode.class)) {
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
      try (ConfigurableApplicationContext context = run(database, SamplingNode.class)) {
        awaitLeads(context.getBean(ElectionService.class));
      }
    }
    assertNothingIsLeft(database);
  }

  @Test
  @Tag("faults")
  void fault_43_two_contexts_in_one_process(@TempDir Path folder) throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
    ConfigurableApplicationContext one = run(database, SamplingNode.class);
    ConfigurableApplicationContext two = null;
    try (LocalSampler sampler = new LocalSampler(folder)) {
      ElectionService first = one.getBean(ElectionService.class);
      sampler.add("first", first);
      awaitLeads(first);
      two = run(database, SamplingNode.class);
      ElectionService second = two.getBean(ElectionService.class);
      sampler.add("second", second);
      assertThat(second.nodeId()).isEqualTo(first.nodeId());
      long term = first.leadership().orElseThrow().term();
      long end = System.nanoTime() + LEASE.multipliedBy(2).toNanos();
      Awaitility.await("two leases have passed")
          .atMost(LEASE.multipliedBy(4).plus(Cluster.SLACK))
          .until(() -> System.nanoTime() - end > 0);
      assertThat(first.leadership().orElseThrow().term()).isEqualTo(term);
      assertThat(sampler.claims("second")).isEmpty();
      one.close();
      awaitLeads(second);
      assertThat(sampler.judge().violations()).isEmpty();
    } finally {
      one.close();
      if (two != null) {
        two.close();
      }
    }
    assertNothingIsLeft(database);
  }

  @Test
  @Tag("faults")
  void fault_43_start_that_fails_half_way() {
    TestDatabase database = TestDatabase.newDatabase();
    for (int i = 0; i < 3; i++) {
      assertThatThrownBy(() -> run(database, FailingNode.class).close())
          .rootCause()
          .hasMessage("the start fails when the node leads");
      assertNothingIsLeft(database);
      assertThat(database.query("SELECT CONCAT(leader_id, '/', lease_millis) FROM leader_election"))
          .as("the lease was handed back")
          .isEqualTo("/0");
    }
  }

  /** An application in which the last component fails once the node leads. */
  @Configuration
  static class FailingNode extends SamplingNode {

    @Bean
    SmartLifecycle failing(ElectionService election) {
      return new SmartLifecycle() {
        @Override
        public void start() {
          awaitLeads(election);
          throw new IllegalStateException("the start fails when the node leads");
        }

        @Override
        public void stop() {}

        @Override
        public boolean isRunning() {
          return false;
        }

        @Override
        public int getPhase() {
          return Integer.MAX_VALUE;
        }
      };
    }
  }

  private static ConfigurableApplicationContext run(
      TestDatabase database, Class<?> application, String... properties) {
    Stream<String> common = Stream.of(
        "spring.main.web-application-type=none",
        "spring.main.banner-mode=off",
        "spring.main.register-shutdown-hook=false",
        "spring.datasource.url=" + database.jdbcUrl(),
        "spring.datasource.username=" + database.username(),
        "spring.datasource.password=" + database.password(),
        "spring.datasource.hikari.minimum-idle=0",
        "as.election.lease-duration=" + LEASE.toMillis() + "ms",
        "as.election.renew-interval=" + RENEW.toMillis() + "ms",
        "as.election.operation-timeout=500ms",
        "as.election.drain-timeout=2s");
    Stream<String> service = Stream.of(properties).noneMatch((p) -> p.contains("service-id"))
        ? Stream.of("as.election.service-id=" + Cluster.SERVICE)
        : Stream.empty();
    return new SpringApplication(application)
        .run(Stream.of(common, service, Stream.of(properties))
            .flatMap((part) -> part)
            .map((property) -> "--" + property)
            .toArray(String[]::new));
  }

  private static void awaitLeads(ElectionService election) {
    Awaitility.await("it leads")
        .atMost(LEASE.multipliedBy(5).plus(Cluster.SLACK))
        .pollInterval(Duration.ofMillis(10))
        .until(election::isLeader);
  }

  private static void assertNothingIsLeft(TestDatabase database) {
    Awaitility.await("all threads have ended")
        .atMost(Cluster.SLACK)
        .until(() -> electionThreads().isEmpty());
    Awaitility.await("all connections are closed")
        .atMost(Cluster.SLACK)
        .until(() -> connections(database) == 0);
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
