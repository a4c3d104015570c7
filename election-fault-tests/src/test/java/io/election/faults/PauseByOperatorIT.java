package io.election.faults;

import static io.election.faults.Cluster.LEASE;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.test.TestDatabase;
import io.election.test.process.Claim;
import io.election.test.process.Node;
import io.election.test.process.NodeProcess;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An operator makes nodes stand aside until further notice. */
@Tag("faults")
class PauseByOperatorIT {

  private static final Duration LONG = Duration.ofSeconds(30);

  private final TestDatabase database = TestDatabase.newDatabase();

  private final Map<String, Endpoint> endpoints = new LinkedHashMap<>();

  @Test
  void a_paused_leader_lets_its_work_end_and_stands_aside_until_it_is_resumed(@TempDir Path folder)
      throws Exception {
    this.database.execute("CREATE TABLE work (term bigint PRIMARY KEY)");
    Path gate = folder.resolve("gate");
    List<Node> nodes = nodes().stream()
        .map((node) -> node.running(WorkingNode.class)
            .with("test.gate=" + gate)
            .with("as.election.drain-timeout=60s"))
        .toList();
    Cluster.run(this.database, nodes, (cluster, paused) -> {
      cluster.awaitLog(paused, "wrote the work of term 1");
      endpoint(paused).pause("canary");
      cluster.awaitNoLeader();
      cluster.awaitWrites(8);
      assertThat(cluster.leader()).as("leader while the call runs").isEmpty();
      Files.createFile(gate);
      cluster.awaitLog(paused, "committed the work of term 1");

      NodeProcess second = cluster.awaitLeaderOtherThan(paused);
      assertThat(
              this.database.query(
                  "SELECT CONCAT_WS(' ', end_reason, ended_by, end_note) FROM leader_election_history WHERE term = 1"))
          .isEqualTo("PAUSED endpoint canary");
      for (Endpoint endpoint : this.endpoints.values()) {
        cluster
            .within(LONG, "each node shows the history")
            .until(() -> endpoint
                .show()
                .contains("\"endReason\":\"PAUSED\",\"endedBy\":\"endpoint\",\"note\":\"canary\""));
      }
      second.kill();
      NodeProcess third = cluster.awaitLeaderOtherThan(second);
      assertThat(third).isNotSameAs(paused);
      third.kill();
      long alone = System.nanoTime();
      cluster
          .within(LONG, "two leases")
          .until(() -> System.nanoTime() - alone > LEASE.multipliedBy(2).toNanos());
      assertThat(paused.claims()).extracting(Claim::term).containsOnly(1L);
      assertThat(endpoint(paused).show())
          .contains("\"leader\":false")
          .contains("\"paused\":true,\"pausedBy\":\"endpoint\",\"pausedReason\":\"canary\"");

      endpoint(paused).resume();
      cluster.awaitLeads(paused);
      // Each member has its own mark that says whether it is paused.
      assertThat(endpoint(paused).show().replaceFirst("\"members\":.*$", ""))
          .contains("\"leader\":true")
          .doesNotContain("\"paused\":");
    });
  }

  @Test
  void a_paused_node_that_is_designated_is_passed_over_after_one_lease() throws Exception {
    Cluster.run(this.database, nodes(), (cluster, leader) -> {
      NodeProcess paused = cluster.follower();
      endpoint(paused).pause("blue");
      endpoint(leader).designate(paused.name());
      cluster.awaitNoLeader();
      Claim last = leader.lastClaim();
      NodeProcess next = cluster.awaitLeader();
      long gap = next.lastClaim().from() - last.to();
      System.out.printf(
          "Measured: designation of a paused node: %.3f s without a leader%n", gap / 1e9);
      assertThat(next).isNotSameAs(paused);
      assertThat(gap).isGreaterThanOrEqualTo(LEASE.toNanos());
      assertThat(paused.claims()).isEmpty();
    });
  }

  private List<Node> nodes() {
    return Cluster.threeNodes().stream()
        .map((node) -> {
          Endpoint endpoint = Endpoint.onFreePort();
          this.endpoints.put(node.name(), endpoint);
          return endpoint.on(node);
        })
        .toList();
  }

  private Endpoint endpoint(NodeProcess node) {
    return this.endpoints.get(node.name());
  }
}
