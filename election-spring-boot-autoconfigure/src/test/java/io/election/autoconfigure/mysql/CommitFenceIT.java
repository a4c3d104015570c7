package io.election.autoconfigure.mysql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.election.ElectionService;
import io.election.LeaderOnly;
import io.election.LeadershipLostException;
import io.election.autoconfigure.ElectionAutoConfiguration;
import io.election.autoconfigure.ElectionDataSource;
import io.election.autoconfigure.leaderonly.LeaderOnlyAutoConfiguration;
import io.election.autoconfigure.leaderonly.TermBoundCalls;
import io.election.lease.LeaseRow;
import io.election.mysql.CommitFence;
import io.election.mysql.ElectionDatabase;
import io.election.mysql.MysqlLeaseStore;
import io.election.test.TestDatabase;
import io.election.test.TestServer;
import jakarta.persistence.Entity;
import jakarta.persistence.EntityManager;
import jakarta.persistence.Id;
import jakarta.persistence.PreUpdate;
import java.sql.Connection;
import java.time.Duration;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.hibernate.FlushMode;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.hibernate.autoconfigure.HibernateJpaAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.boot.persistence.autoconfigure.EntityScan;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.lookup.AbstractRoutingDataSource;
import org.springframework.orm.jpa.hibernate.HibernateTransactionManager;
import org.springframework.orm.jpa.hibernate.LocalSessionFactoryBean;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.UnexpectedRollbackException;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionStatus;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

/** Work of a deposed leader is not committed, whichever component manages the transactions. */
class CommitFenceIT {

  private static final Duration PATIENCE = Duration.ofSeconds(5);

