package io.election.autoconfigure.mysql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import io.election.ElectionService;
import io.election.LeaderOnly;
import io.election.autoconfigure.ElectionAutoConfiguration;
import io.election.autoconfigure.ElectionDataSource;
import io.election.autoconfigure.StartFailure;
import io.election.autoconfigure.actuate.EndpointAccess;
import io.election.autoconfigure.actuate.LeaderEndpointAutoConfiguration;
import io.election.autoconfigure.leaderonly.LeaderOnlyAutoConfiguration;
import io.election.autoconfigure.leaderonly.LeaderOnlyCalls;
import io.election.lease.LeaseElectionService;
import io.election.test.TestDatabase;
import java.sql.Connection;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import javax.sql.DataSource;
import org.flywaydb.core.Flyway;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.flyway.autoconfigure.FlywayAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.liquibase.autoconfigure.LiquibaseAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;
import org.springframework.jdbc.datasource.DelegatingDataSource;

/** The complete election in an application, on a real database. */
@ExtendWith(OutputCaptureExtension.class)
class MysqlElectionIT {

  private static final Duration LONG = Duration.ofSeconds(30);

  private final TestDatabase database = TestDatabase.newDatabase();

  private final ApplicationContextRunner election = new ApplicationContextRunner()
      .withConfiguration(AutoConfigurations.of(
          ElectionAutoConfiguration.class,
          MysqlElectionAutoConfiguration.class,
          LeaderOnlyAutoConfiguration.class,
          LeaderEndpointAutoConfiguration.class))
      .withPropertyValues(
          "spring.application.name=orders",
          "as.election.lease-duration=2s",
          "as.election.renew-interval=400ms",
          "as.election.operation-timeout=700ms");

  private final ApplicationContextRunner application = this.election
      .withConfiguration(AutoConfigurations.of(DataSourceAutoConfiguration.class))
      .withPropertyValues(
          "spring.datasource.url=" + this.database.jdbcUrl(),
          "spring.datasource.username=" + this.database.username(),
          "spring.datasource.password=" + this.database.password());

  @Test
  void leadsAndHandsTheLeaseBack(CapturedOutput output) {
    this.application.run((context) -> {
      ElectionService election = awaitLeader(context);
      assertThat(election).isInstanceOf(LeaseElectionService.class);
      assertThat(election.leadership())
          .hasValueSatisfying((l) -> assertThat(l.term()).isEqualTo(1));
      assertThat(output)
          .contains("become leader by mysql")
          .contains("try acquire leader by mysql with result: true");
    });
    assertThat(this.database.query("SELECT leader_id FROM leader_election")).isEmpty();
    assertThat(this.database.query("SELECT lease_millis FROM leader_election")).isEqualTo("0");
  }

  @Test
  void leadsAgainAfterAPause() {
    this.application.run((context) -> {
      awaitLeader(context);
      context.getSourceApplicationContext().stop();
      assertThat(context.getBean(ElectionService.class).isLeader()).isFalse();
      context.getSourceApplicationContext().start();
      assertThat(awaitLeader(context).leadership())
          .hasValueSatisfying((l) -> assertThat(l.term()).isEqualTo(2));
    });
  }

  @Test
  void typoIsNotDesignatedWhereTheMembersAreKnown(CapturedOutput output) {
    this.application.run((context) -> {
      ElectionService election = awaitLeader(context);
      await().atMost(LONG).until(() -> election.members().isPresent());
      EndpointAccess endpoint = new EndpointAccess(context);
      String name = election.serviceId();
      assertThat(endpoint.election(name).get("members").toString())
          .contains("nodeId=" + election.nodeId());
      WebEndpointResponse<Map<String, Object>> refused = endpoint.designate(name, "typo", null);
      assertThat(refused.getStatus()).isEqualTo(409);
      assertThat(refused.getBody().get("members").toString())
          .contains("nodeId=" + election.nodeId());
      assertThat(election.isLeader()).isTrue();

      assertThat(endpoint.designate(name, "typo", true).getStatus()).isEqualTo(202);
      assertThat(election.isLeader()).isFalse();
      await()
          .atMost(LONG)
          .until(() -> output.getOut().contains("designated node 'typo' has not led lately"));
    });
    assertThat(this.database.query("SELECT COUNT(*) FROM leader_election_member"))
        .isEqualTo("0");
  }

