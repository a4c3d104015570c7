package io.election.ownstore;

import static io.election.autoconfigure.MysqlNode.patiently;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.ElectionService;
import io.election.LeaderOnly;
import io.election.ManualAllocationElectionService;
import io.election.autoconfigure.MysqlNode;
import io.election.autoconfigure.StartFailure;
import io.election.autoconfigure.actuate.EndpointAccess;
import io.election.lease.Elector;
import io.election.lease.Precedence;
import io.election.lease.Precedence.Turn;
import io.election.store.LeaseStore;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** An application needs only a {@link LeaseStore} bean to elect on its own kind of store. */
@ExtendWith(OutputCaptureExtension.class)
class OwnLeaseStoreTest {

  private final NotebookLeaseStore store = new NotebookLeaseStore();

  private final ApplicationContextRunner withoutStore = new ApplicationContextRunner()
      .withClassLoader(new FilteredClassLoader("io.election.jdbc"))
      .withConfiguration(MysqlNode.STARTER)
      .withBean(MeterRegistry.class, SimpleMeterRegistry::new)
      .withPropertyValues(
          "spring.application.name=orders",
          "as.election.lease-duration=3s",
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
      patiently().until(election::isLeader);
      assertThat(job.run()).isEqualTo("ran");
      assertThat(context).hasBean("leaderEndpoint");
      assertThat(new EndpointAccess(context).elections())
          .containsEntry("algorithm", "Notebook")
          .extracting("elections")
          .asString()
          .contains("orders", "leader=true", "term=1", "leaseRemaining=");
      assertThat(context.getBean(HealthIndicator.class).health().getStatus()).isEqualTo(Status.UP);
      MeterRegistry meters = context.getBean(MeterRegistry.class);
      assertThat(meters.get("election.leader").gauge().value()).isEqualTo(1);
      assertThat(output).contains("become leader by notebook");
    });
  }

  @ParameterizedTest
  @CsvSource({
    "notebookLeaseStore, Notebook",
    "notebookLeaseStore, NOTEBOOK",
    "notebookLeaseStore, note-book",
    "notebookLeaseStore, notebookLeaseStore",
    "notebookLeaseStore, notebook-lease-store",
    "notebook, notebook"
  })
  void isNamedAsItsBeanInAnySpelling(String bean, String algorithm) {
    this.withoutStore
        .withBean(bean, LeaseStore.class, () -> this.store)
        .withPropertyValues("as.election.algorithm=" + algorithm)
        .run((context) -> assertThat(context).hasNotFailed());
  }

  @Test
  void aNodeThatHoldsBackSaysSoAndLeadsLater(CapturedOutput output) {
    this.application.withPropertyValues("as.election.hold-back=300ms").run((context) -> {
      patiently().until(context.getBean(ElectionService.class)::isLeader);
      assertThat(output).contains("election 'orders' is open").contains("holds back for 300 ms");
    });
  }

  @Test
  void aBeanDecidesWhoGoesFirst(CapturedOutput output) {
    AtomicBoolean stands = new AtomicBoolean();
    Precedence precedence =
        (opening) -> stands.get() ? Turn.atOnce() : Turn.standAside("its data are old");
    this.application.withBean(Precedence.class, () -> precedence).run((context) -> {
      patiently().until(() -> output.getOut().contains("stands aside: its data are old"));
      assertThat(context.getBean(ElectionService.class).isLeader()).isFalse();
      stands.set(true);
      context.getBean(Elector.class).wakeUp();
      patiently().until(context.getBean(ElectionService.class)::isLeader);
    });
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', textBlock = """
      -1s | it must be from 0s to 1h
      61m | it must be from 0s to 1h
      soon | soon
      """)
  void unusableHoldBackIsRefused(String value, String text) {
    assertThat(StartFailure.text(
            this.application.withPropertyValues("as.election.hold-back=" + value)))
        .contains("as.election.hold-back", text);
  }

  @Test
  void holdBackBesideABeanIsRefused() {
    assertThat(StartFailure.text(this.application
            .withBean(Precedence.class, () -> Precedence.NONE)
            .withPropertyValues("as.election.hold-back=2s")))
        .contains("as.election.hold-back", "decides who goes first; remove the property");
  }

  @Test
  void isListedWhereTheAlgorithmIsUnknown() {
    assertThat(StartFailure.text(this.application.withPropertyValues("as.election.algorithm=Raft")))
        .contains("as.election.algorithm is 'Raft'")
        .contains(
            "it must be one of ManualAllocation, Mysql, Postgresql, Zookeeper, Etcd, notebook");
  }

  @Test
  void isNamedWhereMysqlIsMissing() {
    assertThat(
            StartFailure.text(this.application.withPropertyValues("as.election.algorithm=Mysql")))
        .contains("io.election:election-jdbc")
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
    this.application.run((context) -> assertThat(context).hasNotFailed());
    patiently().until(() -> !this.store.closers.isEmpty());
    assertThat(this.store.closers).containsExactly("election-elector");
  }

  @Test
  void isClosedWithItsContextIfTheElectorUsesAnother() {
    NotebookLeaseStore other = new NotebookLeaseStore();
    this.application
        .withBean("diaryLeaseStore", LeaseStore.class, () -> other)
        .run((context) -> assertThat(context).hasNotFailed());
    assertThat(other.closers).containsExactly(Thread.currentThread().getName());
  }

  /** Public, so that the filtered class loader sees it too. */
  public static class Job {

    @LeaderOnly
    public String run() {
      return "ran";
    }
  }
}
