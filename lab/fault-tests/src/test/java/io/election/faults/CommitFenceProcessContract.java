package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.support.TestDatabase;
import io.election.support.TestServer;
import io.election.support.process.Node;
import io.election.support.process.NodeProcess;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A process is paused between its work and the commit, on the {@code servers()} of each class that
 * extends this one.
 */
abstract class CommitFenceProcessContract {

  @ParameterizedTest(autoCloseArguments = false)
  @MethodSource("servers")
  void fault_05_leader_is_paused_in_mid_transaction(TestServer server, @TempDir Path folder)
      throws Exception {
    TestDatabase database = server.newDatabase();
    database.execute(Workload.OpenTransaction.DDL);
    Path gate = folder.resolve("gate");
    List<Node> nodes = Cluster.threeNodes((node) ->
        SamplingNode.with(Workload.OpenTransaction.class, node).with("test.gate=" + gate));
    Cluster.run(database, nodes, (cluster, leader) -> {
      String wrote = "wrote the work of term ";
      cluster.awaitLog(leader, wrote);
      leader.pause();
      List<String> lines = leader.logLines(wrote);
      String line = lines.get(lines.size() - 1);
      // 1, unless a slow machine has cost a term at the start.
      String term = line.substring(line.indexOf(wrote) + wrote.length()).strip();
      NodeProcess next = cluster.awaitLeaderOtherThan(leader);
      Files.createFile(gate);
      cluster.awaitLog(next, "committed the work of term ");
      leader.resume();
      cluster.awaitLog(leader, "refused: Term " + term + " of node");
      assertThat(leader.logLines("committed the work")).isEmpty();
      assertThat(database.query("SELECT COUNT(*) FROM work WHERE term = " + term))
          .isEqualTo("0");
      assertThat(database.query("SELECT COUNT(*) FROM work")).isNotEqualTo("0");
    });
  }
}
