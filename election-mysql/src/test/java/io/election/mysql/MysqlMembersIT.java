package io.election.mysql;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.election.test.TestServer;
import org.junit.jupiter.api.BeforeAll;

/** Members on the newest MySQL. */
class MysqlMembersIT extends MembersContract {

  @BeforeAll
  static void needsDocker() {
    assumeTrue(TestServer.hasDocker(), "no Docker, hence no MySQL");
  }

  @Override
  TestServer server() {
    return TestServer.shared();
  }
}
