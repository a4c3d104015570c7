package io.election.autoconfigure.jdbc;

import static io.election.autoconfigure.MysqlNode.awaitLeader;
import static io.election.autoconfigure.MysqlNode.patiently;
import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import io.election.ElectionService;
import io.election.autoconfigure.BlockingJob;
import io.election.autoconfigure.ElectionDataSource;
import io.election.autoconfigure.MysqlNode;
import io.election.autoconfigure.StartFailure;
import io.election.lease.LeaseElectionService;
import io.election.support.TestDatabase;
import io.election.support.TestServer;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import javax.sql.DataSource;
import org.flywaydb.core.Flyway;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.flyway.autoconfigure.FlywayAutoConfiguration;
import org.springframework.boot.liquibase.autoconfigure.LiquibaseAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The complete election in an application, on a real database of any product. */
@ExtendWith(OutputCaptureExtension.class)
abstract class DatabaseElectionContract {

  private final String algorithm;

  /** Without tables. */
  final TestDatabase empty;

  private final ApplicationContextRunner first;

  /** With a free lease. */
  final TestDatabase database;

  final ApplicationContextRunner application;

  @AutoClose("shutdownNow")
  private final ExecutorService executor = Executors.newCachedThreadPool();

  DatabaseElectionContract(String algorithm, TestServer server) {
    this.algorithm = algorithm;
    this.empty = server.newDatabase();
    this.first = MysqlNode.on(this.empty);
    this.database = MysqlNode.newDatabase(server);
    this.application = MysqlNode.on(this.database);
  }

  @Test
  void leadsAndHandsTheLeaseBack(CapturedOutput output) {
    this.first.run((context) -> {
      ElectionService election = awaitLeader(context);
      assertThat(election).isInstanceOf(LeaseElectionService.class);
      assertThat(election.term()).hasValue(1);
      assertThat(output)
          .contains(
              "become leader by " + this.algorithm,
              "try acquire leader by " + this.algorithm + " with result: true");
    });
    assertThat(this.empty.query("SELECT leader_id FROM leader_election")).isEmpty();
    assertThat(this.empty.query("SELECT lease_millis FROM leader_election")).isEqualTo("0");
  }

  @Test
  void furtherElectionsAreLedToo() {
    this.application
        .withPropertyValues("as.election.services=reports,exports")
        .run((context) -> patiently()
            .until(() -> context.getBeansOfType(ElectionService.class).values().stream()
                .allMatch(ElectionService::isLeader)));
  }

  @Test
  void aCallThatOutlastsTheShutdownKeepsTheLeaseAgainstTheNextContextToo(CapturedOutput output) {
    ApplicationContextRunner node =
        this.application.withPropertyValues("as.election.drain-timeout=100ms");
    BlockingJob[] jobs = new BlockingJob[1];
    node.withBean(BlockingJob.class).run((context) -> {
      awaitLeader(context);
      jobs[0] = context.getBean(BlockingJob.class);
      jobs[0].begin(this.executor, jobs[0]::plain);
    });
    patiently()
        .until(() -> output
            .getOut()
            .contains("node a was stopped, but leader work still runs: BlockingJob.plain since "));
    assertThat(output).doesNotContain("handed term 1 back");
    this.application.withPropertyValues("as.election.node-id=b").run((other) -> {
      ElectionService follower = other.getBean(ElectionService.class);
      // The elector renews for longer than the lease lasts, although its context is closed.
      long version = version();
      patiently().until(() -> version() >= version + 10);
      assertThat(follower.isLeader()).isFalse();
      node.run((next) -> {
        long then = version();
        patiently().until(() -> version() >= then + 10);
        assertThat(next.getBean(ElectionService.class).isLeader()).isFalse();
      });
      jobs[0].end();
      patiently().until(follower::isLeader);
      assertThat(output).contains("handed term 1 back");
    });
    node.run(MysqlNode::awaitLeader);
  }

