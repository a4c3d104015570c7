package io.election.faults;

import static io.election.faults.Cluster.LEASE;
import static io.election.faults.Cluster.RENEW;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.support.TestDatabase;
import io.election.support.TestServer;
import io.election.support.process.Announcement;
import io.election.support.process.Claim;
import io.election.support.process.Node;
import io.election.support.process.NodeProcess;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Faults of a process: it dies, is paused, starves, or has listeners and jobs that misbehave. */
@Order(2)
class ProcessFaultsIT {

  /** The drain time-out, plus some calls to a database that does not answer. */
  private static final Duration TIME_TO_STOP = Duration.ofSeconds(20);

  @RegisterExtension
  static final SharedCluster THREE_NODES = new SharedCluster();

  @Test
  void fault_01_leader_is_killed() throws Exception {
    THREE_NODES.run((cluster, leader) -> {
      leader.kill();
      long killed = System.nanoTime();
      TestDatabase database = THREE_NODES.database();
      String renewed = database.query("SELECT last_active_time FROM leader_election");
      NodeProcess next = cluster.awaitLeaderOtherThan(leader);
      cluster.printGap("kill -9 of the leader", leader, next);
      Claim first = next.lastClaim();
      assertThat(first.term()).isEqualTo(leader.lastClaim().term() + 1);
      assertThat(first.from() - killed).isLessThan(LEASE.multipliedBy(3).toNanos());
      cluster.awaitLog(next, "become leader by mysql");
      assertThat(next.logLines("become leader by mysql")).hasSize(1);
      assertThat(next.logLines("try acquire leader by mysql with result: true")).hasSize(1);
      String waited = database.query("""
          SELECT TIMESTAMPDIFF(MICROSECOND, '%s', elected_at) FROM leader_election_history
          WHERE term = %d
          """.formatted(renewed, first.term()));
      assertThat(Duration.ofNanos(Long.parseLong(waited) * 1000))
          .as("from the last renewal to the next term")
          .isGreaterThanOrEqualTo(LEASE);
    });
  }

  @Test
  void fault_02_leader_is_stopped() throws Exception {
    THREE_NODES.run((cluster, leader) -> {
      leader.stop();
      NodeProcess next = cluster.awaitLeaderOtherThan(leader);
      cluster.printGap("SIGTERM of the leader", leader, next);
      assertThat(leader.logLines("published LeadershipLostEvent")).hasSize(1);
      assertThat(
              leader.logLines("handed term %d back".formatted(leader.lastClaim().term())))
          .hasSize(1);
      cluster.awaitLog(next, "RELEASED");
    });
  }

