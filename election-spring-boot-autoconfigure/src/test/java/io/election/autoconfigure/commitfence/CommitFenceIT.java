package io.election.autoconfigure.commitfence;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.mockito.AdditionalAnswers.delegatesTo;
import static org.mockito.Mockito.CALLS_REAL_METHODS;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.withSettings;

import io.election.ElectionService;
import io.election.Fence;
import io.election.LeaderOnly;
import io.election.LeadershipLostException;
import io.election.autoconfigure.ElectionAutoConfiguration;
import io.election.autoconfigure.ElectionDataSource;
import io.election.autoconfigure.MysqlNode;
import io.election.autoconfigure.jdbc.JdbcElectionAutoConfiguration;
import io.election.autoconfigure.leaderonly.LeaderOnlyAutoConfiguration;
import io.election.jdbc.CommitFence;
import io.election.support.PostgresqlPrograms;
import io.election.support.TestDatabase;
import io.election.support.TestServer;
import jakarta.persistence.Entity;
import jakarta.persistence.EntityManager;
import jakarta.persistence.Id;
import jakarta.persistence.PreUpdate;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.assertj.core.api.AbstractThrowableAssert;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.hibernate.FlushMode;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.hibernate.autoconfigure.HibernateJpaAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceProperties;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.boot.persistence.autoconfigure.EntityScan;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Primary;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.datasource.SimpleDriverDataSource;
import org.springframework.jdbc.datasource.lookup.AbstractRoutingDataSource;
import org.springframework.orm.jpa.hibernate.HibernateTransactionManager;
import org.springframework.orm.jpa.hibernate.LocalSessionFactoryBean;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.UnexpectedRollbackException;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;
import org.springframework.util.ObjectUtils;

/** Work of a deposed leader is not committed, whichever component manages the transactions. */
class CommitFenceIT {

  private static final String[] TABLES = {
    "CREATE TABLE work (id bigint PRIMARY KEY)",
    "CREATE TABLE entry (id bigint PRIMARY KEY, n int NOT NULL)"
  };

  /** A new one whenever the class is run again in one JVM. */
  private static TestDatabase elsewhere;

  /** Applications that tests share, by their configuration and server. */
  private static final Map<String, Node> SHARED = new HashMap<>();

  static Stream<TestServer> servers() {
    return Stream.of(
            TestServer.shared(),
            TestServer.sharedMariaDb(),
            TestServer.shared(PostgresqlPrograms.V18))
        .distinct();
  }

  @BeforeAll
  static void createTables() {
    elsewhere = TestDatabase.newDatabase();
    elsewhere.execute(TABLES);
  }

  @AfterAll
  static void stop() {
    SHARED.values().forEach((node) -> ((ConfigurableApplicationContext) node.context).close());
    SHARED.clear();
  }

  private static Node shared(Class<?> application, TestServer server) {
    Node node = SHARED.computeIfAbsent(application + "@" + server.port(), (key) -> {
      TestDatabase database = newDatabase(server);
      return new Node(
          database,
          new SpringApplicationBuilder(application, Job.class)
              .web(WebApplicationType.NONE)
              .properties(properties(database))
              .run());
    });
    node.clean();
    return node;
  }

  private static TestDatabase newDatabase(TestServer server) {
    TestDatabase database = MysqlNode.newDatabase(server);
    database.execute(TABLES);
    return database;
  }

  /** A long lease, since no test waits for its end. */
  private static String[] properties(TestDatabase database) {
    return ObjectUtils.addObjectToArray(
        MysqlNode.properties(database), "as.election.lease-duration=10s");
  }

  private static void run(Class<?> configuration, Consumer<Node> test, String... properties) {
    TestDatabase database = newDatabase(TestServer.shared());
    new ApplicationContextRunner()
        .withUserConfiguration(configuration, Job.class)
        .withPropertyValues(properties(database))
        .withPropertyValues(properties)
        .run((context) -> {
          Node node = new Node(database, context);
          node.leader();
          test.accept(node);
        });
  }

  @ParameterizedTest(autoCloseArguments = false)
  @MethodSource("servers")
  void aTransactionWithinACallIsCommittedInItsTermAlone(TestServer server) {
    Node node = shared(JdbcApplication.class, server);
    node.call(() -> node.transact(() -> node.insert(1)));
    assertThat(node.ids()).isEqualTo("1");
    assertLost(() -> node.call(() -> node.transact(() -> {
          node.insert(2);
          node.takeOver();
        })))
        .hasMessageMatching(
            "Term \\d+ of node 'a' in election 'orders' has ended, so that its work is not committed");
    assertThat(node.ids()).isEqualTo("1");
    assertThat(node.session()).doesNotContain("1/");
  }

