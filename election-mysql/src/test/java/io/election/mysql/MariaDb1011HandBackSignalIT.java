package io.election.mysql;

import io.election.test.DatabaseImage;
import io.election.test.TestServer;
import org.junit.jupiter.api.Tag;

/** Hand-back signals on the oldest MariaDB that is supported. */
@Tag("faults")
class MariaDb1011HandBackSignalIT extends HandBackSignalContract {

  @Override
  TestServer server() {
    return TestServer.shared(DatabaseImage.MARIADB_10_11);
  }
}
