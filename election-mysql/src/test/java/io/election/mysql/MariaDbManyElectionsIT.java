package io.election.mysql;

import io.election.test.TestServer;

/** Many elections on MariaDB: in a container, or else embedded. */
class MariaDbManyElectionsIT extends ManyElectionsContract {

  @Override
  TestServer server() {
    return TestServer.sharedMariaDb();
  }
}
