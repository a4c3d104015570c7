package io.election.faults;

import io.election.support.PgBouncer;
import io.election.support.PostgresqlServer;
import io.election.support.TestDatabase;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Faults of a process on PostgreSQL. */
@Tag("faults")
class PostgresqlProcessFaultsIT extends ProcessFaultsContract {

  PostgresqlProcessFaultsIT() {
    super(Engine.POSTGRESQL);
  }

  @Override
  String microsSince(String instant, String column) {
    return "CAST(EXTRACT(EPOCH FROM %s - timestamptz '%s') * 1000000 AS bigint)"
        .formatted(column, instant);
  }

  @Override
  String nap() {
    return "PERFORM pg_sleep(0.3)";
  }

  @Override
  String isNapping(String user) {
    return "SELECT pid FROM " + Engine.POSTGRESQL.sessionsOf(user) + " AND wait_event = 'PgSleep'";
  }

  @Override
  String dropTrigger(String name, String table) {
    return "DROP TRIGGER " + name + " ON " + table;
  }

  /** LISTEN receives nothing there, so that the nodes poll. */
  @Test
  void aLeaderBehindPgBouncerHandsOver() throws Exception {
    try (PgBouncer bouncer = PgBouncer.to((PostgresqlServer) Engine.POSTGRESQL.shared())) {
      TestDatabase database = Engine.POSTGRESQL.newDatabase();
      Cluster.run(
          database,
          Cluster.threeNodes(
              (node) -> node.with("spring.datasource.url=" + bouncer.jdbcUrl(database))),
          (cluster, leader) -> handOver("PgBouncer: SIGTERM of the leader", cluster, leader));
    }
  }
}
