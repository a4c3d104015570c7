package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.support.DatabaseImage;
import io.election.support.HostileGlobals;
import io.election.support.TestDatabase;
import io.election.support.TestServer;
import io.election.support.process.Node;
import io.election.support.process.NodeProcess;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Three processes on a server with unusual global settings. */
@Tag("long")
class ServerSettingsIT {

  @ParameterizedTest
  @EnumSource(names = {"MYSQL_9_7", "MARIADB_11_8"})
  void fault_51_global_settings_that_the_protocol_cannot_live_with(DatabaseImage image)
      throws Exception {
    try (TestServer server = TestServer.start(image)) {
      for (String driver : List.of("mysql", "mariadb")) {
        TestDatabase database = server.newDatabase();
        List<Node> nodes = Cluster.threeNodes(
            (node) -> node.with("spring.datasource.url=" + database.jdbcUrl(driver, "")));
        try (HostileGlobals globals = HostileGlobals.set(server)) {
          assertThat(globals).isNotNull();
          play(image + ", driver " + driver, database, nodes);
        }
      }
    }
  }

  private static void play(String where, TestDatabase database, List<Node> nodes) throws Exception {
    Cluster.start(database, Cluster.LEASE, Cluster.RENEW, nodes, (cluster) -> {
      NodeProcess first = cluster.awaitLeader();
      // Other sessions see each renewal, so it is committed.
      cluster.awaitWrites(5);
      first.stop();
      NodeProcess second = cluster.awaitLeaderOtherThan(first);
      cluster.printGap("51 leader stopped, " + where, first, second);
      cluster.awaitWrites(3);
      second.kill();
      NodeProcess third = cluster.awaitLeaderOtherThan(second);
      cluster.printGap("51 leader killed, " + where, second, third);
    });
  }
}
