package io.election.mysql;

import io.election.test.DatabaseImage;
import io.election.test.TestServer;
import org.junit.jupiter.api.Tag;

/** Faults on the oldest MySQL that is supported. */
@Tag("faults")
class Mysql80FaultsIT extends LeaseStoreFaultsContract {

  @Override
  TestServer server() {
    return TestServer.shared(DatabaseImage.MYSQL_8_0);
  }
}
