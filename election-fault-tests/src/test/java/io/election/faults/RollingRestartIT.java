package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.test.TestDatabase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Three nodes are restarted one after the other, while a job runs every 50 ms. */
@Tag("faults")
class RollingRestartIT {

  private static final Duration LEASE = Duration.ofSeconds(10);

  private static final Duration RENEW = Duration.ofSeconds(1);

  /** The leader goes first wherever it still is an old node, which is the worst order. */
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
      List<Claim> claims = cluster.history().claims();
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

  /** The node under its old id, in files of its own. */
  private static Node anew(Node node) {
    return Node.named(node.name() + "-anew")
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