  @ParameterizedTest(autoCloseArguments = false)
  @MethodSource("servers")
  void aTransactionAroundACallIsCommittedInItsTermAlone(TestServer server) {
    Node node = shared(JdbcApplication.class, server);
    assertLost(() -> node.transact(() -> {
      node.call(() -> node.insert(1));
      // The call is over, but the transaction still depends on its term.
      node.takeOver();
    }));
    assertThat(node.ids()).isNull();
  }

  @ParameterizedTest(autoCloseArguments = false)
  @MethodSource("servers")
  void whatJpaWritesUponTheCommitIsFencedToo(TestServer server) {
    Node node = shared(JpaApplication.class, server);
    node.call(() -> node.transact(() -> node.entities().persist(new Entry(1))));
    assertThat(node.query("SELECT COUNT(*) FROM entry")).isEqualTo("1");
    assertLost(() -> node.call(() -> node.transact(() -> {
      node.entities().persist(new Entry(2));
      node.takeOver();
    })));
    assertThat(node.query("SELECT COUNT(*) FROM entry")).isEqualTo("1");
    assertThat(node.session()).doesNotContain("1/");
  }

  @ParameterizedTest(autoCloseArguments = false)
  @MethodSource("servers")
  void eachTransactionWithinACallIsFencedByItself(TestServer server) {
    Node node = shared(JdbcApplication.class, server);
    assertLost(() -> node.call(() -> node.transact(() -> {
      node.insert(1);
      node.transact(TransactionDefinition.PROPAGATION_REQUIRES_NEW, () -> node.insert(2));
      node.takeOver();
    })));
    assertThat(node.ids()).isEqualTo("2");
  }

  @ParameterizedTest(autoCloseArguments = false)
  @MethodSource("servers")
  void aSavepointIsFencedWithTheTransactionAroundIt(TestServer server) {
    Node node = shared(JdbcApplication.class, server);
    assertLost(() -> node.call(() -> node.transact(() -> {
      node.transact(TransactionDefinition.PROPAGATION_NESTED, () -> {
        node.insert(1);
        node.takeOver();
      });
      node.insert(2);
    })));
    assertThat(node.ids()).isNull();
  }

  @ParameterizedTest(autoCloseArguments = false)
  @MethodSource("servers")
  void theSessionIsAsItWasWhenOthersGoOnAfterTheCommit(TestServer server) {
    Node node = shared(JdbcApplication.class, server);
    String[] seen = new String[2];
    node.call(() -> node.transact(() -> {
      node.insert(1);
      seen[0] = node.session();
      afterCommit(() -> seen[1] = node.session());
    }));
    assertThat(seen[1]).isNotNull().isEqualTo(seen[0]);
  }

  @Test
  void theSessionIsBoundedDuringTheCommitAlone() {
    run(
        JdbcApplication.class,
        (node) -> {
          DataSourceTransactionManager manager =
              node.context.getBean(DataSourceTransactionManager.class);
          manager.setTransactionSynchronization(DataSourceTransactionManager.SYNCHRONIZATION_NEVER);
          String[] during = new String[1];
          manager.addListener(new TransactionExecutionListener() {
            @Override
            public void beforeCommit(TransactionExecution transaction) {
              during[0] = node.session();
            }
          });
          String before = node.session();
          node.call(() -> node.transact(() -> node.insert(1)));
          assertThat(during[0]).startsWith("1/");
          assertThat(node.session()).isEqualTo(before);
        },
        "spring.datasource.hikari.maximum-pool-size=1");
  }

  /** The driver of PostgreSQL takes a transaction for read-only that the server does not. */
  @Test
  void whatTheServerLetsWriteIsFencedWhateverTheDriverSays() {
    Node node = shared(JdbcApplication.class, TestServer.shared(PostgresqlPrograms.V18));
    TransactionTemplate reading = node.transaction();
    reading.setReadOnly(true);
    assertLost(() -> node.call(() -> reading.executeWithoutResult((status) -> {
      node.jdbc().execute("SET TRANSACTION READ WRITE");
      node.insert(1);
      node.takeOver();
    })));
    assertThat(node.ids()).isNull();
  }