  @Test
  @Tag("faults")
  void fault_02_leader_is_stopped_while_the_database_is_dead() throws Exception {
    try (TestServer server = TestServer.startOwn()) {
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
  @Tag("faults")
  void fault_03_leader_is_paused_for_less_than_its_lease() throws Exception {
    int pauses = 5;
    THREE_NODES.run((cluster, leader) -> {
      long term = leader.lastClaim().term();
      NodeProcess current = leader;
      for (int i = 0; i < pauses; i++) {
        current.pause();
        cluster.letPass(LEASE.dividedBy(2));
        current.resume();
        current = cluster.awaitLeader();
      }
      long changes = current.lastClaim().term() - term;
      Cluster.measured(
          "leader paused %d times for half a lease: %d changes of leader", pauses, changes);
      assertThat(changes).as("changes of leader").isLessThanOrEqualTo(pauses);
    });
  }

  @Test
  void fault_04_leader_is_paused_for_longer_than_its_lease() throws Exception {
    THREE_NODES.run((cluster, leader) -> {
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
    TestDatabase database = TestDatabase.newDatabase();
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
    TestDatabase database = TestDatabase.newDatabase();
    List<Node> nodes = Cluster.threeNodes((node) -> node.with("spring.datasource.username="
        + database.newUser("user_" + node.name(), "ALL ON " + database.name() + ".*")));
    Cluster.run(database, nodes, (cluster, leader) -> {
      NodeProcess follower = cluster.follower();
      follower.pause();
      cluster.staysLeader(leader, LEASE.multipliedBy(2));
      follower.resume();

      // The next node that takes over is caught in the middle of it, with a lock on the row.
      database.execute("""
          CREATE TRIGGER slow_take BEFORE UPDATE ON leader_election FOR EACH ROW
          IF NEW.leader_id <> OLD.leader_id THEN
              DO GET_LOCK(SUBSTRING_INDEX(USER(), '@', 1), 0) + SLEEP(0.3) + RELEASE_ALL_LOCKS();
          END IF
          """);
      NodeProcess taker;
      try (Connection watching = database.connect()) {
        leader.kill();
        taker = cluster.awaitAny(
            "a follower is in the middle of its take-over", () -> taker(cluster, watching));
        taker.pause();
      }
      long paused = System.nanoTime();
      cluster.awaitLeaderOtherThan(taker);
      NodeProcess next =
          cluster.awaitRecovery("follower paused in the middle of its take-over", paused);
      database.execute("DROP TRIGGER slow_take");
      taker.resume();
      cluster.staysLeader(next, LEASE);
    });
  }

  private static Optional<NodeProcess> taker(Cluster cluster, Connection watching)
      throws SQLException {
    for (NodeProcess node : cluster.nodes()) {
      String lock = "SELECT IS_USED_LOCK('user_" + node.name() + "')";
      if (TestServer.query(watching, lock) != null) {
        return Optional.of(node);
      }
    }
    return Optional.empty();
  }

  @Test
  @Tag("faults")
  void fault_07_no_memory_and_long_collections(@TempDir Path folder) throws Exception {
    Cluster.run(
        TestDatabase.newDatabase(),
        oneWithFault(InProcessFault.NO_MEMORY, folder),
        (cluster, leader) -> {
          cluster.missesEvents();
          NodeProcess faulty = awaitFault(cluster);
          cluster.await(
              "memory is back", () -> !faulty.logLines("memory is back").isEmpty());
          NodeProcess next = cluster.awaitRecovery("a leader without memory", System.nanoTime());
          Cluster.measured(
              "a leader without memory for %d s: %s leads afterwards; %s",
              InProcessFault.SECONDS,
              next == faulty ? "the same" : "another",
              String.join(", ", faulty.logLines("memory is back")));

          // Its loops have survived: it takes over when no other node is left, and logs that.
          killAllBut(faulty, cluster);
          assertThat(faulty.timeToStop()).isLessThan(TIME_TO_STOP);
          List<Announcement> announcements = faulty.announcements(Cluster.SERVICE);
          assertThat(announcements).isNotEmpty();
          assertThat(announcements.get(announcements.size() - 1).acquired()).isFalse();
        });
  }

  /** Needs cgroups, and takes the carriers of virtual threads on a JVM that has them. */
  @Test
  @Tag("faults")
  void fault_08_no_processor(@TempDir Path folder) throws Exception {
    Optional<Path> java = jvmWithVirtualThreads();
    TestDatabase database = TestDatabase.newDatabase();
    try (CpuQuota quota = CpuQuota.ofPercent(5)) {
      List<Node> nodes = oneWithFault(InProcessFault.NO_PROCESSOR, folder).stream()
          .map((node) -> java.map((program) -> startedBy(program, node)).orElse(node))
          .toList();
      Cluster.run(database, nodes, (cluster, leader) -> {
        NodeProcess faulty = awaitFault(cluster);
        quota.add(faulty);
        cluster.letPass(Duration.ofSeconds(InProcessFault.SECONDS));
        cluster.awaitLeader();
        quota.lift();
        cluster.awaitRecovery(
            "a leader with 5 % of a processor and 300 threads", System.nanoTime());
        if (java.isPresent()) {
          cluster.awaitLog(faulty, "a virtual thread keeps its carrier");
        } else {
          System.out.println("Not tried, since no JDK 21 or newer is here: carriers taken");
        }
        killAllBut(faulty, cluster);
      });
    }
  }

  private static List<Node> oneWithFault(InProcessFault fault, Path folder) {
    return Cluster.threeNodes((node) -> fault.of(node, folder.resolve("once")));
  }

  private static NodeProcess awaitFault(Cluster cluster) {
    return cluster.awaitAny(
        "a node has the fault",
        () -> cluster.nodes().stream()
            .filter((node) -> !node.logLines("fault begins").isEmpty())
            .findFirst());
  }

  private static void killAllBut(NodeProcess survivor, Cluster cluster) {
    cluster.nodes().stream().filter((node) -> node != survivor).forEach(NodeProcess::kill);
    cluster.awaitLeads(survivor);
  }

  private static Optional<Path> jvmWithVirtualThreads() throws IOException {
    if (Runtime.version().feature() >= 21) {
      return Optional.of(Path.of(System.getProperty("java.home"), "bin", "java"));
    }
    File[] homes = new File("/usr/lib/jvm").listFiles();
    for (File home : homes != null ? homes : new File[0]) {
      Path release = home.toPath().resolve("release");
      if (Files.exists(release)
          && Files.readString(release).matches("(?s).*JAVA_VERSION=\"(2[1-9]|[3-9][0-9])[.\"].*")) {
        return Optional.of(home.toPath().resolve("bin/java"));
      }
    }
    return Optional.empty();
  }

  /** Starts the node on another JVM: the shell drops its first argument, the JVM of the test. */
  private static Node startedBy(Path java, Node node) {
    return node.startedBy("sh", "-c", "shift; exec \"$0\" \"$@\"", java.toString())
        .with("spring.threads.virtual.enabled=true");
  }

  @Test
  @Tag("faults")
  void fault_09_listener_or_job_misbehaves() throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
    List<Node> nodes = Stream.of(
            InProcessFault.LISTENER_THROWS,
            InProcessFault.LISTENER_INTERRUPTED,
            InProcessFault.ALL_INTERRUPTED,
            InProcessFault.JOB_BLOCKS,
            InProcessFault.LISTENER_BLOCKS)
        .map((fault) -> fault.of(SamplingNode.named(fault.name())))
        .toList();
    Cluster.run(database, nodes, (cluster, first) -> {
      NodeProcess last = first;
      for (NodeProcess node : cluster.nodes()) {
        if (node != last) {
          // A designated node that is too busy to take over misses its turn, and another one leads.
          cluster.await(node + " leads", () -> {
            if (cluster.leader().filter((leader) -> leader != node).isPresent()) {
              database.execute("UPDATE leader_election SET leader_id = '" + node.name() + "'");
            }
            return node.leads();
          });
          cluster.printGap(last + " displaced by SQL", last, node);
        }
        cluster.awaitSteady(node, LEASE.multipliedBy(4).dividedBy(3));
        last = node;
      }
      for (NodeProcess node : cluster.nodes()) {
        Duration taken = node.timeToStop();
        Cluster.measured("SIGTERM of %s: ended after %s", node, taken);
        assertThat(taken).isLessThan(TIME_TO_STOP);
        if (!node.name().equals(InProcessFault.LISTENER_BLOCKS.name())) {
          assertThat(node.endedCleanly()).as("%s delivered all events", node).isTrue();
        }
      }
    });
  }
}
