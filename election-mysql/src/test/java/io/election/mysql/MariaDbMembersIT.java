package io.election.mysql;

import io.election.test.TestServer;

/** Members on MariaDB: in a container, or else embedded. */
class MariaDbMembersIT extends MembersContract {

  @Override
  TestServer server() {
    return TestServer.sharedMariaDb();
  }
}
