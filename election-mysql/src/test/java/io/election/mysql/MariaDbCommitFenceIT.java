package io.election.mysql;

import io.election.test.TestServer;

/** Faults on MariaDB: in a container, or else embedded. */
class MariaDbCommitFenceIT extends CommitFenceContract {

  @Override
  TestServer server() {
    return TestServer.sharedMariaDb();
  }
}
