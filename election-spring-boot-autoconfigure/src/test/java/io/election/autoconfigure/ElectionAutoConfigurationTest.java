package io.election.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.mockito.Mockito.mock;

import com.zaxxer.hikari.HikariDataSource;
import io.election.AuditNote;
import io.election.ElectionOperations;
import io.election.ElectionRegistry;
import io.election.ElectionService;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipEvent;
import io.election.LeadershipLostEvent;
import io.election.ManualAllocationElectionService;
import io.election.autoconfigure.settings.ElectionProperties;
import io.election.jdbc.JdbcLeaseStore;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import javax.sql.DataSource;
import org.flywaydb.core.Flyway;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.LazyInitializationBeanFactoryPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.event.EventListener;
import org.springframework.core.env.SystemEnvironmentPropertySource;
import org.springframework.scheduling.TaskScheduler;
import org.springframework.scheduling.annotation.ScheduledAnnotationBeanPostProcessor;

@ExtendWith(OutputCaptureExtension.class)
class ElectionAutoConfigurationTest {

  private final ApplicationContextRunner contextRunner =
      new ApplicationContextRunner().withConfiguration(MysqlNode.STARTER);

  private final ApplicationContextRunner billing =
      this.contextRunner.withPropertyValues("spring.application.name=billing");

  private final ApplicationContextRunner jdbc =
      this.billing.withConfiguration(AutoConfigurations.of(DataSourceAutoConfiguration.class));

  private final ApplicationContextRunner manual = this.billing.withPropertyValues(
      "as.election.algorithm=ManualAllocation",
      "as.election.node-id=node-1",
      "as.election.manual.leader-id=node-1");

  private final ApplicationContextRunner disabled =
      this.contextRunner.withPropertyValues("as.election.enabled=false");

  @Test
  void manualAllocationLeadsWhereItNamesThisNode(CapturedOutput output) {
    this.manual.run((context) -> {
      ElectionService election = context.getBean(ElectionService.class);
      assertThat(election).isInstanceOf(ManualAllocationElectionService.class);
      assertThat(election.isLeader()).isTrue();
      assertThat(election.serviceId()).isEqualTo("billing");
      assertThat(election.nodeId()).isEqualTo("node-1");
      assertThat(output).contains("become leader by manual allocation");
    });
  }

  @ParameterizedTest
  @ValueSource(strings = {"203.0.113.7", "node-2"})
  void manualAllocationFollowsWhereItNamesAnother(String leaderId, CapturedOutput output) {
    this.manual.withPropertyValues("as.election.manual.leader-id=" + leaderId).run((context) -> {
      ElectionService election = context.getBean(ElectionService.class);
      assertThat(election.isLeader()).isFalse();
      assertThat(election.leaderId()).contains(leaderId);
    });
    assertThat(output).doesNotContain("no node leads");
  }