  @Test
  void furtherElectionsAreLedToo() {
    this.application
        .withPropertyValues("as.election.services=reports,exports")
        .run((context) -> await()
            .atMost(LONG)
            .until(() -> context.getBeansOfType(ElectionService.class).values().stream()
                .allMatch(ElectionService::isLeader)));
  }

  @Test
  void stopLetsLeaderWorkEndBeforeTheLeaseIsHandedBack() throws Exception {
    ExecutorService executor = Executors.newSingleThreadExecutor();
    try {
      this.application.withBean(Job.class).run((context) -> {
        awaitLeader(context);
        Job job = context.getBean(Job.class);
        Future<?> running = executor.submit(job::run);
        job.begun().await();
        CompletableFuture<Void> closed = CompletableFuture.runAsync(context::close);
        await().atMost(LONG).until(() -> !context.getBean(ElectionService.class).isLeader());
        long version = version();
        await().atMost(LONG).until(() -> version() > version);
        assertThat(this.database.query("SELECT lease_millis FROM leader_election"))
            .isEqualTo("2000");
        assertThat(closed).isNotDone();
        job.end().countDown();
        running.get();
        closed.get(30, TimeUnit.SECONDS);
        assertThat(this.database.query("SELECT lease_millis FROM leader_election"))
            .isEqualTo("0");
      });
    } finally {
      executor.shutdownNow();
    }
  }

  @Test
  void aCallThatOutlastsTheShutdownKeepsTheLeaseAndTheNextContextWaitsForItsEnd(
      CapturedOutput output) throws Exception {
    ExecutorService executor = Executors.newSingleThreadExecutor();
    ApplicationContextRunner node = this.application.withPropertyValues(
        "as.election.node-id=a", "as.election.drain-timeout=100ms");
    Job[] jobs = new Job[1];
    try {
      node.withBean(Job.class).run((context) -> {
        awaitLeader(context);
        jobs[0] = context.getBean(Job.class);
        executor.submit(jobs[0]::run);
        jobs[0].begun().await();
      });
      await()
          .atMost(LONG)
          .untilAsserted(() -> assertThat(output)
              .contains("node a was stopped, but leader work still runs: Job.run since "));
      assertThat(output).doesNotContain("handed term 1 back");
      this.application.withPropertyValues("as.election.node-id=b").run((other) -> {
        ElectionService follower = other.getBean(ElectionService.class);
        // The elector renews for longer than the lease lasts, although its context is closed.
        long version = version();
        await().atMost(LONG).until(() -> version() >= version + 10);
        assertThat(follower.isLeader()).isFalse();
        node.run((next) -> {
          assertThat(output).contains("node a was started again, and does not stand until");
          assertThat(version()).isPositive();
          assertThat(next.getBean(ElectionService.class).isLeader()).isFalse();
        });
        jobs[0].end().countDown();
        await().atMost(LONG).until(follower::isLeader);
        assertThat(output).contains("handed term 1 back");
      });
      node.run(MysqlElectionIT::awaitLeader);
    } finally {
      if (jobs[0] != null) {
        jobs[0].end().countDown();
      }
      executor.shutdownNow();
    }
  }

