package io.election.faults;

import io.election.support.TestDatabase;
import io.election.support.TestServer;
import io.election.support.process.Node;
import io.election.support.process.NodeProcess;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/** Faults of a MySQL server, started for the test, under three nodes. */
@Order(2)
class DatabaseFaultsIT extends DatabaseFaultsContract {

  DatabaseFaultsIT() {
    super(Engine.MYSQL);
  }

  @Override
  String unlock() {
    return "UNLOCK TABLES";
  }

  @Override
  void limitConnections(Statement administrator, boolean limited) throws SQLException {
    administrator.execute("SET GLOBAL max_connections = " + (limited ? 20 : 151));
  }

  /** The behaviour on a full disk depends on the server: MySQL hangs and checks once a minute. */
  @Test
  void fault_20_disk_full() throws Exception {
    try (TestServer small = TestServer.startOnDisk(500)) {
      TestDatabase own = small.newDatabase();
      try (TcpProxies proxies = new TcpProxies()) {
        List<Node> nodes = Cluster.threeNodes(Engine.MYSQL::withoutSignals);
        Cluster.run(own, proxies.between(own, nodes), (cluster, leader) -> {
          small.fillDisk();
          cluster.await("nobody leads on a full disk", () -> cluster.leader().isEmpty());
          cluster.awaitLoss(leader);
          small.freeDisk();
          cluster.awaitRecovery("20 disk full", System.nanoTime(), Duration.ofSeconds(120));
          assertBounded(proxies);
        });
      }
    }
  }

  @Test
  void fault_29_read_only_and_super_read_only() throws Exception {
    this.threeNodes.run((cluster, leader) -> {
      readOnly("read_only", cluster, leader);
      if (!this.server.isMariaDb()) {
        readOnly("super_read_only", cluster, cluster.awaitLeader());
      }
    });
  }

  private void readOnly(String variable, Cluster cluster, NodeProcess leader) {
    outage(
        "29 " + variable,
        () -> this.server.execute("SET GLOBAL " + variable + " = 1"),
        () -> this.server.execute("SET GLOBAL read_only = 0"),
        cluster,
        leader);
    cluster.awaitLog(leader, "is read-only (");
  }
}
