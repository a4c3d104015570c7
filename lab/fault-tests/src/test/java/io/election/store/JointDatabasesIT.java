package io.election.store;

import io.election.support.PostgresqlPrograms;
import io.election.support.TestDatabase;
import io.election.support.TestServer;

/** The same, on a list of MySQL and PostgreSQL. */
class JointDatabasesIT extends JointLeaseStoreIT {

  private final TestDatabase postgresql =
      TestServer.shared(PostgresqlPrograms.V18).newDatabase().withTables();

  @Override
  JointPart second() {
    return in("postgresql", this.postgresql);
  }
}
