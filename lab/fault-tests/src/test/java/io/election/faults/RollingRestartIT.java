package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.support.TestDatabase;
import io.election.support.process.Claim;
import io.election.support.process.Node;
import io.election.support.process.NodeProcess;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Three nodes are restarted one after the other while jobs run. */
@Tag("faults")
class RollingRestartIT {

  private static final Duration RENEW = Duration.ofSeconds(1);

  private final TestDatabase database = TestDatabase.newDatabase();

  @Test
  void rollingRestartOfThreeNodesCutsNoJobOff() throws Exception {
    Duration lease = Duration.ofSeconds(10);
    Cluster.run(this.database, lease, RENEW, nodes("20ms,20ms,20ms"), (cluster, first) -> {
      restartAll(cluster, 1, 20, NodeProcess::stop);
      awaitRuns(cluster, 20);
      List<Claim> claims = cluster.judge().claims();
      cluster.nodes().stream().filter(NodeProcess::isAlive).forEach(NodeProcess::stop);

      assertThat(cluster.nodes()).allMatch(NodeProcess::endedCleanly);
      assertThat(claims).hasSizeGreaterThan(2);
      assertThat(count("ledger WHERE NOT done")).as("runs that were cut off").isZero();
      long gaps = 0;
      for (int i = 1; i < claims.size(); i++) {
        gaps += claims.get(i).from() - claims.get(i - 1).to();
      }
      String pause = this.database.query("""
          SELECT MAX(pause) / 1e9
          FROM (SELECT began - LAG(began) OVER (ORDER BY began) AS pause FROM ledger) pauses
          """);
      Cluster.measured(
          "rolling restart of three nodes, the leader first: %.3f s without a leader in all, in %d changes; %d runs of a job, none cut off, %s s at most from one to the next (lease %s, renew interval %s)",
          gaps / 1e9, claims.size() - 1, count("ledger"), pause, lease, RENEW);
    });
  }

  /**
   * Jobs take longer than a stop waits, and the platform kills a process that has not ended in
   * time. No two processes run one job at the same time. {@code -Drolling.restarts=20} uses the
   * times of a service with Spring Boot's defaults: jobs of 1, 15 and 60 s, and SIGKILL after 30 s.
   */
  @Test
  @Tag("long")
  void rollingRestartsOverlapNoTwoRunsOfAJob() throws Exception {
    int restarts = Integer.getInteger("rolling.restarts", 0);
    boolean defaults = restarts > 0;
    Duration lease = Duration.ofSeconds(defaults ? 10 : 4);
    Duration grace = Duration.ofSeconds(defaults ? 30 : 4);
    List<Node> nodes = nodes(defaults ? "1s,15s,60s" : "1s,2s,10s").stream()
        .map((node) -> node.with(
                "spring.lifecycle.timeout-per-shutdown-phase=" + (defaults ? "30s" : "3s"))
            .with("as.election.drain-timeout=" + (defaults ? "29s" : "2500ms")))
        .toList();
    Cluster.run(this.database, lease, RENEW, nodes, (cluster, first) -> {
      List<NodeProcess> killed = new ArrayList<>();
      restartAll(cluster, Math.max(1, restarts), 1, (node) -> {
        if (!node.stopWithin(grace)) {
          killed.add(node);
        }
      });
      cluster.awaitLeader();
      long overlaps = count("""
          ledger a JOIN ledger b
              ON a.job = b.job AND a.id < b.id AND a.began < b.ran_until AND b.began < a.ran_until
          """);
      long runs = count("ledger");
      Cluster.measured(
          "%d rolling restarts of three nodes: %d runs of three jobs, %d overlaps, %d processes killed after %s",
          Math.max(1, restarts), runs, overlaps, killed.size(), grace);
      assertThat(overlaps).isZero();
      assertThat(runs).isGreaterThan(6);
    });
  }

  private List<Node> nodes(String jobs) {
    this.database.execute(Workload.Ledger.DDL);
    return Cluster.threeNodes((node) -> SamplingNode.with(Workload.Ledger.class, node)
        .with("spring.task.scheduling.pool.size=3")
        .with("test.jobs=" + jobs));
  }

  /** Restarts the leader first as long as it is an old node, which is the worst order. */
  private void restartAll(Cluster cluster, int times, int runs, Consumer<NodeProcess> stop) {
    for (int i = 1; i <= times; i++) {
      List<NodeProcess> old =
          new ArrayList<>(cluster.nodes().stream().filter(NodeProcess::isAlive).toList());
      while (!old.isEmpty()) {
        NodeProcess leader = cluster.awaitLeader();
        awaitRuns(cluster, runs);
        NodeProcess restarted = old.contains(leader) ? leader : old.get(0);
        stop.accept(restarted);
        old.remove(restarted);
        // The same node id, with its own files.
        cluster.join(restarted.node().called(restarted.name() + i));
      }
    }
  }

  private void awaitRuns(Cluster cluster, int runs) {
    long goal = count("ledger") + runs;
    cluster
        .within(Duration.ofSeconds(30), "jobs run")
        .pollInterval(Duration.ofMillis(100))
        .until(() -> count("ledger") >= goal);
  }

  private long count(String rows) {
    return Long.parseLong(this.database.query("SELECT COUNT(*) FROM " + rows));
  }
}
