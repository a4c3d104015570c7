package io.election.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import io.election.ElectionRegistry;
import io.election.ElectionService;
import io.election.Instruction;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipEvent;
import io.election.LeadershipLostEvent;
import io.election.ManualAllocationElectionService;
import io.election.autoconfigure.actuate.LeaderEndpointAutoConfiguration;
import io.election.autoconfigure.leaderonly.LeaderOnlyAutoConfiguration;
import io.election.autoconfigure.mysql.MysqlElectionAutoConfiguration;
import io.election.mysql.MysqlLeaseStore;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
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
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.EventListener;
import org.springframework.core.env.SystemEnvironmentPropertySource;
import org.springframework.jdbc.datasource.lookup.AbstractRoutingDataSource;
import org.springframework.scheduling.TaskScheduler;
import org.springframework.scheduling.annotation.ScheduledAnnotationBeanPostProcessor;

@ExtendWith(OutputCaptureExtension.class)
class ElectionAutoConfigurationTest {

  private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
      .withConfiguration(AutoConfigurations.of(
          ElectionAutoConfiguration.class,
          MysqlElectionAutoConfiguration.class,
          LeaderOnlyAutoConfiguration.class,
          LeaderEndpointAutoConfiguration.class));

  private final ApplicationContextRunner billing =
      this.contextRunner.withPropertyValues("spring.application.name=billing");

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

  @Test
  void manualAllocationFollowsWhereItNamesAnother() {
    this.manual.withPropertyValues("as.election.manual.leader-id=203.0.113.7").run((context) -> {
      ElectionService election = context.getBean(ElectionService.class);
      assertThat(election.isLeader()).isFalse();
      assertThat(election.leaderId()).contains("203.0.113.7");
    });
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
    assertThat(output).contains("is '" + leaderId + "', but " + problem + ": nobody leads");
  }

  @Test
  void manualAllocationToAnotherNodesIdIsNotWarnedOf(CapturedOutput output) {
    this.manual.withPropertyValues("as.election.manual.leader-id=node-2").run((context) -> {});
    assertThat(output).doesNotContain("nobody leads");
  }

  @ParameterizedTest
  @ValueSource(strings = {"ManualAllocation", "manual-allocation", "MANUAL_ALLOCATION"})
  void algorithmIsReadInAnySpelling(String algorithm) {
    this.manual
        .withPropertyValues("as.election.algorithm=" + algorithm)
        .run((context) -> assertThat(context).hasSingleBean(ManualAllocationElectionService.class));
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
    this.contextRunner.withUserConfiguration(OwnElection.class).run((context) -> {
      assertThat(context).hasSingleBean(ElectionService.class);
      assertThat(context).doesNotHaveBean(ElectionDriver.class);
      assertThat(context).doesNotHaveBean(ElectionLifecycle.class);
      assertThat(context).hasNotFailed();
    });
  }

  @Test
  void disabledElectionCountsAsLeaderAndWarnsOnce(CapturedOutput output) {
    this.disabled.run((context) -> {
      ElectionService election = context.getBean(ElectionService.class);
      assertThat(election.isLeader()).isTrue();
      assertThat(context).doesNotHaveBean(MysqlLeaseStore.class);
      assertThat(output.getOut().split("as.election.enabled=false", -1)).hasSize(2);
      assertThat(output).contains("WARN");
      election.lostLeader();
      assertThat(election.isLeader()).isFalse();
      election.becomeLeader();
      assertThat(election.isLeader()).isTrue();
      assertThatThrownBy(() -> election.pause(new Instruction("alice", "")))
          .isInstanceOf(UnsupportedOperationException.class)
          .hasMessageContaining("is disabled by as.election.enabled=false");
    });
  }

  @Test
  void disabledElectionNeedsNeitherLibraryNorName() {
    this.disabled
        .withClassLoader(
            new FilteredClassLoader("io.election.mysql", "org.springframework.boot.jdbc"))
        .run((context) -> assertThat(context).hasNotFailed());
  }

