package io.election.mysql;

import io.election.test.TestServer;

/** The schema on MariaDB: in a container, or else embedded. */
class MariaDbSchemaIT extends LeaderElectionSchemaContract {

  @Override
  TestServer server() {
    return TestServer.sharedMariaDb();
  }
}
