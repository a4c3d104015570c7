package io.election.mysql;

import io.election.test.DatabaseImage;
import io.election.test.TestServer;
import org.junit.jupiter.api.Tag;

/** Many elections on the oldest MariaDB that is supported. */
@Tag("faults")
class MariaDb1011ManyElectionsIT extends ManyElectionsContract {

  @Override
  TestServer server() {
    return TestServer.shared(DatabaseImage.MARIADB_10_11);
  }
}