  @Test
  void furtherElectionsAreInjectedByNameAlone() {
    this.manual
        .withPropertyValues("as.election.services=reports,exports")
        .withUserConfiguration(Consumer.class)
        .run((context) -> {
          Consumer consumer = context.getBean(Consumer.class);
          assertThat(consumer.byDefault.serviceId()).isEqualTo("billing");
          assertThat(consumer.reports.serviceId()).isEqualTo("reports");
          assertThat(consumer.reports.isLeader()).isTrue();
          assertThat(context.getBeansOfType(ElectionService.class)).hasSize(3);
          assertThat(consumer.registry.all())
              .containsOnlyKeys("billing", "reports", "exports")
              .containsEntry("billing", consumer.byDefault)
              .containsEntry("reports", consumer.reports);
          assertThat(consumer.registry.all().keySet()).first().isEqualTo("billing");
          assertThat(consumer.registry.find("reports")).containsSame(consumer.reports);
          assertThat(consumer.registry.find("shipping")).isEmpty();
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

  @Test
  void aStopWaitsForWorkAlmostAsLongAsSpringDoes() {
    this.manual
        .withPropertyValues("spring.lifecycle.timeout-per-shutdown-phase=2m")
        .run((context) -> assertThat(
                context.getBean(ElectionProperties.class).drainTimeout(context.getEnvironment()))
            .isEqualTo(Duration.ofSeconds(119)));
    this.manual
        .withPropertyValues(
            "spring.lifecycle.timeout-per-shutdown-phase=2m", "as.election.drain-timeout=5")
        .run((context) -> assertThat(
                context.getBean(ElectionProperties.class).drainTimeout(context.getEnvironment()))
            .isEqualTo(Duration.ofSeconds(5)));
    this.manual
        .withPropertyValues("spring.lifecycle.timeout-per-shutdown-phase=100ms")
        .run((context) -> assertThat(
                context.getBean(ElectionProperties.class).drainTimeout(context.getEnvironment()))
            .isZero());
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
      assertThat(context).doesNotHaveBean(TaskScheduler.class);
      assertThat(context).doesNotHaveBean(Clock.class);
      assertThat(context).doesNotHaveBean(Flyway.class);
      assertThat(context).doesNotHaveBean(DataSource.class);
      assertThat(context).doesNotHaveBean(ScheduledAnnotationBeanPostProcessor.class);
    });
  }

  @Test
  void noBeanIsMadeTooEarlyToBeProcessed(CapturedOutput output) {
    this.manual
        .withUserConfiguration(OwnElection.class)
        .run((context) -> assertThat(output)
            .doesNotContain("not eligible for getting processed by all BeanPostProcessors"));
  }

  @Test
  void unknownAlgorithmIsRefusedWithThoseThatAreAllowed() {
    assertThat(failure(this.billing.withPropertyValues("as.election.algorithm=Raft")))
        .contains("as.election.algorithm is 'Raft'")
        .contains("it must be one of ManualAllocation, Mysql");
  }

  @ParameterizedTest
  @ValueSource(strings = {"Zookeeper", "Etcd", "Zookeeper,Mysql"})
  void algorithmsOfLaterVersionsAreRefused(String algorithm) {
    assertThat(failure(this.billing.withPropertyValues("as.election.algorithm=" + algorithm)))
        .contains("as.election.algorithm is '" + algorithm.replace(",", ", ") + "'")
        .contains("it is not available in this version; write one of ManualAllocation, Mysql");
  }

  @Test
  void missingNameIsRefusedAndBothPropertiesAreNamed() {
    assertThat(failure(this.contextRunner))
        .contains("as.election.service-id is not set")
        .contains("spring.application.name");
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
  void nameOfTheApplicationThatCannotBeAnElectionIsRefused() {
    assertThat(
            failure(this.manual.withPropertyValues("spring.application.name=" + "x".repeat(129))))
        .contains("spring.application.name is 'xxx")
        .contains("set as.election.service-id to another");
  }

  @Test
  void electionsListedTwiceAreRefused() {
    assertThat(failure(this.manual.withPropertyValues("as.election.services=a,b,a")))
        .contains("as.election.services is 'a'")
        .contains("listed twice");
    assertThat(failure(this.manual.withPropertyValues("as.election.services=billing")))
        .contains("it is the default election");
  }

  @Test
  void missingLeaderIdIsRefused() {
    assertThat(failure(this.billing.withPropertyValues("as.election.algorithm=ManualAllocation")))
        .contains("as.election.manual.leader-id is not set")
        .contains("host:port");
  }

  @Test
  void missingLibraryIsRefused() {
    assertThat(
            failure(this.billing.withClassLoader(new FilteredClassLoader(MysqlLeaseStore.class))))
        .contains("as.election.algorithm is 'Mysql' by default")
        .contains("io.election:election-mysql");
  }

  @Test
  void badConfigurationEndsALazyStartToo() {
    assertThat(failure(this.billing
            .withClassLoader(new FilteredClassLoader(MysqlLeaseStore.class))
            .withInitializer((context) -> context.addBeanFactoryPostProcessor(
                new LazyInitializationBeanFactoryPostProcessor()))))
        .contains("io.election:election-mysql");
  }

  @Test
  void missingDataSourceIsRefused() {
    assertThat(failure(this.billing))
        .contains("there is neither a DataSource bean nor spring.datasource.url")
        .contains("Set spring.datasource.url")
        .contains("beside R2DBC too")
        .contains("as.election.enabled=false");
  }

  /** Fails whether or not the election is switched off, since the starter brings JDBC. */
  @ParameterizedTest
  @ValueSource(strings = {"true", "false"})
  void applicationWithoutDatabaseIsToldWhatToSet(String enabled) {
    ApplicationContextRunner withoutDatabase = this.billing
        .withConfiguration(AutoConfigurations.of(DataSourceAutoConfiguration.class))
        .withPropertyValues("as.election.enabled=" + enabled)
        .withClassLoader(new FilteredClassLoader("org.h2"));
    assertThat(failure(withoutDatabase))
        .contains("spring.datasource.url is not set")
        .contains("spring.autoconfigure.exclude=" + DataSourceAutoConfiguration.class.getName())
        .contains("as.election.enabled=false")
        .contains("as.election.algorithm=ManualAllocation");
  }

  /** With R2DBC, Spring Boot creates no DataSource from these settings. */
  @Test
  void settingsWithoutDataSourceAreRefusedOnlyForWhatTheyAre() {
    assertThat(failure(
            this.billing.withPropertyValues("spring.datasource.url=jdbc:postgresql://db/orders")))
        .contains("the DataSource is postgresql (jdbc:postgresql://db/orders)");
  }

  @Test
  void wrappedDataSourceThatTellsNothingIsRefusedWithTheWayOut() {
    assertThat(
            failure(this.billing.withBean(DataSource.class, () -> new AbstractRoutingDataSource() {

              @Override
              protected Object determineCurrentLookupKey() {
                return "primary";
              }

              @Override
              public void afterPropertiesSet() {}
            })))
        .contains("does not tell its URL, user and password")
        .contains("Mark a DataSource bean with @ElectionDataSource");
  }

  @Test
  void embeddedDatabaseIsRefusedWithTheSettingForTests() {
    assertThat(failure(this.billing.withConfiguration(
            AutoConfigurations.of(DataSourceAutoConfiguration.class))))
        .contains("needs MySQL or MariaDB, but the DataSource is h2 (jdbc:h2:mem:")
        .contains("In tests, or for a single node, set as.election.enabled=false");
  }

  @Test
  void anotherDatabaseIsRefused() {
    assertThat(failure(this.billing
            .withConfiguration(AutoConfigurations.of(DataSourceAutoConfiguration.class))
            .withPropertyValues(
                "spring.datasource.url=jdbc:h2:mem:orders;USER=sa;PASSWORD=secret")))
        .contains("the DataSource is h2 (jdbc:h2:mem:orders)")
        .doesNotContain("secret");
  }

  @Test
  void twoDataSourcesAreRefusedByName() {
    assertThat(failure(this.billing.withUserConfiguration(TwoDataSources.class)))
        .contains("several DataSource beans")
        .contains("orders, invoices")
        .contains("@ElectionDataSource");
  }

  @ParameterizedTest
  @ValueSource(strings = {"mysql", "mariadb"})
  void databaseThatCannotBeReachedIsNamedWithTheReason(String driver, CapturedOutput output) {
    this.billing
        .withConfiguration(AutoConfigurations.of(DataSourceAutoConfiguration.class))
        .withPropertyValues("spring.datasource.url=jdbc:" + driver + "://127.0.0.1:1/orders")
        .run((context) -> assertThat(context).hasNotFailed());
    assertThat(output)
        .containsPattern("127.0.0.1:1/orders cannot be reached \\([^)]*Connection refused");
  }

  @Test
  void missingDriverIsRefused() {
    assertThat(failure(this.billing
            .withConfiguration(AutoConfigurations.of(DataSourceAutoConfiguration.class))
            .withPropertyValues("spring.datasource.url=jdbc:mysql://127.0.0.1:1/orders")
            .withClassLoader(new FilteredClassLoader("com.mysql.cj"))))
        .contains("JDBC driver")
        .contains("com.mysql:mysql-connector-j");
  }

  @ParameterizedTest
  @ValueSource(strings = {"0", "-5s", "3s"})
  void badLeaseIsRefusedWithTheValueAsWritten(String lease) {
    assertThat(failure(this.billing.withPropertyValues("as.election.lease-duration=" + lease)))
        .contains("as.election.lease-duration is '" + lease + "'");
  }

  @Test
  void badRelationNamesTheRemedy() {
    assertThat(failure(this.billing.withPropertyValues("as.election.lease-duration=5")))
        .contains("as.election.lease-duration is '5'")
        .contains("three times the renew-interval (2s): use at least 6s");
    assertThat(failure(this.billing.withPropertyValues("as.election.operation-timeout=4s")))
        .contains("as.election.lease-duration is '10s' by default")
        .contains("an operation-timeout of at most");
    assertThat(failure(this.billing.withPropertyValues("as.election.operation-timeout=0")))
        .contains("as.election.operation-timeout is '0'");
  }

  @ParameterizedTest
  @ValueSource(strings = {"true", "false"})
  void formerNameOfAPropertyIsRefusedWithTheNewOne(String enabled) {
    assertThat(failure(this.billing.withPropertyValues(
            "as.election.enabled=" + enabled, "as.election.mysql.operation-timeout=2s")))
        .contains("as.election.mysql.operation-timeout is '2s'")
        .contains("now called as.election.operation-timeout");
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

  @ParameterizedTest
  @ValueSource(
      strings = {
        "enabled",
        "expose-endpoint",
        "eligible",
        "fail-fast",
        "mysql.commit-fence",
        "mysql.hand-back-signals"
      })
  void switchWithoutAValueIsRefusedByName(String setting) {
    for (String value : List.of("", "perhaps")) {
      assertThat(failure(this.billing.withPropertyValues("as.election." + setting + "=" + value)))
          .contains("as.election." + setting + " is '" + value + "'")
          .contains("it must be true or false");
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

  @Configuration(proxyBeanMethods = false)
  static class OwnElection {

    @Bean
    SwitchedElection ownElection() {
      return new SwitchedElection();
    }
  }

  static class Consumer {

    final ElectionService byDefault;

    final ElectionService reports;

    final ElectionRegistry registry;

    Consumer(
        ElectionService byDefault,
        @Qualifier("reports") ElectionService reports,
        ElectionRegistry registry) {
      this.byDefault = byDefault;
      this.reports = reports;
      this.registry = registry;
    }
  }

  record Listener(List<LeadershipEvent> events) {

    @EventListener
    void on(LeadershipEvent event) {
      this.events.add(event);
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class TwoDataSources {

    @Bean
    DataSource orders() {
      return new HikariDataSource();
    }

    @Bean
    DataSource invoices() {
      return new HikariDataSource();
    }
  }
}
