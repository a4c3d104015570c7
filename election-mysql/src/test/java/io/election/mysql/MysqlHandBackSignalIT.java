package io.election.mysql;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.election.test.TestServer;
import org.junit.jupiter.api.BeforeAll;

/** Hand-back signals on the newest MySQL. */
class MysqlHandBackSignalIT extends HandBackSignalContract {

  @BeforeAll
  static void needsDocker() {
    assumeTrue(TestServer.hasDocker(), "no Docker, hence no MySQL");
  }

  @Override
  TestServer server() {
    return TestServer.shared();
  }
}
