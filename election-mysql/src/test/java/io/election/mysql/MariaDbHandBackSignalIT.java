package io.election.mysql;

import io.election.test.TestServer;

/** Hand-back signals on MariaDB: in a container, or else embedded. */
class MariaDbHandBackSignalIT extends HandBackSignalContract {

  @Override
  TestServer server() {
    return TestServer.sharedMariaDb();
  }
}
