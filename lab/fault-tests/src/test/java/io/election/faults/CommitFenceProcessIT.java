package io.election.faults;

import io.election.support.TestServer;
import java.util.stream.Stream;

/** A process is paused between its work and the commit, on MySQL and MariaDB. */
class CommitFenceProcessIT extends CommitFenceProcessContract {

  static Stream<TestServer> servers() {
    return Stream.of(TestServer.shared(), TestServer.sharedMariaDb()).distinct();
  }
}
