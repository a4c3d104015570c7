package io.election.mysql;

import io.election.test.TestServer;

/** Faults on MariaDB: in a container, or else embedded. */
class MariaDbFaultsIT extends LeaseStoreFaultsContract {

  @Override
  TestServer server() {
    return TestServer.sharedMariaDb();
  }
}
