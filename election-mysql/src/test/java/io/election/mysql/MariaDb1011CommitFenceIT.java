package io.election.mysql;

import io.election.test.DatabaseImage;
import io.election.test.TestServer;
import org.junit.jupiter.api.Tag;

/** The commit fence on the oldest MariaDB that is supported. */
@Tag("faults")
class MariaDb1011CommitFenceIT extends CommitFenceContract {

  @Override
  TestServer server() {
    return TestServer.shared(DatabaseImage.MARIADB_10_11);
  }
}
