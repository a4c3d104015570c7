package io.election.autoconfigure.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.junit.jupiter.params.provider.Arguments.argumentSet;

import io.election.autoconfigure.MysqlNode;
import io.election.autoconfigure.StartFailure;
import io.election.support.TestDatabase;
import io.election.support.TestServer;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.configuration.FluentConfiguration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.flyway.autoconfigure.FlywayAutoConfiguration;
import org.springframework.boot.flyway.autoconfigure.FlywayConfigurationCustomizer;
import org.springframework.boot.flyway.autoconfigure.FlywayMigrationStrategy;
import org.springframework.boot.liquibase.autoconfigure.LiquibaseAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** In whatever order the tables came, the application's own migrations run as if alone. */
abstract class MigrationOrderContract {

  private static final String BOTH_PROPERTIES =
      "spring.flyway.baseline-on-migrate=true\nspring.flyway.baseline-version=0";

  private final String schema;

  final TestDatabase database;

  private final ApplicationContextRunner application;

  final ApplicationContextRunner withFlyway;

  /** Creates the contract of an algorithm. */
  MigrationOrderContract(String algorithm, TestServer server) {
    this.schema = "as.election." + algorithm + ".schema=";
    this.database = server.newDatabase();
    this.application = MysqlNode.on(this.database);
    this.withFlyway =
        this.application.withConfiguration(AutoConfigurations.of(FlywayAutoConfiguration.class));
  }

  static Stream<Arguments> orders() {
    Consumer<TestDatabase> nothing = (database) -> {};
    Consumer<TestDatabase> election =
        (database) -> MysqlNode.on(database).run(MysqlNode::awaitLeader);
    return Stream.of(
        argumentSet("both on an empty schema", nothing, "migrate"),
        argumentSet("the election first", election, "migrate"),
        argumentSet("the election first, then only validated", election, "validate"),
        argumentSet(
            "an administrator first",
            (Consumer<TestDatabase>) TestDatabase::withTables,
            "validate"),
        argumentSet(
            "the election first, its tables dropped and made by an administrator",
            election.andThen((database) -> {
              database.execute(
                  "DROP TABLE leader_election, leader_election_history, leader_election_member");
              database.withTables();
            }),
            "none"));
  }

  @ParameterizedTest
  @MethodSource("orders")
  void flywayRunsAllMigrationsOfTheApplication(Consumer<TestDatabase> before, String schema) {
    before.accept(this.database);
    for (int start = 0; start < 2; start++) {
      this.withFlyway.withPropertyValues(this.schema + schema).run((context) -> {
        MysqlNode.awaitLeader(context);
        context.getBean(Flyway.class).validate();
      });
      assertThat(migrations()).isEqualTo("V1__invoice.sql,V2__invoice_sent.sql");
      assertThat(this.database.query("SELECT COUNT(sent) FROM invoice")).isEqualTo("0");
    }
  }

  @ParameterizedTest
  @MethodSource("orders")
  @Tag("long")
  void liquibaseRunsAllChangesOfTheApplication(Consumer<TestDatabase> before, String schema) {
    before.accept(this.database);
    for (int start = 0; start < 2; start++) {
      this.application
          .withConfiguration(AutoConfigurations.of(LiquibaseAutoConfiguration.class))
          .withPropertyValues(
              "spring.liquibase.change-log=classpath:db/changelog/orders.sql", this.schema + schema)
          .run(MysqlNode::awaitLeader);
      assertThat(this.database.query("SELECT COUNT(*) FROM orders")).isEqualTo("0");
      assertThat(this.database.query("SELECT COUNT(*) FROM DATABASECHANGELOG")).isEqualTo("1");
    }
  }

  @ParameterizedTest
  @CsvSource({
    "as.election.enabled=false",
    "as.election.algorithm=ManualAllocation",
    "spring.flyway.baseline-on-migrate=true",
    "spring.flyway.baseline-on-migrate=false"
  })
  void tablesThatAreThereDoNotDisturbWhateverIsSet(String property) {
    this.database.withTables();
    this.withFlyway
        .withPropertyValues(property, "as.election.manual.leader-id=a")
        .run((context) -> assertThat(context).hasNotFailed());
    assertThat(migrations()).isEqualTo("V1__invoice.sql,V2__invoice_sent.sql");
  }

  @ParameterizedTest
  @MethodSource("foreign")
  void whatIsNotTheElectionsIsRefusedAsBefore(String foreign) {
    this.database.withTables().execute(foreign.split("; "));
    assertThat(StartFailure.text(this.withFlyway))
        .contains("Found non-empty schema(s)", BOTH_PROPERTIES, "version 1 for done");
    assertThat(this.database.query(
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema IN ('public', '"
                + this.database.name() + "') AND table_name = 'invoice'"))
        .isEqualTo("0");
  }

  @ParameterizedTest
  @CsvSource({
    "zero, Found non-empty schema(s), skips only migrations of version 0",
    "base, B2__base.sql, drop the tables leader_election"
  })
  void migrationBelowABaselineIsNotSkipped(String folder, String found, String remedy) {
    this.database.withTables();
    assertThat(StartFailure.text(
            this.withFlyway.withPropertyValues("spring.flyway.locations=classpath:db/" + folder)))
        .contains(found, remedy);
  }

  /** By a runner of the application, for example. */
  @Test
  void aMigrationAfterTheElectionHasBegunIsRefusedWithTheRemedy() {
    this.withFlyway
        .withBean(FlywayMigrationStrategy.class, () -> (flyway) -> {})
        .run((context) -> {
          MysqlNode.awaitLeader(context);
          Flyway flyway = context.getBean(Flyway.class);
          Throwable failure = catchThrowable(flyway::migrate);
          assertThat(new FlywayBaselineFailureAnalyzer()
                  .analyze(new IllegalStateException(failure))
                  .getAction())
              .contains(BOTH_PROPERTIES);
        });
  }

  @Test
  void baselineThatTheApplicationHasChosenStays() {
    this.database.withTables();
    this.withFlyway
        .withPropertyValues(
            "spring.flyway.baseline-on-migrate=true", "spring.flyway.baseline-version=1.5")
        .withBean(
            FlywayConfigurationCustomizer.class,
            () -> (FluentConfiguration configuration) -> configuration.locations("db/later"))
        .run((context) -> assertThat(context).hasNotFailed());
    assertThat(migrations()).isEqualTo("V2__later.sql");
    assertThat(this.database.query(
            "SELECT version FROM flyway_schema_history WHERE type = 'BASELINE'"))
        .isEqualTo("1.5");
  }

  @Test
  void baselineThatACustomizerHasChosenStays() {
    this.database.withTables();
    this.withFlyway
        .withBean(
            FlywayConfigurationCustomizer.class,
            () -> (FluentConfiguration configuration) ->
                configuration.locations("db/later").baselineOnMigrate(true).baselineVersion("1.5"))
        .run((context) -> assertThat(context).hasNotFailed());
    assertThat(migrations()).isEqualTo("V2__later.sql");
  }

  String migrations() {
    return String.valueOf(MysqlNode.list(
        this.database,
        "script",
        "installed_rank",
        "flyway_schema_history WHERE type <> 'BASELINE'"));
  }
}
