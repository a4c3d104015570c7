package io.election.mysql;

import io.election.test.DatabaseImage;
import io.election.test.TestServer;
import org.junit.jupiter.api.Tag;

/** Many elections on the oldest MySQL that is supported. */
@Tag("faults")
class Mysql80ManyElectionsIT extends ManyElectionsContract {

  @Override
  TestServer server() {
    return TestServer.shared(DatabaseImage.MYSQL_8_0);
  }
}
