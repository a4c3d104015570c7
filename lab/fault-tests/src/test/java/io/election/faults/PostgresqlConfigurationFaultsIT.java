package io.election.faults;

import io.election.support.TestDatabase;
import io.election.support.TestServer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;

/** Variants of a set-up on PostgreSQL. */
@Order(2)
@Tag("long")
class PostgresqlConfigurationFaultsIT extends ConfigurationFaultsContract {

  PostgresqlConfigurationFaultsIT() {
    super(Engine.POSTGRESQL);
  }

  @Override
  TestServer startCounting() {
    TestServer server = Engine.POSTGRESQL.startOwn();
    server.execute("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'");
    server.stop();
    server.start();
    server.execute("CREATE EXTENSION pg_stat_statements");
    return server;
  }

  @Override
  long statements(TestDatabase database) {
    return sum(database, "calls");
  }

  @Override
  long rows(TestDatabase database) {
    return sum(database, "rows");
  }

  private static long sum(TestDatabase database, String counter) {
    return Long.parseLong(database
        .server()
        .query("SELECT SUM(" + counter
            + ") FROM pg_stat_statements WHERE query ~ '^(INSERT|UPDATE|WITH free)'"));
  }
}
