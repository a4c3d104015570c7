package io.election.mysql;

import io.election.test.DatabaseImage;
import io.election.test.TestServer;
import org.junit.jupiter.api.Tag;

/** The schema on the oldest MySQL that is supported. */
@Tag("faults")
class Mysql80SchemaIT extends LeaderElectionSchemaContract {

  @Override
  TestServer server() {
    return TestServer.shared(DatabaseImage.MYSQL_8_0);
  }
}