  @Test
  void callIsInterruptedWhenAnotherNodeIsWrittenIn() throws Exception {
    ExecutorService executor = Executors.newCachedThreadPool();
    try {
      this.application.withBean(QueueJob.class).run((context) -> {
        awaitLeader(context);
        QueueJob job = context.getBean(QueueJob.class);
        Future<String> interruptible = executor.submit(job::takeInterruptibly);
        Future<String> plain = executor.submit(job::take);
        job.begun().await();
        this.database.execute("UPDATE leader_election SET leader_id = 'another'");
        assertThat(interruptible.get(30, TimeUnit.SECONDS)).isEqualTo("interrupted");
        assertThat(plain).isNotDone();
        job.queue().add("item");
        assertThat(plain.get(30, TimeUnit.SECONDS)).isEqualTo("item");
        assertThat(context.getBean(LeaderOnlyCalls.class).interrupted("orders")).isEqualTo(1);
      });
    } finally {
      executor.shutdownNow();
    }
  }

  @Test
  void flywayOfTheApplicationIsNotDisturbed() {
    ApplicationContextRunner withFlyway = this.application
        .withConfiguration(AutoConfigurations.of(FlywayAutoConfiguration.class))
        .withPropertyValues("spring.flyway.locations=classpath:db/orders");
    for (int start = 0; start < 2; start++) {
      withFlyway.run((context) -> {
        assertThat(context).hasNotFailed();
        assertThat(context).hasSingleBean(Flyway.class);
        assertThat(this.database.query("SELECT COUNT(*) FROM flyway_schema_history"))
            .isEqualTo("1");
        assertThat(this.database.query("SELECT COUNT(*) FROM orders")).isEqualTo("0");
        awaitLeader(context);
      });
    }
  }

  @Test
  void schemaThatIsNotEmptyIsUsed() {
    this.database.execute("CREATE TABLE customers (id bigint PRIMARY KEY)");
    this.application
        .withConfiguration(AutoConfigurations.of(FlywayAutoConfiguration.class))
        .withPropertyValues(
            "spring.flyway.locations=classpath:db/orders",
            "spring.flyway.baseline-on-migrate=true",
            "spring.flyway.baseline-version=0")
        .run(MysqlElectionIT::awaitLeader);
    assertThat(this.database.query("SELECT COUNT(*) FROM orders")).isEqualTo("0");
  }

  @Test
  void liquibaseOfTheApplicationIsNotDisturbed() {
    this.application
        .withConfiguration(AutoConfigurations.of(LiquibaseAutoConfiguration.class))
        .withPropertyValues("spring.liquibase.change-log=classpath:db/changelog/orders.sql")
        .run((context) -> {
          assertThat(this.database.query("SELECT COUNT(*) FROM orders")).isEqualTo("0");
          assertThat(context).doesNotHaveBean(Flyway.class);
          awaitLeader(context);
        });
  }

  @Test
  void markedDataSourceIsUsedAmongTwo() {
    TestDatabase own = TestDatabase.newDatabase();
    this.election
        .withBean("orders", DataSource.class, () -> pool(this.database))
        .withBean(Marked.class, () -> new Marked(own))
        .withUserConfiguration(MarkedDataSource.class)
        .run(MysqlElectionIT::awaitLeader);
    assertThat(own.query("SELECT COUNT(*) FROM leader_election")).isEqualTo("1");
    assertThat(tables()).isZero();
  }

  /** With R2DBC, for example, Spring Boot creates no DataSource. */
  @Test
  void settingsWithoutDataSourceAreUsed() {
    this.election
        .withPropertyValues(
            "spring.datasource.url=" + this.database.jdbcUrl(),
            "spring.datasource.username=" + this.database.username(),
            "spring.datasource.password=" + this.database.password())
        .run((context) -> {
          assertThat(context).doesNotHaveBean(DataSource.class);
          awaitLeader(context);
        });
  }

  @Test
  void settingsOfThePrimaryPoolAreUsed() {
    this.election
        .withBean(Marked.class, () -> new Marked(this.database))
        .withUserConfiguration(PrimaryDataSource.class)
        .run((context) -> {
          awaitLeader(context);
          HikariDataSource pool = (HikariDataSource) context.getBean("primary");
          assertThat(pool.isRunning())
              .as("a connection was taken from the pool")
              .isFalse();
        });
  }

