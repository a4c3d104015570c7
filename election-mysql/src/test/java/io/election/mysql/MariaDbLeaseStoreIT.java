package io.election.mysql;

import io.election.test.TestServer;

/** The store on MariaDB: in a container, or else embedded. */
class MariaDbLeaseStoreIT extends EveryWayToConnect {

  @Override
  TestServer server() {
    return TestServer.sharedMariaDb();
  }
}