  @ParameterizedTest(autoCloseArguments = false)
  @MethodSource("servers")
  void whatIsNotLeaderWorkOrOnlyReadsIsLeftAlone(TestServer server) {
    Node node = shared(JdbcApplication.class, server);
    TransactionTemplate reading = node.transaction();
    reading.setReadOnly(true);
    node.call(() -> reading.executeWithoutResult((status) -> {
      node.jdbc().queryForList("SELECT * FROM work");
      node.takeOver();
    }));
    node.transact(() -> node.insert(1));
    assertThat(node.ids()).isEqualTo("1");
  }

  @ParameterizedTest(autoCloseArguments = false)
  @MethodSource("servers")
  void transactionsByHandUseTheFenceThemselves(TestServer server) throws Exception {
    Node node = shared(JdbcApplication.class, server);
    ElectionService election = node.leader();
    CommitFence fence = node.context.getBean(CommitFence.class);
    long term = election.leadership().orElseThrow().term();
    try (Connection connection = node.context.getBean(DataSource.class).getConnection()) {
      connection.setAutoCommit(false);
      connection.createStatement().executeUpdate("INSERT INTO work VALUES (1)");
      fence.commit(connection, election, term);
      connection.createStatement().executeUpdate("INSERT INTO work VALUES (2)");
      node.takeOver();
      assertLost(() -> fence.commit(connection, election, term));
    }
    assertThat(node.ids()).isEqualTo("1");
  }

  @Test
  void transactionsElsewhereAreNotFenced() {
    Node node = shared(JdbcApplication.class, TestServer.shared());
    TransactionTemplate other = node.otherTransaction();
    JdbcTemplate jdbc = new JdbcTemplate(
        ((DataSourceTransactionManager) other.getTransactionManager()).getDataSource());
    for (int id = 1; id < 3; id++) {
      Object[] row = {id};
      node.call(() ->
          other.executeWithoutResult((status) -> jdbc.update("INSERT INTO work VALUES (?)", row)));
    }
    node.call(() -> other.executeWithoutResult((status) -> {
      jdbc.update("INSERT INTO work VALUES (3)");
      node.takeOver();
    }));
    assertThat(elsewhere.query("SELECT COUNT(*) FROM work")).isEqualTo("3");
  }

  @Test
  void aTransactionAroundThatOfAnotherManagerIsFenced() {
    Node node = shared(JdbcApplication.class, TestServer.shared());
    assertLost(() -> node.transact(() -> {
      node.otherTransaction().executeWithoutResult((within) -> node.call(() -> node.insert(1)));
      node.takeOver();
    }));
    assertThat(node.ids()).isNull();
  }

  @Test
  void aSuspendedTransactionDoesNotDependOnACallWithinAnother() {
    Node node = shared(JdbcApplication.class, TestServer.shared());
    node.transact(() -> {
      node.insert(1);
      node.transact(TransactionDefinition.PROPAGATION_NOT_SUPPORTED, () -> node.call(() -> {}));
      node.takeOver();
    });
    assertThat(node.ids()).isEqualTo("1");
  }

  @ParameterizedTest
  @ValueSource(
      classes = {
        NativeHibernate.class,
        Early.class,
        Template.class,
        Routing.class,
        Traced.class,
        TwoNames.class
      })
  void managersOfEveryKindAreFencedOnce(Class<?> managers) {
    run(managers, CommitFenceIT::assertFenced, "spring.datasource.hikari.maximum-pool-size=1");
  }

  /** The first transaction on a URL that is not the election's tells where it leads. */
  @Test
  void aTermThatWasDeletedMeanwhileIsRefusedWhateverTheUrl() {
    run(Routing.class, (node) -> {
      assertLost(() -> node.call(() -> node.transact(() -> {
            node.insert(1);
            node.database.execute("DELETE FROM leader_election_history");
          })))
          .hasMessageContaining("is not in leader_election_history");
      assertThat(node.ids()).isNull();
    });
  }

  @Test
  void aManagerThatIsNoBeanIsFencedIfTheCallBeginsWithinItsTransaction() {
    run(JdbcApplication.class, (node) -> {
      TransactionTemplate transaction = new TransactionTemplate(
          new DataSourceTransactionManager(node.context.getBean(DataSource.class)));
      String before = node.session();
      transaction.executeWithoutResult((status) -> node.call(() -> node.insert(1)));
      assertThat(node.ids()).isEqualTo("1");
      assertThat(node.session()).isEqualTo(before);
      assertLost(() -> transaction.executeWithoutResult((status) -> {
        node.call(() -> node.insert(2));
        node.takeOver();
      }));
      assertThat(node.ids()).isEqualTo("1");
      assertThat(node.context.getBean(Fence.class).rejections("orders")).isEqualTo(1);
    });
  }