  /** Wraps the pool as datasource-proxy does. */
  @Test
  void settingsOfAWrappedPoolAreUsed() {
    this.election
        .withBean(DataSource.class, () -> new DelegatingDataSource(pool(this.database)))
        .run(MysqlElectionIT::awaitLeader);
  }

  /** Wraps the driver as P6Spy does. */
  @Test
  void driverThatWrapsAnotherIsUsed() {
    this.election
        .withConfiguration(AutoConfigurations.of(DataSourceAutoConfiguration.class))
        .withPropertyValues(
            "spring.datasource.driver-class-name=" + WrappingDriver.class.getName(),
            "spring.datasource.url=" + this.database.jdbcUrl().replace("jdbc:", "jdbc:wrapped:"),
            "spring.datasource.username=" + this.database.username(),
            "spring.datasource.password=" + this.database.password())
        .run(MysqlElectionIT::awaitLeader);
    assertThat(this.database.query("SELECT COUNT(*) FROM leader_election")).isEqualTo("1");
  }

  @Test
  void poolWithoutAutoCommitDoesNotMatter() {
    this.application
        .withPropertyValues("spring.datasource.hikari.auto-commit=false")
        .run(MysqlElectionIT::awaitLeader);
  }

  /** MariaDB shows connection attributes only if its performance_schema is on. */
  @ParameterizedTest
  @ValueSource(strings = {"mysql", "mariadb"})
  void connectionsOfTheElectionBearItsName(String driver) {
    assumeThat(this.database.server().isMariaDb()).isFalse();
    String programs = """
        SELECT GROUP_CONCAT(DISTINCT COALESCE(attr_value, 'none')) FROM information_schema.processlist
        LEFT JOIN performance_schema.session_connect_attrs
            ON processlist_id = id AND attr_name = 'program_name'
        WHERE db = DATABASE() AND id <> CONNECTION_ID()\
        """;
    this.election
        .withConfiguration(AutoConfigurations.of(DataSourceAutoConfiguration.class))
        .withPropertyValues(
            "spring.datasource.type=org.springframework.jdbc.datasource.SimpleDriverDataSource",
            "spring.datasource.url=" + this.database.jdbcUrl(driver, ""),
            "spring.datasource.username=" + this.database.username(),
            "spring.datasource.password=" + this.database.password())
        .run((context) -> {
          awaitLeader(context);
          assertThat(this.database.query(programs)).isEqualTo("election");
        });
  }

  @Test
  void exhaustedPoolDoesNotMatter() {
    this.application
        .withPropertyValues("spring.datasource.hikari.maximum-pool-size=1")
        .run((context) -> {
          try (Connection only = context.getBean(DataSource.class).getConnection()) {
            assertThat(only).isNotNull();
            ElectionService election = awaitLeader(context);
            long version = version();
            await().atMost(LONG).until(() -> version() > version + 2);
            assertThat(election.isLeader()).isTrue();
          }
        });
  }

  @Test
  void refusedCredentialsMakeAFollower(CapturedOutput output) {
    ApplicationContextRunner refused =
        this.application.withPropertyValues("spring.datasource.password=wrong");
    refused.run((context) -> {
      assertThat(context).hasNotFailed();
      assertThat(context.getBean(ElectionService.class).isLeader()).isFalse();
      assertThat(output)
          .contains("This node starts as a follower")
          .contains("set as.election.fail-fast=true to end the start instead");
    });
    assertThat(StartFailure.text(refused.withPropertyValues("as.election.fail-fast=true")))
        .contains("as.election.fail-fast");
  }

  @Test
  void databaseOutOfReachMakesAFollower(CapturedOutput output) {
    this.application
        .withPropertyValues("spring.datasource.url=jdbc:mysql://127.0.0.1:1/orders")
        .run((context) -> {
          assertThat(context).hasNotFailed();
          assertThat(context.getBean(ElectionService.class).isLeader()).isFalse();
          assertThat(output).contains("This node starts as a follower");
        });
  }

