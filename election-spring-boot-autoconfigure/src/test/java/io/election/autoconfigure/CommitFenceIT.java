package io.election.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.election.ElectionService;
import io.election.LeaderOnly;
import io.election.LeadershipLostException;
import io.election.lease.LeaseRow;
import io.election.mysql.CommitFence;
import io.election.mysql.ElectionDatabase;
import io.election.mysql.LeaderElectionSchema;
import io.election.mysql.MysqlLeaseStore;
import io.election.test.TestDatabase;
import io.election.test.TestServer;
import jakarta.persistence.Entity;
import jakarta.persistence.EntityManager;
import jakarta.persistence.Id;
import java.sql.Connection;
import java.time.Duration;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.hibernate.autoconfigure.HibernateJpaAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.boot.persistence.autoconfigure.EntityScan;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

/** Work of a deposed leader is not committed, whoever manages the transactions. */
class CommitFenceIT {

  private static final Duration PATIENCE = Duration.ofSeconds(5);

  private static final String[] TABLES = {
    "CREATE TABLE work (id bigint PRIMARY KEY)", "CREATE TABLE entry (id bigint PRIMARY KEY)"
  };

  private static Stream<TestServer> servers() {
    return Stream.of(TestServer.shared(), TestServer.sharedMariaDb()).distinct();
  }

  private static ApplicationContextRunner election(TestDatabase database) {
    database.execute(TABLES);
    releaseLease(database);
    return new ApplicationContextRunner()
        .withConfiguration(AutoConfigurations.of(
            ElectionAutoConfiguration.class,
            LeaderOnlyAutoConfiguration.class,
            DataSourceAutoConfiguration.class,
            TransactionAutoConfiguration.class))
        .withBean(Job.class)
        .withPropertyValues(
            "spring.application.name=orders",
            "as.election.node-id=a",
            "as.election.lease-duration=3s",
            "as.election.renew-interval=500ms",
            "spring.datasource.url=" + database.jdbcUrl(),
            "spring.datasource.username=" + database.username(),
            "spring.datasource.password=" + database.password());
  }

  private static ApplicationContextRunner jdbc(TestDatabase database) {
    return election(database)
        .withConfiguration(AutoConfigurations.of(
            DataSourceTransactionManagerAutoConfiguration.class,
            JdbcTemplateAutoConfiguration.class));
  }

  private static ApplicationContextRunner jpa(TestDatabase database) {
    return election(database)
        .withConfiguration(AutoConfigurations.of(
            HibernateJpaAutoConfiguration.class, JdbcTemplateAutoConfiguration.class))
        .withUserConfiguration(Entities.class);
  }

  @ParameterizedTest(autoCloseArguments = false)
  @MethodSource("servers")
  void a_transaction_within_a_call_is_committed_in_its_term_alone(TestServer server) {
    TestDatabase database = server.newDatabase();
    jdbc(database).run((context) -> {
      Job job = leading(context);
      TransactionTemplate transaction = context.getBean(TransactionTemplate.class);

      job.call(() -> transaction.executeWithoutResult((status) -> insert(context, 1)));
      assertThat(rows(database)).isEqualTo(1);

      assertThatThrownBy(() -> job.call(() -> transaction.executeWithoutResult((status) -> {
            insert(context, 2);
            takeOver(database);
          })))
          .isInstanceOf(LeadershipLostException.class)
          .hasMessage(
              "Term 1 of node 'a' in election 'orders' has ended, so that its work is not committed");
      assertThat(rows(database)).isEqualTo(1);
      assertThat(sessionTimeouts(context)).doesNotContain("1/");
    });
  }

  @ParameterizedTest(autoCloseArguments = false)
  @MethodSource("servers")
  void a_transaction_around_a_call_is_committed_in_its_term_alone(TestServer server) {
    TestDatabase database = server.newDatabase();
    jdbc(database).run((context) -> {
      Job job = leading(context);
      TransactionTemplate transaction = context.getBean(TransactionTemplate.class);
      assertThatThrownBy(() -> transaction.executeWithoutResult((status) -> {
            job.call(() -> insert(context, 1));
            // The call is over; the transaction still depends on it.
            takeOver(database);
          }))
          .isInstanceOf(LeadershipLostException.class);
      assertThat(rows(database)).isZero();
    });
  }

  @ParameterizedTest(autoCloseArguments = false)
  @MethodSource("servers")
  void what_jpa_writes_upon_the_commit_is_fenced_too(TestServer server) {
    TestDatabase database = server.newDatabase();
    jpa(database).run((context) -> {
      Job job = leading(context);
      TransactionTemplate transaction = context.getBean(TransactionTemplate.class);
      EntityManager entities = context.getBean(EntityManager.class);

      job.call(() -> transaction.executeWithoutResult((status) -> entities.persist(new Entry(1))));
      assertThat(database.query("SELECT COUNT(*) FROM entry")).isEqualTo("1");

      assertThatThrownBy(() -> job.call(() -> transaction.executeWithoutResult((status) -> {
            entities.persist(new Entry(2));
            takeOver(database);
          })))
          .isInstanceOf(LeadershipLostException.class);
      assertThat(database.query("SELECT COUNT(*) FROM entry")).isEqualTo("1");
      assertThat(sessionTimeouts(context)).doesNotContain("1/");
    });
  }

