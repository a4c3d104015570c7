package io.election.faults;

import java.sql.Statement;
import org.junit.jupiter.api.Order;

/** Faults of a PostgreSQL server, started for the test, under three nodes. */
@Order(2)
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
}