  @Test
  void manualAllocationLeadsWhereItNamesAnAddressOfThisMachineAndThePort() throws Exception {
    List<String> hosts = NetworkInterface.networkInterfaces()
        .flatMap(NetworkInterface::inetAddresses)
        .filter((address) -> !address.isLoopbackAddress() && !address.isLinkLocalAddress())
        .map(InetAddress::getHostAddress)
        .map((host) -> host.contains(":") ? "[" + host + "]" : host)
        .collect(Collectors.toCollection(ArrayList::new));
    hosts.add(InetAddress.getLocalHost().getHostName());
    ApplicationContextRunner web = this.manual.withPropertyValues("local.server.port=8080");
    for (String host : hosts) {
      for (String port : List.of(":8080", ":8081", "")) {
        web.withPropertyValues("as.election.manual.leader-id=" + host + port)
            .run((context) -> assertThat(context.getBean(ElectionService.class).isLeader())
                .as(host + port)
                .isEqualTo(!port.equals(":8081")));
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
    "election.algorithm=ManualAllocation, true",
    "election.algorithm[0]=ManualAllocation, true",
    "as.election.algorithm=Mysql, false"
  })
  void algorithmUnderTheNameOfHandMadeElectionsIsWarnedOf(
      String property, boolean warned, CapturedOutput output) {
    this.jdbc
        .withPropertyValues("spring.datasource.url=jdbc:mysql://localhost:1/none", property)
        .run((context) -> assertThat(context).hasNotFailed());
    assertThat(
            output
                .getAll()
                .contains(
                    "election.algorithm is 'ManualAllocation', which this library does not read: write as.election.algorithm instead. The algorithm is Mysql now"))
        .isEqualTo(warned);
    this.manual
        .withPropertyValues("election.algorithm=Mysql")
        .run((context) -> assertThat(context).hasNotFailed());
    assertThat(output).doesNotContain("election.algorithm is 'Mysql'");
  }

  @ParameterizedTest
  @CsvSource({
    "as.election.lease-duraton, as.election.lease-duration",
    "as.election.lease.duration, as.election.lease-duration",
    "as.election.enabeld, as.election.enabled",
    "as.election.service[0], as.election.services",
    "as.election.mysql.commit-fense, as.election.mysql.commit-fence",
    "as.election.zookeeper.ssl.bundel, as.election.zookeeper.ssl.bundle",
    "AS_ELECTION_LEASE_DURATON, as.election.lease-duration",
    "AS_ELECTION_SERVICE_0_, as.election.services"
  })
  void misspeltNameIsWarnedOfWithTheNearestOne(
      String misspelt, String nearest, CapturedOutput output) {
    runWith(misspelt, "5s");
    assertThat(output
            .getAll()
            .lines()
            .filter((line) -> line.contains("is no property of this library")))
        .singleElement()
        .asString()
        .contains(" WARN ", "The nearest name is " + nearest);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "as.election.lease-duration",
        "as.election.leaseDuration",
        "AS_ELECTION_LEASEDURATION",
        "AS_ELECTION_LEASE_DURATION",
        "as.election.services[0]",
        "AS_ELECTION_SERVICES_0_",
        "as.election.zookeeper.ssl.bundle",
        "AS_ELECTION_ZOOKEEPER_SSL_BUNDLE",
        "as.elections.other"
      })
  void nameThatIsReadIsNotWarnedOf(String name, CapturedOutput output) {
    runWith(name, "5s");
    assertThat(output).doesNotContain("is no property of this library");
  }

  private void runWith(String name, String value) {
    ApplicationContextRunner application = this.manual;
    if (name.startsWith("AS_")) {
      application = application.withInitializer((context) -> context
          .getEnvironment()
          .getPropertySources()
          .addLast(
              new SystemEnvironmentPropertySource("test-systemEnvironment", Map.of(name, value))));
    } else {
      application = application.withPropertyValues(name + "=" + value);
    }
    application.run((context) -> assertThat(context).hasNotFailed());
  }