  @ParameterizedTest(autoCloseArguments = false)
  @MethodSource("servers")
  void each_transaction_within_a_call_is_fenced_by_itself(TestServer server) {
    TestDatabase database = server.newDatabase();
    jdbc(database).run((context) -> {
      Job job = leading(context);
      PlatformTransactionManager manager = context.getBean(PlatformTransactionManager.class);
      TransactionTemplate outer = new TransactionTemplate(manager);
      TransactionTemplate inner = new TransactionTemplate(manager);
      inner.setPropagationBehavior(TransactionDefinition.PROPAGATION_REQUIRES_NEW);
      assertThatThrownBy(() -> job.call(() -> outer.executeWithoutResult((status) -> {
            insert(context, 1);
            inner.executeWithoutResult((other) -> insert(context, 2));
            takeOver(database);
          })))
          .isInstanceOf(LeadershipLostException.class);
      assertThat(database.query("SELECT GROUP_CONCAT(id) FROM work")).isEqualTo("2");
    });
  }

  @ParameterizedTest(autoCloseArguments = false)
  @MethodSource("servers")
  void a_savepoint_is_fenced_with_the_transaction_around_it(TestServer server) {
    TestDatabase database = server.newDatabase();
    jdbc(database).run((context) -> {
      Job job = leading(context);
      PlatformTransactionManager manager = context.getBean(PlatformTransactionManager.class);
      TransactionTemplate outer = new TransactionTemplate(manager);
      TransactionTemplate nested = new TransactionTemplate(manager);
      nested.setPropagationBehavior(TransactionDefinition.PROPAGATION_NESTED);
      assertThatThrownBy(() -> job.call(() -> outer.executeWithoutResult((status) -> {
            nested.executeWithoutResult((savepoint) -> {
              insert(context, 1);
              takeOver(database);
            });
            insert(context, 2);
          })))
          .isInstanceOf(LeadershipLostException.class);
      assertThat(rows(database)).isZero();
    });
  }

