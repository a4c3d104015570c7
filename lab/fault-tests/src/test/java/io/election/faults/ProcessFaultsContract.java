package io.election.faults;

import static io.election.faults.Cluster.LEASE;
import static io.election.faults.Cluster.RENEW;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.support.TestDatabase;
import io.election.support.TestServer;
import io.election.support.process.Claim;
import io.election.support.process.Node;
import io.election.support.process.NodeProcess;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Faults of a process of which the database notices something: it dies, ends or is paused. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class ProcessFaultsContract {

  /** The drain time-out, plus some calls to a database that does not answer. */
  static final Duration TIME_TO_STOP = Duration.ofSeconds(20);

  @RegisterExtension
  final SharedCluster threeNodes;

  private final Engine engine;

  ProcessFaultsContract(Engine engine) {
    this.engine = engine;
    this.threeNodes = new SharedCluster(engine);
  }

  /** The microseconds from an instant to that in a column. */
  abstract String microsSince(String instant, String column);

  /** A statement of a trigger that takes a while. */
  abstract String nap();

  /** A query that has a result while a session of a user is in such a statement. */
  abstract String isNapping(String user);

  abstract String dropTrigger(String name, String table);

  @Test
  void fault_01_leader_is_killed() throws Exception {
    this.threeNodes.run((cluster, leader) -> {
      leader.kill();
      long killed = System.nanoTime();
      TestDatabase database = this.threeNodes.database();
      String renewed = database.query("SELECT last_active_time FROM leader_election");
      NodeProcess next = cluster.awaitLeaderOtherThan(leader);
      cluster.printGap("kill -9 of the leader", leader, next);
      Claim first = next.lastClaim();
      assertThat(first.term()).isEqualTo(leader.lastClaim().term() + 1);
      assertThat(first.from() - killed).isLessThan(LEASE.multipliedBy(3).toNanos());
      cluster.awaitLog(next, "become leader by " + this.engine);
      assertThat(next.logLines("become leader by " + this.engine)).hasSize(1);
      assertThat(next.logLines("try acquire leader by " + this.engine + " with result: true"))
          .hasSize(1);
      String waited =
          database.query("""
          SELECT %s FROM leader_election_history WHERE term = %d
          """.formatted(microsSince(renewed, "elected_at"), first.term()));
      assertThat(Duration.ofNanos(Long.parseLong(waited) * 1000))
          .as("from the last renewal to the next term")
          .isGreaterThanOrEqualTo(LEASE);
    });
  }

  @Test
  void fault_02_leader_is_stopped() throws Exception {
    this.threeNodes.run((cluster, leader) -> handOver("SIGTERM of the leader", cluster, leader));
  }

  static void handOver(String what, Cluster cluster, NodeProcess leader) {
    leader.stop();
    NodeProcess next = cluster.awaitLeaderOtherThan(leader);
    cluster.printGap(what, leader, next);
    assertThat(leader.logLines("published LeadershipLostEvent")).hasSize(1);
    assertThat(
            leader.logLines("handed term %d back".formatted(leader.lastClaim().term())))
        .hasSize(1);
    cluster.awaitLog(next, "RELEASED");
  }

  @Test
  @Tag("long")
  void fault_02_leader_is_stopped_while_the_database_is_dead() throws Exception {
    try (TestServer server = this.engine.startOwn()) {
      Cluster.run(server.newDatabase(), (cluster, leader) -> {
        server.pause();
        try {
          stopWithoutDatabase("hangs", leader);
        } finally {
          server.resume();
        }
        NodeProcess next = cluster.awaitRecovery(
            "SIGTERM of the leader on a database that hangs", System.nanoTime());
        server.stop();
        try {
          stopWithoutDatabase("is down", next);
        } finally {
          server.start();
        }
        cluster.awaitRecovery(
            "SIGTERM of the leader on a database that is down", System.nanoTime());
      });
    }
  }

  private static void stopWithoutDatabase(String how, NodeProcess leader) {
    Duration taken = leader.timeToStop();
    Cluster.measured(
        "SIGTERM of a leader whose database %s: the process ended after %s", how, taken);
    assertThat(taken).isLessThan(TIME_TO_STOP);
    assertThat(leader.logLines("published LeadershipLostEvent")).hasSize(1);
  }

  @Test
  void fault_04_leader_is_paused_for_longer_than_its_lease() throws Exception {
    this.threeNodes.run((cluster, leader) -> {
      leader.pause();
      NodeProcess next = cluster.awaitLeaderOtherThan(leader);
      cluster.printGap("SIGSTOP of the leader", leader, next);
      List<Claim> claims = leader.claims();
      leader.resume();
      cluster.await(
          "the woken node knows that it lost",
          () -> leader.logLines("published LeadershipLostEvent").size() == 1);
      assertThat(leader.claims()).isEqualTo(claims);
      cluster.staysLeader(next, RENEW.multipliedBy(2));
    });
  }

  @Test
  @Tag("faults")
  void fault_05_pause_between_question_and_action() throws Exception {
    int pauses = 4;
    TestDatabase database = this.engine.newDatabase();
    FencedRegister.create(database);
    List<Node> nodes =
        Cluster.threeNodes((node) -> SamplingNode.with(Workload.LateWrites.class, node));
    Cluster.run(database, nodes, (cluster, first) -> {
      NodeProcess leader = first;
      for (int i = 0; i < pauses; i++) {
        awaitWrite(cluster, database);
        cluster.letPass(Duration.ofMillis(ThreadLocalRandom.current().nextLong(600)));
        leader.pause();
        NodeProcess next = cluster.awaitLeaderOtherThan(leader);
        awaitWrite(cluster, database);
        leader.resume();
        leader = next;
      }
      awaitWrite(cluster, database);
      cluster
          .within(Duration.ofSeconds(20), "a late write is refused")
          .until(() -> FencedRegister.refused(database) > 0);
      long refused = FencedRegister.refused(database);
      Cluster.measured(
          "leader paused %d times at random, nearly always between question and action: %d writes accepted, %d refused",
          pauses, FencedRegister.accepted(database), refused);
      assertThat(refused)
          .as("late writes, at most one in each term that ended")
          .isLessThan(FencedRegister.terms(database));
      assertThat(FencedRegister.falls(database)).isZero();
    });
  }

  private static void awaitWrite(Cluster cluster, TestDatabase database) {
    long writes = FencedRegister.accepted(database);
    cluster
        .within(Duration.ofSeconds(20), "a write is accepted")
        .pollInterval(Duration.ofMillis(200))
        .until(() -> FencedRegister.accepted(database) > writes);
  }

  @Test
  @Tag("faults")
  void fault_06_follower_is_paused() throws Exception {
    TestDatabase database = this.engine.newDatabase();
    List<Node> nodes = Cluster.threeNodes((node) -> node.with("spring.datasource.username="
        + this.engine.newOwner(database, userOf(node.name(), database))));
    Cluster.run(database, nodes, (cluster, leader) -> {
      NodeProcess follower = cluster.follower();
      follower.pause();
      cluster.staysLeader(leader, LEASE.multipliedBy(2));
      follower.resume();

      // The next node that takes over is caught in the middle of it, with a lock on the row.
      database.execute(this.engine.trigger(
          "slow_take",
          "BEFORE UPDATE ON leader_election",
          "IF NEW.leader_id <> OLD.leader_id THEN %s; END IF".formatted(nap())));
      NodeProcess taker;
      try (Connection watching = database.connect()) {
        leader.kill();
        taker = cluster.awaitAny(
            "a follower is in the middle of its take-over",
            () -> taker(cluster, database, watching));
        taker.pause();
      }
      long paused = System.nanoTime();
      cluster.awaitLeaderOtherThan(taker);
      NodeProcess next =
          cluster.awaitRecovery("follower paused in the middle of its take-over", paused);
      database.execute(dropTrigger("slow_take", "leader_election"));
      taker.resume();
      cluster.staysLeader(next, LEASE);
    });
  }

  private static String userOf(String node, TestDatabase database) {
    return node + "_" + database.name();
  }

  private Optional<NodeProcess> taker(Cluster cluster, TestDatabase database, Connection watching)
      throws SQLException {
    for (NodeProcess node : cluster.nodes()) {
      String naps = isNapping(userOf(node.name(), database));
      if (TestServer.query(watching, naps) != null) {
        return Optional.of(node);
      }
    }
    return Optional.empty();
  }
}
