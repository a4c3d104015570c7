package io.election.faults;

import static io.election.faults.Cluster.LEASE;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.support.TestDatabase;
import io.election.support.process.Announcement;
import io.election.support.process.Node;
import io.election.support.process.NodeProcess;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Faults of a process on MySQL, also those that no database notices: it starves, or has listeners
 * and jobs that misbehave.
 */
@Order(2)
class ProcessFaultsIT extends ProcessFaultsContract {

  ProcessFaultsIT() {
    super(Engine.MYSQL);
  }

  @Override
  String microsSince(String instant, String column) {
    return "TIMESTAMPDIFF(MICROSECOND, '%s', %s)".formatted(instant, column);
  }

  @Override
  String nap() {
    return "DO GET_LOCK(SUBSTRING_INDEX(USER(), '@', 1), 0) + SLEEP(0.3) + RELEASE_ALL_LOCKS()";
  }

  @Override
  String isNapping(String user) {
    return "SELECT IS_USED_LOCK('" + user + "')";
  }

  @Override
  String dropTrigger(String name, String table) {
    return "DROP TRIGGER " + name;
  }

  @Test
  @Tag("long")
  void fault_03_leader_is_paused_for_less_than_its_lease() throws Exception {
    int pauses = 5;
    this.threeNodes.run((cluster, leader) -> {
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
  @Tag("long")
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
  @Tag("long")
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
  @Tag("long")
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
