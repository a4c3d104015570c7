package io.election.autoconfigure.joint;

import static io.election.autoconfigure.MysqlNode.awaitLeader;
import static io.election.autoconfigure.MysqlNode.patiently;
import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.Mockito.atLeastOnce;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.verify;

import io.election.ElectionOperations;
import io.election.ElectionRegistry;
import io.election.ElectionService;
import io.election.LeaderOnly;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipEvent;
import io.election.LeadershipLostEvent;
import io.election.autoconfigure.ElectionBackend;
import io.election.autoconfigure.MysqlNode;
import io.election.autoconfigure.StartFailure;
import io.election.autoconfigure.SwitchedElection;
import io.election.autoconfigure.actuate.EndpointAccess;
import io.election.lease.LeaseElectionService;
import io.election.store.LeaseRow;
import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;
import io.election.store.MemoryLeaseStore;
import io.election.store.TermEnd;
import io.election.test.Leases;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.event.EventListener;

/** An application whose leader must hold several parts. */
@ExtendWith(OutputCaptureExtension.class)
class JointElectionTest {

  private final ApplicationContextRunner application = new ApplicationContextRunner()
      .withConfiguration(MysqlNode.STARTER)
      .withBean("firstLeaseStore", LeaseStore.class, () -> new NamedStore("first"))
      .withBean("secondLeaseStore", LeaseStore.class, () -> new NamedStore("second"))
      .withBean(
          PrometheusMeterRegistry.class,
          () -> new PrometheusMeterRegistry(PrometheusConfig.DEFAULT))
      .withBean(Events.class)
      .withBean(Job.class)
      .withPropertyValues(
          "spring.application.name=orders",
          "as.election.node-id=a",
          "as.election.lease-duration=1500ms",
          "as.election.renew-interval=100ms",
          "as.election.operation-timeout=500ms");

  private final ApplicationContextRunner stores = with("First,Second");

  private final SwitchedElection legacy = new SwitchedElection();

  private final ApplicationContextRunner withLegacy = with("legacyElection,Second")
      .withBean("legacyElection", ElectionService.class, () -> this.legacy);

