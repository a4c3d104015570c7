package io.election.mysql;

import io.election.test.DatabaseImage;
import io.election.test.TestServer;
import org.junit.jupiter.api.Tag;

/** Members on the oldest MySQL that is supported. */
@Tag("faults")
class Mysql80MembersIT extends MembersContract {

  @Override
  TestServer server() {
    return TestServer.shared(DatabaseImage.MYSQL_8_0);
  }
}
