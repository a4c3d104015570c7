package io.election.mysql;

import io.election.test.DatabaseImage;
import io.election.test.TestServer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** The commit fence on the oldest MySQL that is supported. */
@Tag("faults")
class Mysql80CommitFenceIT extends CommitFenceContract {

  private static TestServer server;

  @BeforeAll
  static void start() {
    server = TestServer.start(DatabaseImage.MYSQL_8_0);
  }

  @AfterAll
  static void stop() {
    if (server != null) {
      server.close();
    }
  }

  @Override
  TestServer server() {
    return server;
  }
}
