package io.election.mysql;

import io.election.test.TestServer;
import org.junit.jupiter.api.Tag;

/** Many elections on MariaDB: in a container, or else embedded. */
@Tag("faults")
class MariaDbManyElectionsIT extends ManyElectionsContract {

  @Override
  TestServer server() {
    return TestServer.sharedMariaDb();
  }
}
