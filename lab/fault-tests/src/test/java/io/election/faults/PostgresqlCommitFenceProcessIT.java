package io.election.faults;

import io.election.support.TestServer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;

/** A process is paused between its work and the commit, on PostgreSQL. */
@Tag("faults")
class PostgresqlCommitFenceProcessIT extends CommitFenceProcessContract {

  static Stream<TestServer> servers() {
    return Stream.of(Engine.POSTGRESQL.shared());
  }
}
