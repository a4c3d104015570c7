package io.election.faults;

import org.junit.jupiter.api.Tag;

/** Faults of the network on PostgreSQL. */
@Tag("long")
class PostgresqlNetworkFaultsIT extends NetworkFaultsContract {

  PostgresqlNetworkFaultsIT() {
    super(Engine.POSTGRESQL);
  }
}