  @Test
  @ExtendWith(OutputCaptureExtension.class)
  void aManagerThatShowsNoConnectionIsToldOfOnce(CapturedOutput output) {
    run(Opaque.class, (node) -> {
      node.call(() -> node.transact(() -> {}));
      node.transact(() -> node.call(() -> {}));
      assertToldOnce(output, "'opaque'", "they show no JDBC connection");
    });
  }

  @Test
  void workAfterACommitIsFenced() {
    Node node = shared(JdbcApplication.class, TestServer.shared());
    String before = node.session();
    node.transact(() -> afterCommit(() -> node.call(() -> node.insert(1))));
    assertThat(node.ids()).isEqualTo("1");
    assertLost(() -> node.transact(() -> {
      node.insert(2);
      afterCommit(() -> node.call(() -> {
        node.insert(3);
        node.takeOver();
      }));
    }));
    assertThat(node.ids()).isEqualTo("1,2");
    assertThat(node.session()).isEqualTo(before);
  }

  @Test
  void workAfterARollbackIsFenced() {
    Node node = shared(JdbcApplication.class, TestServer.shared());
    node.transaction().executeWithoutResult((status) -> {
      node.insert(1);
      afterCompletion(() -> node.call(() -> node.insert(2)));
      status.setRollbackOnly();
    });
    assertThat(node.ids()).isEqualTo("2");
    assertLost(() -> node.transaction().executeWithoutResult((status) -> {
      afterCompletion(() -> node.call(() -> {
        node.insert(3);
        node.takeOver();
      }));
      status.setRollbackOnly();
    }));
    assertThat(node.ids()).isEqualTo("2");
  }

  @Test
  @ExtendWith(OutputCaptureExtension.class)
  void workAfterACommitOfJpaIsToldOfOnce(CapturedOutput output) {
    run(JpaApplication.class, (node) -> {
      node.transact(() -> afterCommit(() -> node.call(() ->
          node.transact(TransactionDefinition.PROPAGATION_REQUIRES_NEW, () -> node.insert(1)))));
      assertThat(output).doesNotContain("are not fenced");
      for (int i = 2; i < 4; i++) {
        int id = i;
        node.transact(() -> afterCommit(() -> node.call(() -> node.insert(id))));
      }
      assertThat(node.ids()).isEqualTo("1,2,3");
      assertToldOnce(output, "'transactionManager'", "REQUIRES_NEW");
    });
  }

  @Test
  void aConnectionThatHibernateGivesBackWithinTheCommitIsLeftAlone() {
    run(
        JpaApplication.class,
        (node) -> {
          String before = node.session();
          node.call(() -> node.transact(() -> node.entities().persist(new Entry(1))));
          assertThat(node.session()).isEqualTo(before);
          // In this mode Hibernate does not make its connection read-only.
          TransactionTemplate reading = node.transaction();
          reading.setReadOnly(true);
          assertLost(() -> node.call(() -> reading.executeWithoutResult((status) -> {
            node.entities().createNativeQuery("UPDATE entry SET n = 1").executeUpdate();
            node.takeOver();
          })));
          assertThat(node.query("SELECT n FROM entry")).isEqualTo("0");
          assertThat(node.session()).isEqualTo(before);
        },
        "spring.datasource.hikari.maximum-pool-size=1",
        "spring.jpa.properties.hibernate.connection.handling_mode=DELAYED_ACQUISITION_AND_RELEASE_AFTER_TRANSACTION");
  }

  @Test
  void theFenceChangesNothingOfWhatJpaWritesAndThrows() {
    Node node = shared(JpaApplication.class, TestServer.shared());
    String[] during = new String[1];
    Entry.beforeUpdate = () -> during[0] = node.session();
    node.call(() -> node.transact(() -> node.entities().persist(new Entry(1))));

    node.call(() -> node.transact(() -> {
      node.entities().unwrap(Session.class).setHibernateFlushMode(FlushMode.MANUAL);
      node.entities().find(Entry.class, 1).n = 1;
    }));
    assertThat(node.query("SELECT n FROM entry")).isEqualTo("0");
    assertThat(during[0]).isNull();

    node.call(() -> node.transact(() -> node.entities().find(Entry.class, 1).n = 2));
    assertThat(node.query("SELECT n FROM entry")).isEqualTo("2");
    assertThat(during[0])
        .as("the session is bounded, its own lock waits are not")
        .isEqualTo("1/50");

    assertThatThrownBy(() -> node.call(() -> node.transact(() -> {
          node.entities().persist(new Entry(1));
          node.transaction().executeWithoutResult(TransactionExecution::setRollbackOnly);
        })))
        .isInstanceOf(UnexpectedRollbackException.class);
  }

