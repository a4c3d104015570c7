package io.election.mysql;

import io.election.test.DatabaseImage;
import io.election.test.TestServer;
import org.junit.jupiter.api.Tag;

/** Members on the oldest MariaDB that is supported. */
@Tag("faults")
class MariaDb1011MembersIT extends MembersContract {

  @Override
  TestServer server() {
    return TestServer.shared(DatabaseImage.MARIADB_10_11);
  }
}
