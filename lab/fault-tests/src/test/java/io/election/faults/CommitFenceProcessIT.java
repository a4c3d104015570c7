package io.election.faults;

import io.election.support.TestServer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;

/** A process is paused between its work and the commit, on MySQL and MariaDB. */
@Tag("faults")
class CommitFenceProcessIT extends CommitFenceProcessContract {

  static Stream<TestServer> servers() {
    return Stream.of(TestServer.shared(), TestServer.sharedMariaDb()).distinct();
  }
}