  @Test
  void aManagerInAChildContextIsFenced() {
    run(JdbcApplication.class, (parent) -> {
      try (AnnotationConfigApplicationContext child = new AnnotationConfigApplicationContext()) {
        child.setParent(parent.context);
        child.register(
            ChildTemplate.class,
            ChildJob.class,
            LeaderOnlyAutoConfiguration.class,
            CommitFenceAutoConfiguration.class);
        child.refresh();
        assertFenced(new Node(parent.database, child));
        assertThat(parent
                .context
                .getBean(DataSourceTransactionManager.class)
                .getTransactionExecutionListeners())
            .hasSize(1);
      }
    });
  }

  @Test
  void aManagerOfTheContextAroundIsFenced() {
    TestDatabase database = newDatabase(TestServer.shared());
    new ApplicationContextRunner()
        .withConfiguration(AutoConfigurations.of(
            DataSourceAutoConfiguration.class,
            DataSourceTransactionManagerAutoConfiguration.class,
            JdbcTemplateAutoConfiguration.class,
            TransactionAutoConfiguration.class))
        .withPropertyValues(properties(database))
        .run((parent) -> {
          new ApplicationContextRunner()
              .withUserConfiguration(Fenced.class, Job.class)
              .withPropertyValues(properties(database))
              .withParent(parent)
              .run((child) -> assertFenced(new Node(database, child)));
          assertThat(parent
                  .getBean(DataSourceTransactionManager.class)
                  .getTransactionExecutionListeners())
              .isEmpty();
        });
  }

  /** Work of a call, in its own transaction or in one around it, is committed only in its term. */
  private static void assertFenced(Node node) {
    node.leader();
    assertThat(((ConfigurableTransactionManager) node.transaction().getTransactionManager())
            .getTransactionExecutionListeners())
        .hasSize(1);
    String before = node.session();
    node.call(() -> node.transact(() -> node.insert(1)));
    assertThat(node.ids()).isEqualTo("1");
    assertThat(node.session()).isEqualTo(before);
    assertLost(() -> node.call(() -> node.transact(() -> {
      node.insert(2);
      node.takeOver();
    })));
    assertThat(node.ids()).isEqualTo("1");
  }

  private static AbstractThrowableAssert<?, ?> assertLost(ThrowingCallable work) {
    return assertThatThrownBy(work).isInstanceOf(LeadershipLostException.class);
  }

  private static void assertToldOnce(CapturedOutput output, String... texts) {
    assertThat(output.getAll().lines())
        .filteredOn((line) -> line.contains("WARN") && line.contains("not fenced"))
        .singleElement(InstanceOfAssertFactories.STRING)
        .contains(texts);
  }

