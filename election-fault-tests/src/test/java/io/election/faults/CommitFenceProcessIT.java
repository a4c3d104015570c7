package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.test.TestDatabase;
import io.election.test.TestServer;
import io.election.test.process.Node;
import io.election.test.process.NodeProcess;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A process is paused between its work and the commit. */
class CommitFenceProcessIT {

  private static Stream<TestServer> servers() {
    return Stream.of(TestServer.shared(), TestServer.sharedMariaDb()).distinct();
  }

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
      cluster.awaitLog(leader, "wrote the work of term 1");
      leader.pause();
      NodeProcess next = cluster.awaitLeaderOtherThan(leader);
      Files.createFile(gate);
      cluster.awaitLog(next, "committed the work of term 2");
      leader.resume();
      cluster.awaitLog(leader, "refused: Term 1 of node");
      assertThat(leader.logLines("committed the work")).isEmpty();
      assertThat(database.query("SELECT MIN(term) FROM work")).isEqualTo("2");
    });
  }
}
