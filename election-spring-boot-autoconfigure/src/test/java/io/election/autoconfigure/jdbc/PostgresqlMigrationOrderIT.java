package io.election.autoconfigure.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.support.PostgresqlPrograms;
import io.election.support.TestServer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("long")
class PostgresqlMigrationOrderIT extends MigrationOrderContract {

  PostgresqlMigrationOrderIT() {
    super("postgresql", TestServer.shared(PostgresqlPrograms.V18));
  }

  static Stream<String> foreign() {
    return Stream.of(
        "CREATE TABLE customers (id bigint PRIMARY KEY)",
        "CREATE VIEW leaders AS SELECT leader_id FROM leader_election",
        "CREATE MATERIALIZED VIEW leaders AS SELECT leader_id FROM leader_election",
        "CREATE SEQUENCE numbers",
        "CREATE TYPE colour AS ENUM ('red')",
        "CREATE TYPE pair AS (a int, b int)",
        "CREATE DOMAIN positive AS int CHECK (VALUE > 0)",
        "CREATE FUNCTION one() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "DROP TABLE leader_election_history; CREATE TABLE leader_election_history (id bigint PRIMARY KEY)");
  }

  @Test
  void schemaThatFlywayIsToldIsInspected() {
    this.database.withTables();
    this.database.execute("CREATE SCHEMA other AUTHORIZATION " + this.database.username());
    this.withFlyway
        .withPropertyValues("spring.flyway.schemas=other")
        .run((context) -> assertThat(context).hasNotFailed());
    assertThat(this.database.query("SELECT COUNT(*) FROM other.invoice")).isEqualTo("0");
  }

  /** Flyway does not count what belongs to an extension either. */
  @Test
  void extensionsDoNotCount() {
    this.database.withTables().execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements");
    this.withFlyway.run((context) -> assertThat(context).hasNotFailed());
    assertThat(migrations()).isEqualTo("V1__invoice.sql,V2__invoice_sent.sql");
  }
}