  private static void afterCommit(Runnable work) {
    TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
      @Override
      public void afterCommit() {
        work.run();
      }
    });
  }

  private static void afterCompletion(Runnable work) {
    TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
      @Override
      public void afterCompletion(int status) {
        work.run();
      }
    });
  }

  private record Node(TestDatabase database, ApplicationContext context) {

    /** Lets the node lead again after a take-over, with empty tables. */
    void clean() {
      this.database.execute("DELETE FROM work", "DELETE FROM entry");
      if ("b".equals(query("SELECT leader_id FROM leader_election"))) {
        MysqlNode.patiently()
            .until(() -> !this.context.getBean(ElectionService.class).isLeader());
        this.database.execute(
            "UPDATE leader_election SET leader_id = '', lease_millis = 0, version = version + 1");
      }
      leader();
    }

    ElectionService leader() {
      return MysqlNode.awaitLeader(this.context);
    }

    void takeOver() {
      MysqlNode.takeOver(this.database);
    }

    void call(Runnable work) {
      this.context.getBean(Job.class).call(work);
    }

    TransactionTemplate transaction() {
      return new TransactionTemplate(
          this.context.getBean(TransactionTemplate.class).getTransactionManager());
    }

    TransactionTemplate otherTransaction() {
      return new TransactionTemplate(
          this.context.getBean("otherTransactionManager", PlatformTransactionManager.class));
    }

    void transact(Runnable work) {
      transact(TransactionDefinition.PROPAGATION_REQUIRED, work);
    }

    void transact(int propagation, Runnable work) {
      TransactionTemplate transaction = transaction();
      transaction.setPropagationBehavior(propagation);
      transaction.executeWithoutResult((status) -> work.run());
    }

    EntityManager entities() {
      return this.context.getBean(EntityManager.class);
    }

    JdbcTemplate jdbc() {
      return this.context.getBean(JdbcTemplate.class);
    }

    void insert(int id) {
      jdbc().update("INSERT INTO work VALUES (?)", id);
    }

    @Nullable
    String ids() {
      return MysqlNode.list(this.database, "id", "id", "work");
    }

    @Nullable
    String query(String sql) {
      return this.database.query(sql);
    }

    String session() {
      boolean postgresql = this.database.server().product() == TestServer.Product.POSTGRESQL;
      return jdbc()
          .queryForObject(
              postgresql
                  ? "SELECT COALESCE(STRING_AGG(setting, '/' ORDER BY name), '') FROM pg_settings WHERE source = 'session'"
                  : "SELECT CONCAT(@@SESSION.wait_timeout, '/', @@SESSION.innodb_lock_wait_timeout)",
              String.class);
    }
  }

  @Configuration(proxyBeanMethods = false)
  @ImportAutoConfiguration({
    ElectionAutoConfiguration.class,
    JdbcElectionAutoConfiguration.class,
    CommitFenceAutoConfiguration.class,
    LeaderOnlyAutoConfiguration.class,
    DataSourceAutoConfiguration.class,
    JdbcTemplateAutoConfiguration.class,
    TransactionAutoConfiguration.class
  })
  static class Fenced {}

  @ImportAutoConfiguration(DataSourceTransactionManagerAutoConfiguration.class)
  static class JdbcApplication extends Fenced {

    @Bean(defaultCandidate = false)
    PlatformTransactionManager otherTransactionManager() {
      return new DataSourceTransactionManager(elsewhere.dataSource());
    }
  }

  @EntityScan(basePackageClasses = Entry.class)
  @ImportAutoConfiguration(HibernateJpaAutoConfiguration.class)
  static class JpaApplication extends Fenced {}

  static class Job {

    @LeaderOnly(onFollower = LeaderOnly.OnFollower.THROW)
    public void call(Runnable work) {
      work.run();
    }
  }

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

  static class NativeHibernate extends Fenced {

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

  static class Early extends JdbcApplication {

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
  static class ChildTemplate {

    @Bean
    TransactionTemplate template(DataSource dataSource) {
      return new TransactionTemplate(new DataSourceTransactionManager(dataSource));
    }
  }

  @Import(ChildTemplate.class)
  static class Template extends Fenced {}

  static class ChildJob extends Job {}

  /** Has a transaction manager like one for JTA: the commit fence does not see its commits. */
  static class Opaque extends Fenced {

    @Bean
    PlatformTransactionManager opaque() {
      return mock(
          AbstractPlatformTransactionManager.class,
          withSettings().useConstructor().defaultAnswer(CALLS_REAL_METHODS));
    }
  }

  /** Has a data source whose URL does not tell where its connections lead. */
  static class Routing extends JdbcApplication {

    @Bean
    @Primary
    DataSource routing(DataSourceProperties properties) {
      AbstractRoutingDataSource routing = new AbstractRoutingDataSource() {
        @Override
        protected Object determineCurrentLookupKey() {
          return "only";
        }
      };
      routing.setTargetDataSources(Map.of("only", ofElections(properties)));
      return routing;
    }

    @Bean(defaultCandidate = false)
    @ElectionDataSource
    DataSource ofElections(DataSourceProperties properties) {
      return properties
          .initializeDataSourceBuilder()
          .type(SimpleDriverDataSource.class)
          .build();
    }
  }

  /** Wraps the pool and each of its connections, as libraries do that trace statements. */
  static class Traced extends JdbcApplication {

    @Bean
    static BeanPostProcessor tracing() {
      return new BeanPostProcessor() {
        @Override
        public Object postProcessAfterInitialization(Object bean, String beanName) {
          return bean instanceof DataSource pool ? traced(pool) : bean;
        }
      };
    }

    private static DataSource traced(DataSource pool) {
      return new DelegatingDataSource(pool) {
        @Override
        public Connection getConnection() throws SQLException {
          return mock(Connection.class, delegatesTo(super.getConnection()));
        }
      };
    }
  }

  static class TwoNames extends Fenced {

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
}
