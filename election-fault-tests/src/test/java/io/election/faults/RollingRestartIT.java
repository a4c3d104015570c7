package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.test.TestDatabase;
import io.election.test.process.Claim;
import io.election.test.process.Node;
import io.election.test.process.NodeProcess;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Three nodes are restarted one after the other while a job runs every 50 ms. */
@Tag("faults")
class RollingRestartIT {

  private static final Duration LEASE = Duration.ofSeconds(10);

  private static final Duration RENEW = Duration.ofSeconds(1);

  /** The leader is restarted first as long as it is an old node, which is the worst order. */
  @Test
  void rolling_restart_of_three_nodes_cuts_no_job_off() throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
    database.execute("CREATE TABLE run (id int PRIMARY KEY AUTO_INCREMENT)");
    List<Node> nodes =
        Cluster.threeNodes().stream().map((node) -> node.running(JobNode.class)).toList();
    Cluster.run(database, LEASE, RENEW, nodes, (cluster, first) -> {
      List<NodeProcess> old = new ArrayList<>(cluster.nodes());
      while (!old.isEmpty()) {
        NodeProcess leader = cluster.awaitLeader();
        awaitRuns(cluster, leader);
        NodeProcess restarted = old.contains(leader) ? leader : old.get(0);
        restarted.stop();
        old.remove(restarted);
        cluster.add(anew(restarted.node()));
        cluster.awaitUp();
      }
      awaitRuns(cluster, cluster.awaitLeader());
      List<Claim> claims = cluster.judge().claims();
      cluster.nodes().stream().filter(NodeProcess::isAlive).forEach(NodeProcess::stop);

      assertThat(cluster.nodes()).allMatch(NodeProcess::endedCleanly);
      assertThat(claims).hasSizeGreaterThan(2);
      int begun = count(cluster, JobNode.BEGUN);
      assertThat(begun).isPositive();
      assertThat(count(cluster, JobNode.COMMITTED)).isEqualTo(begun);
      assertThat(database.query("SELECT COUNT(*) FROM run")).isEqualTo(Integer.toString(begun));
      print(cluster, claims, begun);
    });
  }

  /**
   * Jobs take longer than a stop waits, and the platform kills a process that has not ended in
   * time. No two processes run one job at the same time. {@code -Drolling.restarts=20} uses the
   * times of a service with Spring Boot's defaults: jobs of 1, 15 and 60 s, and SIGKILL after 30 s.
   */
  @Test
  void rolling_restarts_overlap_no_two_runs_of_a_job() throws Exception {
    int restarts = Integer.getInteger("rolling.restarts", 0);
    boolean defaults = restarts > 0;
    Duration grace = Duration.ofSeconds(defaults ? 30 : 8);
    TestDatabase database = TestDatabase.newDatabase();
    database.execute(LedgerNode.DDL);
    List<Node> nodes = Cluster.threeNodes().stream()
        .map((node) -> node.running(LedgerNode.class)
            .with("spring.task.scheduling.pool.size=3")
            .with("spring.lifecycle.timeout-per-shutdown-phase=" + (defaults ? "30s" : "6s"))
            .with("as.election.drain-timeout=" + (defaults ? "29s" : "5s"))
            .with("test.short=1s")
            .with("test.longer=" + (defaults ? "15s" : "4s"))
            .with("test.longest=" + (defaults ? "60s" : "20s")))
        .toList();
    Cluster.run(database, LEASE, RENEW, nodes, (cluster, first) -> {
      int killed = 0;
      for (int i = 1; i <= Math.max(1, restarts); i++) {
        List<NodeProcess> old = new ArrayList<>(
            cluster.nodes().stream().filter(NodeProcess::isAlive).toList());
        while (!old.isEmpty()) {
          NodeProcess leader = cluster.awaitLeader();
          NodeProcess restarted = old.contains(leader) ? leader : old.get(0);
          killed += restarted.stopWithin(grace) ? 0 : 1;
          old.remove(restarted);
          cluster.add(restarted.node().called(restarted.name() + i));
          cluster.awaitUp();
        }
      }
      cluster.awaitLeader();
      String overlaps = database.query("""
          SELECT COUNT(*) FROM ledger a JOIN ledger b
              ON a.job = b.job AND a.id < b.id AND a.began < b.ran_until AND b.began < a.ran_until
          """);
      String runs = database.query("SELECT COUNT(*) FROM ledger");
      System.out.printf(
          "Measured: %d rolling restarts of three nodes: %s runs of three jobs, %s overlaps, %d processes killed after %s%n",
          Math.max(1, restarts), runs, overlaps, killed, grace);
      assertThat(overlaps).isEqualTo("0");
      assertThat(Integer.parseInt(String.valueOf(runs))).isGreaterThan(6);
    });
  }

  /** Returns the node under its old id, with its own files. */
  private static Node anew(Node node) {
    return SamplingNode.named(node.name() + "-anew")
        .running(node.program())
        .with("as.election.node-id=" + node.name());
  }

  private static void awaitRuns(Cluster cluster, NodeProcess leader) {
    cluster
        .within(Duration.ofSeconds(30), "the job has run on " + leader)
        .pollInterval(Duration.ofMillis(100))
        .until(() -> leader.logLines(JobNode.COMMITTED).size() >= 20);
  }

  private static int count(Cluster cluster, String text) {
    return cluster.nodes().stream()
        .mapToInt((node) -> node.logLines(text).size())
        .sum();
  }

  private static void print(Cluster cluster, List<Claim> claims, int runs) {
    long gaps = 0;
    for (int i = 1; i < claims.size(); i++) {
      gaps += claims.get(i).from() - claims.get(i - 1).to();
    }
    long[] begun = cluster.nodes().stream()
        .flatMap((node) -> node.logLines(JobNode.BEGUN).stream())
        .mapToLong((line) ->
            Long.parseLong(line.substring(line.indexOf(JobNode.BEGUN) + JobNode.BEGUN.length())))
        .sorted()
        .toArray();
    long pause = LongStream.range(1, begun.length)
        .map((i) -> begun[(int) i] - begun[(int) i - 1])
        .max()
        .orElse(0);
    System.out.printf(
        "Measured: rolling restart of three nodes, the leader first: %.3f s without a leader in all, in %d changes; %d runs of a job, none cut off, %.3f s at most from one to the next (lease %s, renew interval %s)%n",
        gaps / 1e9, claims.size() - 1, runs, pause / 1e9, LEASE, RENEW);
  }
}
