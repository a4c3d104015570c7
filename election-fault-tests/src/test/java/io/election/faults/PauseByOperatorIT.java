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
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An operator makes nodes stand aside until further notice. */
@Tag("faults")
class PauseByOperatorIT {

  private static final Duration LONG = Duration.ofSeconds(30);

  private final TestDatabase database = TestDatabase.newDatabase();

  private final Endpoints endpoints = new Endpoints();

  @Test
  void a_paused_leader_lets_its_work_end_and_stands_aside_until_it_is_resumed(@TempDir Path folder)
      throws Exception {
    this.database.execute(Workload.OpenTransaction.DDL);
    Path gate = folder.resolve("gate");
    List<Node> nodes = this.endpoints.on(Cluster.threeNodes()).stream()
        .map((node) -> SamplingNode.with(Workload.OpenTransaction.class, node)
            .with("test.gate=" + gate)
            .with("as.election.drain-timeout=60s"))
        .toList();
    Cluster.run(this.database, nodes, (cluster, paused) -> {
      cluster.awaitLog(paused, "wrote the work of term 1");
      this.endpoints.of(paused).pause("canary");
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
      for (Endpoint endpoint : this.endpoints.all()) {
        cluster.await(
            "each node shows the history",
            () -> endpoint
                .show()
                .contains("\"endReason\":\"PAUSED\",\"endedBy\":\"endpoint\",\"note\":\"canary\""));
      }
      second.kill();
      NodeProcess third = cluster.awaitLeaderOtherThan(second);
      assertThat(third).isNotSameAs(paused);
      third.kill();
      cluster.letPass(LEASE.multipliedBy(2));
      assertThat(paused.claims()).extracting(Claim::term).containsOnly(1L);
      assertThat(this.endpoints.of(paused).show())
          .contains("\"leader\":false")
          .contains("\"paused\":true,\"pausedBy\":\"endpoint\",\"pausedReason\":\"canary\"");

      this.endpoints.of(paused).resume();
      cluster.awaitLeads(paused);
      // Each member has its own mark that says whether it is paused.
      assertThat(this.endpoints.of(paused).show().replaceFirst("\"members\":.*$", ""))
          .contains("\"leader\":true")
          .doesNotContain("\"paused\":");
    });
  }
}