  private static final String[] TABLES = {
    "CREATE TABLE work (id bigint PRIMARY KEY)",
    "CREATE TABLE entry (id bigint PRIMARY KEY, n int NOT NULL)"
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
            MysqlElectionAutoConfiguration.class,
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
            // The call is over, but the transaction still depends on its term.
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

  @Test
  void a_transaction_around_that_of_another_manager_is_fenced() {
    TestDatabase database = TestServer.shared().newDatabase();
    TestDatabase elsewhere = TestServer.shared().newDatabase();
    jdbc(database)
        .withBean("elsewhere", Elsewhere.class, () -> new Elsewhere(elsewhere))
        .withUserConfiguration(SecondTransactionManager.class)
        .run((context) -> {
          Job job = leading(context);
          TransactionTemplate outer = context.getBean(TransactionTemplate.class);
          TransactionTemplate inner = new TransactionTemplate(
              context.getBean("otherTransactionManager", PlatformTransactionManager.class));
          assertThatThrownBy(() -> outer.executeWithoutResult((around) -> {
                inner.executeWithoutResult((within) -> job.call(() -> insert(context, 1)));
                takeOver(database);
              }))
              .isInstanceOf(LeadershipLostException.class);
          assertThat(rows(database)).isZero();
        });
  }

  @Test
  void a_suspended_transaction_does_not_depend_on_a_call_within_another() {
    TestDatabase database = TestServer.shared().newDatabase();
    jdbc(database).run((context) -> {
      Job job = leading(context);
      TransactionTemplate outer = context.getBean(TransactionTemplate.class);
      TransactionTemplate without = new TransactionTemplate(outer.getTransactionManager());
      without.setPropagationBehavior(TransactionDefinition.PROPAGATION_NOT_SUPPORTED);
      outer.executeWithoutResult((around) -> {
        insert(context, 1);
        without.executeWithoutResult((none) -> job.call(() -> {}));
        takeOver(database);
      });
      assertThat(rows(database)).isEqualTo(1);
    });
  }

  @Test
  void springs_own_hibernate_transactions_are_fenced() {
    TestDatabase database = TestServer.shared().newDatabase();
    election(database)
        .withConfiguration(AutoConfigurations.of(JdbcTemplateAutoConfiguration.class))
        .withUserConfiguration(NativeHibernate.class)
        .run((context) -> assertFenced(database, context));
  }

  @Test
  void a_manager_that_was_made_too_early_is_fenced() {
    TestDatabase database = TestServer.shared().newDatabase();
    jdbc(database)
        .withUserConfiguration(Early.class)
        .run((context) -> assertFenced(database, context));
  }

  @Test
  void a_manager_that_is_no_bean_is_fenced_if_the_call_begins_within_its_transaction() {
    TestDatabase database = TestServer.shared().newDatabase();
    election(database)
        .withConfiguration(AutoConfigurations.of(JdbcTemplateAutoConfiguration.class))
        .run((context) -> {
          Job job = leading(context);
          TransactionTemplate transaction = new TransactionTemplate(
              new DataSourceTransactionManager(context.getBean(DataSource.class)));
          String before = sessionTimeouts(context);
          transaction.executeWithoutResult((status) -> job.call(() -> insert(context, 1)));
          assertThat(rows(database)).isEqualTo(1);
          assertThat(sessionTimeouts(context)).isEqualTo(before);
          assertThatThrownBy(() -> transaction.executeWithoutResult((status) -> {
                job.call(() -> insert(context, 2));
                takeOver(database);
              }))
              .isInstanceOf(LeadershipLostException.class);
          assertThat(rows(database)).isEqualTo(1);
          assertThat(((FencedCalls) context.getBean(TermBoundCalls.class)).rejections("orders"))
              .isEqualTo(1);
        });
  }

  @Test
  void a_template_with_a_manager_that_is_no_bean_is_fenced() {
    TestDatabase database = TestServer.shared().newDatabase();
    election(database)
        .withConfiguration(AutoConfigurations.of(JdbcTemplateAutoConfiguration.class))
        .withUserConfiguration(Template.class)
        .run((context) -> assertFenced(database, context));
  }

  @Test
  @ExtendWith(OutputCaptureExtension.class)
  void a_manager_that_shows_no_connection_is_told_of_once(CapturedOutput output) {
    TestDatabase database = TestServer.shared().newDatabase();
    election(database).withUserConfiguration(Opaque.class).run((context) -> {
      Job job = leading(context);
      TransactionTemplate transaction = context.getBean(TransactionTemplate.class);
      job.call(() -> transaction.executeWithoutResult((status) -> {}));
      transaction.executeWithoutResult((status) -> job.call(() -> {}));
      assertThat(output.getAll().lines())
          .filteredOn((line) -> line.contains("WARN") && line.contains("not fenced"))
          .singleElement(InstanceOfAssertFactories.STRING)
          .contains("'opaque'", "they show no JDBC connection");
    });
  }

  @ParameterizedTest(autoCloseArguments = false)
  @MethodSource("servers")
  void a_data_source_whose_url_does_not_tell_is_fenced(TestServer server) {
    TestDatabase database = server.newDatabase();
    jdbc(database)
        .withBean("elsewhere", Elsewhere.class, () -> new Elsewhere(database))
        .withUserConfiguration(Routing.class)
        .run((context) -> assertFenced(database, context));
  }

  @Test
  void work_after_a_commit_is_fenced() {
    TestDatabase database = TestServer.shared().newDatabase();
    jdbc(database).run((context) -> {
      Job job = leading(context);
      TransactionTemplate transaction = context.getBean(TransactionTemplate.class);
      String before = sessionTimeouts(context);
      transaction.executeWithoutResult(
          (status) -> afterCommit(() -> job.call(() -> insert(context, 1))));
      assertThat(rows(database)).isEqualTo(1);
      assertThatThrownBy(() -> transaction.executeWithoutResult((status) -> {
            insert(context, 2);
            afterCommit(() -> job.call(() -> {
              insert(context, 3);
              takeOver(database);
            }));
          }))
          .isInstanceOf(LeadershipLostException.class);
      assertThat(database.query("SELECT GROUP_CONCAT(id) FROM work")).isEqualTo("1,2");
      assertThat(sessionTimeouts(context)).isEqualTo(before);
    });
  }

  @Test
  @ExtendWith(OutputCaptureExtension.class)
  void work_after_a_commit_of_jpa_is_told_of_once(CapturedOutput output) {
    TestDatabase database = TestServer.shared().newDatabase();
    jpa(database).run((context) -> {
      Job job = leading(context);
      TransactionTemplate transaction = context.getBean(TransactionTemplate.class);
      TransactionTemplate own = new TransactionTemplate(transaction.getTransactionManager());
      own.setPropagationBehavior(TransactionDefinition.PROPAGATION_REQUIRES_NEW);
      transaction.executeWithoutResult((status) -> afterCommit(
          () -> job.call(() -> own.executeWithoutResult((inner) -> insert(context, 1)))));
      assertThat(output).doesNotContain("are not fenced");
      for (int i = 2; i < 4; i++) {
        int id = i;
        transaction.executeWithoutResult(
            (status) -> afterCommit(() -> job.call(() -> insert(context, id))));
      }
      assertThat(rows(database)).isEqualTo(3);
      assertThat(output.getAll().lines())
          .filteredOn((line) -> line.contains("WARN") && line.contains("not fenced"))
          .singleElement(InstanceOfAssertFactories.STRING)
          .contains("'transactionManager'", "REQUIRES_NEW");
    });
  }

  @ParameterizedTest(autoCloseArguments = false)
  @MethodSource("servers")
  void a_connection_that_hibernate_gives_back_within_the_commit_is_left_alone(TestServer server) {
    TestDatabase database = server.newDatabase();
    jpa(database)
        .withPropertyValues(
            "spring.datasource.hikari.maximum-pool-size=1",
            "spring.jpa.properties.hibernate.connection.handling_mode=DELAYED_ACQUISITION_AND_RELEASE_AFTER_TRANSACTION")
        .run((context) -> {
          Job job = leading(context);
          TransactionTemplate transaction = context.getBean(TransactionTemplate.class);
          EntityManager entities = context.getBean(EntityManager.class);
          String before = sessionTimeouts(context);
          job.call(
              () -> transaction.executeWithoutResult((status) -> entities.persist(new Entry(1))));
          assertThat(sessionTimeouts(context)).isEqualTo(before);
          // In this mode Hibernate does not make its connection read-only.
          TransactionTemplate reading =
              new TransactionTemplate(transaction.getTransactionManager());
          reading.setReadOnly(true);
          assertThatThrownBy(() -> job.call(() -> reading.executeWithoutResult((status) -> {
                entities.createNativeQuery("UPDATE entry SET n = 1").executeUpdate();
                takeOver(database);
              })))
              .isInstanceOf(LeadershipLostException.class);
          assertThat(database.query("SELECT n FROM entry")).isEqualTo("0");
          assertThat(sessionTimeouts(context)).isEqualTo(before);
        });
  }

  @ParameterizedTest(autoCloseArguments = false)
  @MethodSource("servers")
  void a_manager_of_two_names_is_fenced_once(TestServer server) {
    TestDatabase database = server.newDatabase();
    election(database)
        .withConfiguration(AutoConfigurations.of(JdbcTemplateAutoConfiguration.class))
        .withUserConfiguration(TwoNames.class)
        .withPropertyValues("spring.datasource.hikari.maximum-pool-size=1")
        .run((context) -> {
          Job job = leading(context);
          String before = sessionTimeouts(context);
          DataSourceTransactionManager manager =
              context.getBean("real", DataSourceTransactionManager.class);
          assertThat(manager.getTransactionExecutionListeners()).hasSize(1);
          job.call(() -> new TransactionTemplate(manager)
              .executeWithoutResult((status) -> insert(context, 1)));
          assertThat(rows(database)).isEqualTo(1);
          assertThat(sessionTimeouts(context)).isEqualTo(before);
        });
  }

  @Test
  void the_fence_changes_nothing_of_what_jpa_writes_and_throws() {
    TestDatabase database = TestServer.shared().newDatabase();
    jpa(database).run((context) -> {
      Job job = leading(context);
      TransactionTemplate transaction = context.getBean(TransactionTemplate.class);
      EntityManager entities = context.getBean(EntityManager.class);
      String[] during = new String[1];
      Entry.beforeUpdate = () -> during[0] = sessionTimeouts(context);
      job.call(() -> transaction.executeWithoutResult((status) -> entities.persist(new Entry(1))));

      job.call(() -> transaction.executeWithoutResult((status) -> {
        entities.unwrap(Session.class).setHibernateFlushMode(FlushMode.MANUAL);
        entities.find(Entry.class, 1).n = 1;
      }));
      assertThat(database.query("SELECT n FROM entry")).isEqualTo("0");
      assertThat(during[0]).isNull();

      job.call(() ->
          transaction.executeWithoutResult((status) -> entities.find(Entry.class, 1).n = 2));
      assertThat(database.query("SELECT n FROM entry")).isEqualTo("2");
      assertThat(during[0])
          .as("the session is bounded, its own lock waits are not")
          .isEqualTo("1/50");

      assertThatThrownBy(() -> job.call(() -> transaction.executeWithoutResult((status) -> {
            entities.persist(new Entry(1));
            transaction.executeWithoutResult(TransactionExecution::setRollbackOnly);
          })))
          .isInstanceOf(UnexpectedRollbackException.class);
    });
  }

  @Test
  void a_manager_in_a_child_context_is_fenced() {
    TestDatabase database = TestServer.shared().newDatabase();
    election(database)
        .withConfiguration(AutoConfigurations.of(JdbcTemplateAutoConfiguration.class))
        .run((parent) -> {
          leading(parent);
          try (AnnotationConfigApplicationContext child =
              new AnnotationConfigApplicationContext()) {
            child.setParent(parent);
            child.register(Template.class, ChildJob.class, LeaderOnlyAutoConfiguration.class);
            child.refresh();
            assertFenced(database, child);
          }
        });
  }

  @Test
  void a_manager_of_the_context_around_is_fenced() {
    TestDatabase database = TestServer.shared().newDatabase();
    new ApplicationContextRunner()
        .withConfiguration(AutoConfigurations.of(
            DataSourceAutoConfiguration.class,
            DataSourceTransactionManagerAutoConfiguration.class,
            JdbcTemplateAutoConfiguration.class,
            TransactionAutoConfiguration.class))
        .withPropertyValues(
            "spring.datasource.url=" + database.jdbcUrl(),
            "spring.datasource.username=" + database.username(),
            "spring.datasource.password=" + database.password())
        .run((parent) -> {
          DataSourceTransactionManager manager = parent.getBean(DataSourceTransactionManager.class);
          election(database).withParent(parent).run((child) -> assertFenced(database, child));
          assertThat(manager.getTransactionExecutionListeners()).isEmpty();
        });
  }

  /** Work of a call, in its own transaction or in one around it, is committed only in its term. */
  private static void assertFenced(TestDatabase database, ApplicationContext context) {
    Job job = leading(context);
    TransactionTemplate transaction = context.getBean(TransactionTemplate.class);
    String before = sessionTimeouts(context);
    job.call(() -> transaction.executeWithoutResult((status) -> insert(context, 1)));
    assertThat(rows(database)).isEqualTo(1);
    assertThat(sessionTimeouts(context)).isEqualTo(before);
    assertThatThrownBy(() -> job.call(() -> transaction.executeWithoutResult((status) -> {
          insert(context, 2);
          takeOver(database);
        })))
        .isInstanceOf(LeadershipLostException.class);
    assertThat(rows(database)).isEqualTo(1);
  }

  private static void afterCommit(Runnable work) {
    TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
      @Override
      public void afterCommit() {
        work.run();
      }
    });
  }

  private static Job leading(ApplicationContext context) {
    await()
        .atMost(Duration.ofSeconds(30))
        .until(() -> context.getBean(ElectionService.class).isLeader());
    return context.getBean(Job.class);
  }

  /** Lets the first node lead at once. */
  private static void releaseLease(TestDatabase database) {
    try {
      store(database, MysqlLeaseStore.SchemaMode.MIGRATE).ensureTables();
    } catch (Exception ex) {
      throw new IllegalStateException(ex);
    }
    database.execute(
        "INSERT INTO leader_election (service_id, leader_id, lease_millis) VALUES ('orders', '', 0)");
  }

  /** Takes the election over, as another node does when the lease has expired. */
  private static void takeOver(TestDatabase database) {
    try (MysqlLeaseStore store = store(database, MysqlLeaseStore.SchemaMode.NONE)) {
      OptionalLong taken = OptionalLong.empty();
      while (taken.isEmpty()) { // the leader may renew between the two statements
        LeaseRow row = store.read(Set.of("orders")).get("orders").row();
        taken = store.take("orders", row, "b", 60_000, 0, "EXPIRED");
      }
    } catch (Exception ex) {
      throw new IllegalStateException(ex);
    }
  }

  private static MysqlLeaseStore store(TestDatabase database, MysqlLeaseStore.SchemaMode mode) {
    return new MysqlLeaseStore(
        new ElectionDatabase(database.dataSource(), database.jdbcUrl()),
        mode,
        PATIENCE,
        PATIENCE,
        true);
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

    private static volatile Runnable beforeUpdate = () -> {};

    @Id
    private long id;

    private int n;

    Entry() {}

    Entry(long id) {
      this.id = id;
    }

    @PreUpdate
    void beforeUpdate() {
      beforeUpdate.run();
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class NativeHibernate {

    @Bean
    LocalSessionFactoryBean sessionFactory(DataSource dataSource) {
      LocalSessionFactoryBean factory = new LocalSessionFactoryBean();
      factory.setDataSource(dataSource);
      factory.setAnnotatedClasses(Entry.class);
      return factory;
    }

    @Bean
    HibernateTransactionManager transactionManager(SessionFactory sessionFactory) {
      return new HibernateTransactionManager(sessionFactory);
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Early {

    @Bean
    static BeanPostProcessor needsTransactions(PlatformTransactionManager manager) {
      return new BeanPostProcessor() {
        @Override
        public Object postProcessAfterInitialization(Object bean, String beanName) {
          assertThat(manager).isNotNull();
          return bean;
        }
      };
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Template {

    @Bean
    TransactionTemplate template(DataSource dataSource) {
      return new TransactionTemplate(new DataSourceTransactionManager(dataSource));
    }
  }

  static class ChildJob extends Job {}

  /** Has a transaction manager like one for JTA: the commit fence does not see its commits. */
  @Configuration(proxyBeanMethods = false)
  static class Opaque {

    @Bean
    @SuppressWarnings("serial")
    PlatformTransactionManager opaque() {
      return new AbstractPlatformTransactionManager() {
        @Override
        protected Object doGetTransaction() {
          return this;
        }

        @Override
        protected void doBegin(Object transaction, TransactionDefinition definition) {}

        @Override
        protected void doCommit(DefaultTransactionStatus status) {}

        @Override
        protected void doRollback(DefaultTransactionStatus status) {}
      };
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Routing {

    @Bean
    @Primary
    DataSource routing(Elsewhere elsewhere) {
      AbstractRoutingDataSource routing = new AbstractRoutingDataSource() {
        @Override
        protected Object determineCurrentLookupKey() {
          return "only";
        }
      };
      routing.setTargetDataSources(Map.of("only", elsewhere.database().dataSource()));
      return routing;
    }

    @Bean(defaultCandidate = false)
    @ElectionDataSource
    DataSource ofElections(Elsewhere elsewhere) {
      return elsewhere.database().dataSource();
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class TwoNames {

    @Bean
    DataSourceTransactionManager real(DataSource dataSource) {
      return new DataSourceTransactionManager(dataSource);
    }

    @Bean
    @Primary
    PlatformTransactionManager alias(@Qualifier("real") DataSourceTransactionManager real) {
      return real;
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
