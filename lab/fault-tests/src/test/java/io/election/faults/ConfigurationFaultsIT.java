package io.election.faults;

import static io.election.faults.Cluster.LEASE;
import static io.election.faults.Cluster.RENEW;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.ElectionService;
import io.election.jdbc.JdbcLeaseStore;
import io.election.store.LeaseSettings;
import io.election.support.Checkpoint;
import io.election.support.TestDatabase;
import io.election.support.TestServer;
import io.election.support.process.LocalSampler;
import io.election.support.process.Node;
import io.election.support.process.NodeProcess;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * Variants of a set-up on MySQL, also those that make no difference to the database: the number,
 * names and settings of nodes, and repeated starts.
 */
@Order(2)
class ConfigurationFaultsIT extends ConfigurationFaultsContract {

  ConfigurationFaultsIT() {
    super(Engine.MYSQL);
  }

  @Override
  TestServer startCounting() {
    TestServer server = TestServer.startOwn();
    server.execute("SET GLOBAL max_connections = 500");
    return server;
  }

  @Override
  long statements(TestDatabase database) {
    return sum(database, "Com_update", "Com_insert");
  }

  @Override
  long rows(TestDatabase database) {
    return sum(database, "Innodb_rows_updated", "Innodb_rows_inserted");
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
    JdbcLeaseStore first = store(database, settings);
    JdbcLeaseStore second = store(database, settings);
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
  @Tag("long")
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
  @Tag("long")
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
}