  @Test
  void listUnderTheNameOfHandMadeElectionsIsWarnedOf(CapturedOutput output) {
    this.jdbc
        .withPropertyValues(
            "spring.datasource.url=jdbc:mysql://localhost:1/none",
            "election.algorithm[0]=Zookeeper",
            "election.algorithm[1]=Mysql")
        .run((context) -> assertThat(output).contains("election.algorithm is 'Zookeeper, Mysql'"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "127.0.0.1:99999|no port has the number 99999",
        "nohost.invalid:8080|host 'nohost.invalid' has no address"
      })
  void manualAllocationToAPlaceThatCannotBeIsWarnedOf(
      String leaderId, String problem, CapturedOutput output) {
    this.manual
        .withPropertyValues("as.election.manual.leader-id=" + leaderId)
        .run((context) ->
            assertThat(context.getBean(ElectionService.class).isLeader()).isFalse());
    assertThat(output).contains("is '" + leaderId + "', but " + problem + ": no node leads");
  }

  @Test
  void algorithmIsReadFromAListOfOne() {
    this.manual
        .withPropertyValues("as.election.algorithm[0]=ManualAllocation")
        .run((context) -> assertThat(context).hasNotFailed());
  }

  @Test
  void serviceIdIsPreferredToTheNameOfTheApplication() {
    this.manual
        .withPropertyValues("as.election.service-id=AS")
        .run((context) ->
            assertThat(context.getBean(ElectionService.class).serviceId()).isEqualTo("AS"));
  }

  @Test
  void nodeIdHoldsHostAndProcessByDefault() {
    this.billing
        .withPropertyValues(
            "as.election.algorithm=ManualAllocation", "as.election.manual.leader-id=other")
        .run((context) -> assertThat(context.getBean(ElectionService.class).nodeId())
            .matches("[^:]+:" + ProcessHandle.current().pid()));
  }

  @Test
  void applicationsOwnServiceReplacesOurs() {
    this.contextRunner.withBean(SwitchedElection.class).run((context) -> {
      assertThat(context).hasSingleBean(ElectionService.class);
      assertThat(context).doesNotHaveBean(ElectionBackend.class);
      assertThat(context).doesNotHaveBean(ElectionLifecycle.class);
      assertThat(context).hasNotFailed();
    });
  }

  @Test
  void disabledElectionCountsAsLeaderAndWarnsOnce(CapturedOutput output) {
    this.disabled.run((context) -> {
      ElectionOperations election = context.getBean(ElectionOperations.class);
      assertThat(election.isLeader()).isTrue();
      assertThat(context).doesNotHaveBean(JdbcLeaseStore.class);
      assertThat(output.getOut().split("as.election.enabled=false", -1)).hasSize(2);
      assertThat(output).contains("WARN");
      election.lostLeader();
      assertThat(election.isLeader()).isFalse();
      election.becomeLeader();
      assertThat(election.isLeader()).isTrue();
      assertThatThrownBy(() -> election.pause(new AuditNote("alice", "")))
          .isInstanceOf(UnsupportedOperationException.class)
          .hasMessageContaining("is disabled: this process counts as leader");
    });
  }

  @Test
  void disabledElectionNeedsNeitherLibraryNorName() {
    this.disabled
        .withClassLoader(
            new FilteredClassLoader("io.election.jdbc", "org.springframework.boot.jdbc"))
        .run((context) -> assertThat(context).hasNotFailed());
  }

  @Test
  void furtherElectionsAreInjectedByNameAlone() {
    this.manual
        .withPropertyValues("as.election.services=reports,exports")
        .withUserConfiguration(Consumer.class)
        .run((context) -> {
          Consumer consumer = context.getBean(Consumer.class);
          assertThat(consumer.byDefault().serviceId()).isEqualTo("billing");
          assertThat(consumer.reports().serviceId()).isEqualTo("reports");
          assertThat(consumer.reports().isLeader()).isTrue();
          assertThat(context.getBeansOfType(ElectionService.class)).hasSize(3);
          assertThat(consumer.registry().all())
              .containsOnlyKeys("billing", "reports", "exports")
              .containsEntry("billing", consumer.byDefault())
              .containsEntry("reports", consumer.reports());
          assertThat(consumer.registry().all().keySet()).first().isEqualTo("billing");
          assertThat(consumer.registry().find("reports")).containsSame(consumer.reports());
          assertThat(consumer.registry().find("shipping")).isEmpty();
        });
  }

  @Test
  void eventsAreSpringEvents() {
    List<LeadershipEvent> events = new ArrayList<>();
    this.manual.withBean(Listener.class, () -> new Listener(events)).run((context) -> {
      assertThat(events).singleElement().isInstanceOf(LeadershipAcquiredEvent.class);
      context.getBean(ElectionLifecycle.class).stop();
      assertThat(events).hasSize(2).last().isInstanceOf(LeadershipLostEvent.class);
      context.getBean(ElectionLifecycle.class).start();
      assertThat(events).hasSize(3);
      assertThat(context.getBean(ElectionService.class).isLeader()).isTrue();
    });
  }

  @ParameterizedTest
  @CsvSource({"2m, , 119s", "2m, 5, 5s", "100ms, , 0s"})
  void aStopWaitsForWorkAlmostAsLongAsSpringDoes(String phase, String own, String patience) {
    this.manual
        .withPropertyValues("spring.lifecycle.timeout-per-shutdown-phase=" + phase)
        .withPropertyValues(own != null ? "as.election.drain-timeout=" + own : "any=value")
        .run((context) -> assertThat(
                context.getBean(ElectionProperties.class).drainTimeout(context.getEnvironment()))
            .isEqualTo(DurationStyle.SIMPLE.parse(patience)));
  }

  @Test
  void bareNumbersAreSeconds() {
    this.manual
        .withPropertyValues("as.election.lease-duration=30", "as.election.renew-interval=500ms")
        .run((context) -> {
          ElectionProperties properties = context.getBean(ElectionProperties.class);
          assertThat(properties.leaseDuration()).isEqualTo(Duration.ofSeconds(30));
          assertThat(properties.renewInterval()).isEqualTo(Duration.ofMillis(500));
          assertThat(properties.drainTimeout(context.getEnvironment()))
              .isEqualTo(Duration.ofSeconds(29));
          assertThat(properties.historyRetention()).isEqualTo(Duration.ofDays(30));
          assertThat(properties.operationTimeout()).isEqualTo(Duration.ofSeconds(1));
        });
  }

  @Test
  void nothingElseOfTheApplicationIsTouched() {
    this.manual.run((context) -> {
      for (Class<?> type : List.of(
          TaskScheduler.class,
          Clock.class,
          Flyway.class,
          DataSource.class,
          ScheduledAnnotationBeanPostProcessor.class)) {
        assertThat(context).doesNotHaveBean(type);
      }
    });
  }

  @Test
  void noBeanIsMadeTooEarlyToBeProcessed(CapturedOutput output) {
    this.manual
        .withBean(SwitchedElection.class)
        .run((context) -> assertThat(output)
            .doesNotContain("not eligible for getting processed by all BeanPostProcessors"));
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', textBlock = """
      algorithm=Raft                | algorithm is 'Raft'                  | it must be one of ManualAllocation, Mysql, Postgresql, Zookeeper, Etcd, or the name
      algorithm=Zookeeper,Zookeeper | algorithm is 'Zookeeper, Zookeeper'  | it names 'Zookeeper' twice
      algorithm=ManualAllocation    | manual.leader-id is not set          | host:port
      services=a,b,a                | services is 'a'                      | listed twice
      services=billing              | services is 'billing'                | it is the default election
      label=a\u0007b                | label is 'a                          | it must not contain control characters
      lease-duration=0              | lease-duration is '0'                | it must be at least 1ms
      lease-duration=-5s            | lease-duration is '-5s'              | it must be at least 1ms
      lease-duration=3s             | lease-duration is '3s'               | three times the renew-interval (2s): use at least 6s
      lease-duration=5              | lease-duration is '5'                | three times the renew-interval (2s): use at least 6s
      operation-timeout=4s          | lease-duration is '10s' by default   | an operation-timeout of at most
      operation-timeout=0           | operation-timeout is '0'             | it must be at least 1ms
      """)
  void settingIsRefusedWithItsRemedy(String setting, String problem, String remedy) {
    assertThat(failure(this.billing.withPropertyValues("as.election." + setting)))
        .contains("as.election." + problem, remedy);
  }

  @Test
  void missingNameIsRefusedAndBothPropertiesAreNamed() {
    assertThat(failure(this.contextRunner))
        .contains("as.election.service-id is not set", "spring.application.name");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"as.election.service-id", "as.election.node-id", "as.election.manual.leader-id"})
  void unusableNamesAreRefused(String property) {
    assertThat(failure(this.manual.withPropertyValues(property + "=")))
        .contains(property + " is ''");
    assertThat(failure(this.manual.withPropertyValues(property + "=" + "x".repeat(129))))
        .contains(property + " is 'xxx")
        .contains("has 129 characters, but may have at most 128");
    assertThat(failure(this.manual.withPropertyValues(property + "=a\u0007b")))
        .contains("must not contain control characters");
  }

  @Test
  void aNodeIsNotNamedLikeTheMarkOfAMove() {
    assertThat(failure(this.manual.withPropertyValues("as.election.node-id=moved to Mysql")))
        .contains("as.election.node-id is 'moved to Mysql'", "must not begin with 'moved to'");
  }

  @Test
  void nameOfTheApplicationThatCannotBeAnElectionIsRefused() {
    assertThat(
            failure(this.manual.withPropertyValues("spring.application.name=" + "x".repeat(129))))
        .contains("spring.application.name is 'xxx", "set as.election.service-id to another");
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', textBlock = """
      jdbc      |                                 | is 'Mysql' by default | and org.springframework.boot:spring-boot-starter-jdbc on the class path
      zookeeper | as.election.algorithm=Zookeeper | is 'Zookeeper'        | on the class path
      etcd      | as.election.algorithm=Etcd      | is 'Etcd'             | on the class path
      """)
  void missingLibraryIsRefused(String module, String property, String chosen, String more) {
    assertThat(failure(this.billing
            .withPropertyValues(property != null ? property : "any=value")
            .withClassLoader(new FilteredClassLoader("io.election." + module))))
        .contains("as.election.algorithm " + chosen)
        .contains("it needs io.election:election-" + module + " " + more);
  }

  @Test
  void badConfigurationEndsALazyStartToo() {
    assertThat(failure(this.billing
            .withClassLoader(new FilteredClassLoader(JdbcLeaseStore.class))
            .withInitializer((context) -> context.addBeanFactoryPostProcessor(
                new LazyInitializationBeanFactoryPostProcessor()))))
        .contains("io.election:election-jdbc");
  }

  @Test
  void missingDataSourceIsRefused() {
    assertThat(failure(this.billing))
        .contains("there is neither a DataSource bean nor spring.datasource.url")
        .contains("Set spring.datasource.url", "beside R2DBC too", "@AutoConfigureElection")
        .doesNotContain("as.election.enabled");
  }

  /** Fails whether or not the election is switched off, since the starter brings JDBC. */
  @ParameterizedTest
  @ValueSource(strings = {"true", "false"})
  void applicationWithoutDatabaseIsToldWhatToSet(String enabled) {
    ApplicationContextRunner withoutDatabase = this.jdbc
        .withPropertyValues("as.election.enabled=" + enabled)
        .withClassLoader(new FilteredClassLoader("org.h2"));
    assertThat(failure(withoutDatabase))
        .contains("spring.datasource.url is not set")
        .contains("spring.autoconfigure.exclude=" + DataSourceAutoConfiguration.class.getName())
        .contains("as.election.enabled=false", "as.election.algorithm=ManualAllocation");
  }

  /** With R2DBC, Spring Boot creates no DataSource from these settings. */
  @Test
  void settingsWithoutDataSourceAreRefusedOnlyForWhatTheyAre() {
    assertThat(failure(
            this.billing.withPropertyValues("spring.datasource.url=jdbc:sqlserver://db/orders")))
        .contains(
            "needs MySQL, MariaDB, PostgreSQL, ZooKeeper or etcd, but the DataSource is sqlserver (jdbc:sqlserver://db/orders)",
            "or set as.election.algorithm=Zookeeper, Etcd or ManualAllocation.")
        .doesNotContain("as.election.enabled");
  }

  @Test
  void wrappedDataSourceThatTellsNothingIsRefusedWithTheWayOut() {
    assertThat(failure(this.billing.withBean(DataSource.class, () -> mock(DataSource.class))))
        .contains("does not expose its URL, user and password")
        .contains("Mark a DataSource bean with @ElectionDataSource");
  }

  @Test
  void embeddedDatabaseIsRefusedWithWhatIsSupported() {
    assertThat(failure(this.jdbc))
        .contains("PostgreSQL, ZooKeeper or etcd, but the DataSource is h2 (jdbc:h2:mem:")
        .contains("Set spring.datasource.url to", "In tests, put @AutoConfigureElection")
        .doesNotContain("as.election.enabled");
  }

  @Test
  void twoDataSourcesAreRefusedByName() {
    assertThat(failure(this.billing
            .withBean("orders", DataSource.class, HikariDataSource::new)
            .withBean("invoices", DataSource.class, HikariDataSource::new)))
        .contains("several DataSource beans", "orders, invoices", "@ElectionDataSource");
  }

  @ParameterizedTest
  @ValueSource(strings = {"mysql", "mariadb"})
  void databaseThatCannotBeReachedIsNamedWithTheReason(String driver, CapturedOutput output) {
    this.jdbc
        .withPropertyValues("spring.datasource.url=jdbc:" + driver + "://127.0.0.1:1/orders")
        .run((context) -> assertThat(context).hasNotFailed());
    assertThat(output)
        .containsPattern("127.0.0.1:1/orders cannot be reached \\([^)]*Connection refused");
  }

  @Test
  void missingDriverIsRefused() {
    assertThat(failure(this.jdbc
            .withPropertyValues("spring.datasource.url=jdbc:mysql://127.0.0.1:1/orders")
            .withClassLoader(new FilteredClassLoader("com.mysql.cj"))))
        .contains("JDBC driver", "com.mysql:mysql-connector-j");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "lease-duration",
        "renew-interval",
        "drain-timeout",
        "history-retention",
        "operation-timeout"
      })
  void durationThatIsTooLongIsRefusedByName(String setting) {
    for (String endless : List.of("9223372036854775807s", "9223372036854775807d", "9999999h")) {
      assertThat(failure(this.billing.withPropertyValues("as.election." + setting + "=" + endless)))
          .contains("as.election." + setting + " is '" + endless + "'")
          .containsPattern("it must be|it is too long")
          .contains("write for instance");
    }
  }

  @Test
  void valueFromAnEnvironmentVariableIsFound() {
    assertThat(failure(this.billing.withInitializer((context) -> context
            .getEnvironment()
            .getPropertySources()
            .addFirst(new SystemEnvironmentPropertySource(
                "systemEnvironment", Map.of("AS_ELECTION_LEASEDURATION", "5"))))))
        .contains("as.election.lease-duration is '5' (in ");
  }

  private static String failure(ApplicationContextRunner runner) {
    return StartFailure.text(runner);
  }

  record Consumer(
      ElectionService byDefault,
      @Qualifier("reports") ElectionOperations reports,
      ElectionRegistry registry) {}

  record Listener(List<LeadershipEvent> events) {

    @EventListener
    void on(LeadershipEvent event) {
      this.events.add(event);
    }
  }
}