  @Test
  void tableOfAnotherShapeEndsTheStart() {
    this.database.execute("CREATE TABLE leader_election (id bigint PRIMARY KEY, node varchar(10))");
    assertThat(StartFailure.text(this.application)).contains("leader_election");
  }

  @Test
  void tablesThatAreMissingEndTheStartWhereTheyAreLeftToOthers() {
    assertThat(StartFailure.text(
            this.application.withPropertyValues("as.election.mysql.schema=validate")))
        .contains("as.election.mysql.schema=validate")
        .contains("CREATE TABLE");
  }

  @Test
  void disabledElectionMakesNoTable() {
    this.application
        .withPropertyValues("as.election.enabled=false")
        .run((context) ->
            assertThat(context.getBean(ElectionService.class).isLeader()).isTrue());
    assertThat(tables()).isZero();
  }

  @Test
  void threeNodesStartAtOnceOnAnEmptySchema() throws Exception {
    ExecutorService executor = Executors.newFixedThreadPool(3);
    CountDownLatch oneLed = new CountDownLatch(1);
    try {
      List<Future<?>> nodes = IntStream.range(0, 3)
          .<Future<?>>mapToObj((i) -> executor.submit(() -> this.application
              .withPropertyValues("as.election.node-id=node-" + i)
              .run((context) -> {
                assertThat(context).hasNotFailed();
                ElectionService election = context.getBean(ElectionService.class);
                await().atMost(LONG).until(() -> election.leaderId().isPresent());
                await().atMost(LONG).until(() -> election.isLeader() || oneLed.getCount() == 0);
                oneLed.countDown();
              })))
          .toList();
      for (Future<?> node : nodes) {
        node.get(120, TimeUnit.SECONDS);
      }
    } finally {
      executor.shutdownNow();
    }
  }

  private long version() {
    return Long.parseLong(this.database.query("SELECT version FROM leader_election"));
  }

  private int tables() {
    return Integer.parseInt(
        this.database.query(
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name LIKE 'leader%'"));
  }

  private static ElectionService awaitLeader(ApplicationContext context) {
    ElectionService election = context.getBean(ElectionService.class);
    await().atMost(LONG).until(election::isLeader);
    return election;
  }

  private static HikariDataSource pool(TestDatabase database) {
    HikariDataSource pool = new HikariDataSource();
    pool.setJdbcUrl(database.jdbcUrl());
    pool.setUsername(database.username());
    pool.setPassword(database.password());
    return pool;
  }

  record Marked(TestDatabase database) {}

  @Configuration(proxyBeanMethods = false)
  static class MarkedDataSource {

    @Bean(defaultCandidate = false)
    @ElectionDataSource
    DataSource forElections(Marked marked) {
      return pool(marked.database());
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class PrimaryDataSource {

    @Bean
    @Primary
    DataSource primary(Marked marked) {
      return pool(marked.database());
    }

    @Bean
    DataSource another() {
      return new HikariDataSource();
    }
  }

  static class QueueJob {

    private final CountDownLatch begun = new CountDownLatch(2);

    private final BlockingQueue<String> queue = new LinkedBlockingQueue<>();

    CountDownLatch begun() {
      return this.begun;
    }

    BlockingQueue<String> queue() {
      return this.queue;
    }

    @LeaderOnly(interruptOnLoss = true)
    public String takeInterruptibly() {
      return block();
    }

    @LeaderOnly
    public String take() {
      return block();
    }

    private String block() {
      this.begun.countDown();
      try {
        return this.queue.take();
      } catch (InterruptedException ex) {
        return "interrupted";
      }
    }
  }

  static class Job {

    private final CountDownLatch begun = new CountDownLatch(1);

    private final CountDownLatch end = new CountDownLatch(1);

    CountDownLatch begun() {
      return this.begun;
    }

    CountDownLatch end() {
      return this.end;
    }

    @LeaderOnly
    public void run() {
      this.begun.countDown();
      try {
        this.end.await();
      } catch (InterruptedException ex) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
