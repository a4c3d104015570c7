package io.election.faults;

import io.election.support.process.NodeProcess;
import java.sql.SQLException;
import java.sql.Statement;
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
