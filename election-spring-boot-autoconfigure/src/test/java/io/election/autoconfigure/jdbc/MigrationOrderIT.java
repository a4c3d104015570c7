package io.election.autoconfigure.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.argumentSet;

import io.election.support.TestDatabase;
import io.election.support.TestServer;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.provider.Arguments;

@Tag("faults")
class MigrationOrderIT extends MigrationOrderContract {

  MigrationOrderIT() {
    super("mysql", TestServer.shared());
  }

  static Stream<Arguments> orders() {
    return Stream.concat(
        MigrationOrderContract.orders(),
        Stream.of(argumentSet(
            "a part of the tables by hand first",
            (Consumer<TestDatabase>)
                (database) -> database.execute(
                    "CREATE TABLE leader_election (service_id varchar(64) PRIMARY KEY, leader_id varchar(64) NOT NULL, last_active_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP)"),
            "migrate")));
  }

  static Stream<String> foreign() {
    return Stream.of(
        "CREATE TABLE customers (id bigint PRIMARY KEY)",
        "CREATE VIEW leaders AS SELECT leader_id FROM leader_election",
        "CREATE PROCEDURE p() SELECT 1",
        "CREATE TRIGGER t BEFORE INSERT ON leader_election FOR EACH ROW SET @x = 1",
        "DROP TABLE leader_election_history; CREATE TABLE leader_election_history (id bigint PRIMARY KEY)");
  }

  @Test
  void schemaThatFlywayIsToldIsInspected() {
    this.database.withTables();
    TestDatabase other = TestDatabase.newDatabase();
    other.execute("CREATE TABLE customers (id bigint PRIMARY KEY)");
    other
        .server()
        .execute("GRANT ALL ON " + this.database.name() + ".* TO '" + other.username() + "'@'%'");
    this.withFlyway
        .withPropertyValues(
            "spring.datasource.url=" + other.jdbcUrl(),
            "spring.datasource.username=" + other.username(),
            "spring.flyway.schemas=" + this.database.name())
        .run((context) -> assertThat(context).hasNotFailed());
    assertThat(migrations()).isEqualTo("V1__invoice.sql,V2__invoice_sent.sql");
  }
}
