package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.support.FakeClock;
import io.election.support.TestDatabase;
import io.election.support.TestServer;
import io.election.support.process.Node;
import io.election.support.process.NodeProcess;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Faults of the wall clocks of MySQL and of the nodes, skipped without libfaketime or Docker. Clocks
 * with different rates and suspended machines cannot be produced here: see the tests {@code
 * fault_28} of {@code LeaseSettingsTest} and {@code CandidacyTest}, and {@code SimulationTest}.
 */
class ClockFaultsIT extends ClockFaultsContract {

  @Override
  TestServer start(FakeClock clock) {
    return TestServer.start(clock, "UTC");
  }

  @Override
  String secondsOfEpoch() {
    return "SELECT UNIX_TIMESTAMP()";
  }

  @Test
  @Tag("long")
  void fault_26_daylight_saving_and_time_zones() throws Exception {
    FakeClock clock = FakeClock.create();
    try (TestServer server = TestServer.start(clock, "America/New_York")) {
      TestDatabase database = server.newDatabase();
      List<Node> nodes = List.of(
          inZone("a", "Europe/Berlin", database, "time_zone='-08:00'"),
          inZone("b", "Asia/Kolkata", database, "time_zone='SYSTEM'"),
          inZone("c", "America/New_York", database, "time_zone='%2B13:00'"));
      // A busy server may stand still for seconds when its clock jumps by months.
      Duration lease = LEASE.multipliedBy(2);
      Cluster.run(database, lease, RENEW, nodes, (cluster, leader) -> {
        // In New York the clocks go forward at 2 h, and back at 2 h.
        throughMidOf(clock, Instant.parse("2027-03-14T07:00:00Z"));
        cluster.staysLeader(leader, lease);
        assertThat(zone(database)).isEqualTo("-14400");
        throughMidOf(clock, Instant.parse("2027-11-07T06:00:00Z"));
        cluster.staysLeader(leader, lease);
        assertThat(zone(database)).isEqualTo("-18000");
        database.execute("SET GLOBAL time_zone = '+05:30'");
        cluster.staysLeader(leader, lease);

        throughMidOf(clock, Instant.parse("2028-03-12T07:00:00Z"));
        database.execute("SET GLOBAL time_zone = 'SYSTEM'");
        leader.kill();
        NodeProcess next = cluster.awaitLeaderOtherThan(leader);
        cluster.printGap("kill -9 while the clocks go forward by an hour", leader, next);
      });
    }
  }

  @Test
  @Tag("long")
  void fault_27_clock_of_a_node_jumps() throws Exception {
    Map<String, FakeClock> clocks =
        Map.of("a", FakeClock.create(), "b", FakeClock.create(), "c", FakeClock.create());
    TestDatabase database = TestDatabase.newDatabase();
    List<Node> nodes =
        Cluster.threeNodes((node) -> node.startedBy(clocks.get(node.name()).command()));
    Cluster.run(database, LEASE, RENEW, nodes, (cluster, leader) -> {
      long term = leader.lastClaim().term();
      clocks.get(leader.name()).setOffset(Duration.ofHours(2));
      cluster.await(
          "the leader's clock has jumped",
          () -> !leader.logLines("lost leader by mysql").isEmpty());
      NodeProcess next = cluster.awaitRecovery("the leader's clock + 2 h", System.nanoTime());
      cluster.staysLeader(next, LEASE.multipliedBy(2));
      assertThat(next.lastClaim().term() - term).as("changes of leader").isEqualTo(1);

      long losses = next.logLines("lost leader by mysql").size();
      clocks.get(next.name()).setOffset(Duration.ofHours(-2));
      NodeProcess before = next;
      cluster.await(
          "the leader's clock was set back",
          () -> before.logLines("lost leader by mysql").size() > losses);
      next = cluster.awaitRecovery("the leader's clock - 2 h", System.nanoTime());
      cluster.staysLeader(next, LEASE.multipliedBy(2));

      // A follower does not depend on it either.
      for (Duration offset : List.of(Duration.ofHours(2), Duration.ofHours(-2))) {
        NodeProcess last = next;
        cluster.nodes().stream()
            .filter((node) -> node != last)
            .forEach((node) -> clocks.get(node.name()).setOffset(offset));
        cluster.staysLeader(next, LEASE);
      }
    });
  }

  @Test
  @Tag("long")
  void fault_56_clock_of_the_database_beyond_what_its_tables_can_hold() throws Exception {
    FakeClock clock = FakeClock.create();
    try (TestServer server = start(clock)) {
      TestDatabase database = server.newDatabase();
      // A busy server may stand still for seconds when its clock jumps by years.
      Duration lease = LEASE.multipliedBy(2);
      Cluster.run(database, lease, RENEW, Cluster.threeNodes(), (cluster, leader) -> {
        throughMidOf(clock, Instant.parse("2038-01-19T03:14:08Z"));
        cluster.staysLeader(leader, lease);
        clock.setOffset(Duration.between(Instant.now(), Instant.parse("2050-07-01T00:00:00Z")));
        cluster.staysLeader(leader, RENEW.multipliedBy(2));
        leader.kill();
        NodeProcess next = cluster.awaitLeaderOtherThan(leader);
        cluster.printGap("kill -9 with the database's clock in 2050", leader, next);
        clock.setOffset(Duration.between(Instant.now(), Instant.parse("2001-01-01T00:00:00Z")));
        cluster.staysLeader(next, lease);
        next.kill();
        NodeProcess last = cluster.awaitLeaderOtherThan(next);
        cluster.printGap("kill -9 when the database's clock was set back to 2001", next, last);
      });
    }
  }

  private static Node inZone(String name, String zone, TestDatabase database, String variables) {
    return SamplingNode.named(name)
        .startedBy("env", "TZ=" + zone)
        .withJvmOption("-Duser.timezone=" + zone)
        .with("spring.datasource.url=" + database.jdbcUrl() + "&sessionVariables=" + variables);
  }

  /** Sets the clock so that it reaches an instant soon. */
  private static void throughMidOf(FakeClock clock, Instant instant) {
    clock.setOffset(Duration.between(Instant.now(), instant).minus(LEASE.dividedBy(2)));
  }

  private static String zone(TestDatabase database) {
    return database.query("SELECT TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), NOW())");
  }
}
