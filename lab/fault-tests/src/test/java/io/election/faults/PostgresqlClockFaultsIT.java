package io.election.faults;

import io.election.support.FakeClock;
import io.election.support.PostgresqlPrograms;
import io.election.support.PostgresqlServer;
import io.election.support.TestServer;
import org.junit.jupiter.api.Tag;

/** Faults of the wall clock of PostgreSQL, skipped without libfaketime. */
@Tag("long")
class PostgresqlClockFaultsIT extends ClockFaultsContract {

  @Override
  TestServer start(FakeClock clock) {
    return PostgresqlServer.launch(PostgresqlPrograms.V18, clock.command());
  }

  @Override
  String secondsOfEpoch() {
    return "SELECT CAST(EXTRACT(EPOCH FROM statement_timestamp()) AS bigint)";
  }
}
