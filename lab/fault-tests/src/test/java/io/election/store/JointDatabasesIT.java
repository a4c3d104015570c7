package io.election.store;

import io.election.support.PostgresqlPrograms;
import io.election.support.TestDatabase;
import io.election.support.TestServer;
import org.junit.jupiter.api.Tag;

/** The same, on a list of MySQL and PostgreSQL. */
@Tag("long")
class JointDatabasesIT extends JointLeaseStoreIT {

  private final TestDatabase postgresql =
      TestServer.shared(PostgresqlPrograms.V18).newDatabase().withTables();

  @Override
  JointPart second() {
    return in("postgresql", this.postgresql);
  }
}
