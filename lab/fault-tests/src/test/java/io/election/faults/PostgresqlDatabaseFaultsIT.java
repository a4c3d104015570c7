package io.election.faults;

import io.election.support.PostgresqlServer;
import java.sql.Statement;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Faults of a PostgreSQL server, started for the test, under three nodes. */
@Order(2)
@Tag("long")
class PostgresqlDatabaseFaultsIT extends DatabaseFaultsContract {

  PostgresqlDatabaseFaultsIT() {
    super(Engine.POSTGRESQL);
  }

  @Override
  String unlock() {
    return "ROLLBACK";
  }

  /** Only a restart changes its limit, which administrators may exceed. */
  @Override
  void limitConnections(Statement administrator, boolean limited) {}

  @Test
  void fault_29_restarted_as_a_standby() throws Exception {
    PostgresqlServer server = (PostgresqlServer) this.server;
    this.threeNodes.run((cluster, leader) -> {
      outage("29 standby", server::becomeStandby, server::promote, cluster, leader);
      cluster.awaitLog(leader, "it is a standby");
    });
  }
}