  @ParameterizedTest(autoCloseArguments = false)
  @MethodSource("servers")
  void the_session_is_as_it_was_when_others_go_on_after_the_commit(TestServer server) {
    TestDatabase database = server.newDatabase();
    jdbc(database).run((context) -> {
      Job job = leading(context);
      String[] seen = new String[2];
      job.call(() -> context.getBean(TransactionTemplate.class).executeWithoutResult((status) -> {
        insert(context, 1);
        seen[0] = sessionTimeouts(context);
        TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
          @Override
          public void afterCommit() {
            seen[1] = sessionTimeouts(context);
          }
        });
      }));
      assertThat(seen[1]).isNotNull().isEqualTo(seen[0]);
    });
  }

  @ParameterizedTest(autoCloseArguments = false)
  @MethodSource("servers")
  void what_is_not_leader_work_or_only_reads_is_left_alone(TestServer server) {
    TestDatabase database = server.newDatabase();
    jdbc(database).run((context) -> {
      Job job = leading(context);
      PlatformTransactionManager manager = context.getBean(PlatformTransactionManager.class);
      TransactionTemplate reading = new TransactionTemplate(manager);
      reading.setReadOnly(true);
      assertThatCode(() -> job.call(() -> reading.executeWithoutResult((status) -> {
            context.getBean(JdbcTemplate.class).queryForList("SELECT * FROM work");
            takeOver(database);
          })))
          .doesNotThrowAnyException();
      new TransactionTemplate(manager).executeWithoutResult((status) -> insert(context, 1));
      assertThat(rows(database)).isEqualTo(1);
    });
  }

  @ParameterizedTest(autoCloseArguments = false)
  @MethodSource("servers")
  void it_can_be_switched_off(TestServer server) {
    TestDatabase database = server.newDatabase();
    jdbc(database).withPropertyValues("as.election.mysql.commit-fence=false").run((context) -> {
      Job job = leading(context);
      job.call(() -> context.getBean(TransactionTemplate.class).executeWithoutResult((status) -> {
        insert(context, 1);
        takeOver(database);
      }));
      assertThat(rows(database)).isEqualTo(1);
    });
  }

  @ParameterizedTest(autoCloseArguments = false)
  @MethodSource("servers")
  void transactions_elsewhere_are_not_fenced(TestServer server) {
    TestDatabase database = server.newDatabase();
    TestDatabase elsewhere = server.newDatabase();
    elsewhere.execute(TABLES);
    jdbc(database)
        .withBean("elsewhere", Elsewhere.class, () -> new Elsewhere(elsewhere))
        .withUserConfiguration(SecondTransactionManager.class)
        .run((context) -> {
          Job job = leading(context);
          TransactionTemplate other = new TransactionTemplate(
              context.getBean("otherTransactionManager", PlatformTransactionManager.class));
          job.call(() -> other.executeWithoutResult((status) -> {
            new JdbcTemplate(
                    ((DataSourceTransactionManager) other.getTransactionManager()).getDataSource())
                .update("INSERT INTO work VALUES (1)");
            takeOver(database);
          }));
          assertThat(rows(elsewhere)).isEqualTo(1);
        });
  }

  @ParameterizedTest(autoCloseArguments = false)
  @MethodSource("servers")
  void transactions_by_hand_use_the_fence_themselves(TestServer server) {
    TestDatabase database = server.newDatabase();
    jdbc(database).run((context) -> {
      leading(context);
      ElectionService election = context.getBean(ElectionService.class);
      CommitFence fence = context.getBean(CommitFence.class);
      long term = election.leadership().orElseThrow().term();
      try (Connection connection = context.getBean(DataSource.class).getConnection()) {
        connection.setAutoCommit(false);
        connection.createStatement().executeUpdate("INSERT INTO work VALUES (1)");
        fence.commit(connection, election, term);
        connection.createStatement().executeUpdate("INSERT INTO work VALUES (2)");
        takeOver(database);
        assertThatThrownBy(() -> fence.commit(connection, election, term))
            .isInstanceOf(LeadershipLostException.class);
      }
      assertThat(rows(database)).isEqualTo(1);
    });
  }

  private static Job leading(ApplicationContext context) {
    await()
        .atMost(Duration.ofSeconds(30))
        .until(() -> context.getBean(ElectionService.class).isLeader());
    return context.getBean(Job.class);
  }

  /** So that the first node leads at once. */
  private static void releaseLease(TestDatabase database) {
    try {
      schema(electionDatabase(database), LeaderElectionSchema.Mode.MIGRATE).ensure();
    } catch (Exception ex) {
      throw new IllegalStateException(ex);
    }
    database.execute(
        "INSERT INTO leader_election (service_id, leader_id, lease_millis) VALUES ('orders', '', 0)");
  }

  /** As another node does when the lease has run out. */
  private static void takeOver(TestDatabase database) {
    ElectionDatabase electionDatabase = electionDatabase(database);
    try (MysqlLeaseStore store = new MysqlLeaseStore(
        electionDatabase,
        schema(electionDatabase, LeaderElectionSchema.Mode.NONE),
        PATIENCE,
        PATIENCE)) {
      OptionalLong taken = OptionalLong.empty();
      while (taken.isEmpty()) { // the leader may renew in between
        LeaseRow row = store.read(Set.of("orders")).get("orders").row();
        taken = store.take("orders", row, "b", 60_000, 0, "EXPIRED");
      }
    } catch (Exception ex) {
      throw new IllegalStateException(ex);
    }
  }

  private static ElectionDatabase electionDatabase(TestDatabase database) {
    return new ElectionDatabase(database.dataSource(), database.jdbcUrl());
  }

  private static LeaderElectionSchema schema(
      ElectionDatabase database, LeaderElectionSchema.Mode mode) {
    return new LeaderElectionSchema(database, mode, PATIENCE);
  }

  private static void insert(ApplicationContext context, int id) {
    context.getBean(JdbcTemplate.class).update("INSERT INTO work VALUES (?)", id);
  }

  private static int rows(TestDatabase database) {
    return Integer.parseInt(String.valueOf(database.query("SELECT COUNT(*) FROM work")));
  }

  private static String sessionTimeouts(ApplicationContext context) {
    return context
        .getBean(JdbcTemplate.class)
        .queryForObject(
            "SELECT CONCAT(@@SESSION.wait_timeout, '/', @@SESSION.innodb_lock_wait_timeout)",
            String.class);
  }

  static class Job {

    @LeaderOnly(onFollower = LeaderOnly.OnFollower.THROW)
    public void call(Runnable work) {
      work.run();
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EntityScan(basePackageClasses = Entry.class)
  static class Entities {}

  @Entity(name = "entry")
  static class Entry {

    @Id
    private long id;

    Entry() {}

    Entry(long id) {
      this.id = id;
    }
  }

  record Elsewhere(TestDatabase database) {}

  @Configuration(proxyBeanMethods = false)
  static class SecondTransactionManager {

    @Bean(defaultCandidate = false)
    PlatformTransactionManager otherTransactionManager(Elsewhere elsewhere) {
      return new DataSourceTransactionManager(elsewhere.database().dataSource());
    }
  }
}