  private ApplicationContextRunner with(String list) {
    return this.application.withPropertyValues("as.election.algorithm=" + list);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "as.election.algorithm=First,Second|as.election.eligible=true",
        "as.election.algorithm=first-lease-store, SECOND|as.election.eligible=true",
        "as.election.algorithm[0]=First|as.election.algorithm[1]=Second"
      })
  void listIsWhatIsBound(String property, String next) {
    this.application
        .withPropertyValues(property, next)
        .run(
            (context) -> assertThat(awaitLeader(context)).isInstanceOf(LeaseElectionService.class));
  }

  @Test
  void leadsByAllParts() {
    this.stores.run((context) -> {
      ElectionService election = awaitLeader(context);
      assertThat(context.getBean(Job.class).run()).isEqualTo("ran");
      for (String store : List.of("firstLeaseStore", "secondLeaseStore")) {
        assertThat(context
                .getBean(store, MemoryLeaseStore.class)
                .read(Set.of("orders"))
                .toString())
            .contains("a");
      }
      patiently()
          .untilAsserted(() -> assertThat(context.getBean(Events.class).seen)
              .singleElement()
              .isInstanceOf(LeadershipAcquiredEvent.class));
      assertThat(election.leadership().orElseThrow().term()).isEqualTo(2);
    });
  }

  @Test
  void stopEndsTheLeadershipAndAnotherStartBeginsIt() {
    this.stores.run((context) -> {
      awaitLeader(context);
      context.getSourceApplicationContext().stop();
      assertThat(context.getBean(ElectionService.class).isLeader()).isFalse();
      assertThat(context.getBean(Events.class).seen)
          .last()
          .isInstanceOfSatisfying(
              LeadershipLostEvent.class,
              (lost) -> assertThat(lost.reason()).isEqualTo(LeadershipLostEvent.Reason.STOPPED));
      context.getSourceApplicationContext().start();
      awaitLeader(context);
    });
  }

  @Test
  void furtherElectionsAreByTheListToo() {
    this.stores.withPropertyValues("as.election.services=reports").run((context) -> {
      ElectionService reports = context.getBean(ElectionRegistry.class).all().get("reports");
      patiently().until(reports::isLeader);
    });
  }

  @Test
  @SuppressWarnings("unchecked")
  void endpointAndHealthShowTheListAndItsParts() {
    this.stores
        .withPropertyValues("management.endpoints.web.exposure.include=leader")
        .run((context) -> {
          awaitLeader(context);
          Map<String, String> parts = Map.of("First", "answers", "Second", "answers");
          EndpointAccess endpoint = new EndpointAccess(context);
          assertThat(endpoint.elections())
              .containsEntry("algorithm", "First, Second")
              .containsEntry("parts", parts);
          Health health = context.getBean(HealthIndicator.class).health();
          assertThat(health.getStatus()).isEqualTo(Status.UP);
          assertThat(health.getDetails()).containsEntry("parts", parts);
          patiently()
              .until(() -> ((List<Map<String, Object>>)
                      endpoint.election("orders").get("members"))
                  .stream().anyMatch((member) -> "first, second".equals(member.get("algorithm"))));
        });
  }

  @Test
  void nodeOfAnElectionThatWasMovedIsDown() {
    this.stores.run((context) -> {
      ElectionOperations election = awaitLeader(context);
      context
          .getBean("firstLeaseStore", MemoryLeaseStore.class)
          .designate("orders", "moved to Second", null, null);
      patiently().until(() -> election.moved().isPresent());
      assertThat(election.isLeader()).isFalse();
      Health health = context.getBean(HealthIndicator.class).health();
      assertThat(health.getStatus()).isEqualTo(Status.DOWN);
      assertThat(health.getDetails().get("problem").toString())
          .contains("'orders' was moved to Second");
    });
  }

  @Test
  void metersCountTheMembersOfEachList() {
    MemoryLeaseStore first = new NamedStore("first");
    ApplicationContextRunner neighbour = this.application
        .withAllowBeanDefinitionOverriding(true)
        .withBean("firstLeaseStore", LeaseStore.class, () -> first);
    neighbour
        .withPropertyValues("as.election.algorithm=First", "as.election.node-id=b")
        .run((onFirst) -> {
          awaitLeader(onFirst);
          neighbour.withPropertyValues("as.election.algorithm=First,Second").run((onBoth) -> {
            PrometheusMeterRegistry meters = onBoth.getBean(PrometheusMeterRegistry.class);
            assertThat(meters.scrape()).contains("algorithm=\"first, second\"");
            patiently()
                .untilAsserted(() -> assertThat(meters.scrape())
                    .contains(
                        "election_members{algorithm=\"first\",election=\"orders\"} 1.0",
                        "election_members{algorithm=\"first, second\",election=\"orders\"} 1.0"));
            onFirst.getBean(ElectionService.class).lostLeader();
            awaitLeader(onBoth);
            patiently()
                .untilAsserted(() -> assertThat(meters.scrape())
                    .containsPattern("election_renewals_seconds_count\\{.*confirmed.*} [1-9]")
                    .containsPattern("election_lease_remaining_seconds\\{.*} [01]\\.\\d")
                    .containsPattern("election_renewal_age_seconds\\{"));
          });
        });
  }

  @Test
  void serviceOfTheApplicationIsAPartAndNotTheElection() {
    this.withLegacy.run((context) -> {
      ElectionService election = awaitLeader(context);
      assertThat(election).isInstanceOf(LeaseElectionService.class);
      assertThat(this.legacy.isLeader()).isTrue();
      assertThat(election.nodeId()).isEqualTo("a");
      assertThat(context.getBean(ElectionRegistry.class).all()).containsOnlyKeys("orders");
      assertThat(context.getBean(Job.class).run()).isEqualTo("ran");
      assertThat(context.getBean(ElectionBackend.class).parts())
          .containsExactlyEntriesOf(parts("legacyElection", "answers", "Second", "answers"));
      this.legacy.lostLeader();
      assertThat(election.isLeader()).isFalse();
      assertThat(context.getBean(Job.class).run()).isNull();
      awaitLeader(context);
      patiently()
          .untilAsserted(() -> assertThat(context.getBean(Events.class).seen)
              .element(2)
              .isInstanceOfSatisfying(LeadershipAcquiredEvent.class, (acquired) -> {
                assertThat(acquired.nodeId()).isEqualTo("a");
                assertThat(acquired.term()).isEqualTo(3);
              }));
    });
    assertThat(this.legacy.isLeader()).isFalse();
  }

  private static Map<String, String> parts(
      String first, String firstState, String second, String secondState) {
    Map<String, String> parts = new LinkedHashMap<>();
    parts.put(first, firstState);
    parts.put(second, secondState);
    return parts;
  }

  @Test
  void primaryServiceThatIsNamedIsAPart() {
    with("Second,legacyElection")
        .withBean(
            "legacyElection",
            ElectionService.class,
            () -> this.legacy,
            (definition) -> definition.setPrimary(true))
        .run(
            (context) -> assertThat(awaitLeader(context)).isInstanceOf(LeaseElectionService.class));
  }

  @Test
  void serviceThatIsNotNamedStillReplacesTheElection() {
    this.stores
        .withBean("legacyElection", ElectionService.class, () -> this.legacy)
        .run((context) -> assertThat(context.getBean(ElectionService.class)).isSameAs(this.legacy));
  }

  @ParameterizedTest
  @ValueSource(strings = {"legacyElecton", "alias"})
  void serviceThatIsMisnamedIsRefused(String name) {
    assertThat(StartFailure.text(with(name + ",Second")
            .withBean("legacyElection", ElectionService.class, () -> this.legacy)
            .withInitializer(
                (context) -> context.getBeanFactory().registerAlias("legacyElection", "alias"))))
        .contains("as.election.algorithm is '" + name + ", Second'")
        .contains(
            "there is no bean '" + name + "', and bean 'legacyElection', which it does not name")
        .contains("name that bean, or remove '" + name + "'");
  }

  @Test
  void scriptedElectionReplacesAListWhosePartsATestLeavesOut() {
    with("legacyElection,Second")
        .withBean("electionService", ElectionService.class, () -> this.legacy)
        .run((context) -> assertThat(context.getBean(ElectionService.class)).isSameAs(this.legacy));
  }

  @Test
  void partThatIsAMockKeepsNoNodeFromStarting() {
    ElectionService mock = mock();
    with("mock,Second").withBean("mock", ElectionService.class, () -> mock).run((context) -> {
      patiently().untilAsserted(() -> verify(mock, atLeastOnce()).becomeLeader());
      assertThat(context.getBean(ElectionService.class).isLeader()).isFalse();
    });
  }

  @Test
  void partThatDoesNotReturnIsNamedInTheLog(CapturedOutput output) {
    CountDownLatch end = new CountDownLatch(1);
    SwitchedElection slow = new SwitchedElection() {

      @Override
      public void becomeLeader() {
        try {
          end.await();
        } catch (InterruptedException ex) {
          Thread.currentThread().interrupt();
        }
      }
    };
    with("slow,Second").withBean("slow", ElectionService.class, () -> slow).run((context) -> {
      patiently()
          .untilAsserted(() -> assertThat(output)
              .contains(
                  "election 'orders': a part of the list that is no store has not answered yet"));
      assertThat(output).doesNotContain("Precedence");
      end.countDown();
    });
  }

  /** Another node may lead by that part alone, as long as this one holds the leases for its work. */
  @Test
  void workIsInterruptedWhenAPartIsLost() {
    this.withLegacy.withPropertyValues("as.election.drain-timeout=90s").run((context) -> {
      ElectionService election = awaitLeader(context);
      Job job = context.getBean(Job.class);
      CountDownLatch begun = new CountDownLatch(1);
      CountDownLatch interrupted = new CountDownLatch(1);
      CountDownLatch end = new CountDownLatch(1);
      Thread worker = new Thread(() -> job.waitBeyondInterrupt(begun, interrupted, end));
      worker.start();
      begun.await();
      this.legacy.lostLeader();
      assertThat(election.isLeader()).isFalse();
      patiently().until(() -> interrupted.getCount() == 0);
      Set<String> orders = Set.of("orders");
      LeaseStore second = context.getBean("secondLeaseStore", LeaseStore.class);
      assertThat(second.read(orders).get("orders").row().isReleased()).isFalse();
      end.countDown();
      worker.join();
      awaitLeader(context);
    });
  }

  @Test
  void partIsNotTheElectionWhereThatIsDisabled() {
    this.withLegacy.withPropertyValues("as.election.enabled=false").run((context) -> {
      assertThat(context.getBean(ElectionService.class)).isNotSameAs(this.legacy);
      assertThat(context.getBean(Job.class).run()).isEqualTo("ran");
      assertThat(this.legacy.isLeader()).isFalse();
    });
  }

  @Test
  void partThatFailsIsShown(CapturedOutput output) {
    SwitchedElection failing = new SwitchedElection() {

      @Override
      public void becomeLeader() {
        throw new IllegalStateException("no table");
      }
    };
    with("failing,Second")
        .withBean("failing", ElectionService.class, () -> failing)
        .run((context) -> {
          ElectionBackend backend = context.getBean(ElectionBackend.class);
          patiently()
              .untilAsserted(() -> assertThat(backend.problem())
                  .hasValueSatisfying((problem) -> assertThat(problem)
                      .contains("Part 'failing' answers, but some calls have failed", "no table")));
          assertThat(backend.parts())
              .containsExactlyEntriesOf(parts("failing", "failing", "Second", "answers"));
          assertThat(context.getBean(HealthIndicator.class).health().getStatus())
              .isEqualTo(Status.DOWN);
        });
    assertThat(output).contains("The part 'failing' of the election has failed");
  }

  @Test
  void partThatCallsThisNodeOtherwiseIsWarnedOf(CapturedOutput output) {
    SwitchedElection other = new SwitchedElection() {

      @Override
      public String nodeId() {
        return "node-7";
      }
    };
    with("other,Second")
        .withBean("other", ElectionService.class, () -> other)
        .run((context) -> assertThat(awaitLeader(context).nodeId()).isEqualTo("a"));
    assertThat(output).contains("node a of the election is node node-7 for its part 'other'");
  }

  @Test
  void partThatCannotTellItsNodeIdKeepsNoNodeFromStarting(CapturedOutput output) {
    SwitchedElection unnamed = new SwitchedElection() {

      @Override
      public String nodeId() {
        throw new NoClassDefFoundError("injected");
      }
    };
    with("unnamed,Second")
        .withBean("unnamed", ElectionService.class, () -> unnamed)
        .run((context) -> assertThat(awaitLeader(context).nodeId()).isEqualTo("a"));
    assertThat(output)
        .contains(
            "part 'unnamed' of the election cannot tell its node id: java.lang.NoClassDefFoundError: injected");
  }

  @ParameterizedTest
  @CsvSource({"a, true", "b, false"})
  void manualAllocationIsAPart(String leaderId, boolean leads) {
    with("ManualAllocation,Second")
        .withPropertyValues(
            "as.election.manual.leader-id=" + leaderId, "as.election.services=reports")
        .run((context) -> {
          ElectionService election = context.getBean(ElectionService.class);
          if (leads) {
            awaitLeader(context);
            assertThat(election.term().orElseThrow()).isPositive();
            patiently()
                .until(context.getBean(ElectionRegistry.class).all().get("reports")::isLeader);
            assertThat(context.getBean(Events.class).seen)
                .allSatisfy((event) -> assertThat(event.toString()).doesNotContain("ALLOCATED"));
          }
          assertThat(election.isLeader()).isEqualTo(leads);
        });
  }

  @Test
  void allocationIsKeptWhileWorkRuns(CapturedOutput output) {
    String lost = "lost leader by manual allocation";
    with("ManualAllocation,Second")
        .withPropertyValues("as.election.manual.leader-id=a", "as.election.drain-timeout=100ms")
        .run((context) -> {
          awaitLeader(context);
          Job job = context.getBean(Job.class);
          CountDownLatch begun = new CountDownLatch(1);
          CountDownLatch end = new CountDownLatch(1);
          new Thread(() -> job.waitFor(begun, end)).start();
          begun.await();
          context.getSourceApplicationContext().stop();
          assertThat(context.getBean(ElectionService.class).isLeader()).isFalse();
          assertThat(output).doesNotContain(lost);
          end.countDown();
          patiently().until(() -> output.getAll().contains(lost));
          context.getSourceApplicationContext().start();
          awaitLeader(context);
        });
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "First,first|First, first|two of its parts are the bean 'firstLeaseStore'",
        "Mysql,First,my-sql|Mysql, First, Mysql|it names 'Mysql' twice",
        "First,|First|one of its parts has no name",
        "First,Raft|First, Raft|its part 'Raft' is not available: it must be one of ManualAllocation, Mysql, Postgresql, Zookeeper, Etcd, first, second",
        "First,Etcd|First, Etcd|its part 'Etcd' is not available: it needs io.election:election-etcd on the class path",
        "legacyElection,First|legacyElection, First|or the name of an ElectionService bean of this context",
        "electionService,First|electionService, First|'electionService' is the name of the election itself",
        "First,electionService:orders|First, electionService:orders|is the name of the election itself"
      })
  void badListIsRefused(String list, String value, String reason) {
    assertThat(StartFailure.text(
            with(list).withClassLoader(new FilteredClassLoader("io.election.etcd"))))
        .contains("as.election.algorithm is '" + value)
        .contains(reason);
  }

  @Test
  void listWithoutALeaseIsRefused() {
    assertThat(StartFailure.text(with("ManualAllocation,legacyElection")
            .withPropertyValues("as.election.manual.leader-id=a")
            .withBean("legacyElection", ElectionService.class, () -> this.legacy)))
        .contains(
            "as.election.algorithm is 'ManualAllocation, legacyElection'",
            "none of its parts keeps a lease; add Mysql, Postgresql, Zookeeper, Etcd");
  }

  @Test
  void emptyListIsRefused() {
    assertThat(StartFailure.text(with("")))
        .contains("as.election.algorithm is ''", "it must be one of ManualAllocation, Mysql");
  }

  @Test
  void manualAllocationWithoutALeaderIsRefused() {
    assertThat(StartFailure.text(with("First,ManualAllocation")))
        .contains("as.election.manual.leader-id is not set");
  }

  @Test
  void serviceOfAnotherElectionIsRefused() {
    SwitchedElection other = new SwitchedElection() {

      @Override
      public String serviceId() {
        return "payments";
      }
    };
    assertThat(StartFailure.text(
            with("other,Second").withBean("other", ElectionService.class, () -> other)))
        .contains("as.election.algorithm is 'other, Second'")
        .contains("the election is 'orders', but serviceId() of bean 'other' is 'payments'")
        .contains("as.election.service-id=payments");
  }

  @Test
  void serviceOfAParentContextIsRefused() {
    new ApplicationContextRunner()
        .withBean("legacyElection", ElectionService.class, () -> this.legacy)
        .run(
            (parent) -> assertThat(
                    StartFailure.text(with("legacyElection,Second").withParent(parent)))
                .contains(
                    "as.election.algorithm is 'legacyElection, Second'",
                    "its part 'legacyElection' is a bean of a parent context; define the bean in the context that has this election"));
  }

  @Test
  void childContextHasTheElectionOfItsParent() {
    this.withLegacy.run((parent) -> with("legacyElection,Second")
        .withParent(parent)
        .run((child) -> assertThat(child.getBean(ElectionService.class))
            .isSameAs(parent.getBean(ElectionService.class))));
  }

  @Test
  void serviceIsAPartOfOneElectionAlone() {
    assertThat(
            StartFailure.text(this.withLegacy.withPropertyValues("as.election.services=reports")))
        .contains("as.election.services is 'reports'")
        .contains("part 'legacyElection' of as.election.algorithm is a bean");
  }

  /** Has a record that was handed back, so that the first node need not wait for a lease. */
  private static class NamedStore extends MemoryLeaseStore {

    private final String name;

    NamedStore(String name) {
      this.name = name;
      try {
        LeaseRow created = Leases.create(this, "orders", "earlier", 1500, 0).orElseThrow();
        Leases.begin(this, "orders", created, 1500);
        release(
            "orders",
            "earlier",
            created.term(),
            "",
            new TermEnd(LeadershipLostEvent.Reason.STOPPED, null));
      } catch (LeaseStoreException ex) {
        throw new IllegalStateException(ex);
      }
    }

    @Override
    public String name() {
      return this.name;
    }
  }

  static class Events {

    final Queue<LeadershipEvent> seen = new ConcurrentLinkedQueue<>();

    @EventListener
    void on(LeadershipEvent event) {
      this.seen.add(event);
    }
  }

  static class Job {

    @LeaderOnly
    public String run() {
      return "ran";
    }

    @LeaderOnly(interruptOnLoss = true)
    public void waitBeyondInterrupt(
        CountDownLatch begun, CountDownLatch interrupted, CountDownLatch end) {
      waitFor(begun, interrupted);
      if (Thread.interrupted()) {
        interrupted.countDown();
      }
      waitFor(begun, end);
    }

    @LeaderOnly
    public void waitFor(CountDownLatch begun, CountDownLatch end) {
      begun.countDown();
      try {
        end.await();
      } catch (InterruptedException ex) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
