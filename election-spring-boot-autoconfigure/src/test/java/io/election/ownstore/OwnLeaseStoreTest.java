package io.election.ownstore;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.election.ElectionService;
import io.election.LeaderOnly;
import io.election.ManualAllocationElectionService;
import io.election.autoconfigure.ElectionAutoConfiguration;
import io.election.autoconfigure.StartFailure;
import io.election.autoconfigure.actuate.ElectionHealthAutoConfiguration;
import io.election.autoconfigure.actuate.ElectionInfoAutoConfiguration;
import io.election.autoconfigure.actuate.ElectionMetricsAutoConfiguration;
import io.election.autoconfigure.actuate.EndpointAccess;
import io.election.autoconfigure.actuate.LeaderEndpointAutoConfiguration;
import io.election.autoconfigure.leaderonly.LeaderOnlyAutoConfiguration;
import io.election.autoconfigure.mysql.MysqlElectionAutoConfiguration;
import io.election.lease.LeaseStore;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** An application needs only a {@link LeaseStore} bean to elect on its own kind of store. */
@ExtendWith(OutputCaptureExtension.class)
class OwnLeaseStoreTest {

  private static final Duration LONG = Duration.ofSeconds(30);

  private final NotebookLeaseStore store = new NotebookLeaseStore();

  private final ApplicationContextRunner withoutStore = new ApplicationContextRunner()
      .withClassLoader(new FilteredClassLoader("io.election.mysql"))
      .withConfiguration(AutoConfigurations.of(
          ElectionAutoConfiguration.class,
          MysqlElectionAutoConfiguration.class,
          LeaderOnlyAutoConfiguration.class,
          LeaderEndpointAutoConfiguration.class,
          ElectionHealthAutoConfiguration.class,
          ElectionInfoAutoConfiguration.class,
          ElectionMetricsAutoConfiguration.class))
      .withBean(MeterRegistry.class, SimpleMeterRegistry::new)
      .withPropertyValues(
          "spring.application.name=orders",
          "as.election.lease-duration=2s",
          "as.election.renew-interval=200ms",
          "as.election.operation-timeout=500ms",
          "management.endpoints.web.exposure.include=leader");

  private final ApplicationContextRunner application = this.withoutStore
      .withBean("notebookLeaseStore", LeaseStore.class, () -> this.store)
      .withPropertyValues("as.election.algorithm=Notebook");

  @Test
  void hasAllThatAnElectionHas(CapturedOutput output) {
    this.application.withBean(Job.class).run((context) -> {
      ElectionService election = context.getBean(ElectionService.class);
      Job job = context.getBean(Job.class);
      assertThat(job.run()).isNull();
      await().atMost(LONG).until(election::isLeader);
      assertThat(job.run()).isEqualTo("ran");
      assertThat(context).hasBean("leaderEndpoint");
      assertThat(new EndpointAccess(context).elections())
          .containsEntry("algorithm", "Notebook")
          .extracting("elections")
          .asString()
          .contains("orders", "leader=true", "term=1", "leaseRemaining=");
      assertThat(context.getBean(HealthIndicator.class).health().getStatus()).isEqualTo(Status.UP);
      assertThat(context
              .getBean(MeterRegistry.class)
              .get("election.leader")
              .gauge()
              .value())
          .isEqualTo(1);
      assertThat(output).contains("become leader by notebook");
    });
  }

  @Test
  void nodesThatShareItHaveOneLeader() {
    ApplicationContextRunner patient =
        this.application.withPropertyValues("as.election.lease-duration=5s");
    patient.withPropertyValues("as.election.node-id=a").run((a) -> {
      ElectionService first = a.getBean(ElectionService.class);
      await().atMost(LONG).until(first::isLeader);
      patient.withPropertyValues("as.election.node-id=b").run((b) -> {
        ElectionService second = b.getBean(ElectionService.class);
        await().atMost(LONG).until(() -> second.leaderId().isPresent());
        assertThat(second.leaderId()).contains("a");
        assertThat(second.isLeader()).isFalse();
        first.lostLeader();
        await().atMost(LONG).until(second::isLeader);
        assertThat(second.leadership().orElseThrow().term()).isEqualTo(2);
      });
    });
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"Notebook", "NOTEBOOK", "note-book", "notebookLeaseStore", "notebook-lease-store"})
  void isNamedAsItsBeanInAnySpelling(String algorithm) {
    this.application
        .withPropertyValues("as.election.algorithm=" + algorithm)
        .run((context) -> assertThat(context).hasNotFailed());
  }

  @Test
  void maySimplyHaveTheNameOfTheAlgorithm() {
    this.withoutStore
        .withBean("notebook", LeaseStore.class, () -> this.store)
        .withPropertyValues("as.election.algorithm=notebook")
        .run((context) -> assertThat(context).hasNotFailed());
  }

  @Test
  void isListedWhereTheAlgorithmIsUnknown() {
    assertThat(StartFailure.text(this.application.withPropertyValues("as.election.algorithm=Raft")))
        .contains("as.election.algorithm is 'Raft'")
        .contains("it must be one of ManualAllocation, Mysql, notebook");
  }

  @Test
  void isNamedWhereMysqlIsMissing() {
    assertThat(
            StartFailure.text(this.application.withPropertyValues("as.election.algorithm=Mysql")))
        .contains("io.election:election-mysql")
        .contains("as.election.algorithm=ManualAllocation or notebook");
  }

  @Test
  void isLeftAloneByAnotherAlgorithm() {
    this.application
        .withPropertyValues(
            "as.election.algorithm=ManualAllocation", "as.election.manual.leader-id=a")
        .run((context) -> assertThat(context.getBean(ElectionService.class))
            .isInstanceOf(ManualAllocationElectionService.class));
  }

  /** The elector may need the store for longer than the context. */
  @Test
  void isClosedByTheElectorAndNobodyElse() {
    this.application.run(
        (context) -> await().atMost(LONG).until(context.getBean(ElectionService.class)::isLeader));
    await().atMost(LONG).until(() -> !this.store.closers().isEmpty());
    assertThat(this.store.closers()).containsExactly("election-elector");
  }

  @Test
  void isClosedWithItsContextIfTheElectorUsesAnother() {
    NotebookLeaseStore other = new NotebookLeaseStore();
    this.application
        .withBean("diaryLeaseStore", LeaseStore.class, () -> other)
        .run((context) -> assertThat(context).hasNotFailed());
    assertThat(other.closers()).containsExactly(Thread.currentThread().getName());
  }

  /** Public, so that the filtered class loader sees it too. */
  public static class Job {

    @LeaderOnly
    public String run() {
      return "ran";
    }
  }
}