  @Test
  void schemaThatIsNotEmptyIsUsed() {
    this.empty.execute("CREATE TABLE customers (id bigint PRIMARY KEY)");
    this.first
        .withConfiguration(AutoConfigurations.of(FlywayAutoConfiguration.class))
        .withPropertyValues(
            "spring.flyway.baseline-on-migrate=true", "spring.flyway.baseline-version=0")
        .run((context) -> {
          awaitLeader(context);
          context.getBean(Flyway.class).validate();
        });
    assertThat(MysqlNode.list(
            this.empty, "script", "installed_rank", "flyway_schema_history WHERE version <> '0'"))
        .as("its own migrations, and none of the election's")
        .isEqualTo("V1__invoice.sql,V2__invoice_sent.sql");
  }

  @Test
  void liquibaseOfTheApplicationIsNotDisturbed() {
    this.first
        .withConfiguration(AutoConfigurations.of(LiquibaseAutoConfiguration.class))
        .withPropertyValues("spring.liquibase.change-log=classpath:db/changelog/orders.sql")
        .run((context) -> {
          assertThat(this.empty.query("SELECT COUNT(*) FROM orders")).isEqualTo("0");
          assertThat(context).doesNotHaveBean(Flyway.class);
          awaitLeader(context);
        });
  }

  @Test
  void markedDataSourceIsUsedAmongTwo() {
    MysqlNode.withoutDataSource(this.empty)
        .withBean("orders", DataSource.class, () -> pool(this.empty))
        .withBean(TestDatabase.class, () -> this.database)
        .withUserConfiguration(MarkedDataSource.class)
        .run(MysqlNode::awaitLeader);
    assertThat(tables()).isZero();
  }

  /** With R2DBC, for example, Spring Boot creates no DataSource. */
  @Test
  void settingsWithoutDataSourceAreUsed() {
    MysqlNode.withoutDataSource(this.database).run((context) -> {
      assertThat(context).doesNotHaveBean(DataSource.class);
      awaitLeader(context);
    });
  }

  @Test
  void settingsOfThePrimaryPoolAreUsed() {
    MysqlNode.withoutDataSource(this.empty)
        .withBean(
            "primary",
            DataSource.class,
            () -> pool(this.database),
            (definition) -> definition.setPrimary(true))
        .withBean("another", DataSource.class, HikariDataSource::new)
        .run((context) -> {
          awaitLeader(context);
          HikariDataSource pool = (HikariDataSource) context.getBean("primary");
          assertThat(pool.isRunning())
              .as("a connection was taken from the pool")
              .isFalse();
        });
  }

  @Test
  void refusedCredentialsMakeAFollower(CapturedOutput output) {
    ApplicationContextRunner refused =
        this.application.withPropertyValues("spring.datasource.hikari.password=wrong");
    refused.run((context) -> {
      assertThat(context).hasNotFailed();
      assertThat(context.getBean(ElectionService.class).isLeader()).isFalse();
      assertThat(output)
          .contains("This node starts as a follower")
          .contains("They are read again at the next attempt, from the connection pool.")
          .contains("set as.election.fail-fast=true to end the start instead");
    });
    assertThat(StartFailure.text(refused.withPropertyValues("as.election.fail-fast=true")))
        .contains("as.election.fail-fast");
  }

  @Test
  void tablesThatAreMissingEndTheStartWhereTheyAreLeftToOthers() {
    String validate = "as.election." + this.algorithm + ".schema=validate";
    assertThat(StartFailure.text(this.first.withPropertyValues(validate)))
        .contains(validate, "CREATE TABLE");
  }

  private long version() {
    return Long.parseLong(this.database.query("SELECT version FROM leader_election"));
  }

  private int tables() {
    return Integer.parseInt(this.empty.query(
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_name LIKE 'leader%' AND table_schema IN ('public', '"
            + this.empty.name() + "')"));
  }

  private static HikariDataSource pool(TestDatabase database) {
    HikariDataSource pool = new HikariDataSource();
    pool.setJdbcUrl(database.jdbcUrl());
    pool.setUsername(database.username());
    pool.setPassword(database.password());
    return pool;
  }

  @Configuration(proxyBeanMethods = false)
  static class MarkedDataSource {

    @Bean(defaultCandidate = false)
    @ElectionDataSource
    DataSource forElections(TestDatabase database) {
      return pool(database);
    }
  }
}
