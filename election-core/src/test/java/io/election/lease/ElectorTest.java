package io.election.lease;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.election.Instruction;
import io.election.Leadership;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipEvent;
import io.election.LeadershipLostEvent;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/**
 * Tests the elector over a simulated database, stepped by a ticked clock and with its own threads.
 */
class ElectorTest {

  private static final Duration LEASE = Duration.ofSeconds(10);

  private static final LeaseSettings SETTINGS = new LeaseSettings(
      LEASE, Duration.ofSeconds(2), Duration.ofSeconds(1), Duration.ofSeconds(5), true);

  private final AtomicLong clock = new AtomicLong();

  /** How far the wall clock is ahead of the ticker, as after a machine slept. */
  private final AtomicLong wallAhead = new AtomicLong();

  private final SimulatedDatabase database = new SimulatedDatabase();

  private final ListAppender<ILoggingEvent> logged = new ListAppender<>();

  private final List<Node> nodes = new ArrayList<>();

  @BeforeEach
  void listen() {
    this.logged.start();
    logger().addAppender(this.logged);
  }

  @AfterEach
  void tidyUp() {
    for (Node node : this.nodes) {
      node.working = false;
      node.elector.wakeUp();
      node.elector.stop();
    }
    logger().detachAppender(this.logged);
  }

  /** One process, from the view of the election. */
  private final class Node {

    final SimulatedDatabase.Store store = ElectorTest.this.database.new Store();

    final List<LeadershipEvent> events = new ArrayList<>();

    volatile Consumer<LeadershipEvent> listener = (event) -> {
      synchronized (this.events) {
        this.events.add(event);
      }
    };

    volatile boolean working;

    volatile List<String> names = List.of();

    volatile BooleanSupplier isWorking = () -> this.working;

    final List<Long> uncovered = new CopyOnWriteArrayList<>();

    final Elector elector;

    final LeaseElectionService service;

    Node(String id) {
      this(id, SETTINGS);
    }

    Node(String id, LeaseSettings settings) {
      this.elector = new Elector(
          this.store,
          settings,
          () -> id,
          new LeaderWork() {
            @Override
            public boolean isRunning(String serviceId) {
              return Node.this.isWorking.getAsBoolean();
            }

            @Override
            public List<String> describe(String serviceId) {
              return Node.this.names;
            }

            @Override
            public void onUncovered(String serviceId, long term) {
              Node.this.uncovered.add(term);
              Node.this.store.calls.add("uncovered");
            }
          },
          (event) -> this.listener.accept(event),
          ElectorTest.this.clock::get,
          wall());
      this.service = new LeaseElectionService("jobs", this.elector);
      ElectorTest.this.nodes.add(this);
    }

    Node join() {
      this.elector.join(List.of(this.service));
      return this;
    }

    Node start() {
      this.elector.start(List.of(this.service));
      return this;
    }

    List<LeadershipEvent> events() {
      synchronized (this.events) {
        return List.copyOf(this.events);
      }
    }
  }

  private InstantSource wall() {
    return () -> Instant.EPOCH.plusNanos(this.clock.get() + this.wallAhead.get());
  }

  private void tick(Duration duration) {
    this.clock.addAndGet(duration.toNanos());
  }

  /** Advances the clock in small steps; in each step every node does what is due. */
  private void run(Duration duration, Node... nodes) {
    long end = this.clock.get() + duration.toNanos();
    while (this.clock.get() < end) {
      for (Node node : nodes) {
        node.elector.step();
      }
      tick(Duration.ofMillis(50));
    }
  }

  private List<String> lines() {
    synchronized (this.logged) {
      return this.logged.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
    }
  }

  private static ConditionFactory await() {
    return Awaitility.await().pollDelay(Duration.ZERO).pollInterval(Duration.ofMillis(2));
  }

  private static Logger logger() {
    return (Logger) LoggerFactory.getLogger(Elector.class);
  }

  @Test
  void theThreadThatWatchesDeadlinesWakesUpByItselfWhileACallHangs() {
    LeaseSettings brief = new LeaseSettings(
        Duration.ofMillis(600),
        Duration.ofMillis(100),
        Duration.ofMillis(100),
        Duration.ofSeconds(5),
        true);
    CountDownLatch hung = new CountDownLatch(1);
    CountDownLatch healed = new CountDownLatch(1);
    List<LeadershipEvent> events = new CopyOnWriteArrayList<>();
    SimulatedDatabase.Store store = this.database.new Store();
    Elector elector = new Elector(
        store,
        brief,
        () -> "a",
        (serviceId) -> false,
        events::add,
        System::nanoTime,
        InstantSource.system());
    LeaseElectionService service = new LeaseElectionService("jobs", elector);
    elector.start(List.of(service));
    try {
      await().until(() -> !events.isEmpty());
      store.before((name) -> Threaded.block(hung, healed));
      await().until(() -> hung.getCount() == 0);
      await().until(() -> events.get(events.size() - 1) instanceof LeadershipLostEvent);
    } finally {
      healed.countDown();
      elector.stop();
    }
  }

  /** Calls to the store take time, so the instants before and after a call differ. */
  @Nested
  class Slow {

    private static final Duration CALL = Duration.ofMillis(700);

    private static final Duration TENURE = LEASE.minus(SETTINGS.margin());

    private final Node node = new Node("a").join();

    /** The instants at which the node sent its slow calls. */
    private final Map<String, List<Long>> sent = new HashMap<>();

    private void slow(AtomicLong time, String... calls) {
      this.node.store.before((name) -> {
        if (List.of(calls).contains(name)) {
          this.sent
              .computeIfAbsent(name, (key) -> new ArrayList<>())
              .add(ElectorTest.this.clock.get());
          time.addAndGet(CALL.toNanos());
          if (time == ElectorTest.this.clock) {
            // Otherwise the wall clock would end a leadership that lasts too long by the ticker.
            ElectorTest.this.wallAhead.addAndGet(-CALL.toNanos());
          }
        }
      });
    }

    private void runUntilLeading() {
      while (true) {
        this.node.elector.step();
        if (this.node.service.isLeader()) {
          return;
        }
        tick(Duration.ofMillis(10));
      }
    }

    private Duration remaining() {
      return this.node.service.leadership().orElseThrow().remaining();
    }

    @Test
    void theDeadlineCountsFromBeforeTheTermWasOpened() {
      slow(ElectorTest.this.clock, "lead", "take");
      runUntilLeading();
      assertThat(remaining()).isEqualTo(TENURE.minus(CALL));
      this.node.service.lostLeader();
      this.node.elector.step();
      runUntilLeading();
      assertThat(this.sent).as("once opened, once taken").containsKeys("lead", "take");
      assertThat(remaining()).isEqualTo(TENURE.minus(CALL));
    }

    @Test
    void theDeadlineCountsFromBeforeTheRenewalWasSent() {
      runUntilLeading();
      slow(ElectorTest.this.clock, "renew");
      tick(SETTINGS.renewInterval());
      this.node.elector.step();
      assertThat(this.sent).containsKey("renew");
      assertThat(remaining()).isEqualTo(TENURE.minus(CALL));
    }

    @Test
    void theDeadlineCountsFromBeforeTheCallByTheWallClockToo() {
      slow(ElectorTest.this.wallAhead, "lead", "renew", "take");
      runUntilLeading();
      assertThat(this.sent).containsKey("lead");
      assertThat(remaining()).isEqualTo(TENURE.minus(CALL));
      tick(SETTINGS.renewInterval());
      this.sent.clear();
      this.node.elector.step();
      assertThat(this.sent).containsKey("renew");
      assertThat(remaining()).isEqualTo(TENURE.minus(CALL));
      this.node.service.lostLeader();
      this.node.elector.step();
      this.sent.clear();
      runUntilLeading();
      assertThat(this.sent).containsKey("take");
      assertThat(remaining()).isEqualTo(TENURE.minus(CALL));
    }

    @Test
    void aRecordIsWatchedFromAfterTheAnswerThatFirstShowedIt() throws Exception {
      this.node.store.create("jobs", "dead", LEASE.toMillis(), 0);
      slow(ElectorTest.this.clock, "read", "take");
      runUntilLeading();
      long first = this.sent.get("read").get(0);
      assertThat(this.sent.get("take").get(0) - first)
          .isGreaterThanOrEqualTo(LEASE.plus(CALL).toNanos());
    }

    @Test
    void aRecordThatWasCreatedIsKeptWarmForALeaseFromAfterTheAnswer() {
      slow(ElectorTest.this.clock, "create", "lead");
      runUntilLeading();
      long created = this.sent.get("create").get(0);
      assertThat(this.sent.get("lead").get(0) - created)
          .isGreaterThanOrEqualTo(LEASE.plus(CALL).toNanos());
    }

    @Test
    void anAnswerThatComesAfterTheDeadlineMakesNoLeader() {
      runUntilLeading();
      tick(SETTINGS.renewInterval());
      this.node.store.before((name) -> tick(LEASE));
      this.node.elector.step();
      assertThat(this.node.service.isLeader()).isFalse();
      assertThat(this.node.events())
          .last()
          .isEqualTo(lost("a", 1, LeadershipLostEvent.Reason.EXPIRED));
    }
  }

  @Nested
  class Stepped {

    private final Node a = new Node("a").join();

    private final Node b = new Node("b").join();

    @Test
    void theVeryFirstLeaderWaitsOneLeaseAndSaysSo() {
      ElectorTest.this.run(LEASE.minusMillis(100), this.a, this.b);
      assertThat(this.a.service.isLeader()).isFalse();
      assertThat(lines())
          .anyMatch((line) -> line.startsWith(
              "election 'jobs' had no record: node a created it and leads in 10000 ms"));
      ElectorTest.this.run(Duration.ofMillis(200), this.a, this.b);
      assertThat(this.a.service.isLeader()).isTrue();
      assertThat(this.b.service.isLeader()).isFalse();
      assertThat(this.b.service.leaderId()).contains("a");
      assertThat(this.b.service.term()).hasValue(1);
      assertThat(this.b.service.leadership()).isEmpty();
      assertThat(this.a.events())
          .containsExactly(
              new LeadershipAcquiredEvent("jobs", "a", 1, LeadershipAcquiredEvent.Reason.CREATED));
      assertThat(lines())
          .contains(
              "try acquire leader by simulation with result: true (election 'jobs', node a)",
              "become leader by simulation: election 'jobs', node a, term 1 (CREATED)");
    }

    @Test
    void aFollowerTakesOverOneLeaseAfterTheLeaderDied() {
      elect(this.a, this.b);
      ElectorTest.this.run(LEASE.plusSeconds(2), this.b);
      assertThat(this.b.service.leadership()).map(Leadership::term).contains(2L);
      assertThat(ElectorTest.this.database.history("jobs").get(1L).ended()).isTrue();
    }

    @Test
    void aStoreIsSilentFromItsLastAnswerOn() {
      assertThat(this.a.elector.storeContact())
          .hasValueSatisfying((contact) -> assertThat(contact.failure()).isNull());
      elect(this.a, this.b);
      this.a.store.before((name) -> {
        throw new LeaseStoreException("it is gone", null);
      });
      ElectorTest.this.run(LEASE, this.a, this.b);
      assertThat(this.a.elector.storeContact()).hasValueSatisfying((contact) -> {
        assertThat(contact.silence()).isBetween(LEASE.minusSeconds(2), LEASE.plusSeconds(2));
        assertThat(contact.failure()).isEqualTo("it is gone");
      });
      this.a.store.before((name) -> {});
      ElectorTest.this.run(Duration.ofSeconds(3), this.a, this.b);
      assertThat(this.a.elector.storeContact()).hasValueSatisfying((contact) -> {
        assertThat(contact.silence()).isLessThanOrEqualTo(Duration.ofSeconds(2));
        assertThat(contact.failure()).isNull();
      });
      this.a.elector.leave();
      assertThat(this.a.elector.storeContact()).isEmpty();
    }

    @Test
    void aLeaderSendsOneRequestEachRenewIntervalAndAFollowerOneRead() {
      elect(this.a, this.b);
      ElectorTest.this.run(Duration.ofMillis(3_500), this.a, this.b);
      this.a.store.calls.clear();
      this.b.store.calls.clear();
      ElectorTest.this.run(Duration.ofSeconds(20), this.a, this.b);
      assertThat(this.a.store.calls).containsOnly("renew").hasSize(10);
      assertThat(this.b.store.calls).containsOnly("read").hasSizeBetween(9, 10);
    }

    @Test
    void aFollowerTakesOverWithinAPollAfterACleanStop() {
      elect(this.a, this.b);
      this.a.elector.leave();
      assertThat(this.a.service.isLeader()).isFalse();
      ElectorTest.this.run(Duration.ofMillis(2_200), this.a, this.b);
      assertThat(this.b.service.isLeader()).isTrue();
      assertThat(this.a.events())
          .last()
          .isEqualTo(lost("a", 1, LeadershipLostEvent.Reason.STOPPED));
    }

    @Test
    void aHandOverDrainsAndLeadsToTheDesignatedNode() throws Exception {
      Node c = new Node("c").join();
      elect(this.a, this.b, c);
      this.a.working = true;
      this.a.service.designate("c");
      assertThat(this.a.service.isLeader()).isFalse();
      ElectorTest.this.run(Duration.ofSeconds(4), this.a, this.b, c);
      assertThat(ElectorTest.this.nodes).noneMatch((node) -> node.service.isLeader());
      this.a.working = false;
      ElectorTest.this.run(Duration.ofMillis(2_200), this.a, this.b, c);
      assertThat(c.service.isLeader()).isTrue();
      assertThat(this.a.events())
          .last()
          .isEqualTo(lost("a", 1, LeadershipLostEvent.Reason.HANDED_OVER));
      assertThat(lines())
          .anyMatch(
              (line) -> line.contains("designated node 'c' has not led lately; seen were [a]"));
    }

    @Test
    void whoAskedForAnotherLeaderAndWhyIsLoggedAndNoted() throws Exception {
      elect(this.a, this.b);
      this.a.service.designate("b", new Instruction("alice", "canary 'two'"));
      ElectorTest.this.run(Duration.ofSeconds(5), this.a, this.b);
      assertThat(this.b.service.isLeader()).isTrue();
      ElectorTest.this.run(LEASE, this.a, this.b);
      this.b.service.forceElection(new Instruction("bob", ""));
      ElectorTest.this.run(Duration.ofSeconds(5), this.a, this.b);
      assertThat(this.a.service.isLeader()).isTrue();
      // The command comes from a node other than the leader.
      this.b.service.forceElection(new Instruction("carol", "again"));
      ElectorTest.this.run(Duration.ofSeconds(5), this.a, this.b);

      assertThat(ElectorTest.this.database.terms("jobs").subList(0, 3))
          .extracting((entry) -> entry.endReason() + " by " + entry.instruction())
          .containsExactly(
              "HANDED_OVER by alice: canary 'two'", "RESIGNED by bob", "DISPLACED by carol: again");
      assertThat(lines())
          .contains(
              "election 'jobs': node b was designated by alice: canary 'two'",
              "election 'jobs': a new election was forced by bob",
              "election 'jobs': a new election was forced by carol: again");
    }

    @Test
    void theHistoryIsReadOnceAfterEachChangeOfLeaderAndOtherwiseNever() throws Exception {
      elect(this.a, this.b);
      ElectorTest.this.run(Duration.ofSeconds(4), this.a, this.b);
      for (Node node : List.of(this.a, this.b)) {
        assertThat(node.service.history()).singleElement().satisfies((entry) -> {
          assertThat(entry.leaderId()).isEqualTo("a");
          assertThat(entry.until()).isNull();
        });
        node.store.calls.clear();
      }
      ElectorTest.this.run(LEASE.multipliedBy(6), this.a, this.b);
      assertThat(this.a.store.calls).containsOnly("renew");
      assertThat(this.b.store.calls).containsOnly("read");

      this.a.service.designate("b", new Instruction("alice", "canary"));
      ElectorTest.this.run(Duration.ofSeconds(8), this.a, this.b);
      assertThat(this.b.service.isLeader()).isTrue();
      for (Node node : List.of(this.a, this.b)) {
        assertThat(node.service.history())
            .extracting((entry) -> entry.term() + " " + entry.leaderId() + " " + entry.endReason()
                + " " + entry.endedBy() + " " + entry.note())
            .containsExactly("2 b null null null", "1 a HANDED_OVER alice canary");
        node.store.calls.clear();
      }
      ElectorTest.this.run(LEASE.multipliedBy(6), this.a, this.b);
      assertThat(this.a.store.calls).doesNotContain("history");
      assertThat(this.b.store.calls).containsOnly("renew");
    }

    @Test
    void whoBeginsToLeadPrunesTheHistoryOnce() throws Exception {
      ElectorTest.this.database.insertTerm("jobs", 1, "x", 1_000);
      ElectorTest.this.database.insertTerm("jobs", 2, "y", 1_000);
      ElectorTest.this.database.endTerm("jobs", 1, Duration.ofDays(31));
      ElectorTest.this.database.endTerm("jobs", 2, Duration.ofDays(29));
      elect(this.a, this.b);
      ElectorTest.this.run(LEASE.multipliedBy(6), this.a, this.b);
      assertThat(this.a.store.calls).containsOnlyOnce("prune");
      assertThat(this.b.store.calls).doesNotContain("prune");
      assertThat(ElectorTest.this.database.terms("jobs"))
          .extracting(SimulatedDatabase.Entry::term)
          .containsExactly(2L, 3L);

      this.b.store.before((name) -> {
        if (name.equals("prune")) {
          throw new LeaseStoreException("no");
        }
      });
      this.a.service.designate("b");
      ElectorTest.this.run(LEASE.multipliedBy(2), this.a, this.b);
      assertThat(this.b.service.isLeader()).isTrue();
      assertThat(this.b.store.calls).containsOnlyOnce("prune");
    }

    @Test
    void aHistoryThatCannotBeReadHarmsNothingAndIsTriedAgainSoonAndThenAfterAMinute() {
      this.a.store.before((name) -> {
        if (name.equals("history")) {
          throw new LeaseStoreException("Unknown column 'end_reason'");
        }
      });
      elect(this.a);
      ElectorTest.this.run(Duration.ofSeconds(50), this.a);
      assertThat(this.a.service.isLeader()).isTrue();
      assertThat(this.a.service.history()).isEmpty();
      assertThat(this.a.store.calls).filteredOn("history"::equals).hasSize(2);
      assertThat(lines())
          .containsOnlyOnce("Unknown column 'end_reason' (the history is not shown)");
      ElectorTest.this.run(Duration.ofSeconds(60), this.a);
      assertThat(this.a.store.calls).filteredOn("history"::equals).hasSize(3);
      this.a.store.before((name) -> {});
      ElectorTest.this.run(Duration.ofSeconds(60), this.a);
      assertThat(this.a.service.history()).hasSize(1);
      assertThat(this.a.events()).hasSize(1);
    }

    @Test
    void whatSomebodyWroteIntoTheHistoryIsShownOnOneLine() {
      ElectorTest.this.database.insertTerm("jobs", 3, "x\nforged\u202e" + "y".repeat(200), 1_000);
      elect(this.a);
      ElectorTest.this.run(Duration.ofSeconds(4), this.a);
      assertThat(this.a.service.history().get(1).leaderId())
          .startsWith("x\\u000aforged\\u202ey")
          .hasSizeLessThan(150);
    }

    @Test
    void aPausedLeaderDrainsAndStandsAsideUntilItIsResumed() throws Exception {
      elect(this.a, this.b);
      this.a.working = true;
      this.a.service.pause(new Instruction("alice", "canary"));
      assertThat(this.a.service.isLeader()).isFalse();
      assertThat(this.a.service.paused()).contains(new Instruction("alice", "canary"));
      ElectorTest.this.run(Duration.ofSeconds(4), this.a, this.b);
      assertThat(this.b.service.isLeader()).isFalse();
      assertThat(this.a.uncovered).isEmpty();
      this.a.working = false;
      ElectorTest.this.run(Duration.ofMillis(2_200), this.a, this.b);
      assertThat(this.b.service.isLeader()).isTrue();
      assertThat(this.a.events()).last().isEqualTo(lost("a", 1, LeadershipLostEvent.Reason.PAUSED));

      this.b.service.designate("a");
      ElectorTest.this.run(LEASE.minusSeconds(1), this.a, this.b);
      assertThat(ElectorTest.this.nodes).noneMatch((node) -> node.service.isLeader());
      assertThatThrownBy(this.a.service::becomeLeader)
          .isInstanceOf(IllegalStateException.class)
          .hasMessage(
              "Node 'a' is paused in election 'jobs' by alice: canary. Resume it with ElectionService.resume or DELETE /actuator/leader/jobs/pause");
      ElectorTest.this.run(Duration.ofSeconds(5), this.a, this.b);
      assertThat(this.b.service.isLeader()).as("the designation falls back").isTrue();

      this.b.elector.leave();
      ElectorTest.this.run(LEASE.multipliedBy(3), this.a, this.b);
      assertThat(this.a.service.isLeader()).isFalse();
      this.a.service.resume(new Instruction("bob", ""));
      ElectorTest.this.run(Duration.ofSeconds(3), this.a);
      assertThat(this.a.service.isLeader()).isTrue();
      assertThat(this.a.service.paused()).isEmpty();

      this.a.service.resume(new Instruction("carol", ""));
      assertThat(lines())
          .contains(
              "election 'jobs': node a was paused by alice: canary; it does not lead until it is resumed or restarted",
              "election 'jobs': node a was resumed by bob; it may lead again")
          .noneMatch((line) -> line.contains("carol"));
    }

    @Test
    void aPauseEndsWithTheProcess() {
      elect(this.a);
      this.a.service.pause(new Instruction("alice", ""));
      ElectorTest.this.run(Duration.ofSeconds(1), this.a);
      this.a.elector.stop();
      assertThat(this.a.service.paused()).isEmpty();
      assertThatThrownBy(() -> this.a.service.pause(new Instruction("alice", "")))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("is not running on this node");
      this.a.join();
      ElectorTest.this.run(Duration.ofSeconds(3), this.a);
      assertThat(this.a.service.isLeader()).isTrue();
    }

    @Test
    void aNodeDesignatedByHandLeadsSoonIfTheOldLeaderIsAlive() {
      elect(this.a, this.b);
      ElectorTest.this.database.edit("jobs", (row) -> named(row, "b"));
      ElectorTest.this.run(Duration.ofSeconds(5), this.a, this.b);
      assertThat(this.b.service.isLeader()).isTrue();
      assertThat(this.a.events())
          .last()
          .isEqualTo(lost("a", 1, LeadershipLostEvent.Reason.DISPLACED));
    }

    @Test
    void anElectionForcedElsewhereIsWonByAnotherThanTheOldLeader() {
      elect(this.a, this.b);
      ElectorTest.this.database.edit("jobs", (row) -> named(row, ""));
      ElectorTest.this.run(Duration.ofSeconds(5), this.a, this.b);
      assertThat(this.b.service.isLeader()).isTrue();
      assertThat(this.a.service.isLeader()).isFalse();
    }

    @Test
    void aNameThatSomebodyWroteIntoTheRecordCannotForgeALogLine() throws Exception {
      elect(this.a, this.b);
      String forged = "x\n12:00:00 INFO become leader by mysql\u2028" + "y".repeat(200);
      ElectorTest.this.database.edit("jobs", (row) -> named(row, forged));
      ElectorTest.this.run(Duration.ofSeconds(5), this.b);
      assertThat(this.b.service.leaderId().orElseThrow())
          .startsWith("x\\u000a12:00:00 INFO")
          .hasSizeLessThan(150);
      ElectorTest.this.run(Duration.ofSeconds(5), this.a, this.b);

      assertThat(lines())
          .anyMatch((line) -> line.startsWith("election 'jobs' is held by x\\u000a12:00:00"))
          .allSatisfy(
              (line) -> assertThat(line).doesNotContain("\n", "\u2028").hasSizeLessThan(400));
    }

    @Test
    void aNodeDesignatedByHandWaitsOneLeaseIfTheOldLeaderIsDead() {
      elect(this.a, this.b);
      ElectorTest.this.database.edit("jobs", (row) -> named(row, "b"));
      ElectorTest.this.run(LEASE.minusMillis(100), this.b);
      assertThat(this.b.service.isLeader()).isFalse();
      ElectorTest.this.run(Duration.ofSeconds(3), this.b);
      assertThat(this.b.service.isLeader()).isTrue();
    }

    @Test
    void termsGrowThoughBothTablesWereEmptied() {
      elect(this.a, this.b);
      ElectorTest.this.database.emptyTables();
      ElectorTest.this.run(LEASE.plusSeconds(5), this.a, this.b);
      assertThat(List.of(this.a, this.b))
          .filteredOn((node) -> node.service.isLeader())
          .singleElement()
          .satisfies((node) ->
              assertThat(node.service.leadership().orElseThrow().term()).isGreaterThan(1));
    }

    @Test
    void oneOfTwoNodesWithTheSameIdLeadsAndTheOtherWarns() {
      elect(this.a);
      Node twin = new Node("a").join();
      ElectorTest.this.run(LEASE.multipliedBy(3), this.a, twin);
      assertThat(this.a.service.isLeader()).isTrue();
      assertThat(twin.service.isLeader()).isFalse();
      assertThat(lines())
          .filteredOn((line) -> line.startsWith("another process uses node id 'a'"))
          .isNotEmpty()
          .hasSizeLessThan(3);
    }

    @Test
    void anUnreachableStoreEndsTheLeadershipAtItsDeadlineAndIsToldOnceAMinute() {
      elect(this.a, this.b);
      ElectorTest.this.logged.list.clear();
      this.a.store.before((name) -> {
        throw new LeaseStoreException("the store is away");
      });
      ElectorTest.this.run(Duration.ofMinutes(3).minusSeconds(1), this.a);
      assertThat(this.a.service.isLeader()).isFalse();
      assertThat(this.a.events())
          .last()
          .isEqualTo(lost("a", 1, LeadershipLostEvent.Reason.EXPIRED));
      assertThat(lines())
          .filteredOn((line) -> line.startsWith("the store is away"))
          .hasSize(3);
      assertThat(lines().get(0))
          .matches(
              "the store is away \\(keeps trying; leads 'jobs' for another \\d+ ms unless a renewal succeeds\\)");
      this.a.store.before((name) -> {});
      ElectorTest.this.run(LEASE.plusSeconds(3), this.a);
      assertThat(this.a.service.leadership()).map(Leadership::term).contains(2L);
      assertThat(lines())
          .anyMatch((line) -> line.startsWith("the simulation store works again after"));
    }

    @Test
    void aLeaderWhoseStoreWasAwayForLongerThanItsLeaseLeadsAgainAtOnce() {
      elect(this.a);
      this.a.store.before((name) -> {
        throw new LeaseStoreException("the store is away");
      });
      run(LEASE.multipliedBy(3), this.a);
      assertThat(this.a.service.isLeader()).isFalse();
      long term = ElectorTest.this.database.row("jobs").term();
      this.a.store.before((name) -> {});
      run(Duration.ofSeconds(2), this.a);
      assertThat(this.a.service.isLeader()).isTrue();
      assertThat(ElectorTest.this.database.row("jobs").term()).isEqualTo(term + 1);
    }

    @Test
    void followersTryLessOftenTheLongerTheStoreFailsAndWhoLedLastDoesNot() {
      elect(this.a, this.b);
      for (Node node : List.of(this.a, this.b)) {
        node.store.before((name) -> {
          throw new LeaseStoreException("the store is away");
        });
        node.store.calls.clear();
      }
      run(Duration.ofSeconds(60), this.a, this.b);
      assertThat(this.a.store.calls).as("each quarter of an interval").hasSizeBetween(100, 120);
      assertThat(this.b.store.calls).as("each interval at least").hasSizeBetween(30, 60);
    }

    @Test
    void takeOversThatFailAreToldOnceAMinuteThoughReadsWorkAndAreShownUntilTheyWork() {
      elect(this.a, this.b);
      ElectorTest.this.logged.list.clear();
      this.b.store.before((name) -> {
        if (name.equals("take")) {
          throw new LeaseStoreException("UPDATE command denied");
        }
      });
      run(LEASE.plusSeconds(3), this.b);
      run(Duration.ofMinutes(10), this.b);
      assertThat(lines())
          .filteredOn((line) -> line.startsWith("UPDATE command denied (keeps trying"))
          .hasSizeBetween(10, 11);
      assertThat(lines()).noneMatch((line) -> line.contains("works again"));
      assertThat(this.b.elector.storeContact()).hasValueSatisfying((contact) -> {
        assertThat(contact.silence()).isLessThan(Duration.ofSeconds(3));
        assertThat(contact.failing())
            .isBetween(Duration.ofMinutes(10), Duration.ofMinutes(10).plusSeconds(10));
        assertThat(contact.failure()).isEqualTo("UPDATE command denied");
      });

      this.b.store.before((name) -> {});
      run(Duration.ofSeconds(3), this.b);
      assertThat(this.b.service.isLeader()).isTrue();
      assertThat(lines())
          .filteredOn((line) -> line.startsWith("the simulation store works again after"))
          .hasSize(1);
      assertThat(this.b.elector.storeContact()).hasValueSatisfying((contact) -> {
        assertThat(contact.failing()).isZero();
        assertThat(contact.failure()).isNull();
      });
    }

    @Test
    void aTakeOverThatFailedIsForgottenWhenAnotherNodeLeads() {
      elect(this.a, this.b);
      this.b.store.before((name) -> {
        if (name.equals("take")) {
          throw new LeaseStoreException("UPDATE command denied");
        }
      });
      run(LEASE.plusSeconds(3), this.b);
      assertThat(this.b.elector.storeContact())
          .hasValueSatisfying((contact) -> assertThat(contact.failure()).isNotNull());
      run(Duration.ofSeconds(5), this.a, this.b);
      assertThat(this.a.service.isLeader()).isTrue();
      assertThat(this.b.elector.storeContact())
          .hasValueSatisfying((contact) -> assertThat(contact.failure()).isNull());
      assertThat(lines())
          .as("nobody knows whether take-overs work")
          .noneMatch((line) -> line.contains("works again"));
    }

    @Test
    void failuresThatComeAndGoAreToldOnceAMinute() {
      elect(this.a, this.b);
      AtomicLong calls = new AtomicLong();
      this.a.store.before((name) -> {
        if (calls.incrementAndGet() % 2 == 0) {
          throw new LeaseStoreException("the connection is broken");
        }
      });
      run(Duration.ofMinutes(10), this.a, this.b);
      assertThat(this.a.service.isLeader()).isTrue();
      assertThat(lines())
          .filteredOn((line) -> line.startsWith("the connection is broken"))
          .hasSizeBetween(9, 11);
      assertThat(lines()).filteredOn((line) -> line.contains("works again")).hasSizeBetween(9, 11);
    }

    @Test
    void eventsAlternateThroughManyChanges() {
      elect(this.a, this.b);
      for (int i = 0; i < 20; i++) {
        (i % 2 == 0 ? this.a : this.b).service.lostLeader();
        ElectorTest.this.run(Duration.ofSeconds(7), this.a, this.b);
      }
      for (Node node : List.of(this.a, this.b)) {
        assertThat(node.events()).hasSizeGreaterThan(5);
        long term = 0;
        for (int i = 0; i < node.events().size(); i++) {
          LeadershipEvent event = node.events().get(i);
          if (i % 2 == 0) {
            assertThat(event).isInstanceOf(LeadershipAcquiredEvent.class);
            assertThat(event.term()).isGreaterThan(term);
            term = event.term();
          } else {
            assertThat(event).isInstanceOf(LeadershipLostEvent.class);
            assertThat(event.term()).isEqualTo(term);
          }
        }
      }
    }

    @Test
    void whatIsAskedOfASteppedElectorIsDoneOnTheAskingThread() throws Exception {
      elect(this.a);
      this.a.service.lostLeader();
      this.a.elector.step();
      this.a.service.becomeLeader();
      assertThat(this.a.service.leadership()).map(Leadership::term).contains(2L);
      assertThat(this.a.events()).hasSize(3);
    }

    @Test
    void aSteppedElectorHandsBackWhenItStopsOrWhenItsWorkHasEnded() {
      elect(this.a);
      this.a.working = true;
      this.a.elector.stop();
      assertThat(this.a.service.isLeader()).isFalse();
      assertThat(this.a.events()).hasSize(2);
      assertThat(ElectorTest.this.database.row("jobs").isReleased()).isFalse();
      this.a.working = false;
      this.a.elector.step();
      assertThat(ElectorTest.this.database.row("jobs").isReleased()).isTrue();
      this.a.join();
      this.a.elector.step();
      assertThat(this.a.service.leadership()).map(Leadership::term).contains(2L);
    }

    @Test
    void anElectorIsEitherSteppedOrStarted() {
      assertThatThrownBy(this.a::join).isInstanceOf(IllegalStateException.class);
      assertThatThrownBy(this.a::start).isInstanceOf(IllegalStateException.class);
      Node started = new Node("started").start();
      assertThatThrownBy(started.elector::step).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void leaderWorkIsUncoveredAtTheDeadlineAndNotBefore() {
      elect(this.a, this.b);
      this.a.working = true;
      this.a.names = List.of("Jobs.nightly since 48 s");
      this.a.store.before((name) -> {
        throw new LeaseStoreException("the store is away");
      });
      while (this.a.service.isLeader()) {
        assertThat(this.a.uncovered).isEmpty();
        ElectorTest.this.run(Duration.ofMillis(50), this.a);
      }
      this.a.elector.step();
      assertThat(this.a.uncovered).containsExactly(1L);
      assertThat(lines())
          .containsOnlyOnce(
              "election 'jobs': leader work of node a still runs though its lease of term 1 ends: Jobs.nightly since 48 s; another node may start the same work now");
    }

    @Test
    void leaderWorkIsUncoveredAtOnceWhenSomebodyElseIsWrittenIn() {
      elect(this.a, this.b);
      this.a.working = true;
      this.a.names = List.of("Jobs.nightly since 48 s");
      ElectorTest.this.database.edit("jobs", (row) -> named(row, "b"));
      ElectorTest.this.run(Duration.ofMillis(2_200), this.a);
      assertThat(this.a.service.isLeader()).isFalse();
      assertThat(this.a.uncovered).containsExactly(1L);
      assertThat(lines())
          .containsOnlyOnce(
              "election 'jobs': leader work of node a still runs though its lease of term 1 ends: Jobs.nightly since 48 s; another node may start the same work now");
    }

    @Test
    void leaderWorkIsCoveredWhileItDrainsAndUncoveredBeforeTheLeaseIsHandedBack() {
      elect(this.a, this.b);
      this.a.working = true;
      this.a.names = List.of("Jobs.nightly since 48 s");
      this.a.service.lostLeader();
      ElectorTest.this.run(Duration.ofSeconds(4), this.a, this.b);
      assertThat(this.a.service.isLeader()).isFalse();
      assertThat(this.a.uncovered).isEmpty();
      this.a.store.calls.clear();
      ElectorTest.this.run(Duration.ofMillis(1_200), this.a, this.b);
      assertThat(this.a.store.calls).containsSubsequence("uncovered", "release");
      assertThat(this.a.uncovered).containsExactly(1L);
      assertThat(lines())
          .containsOnlyOnce(
              "election 'jobs': leader work of node a still runs though its lease of term 1 ends: Jobs.nightly since 48 s; another node may start the same work now");
    }

    @Test
    void leaderWorkIsUncoveredWhenTheLeaseEndsThoughItMayStillDrain() {
      Node patient = new Node(
              "patient",
              new LeaseSettings(
                  LEASE, Duration.ofSeconds(2), Duration.ofSeconds(1), Duration.ofHours(1), true))
          .join();
      elect(patient);
      patient.working = true;
      patient.service.lostLeader();
      ElectorTest.this.run(LEASE.multipliedBy(3), patient);
      assertThat(patient.uncovered).isEmpty();
      patient.store.before((name) -> {
        throw new LeaseStoreException("the store is away");
      });
      ElectorTest.this.run(LEASE, patient);
      assertThat(patient.uncovered).containsExactly(1L);
    }

    @Test
    void aListenerThatThrowsHarmsNothing() {
      this.a.listener = (event) -> {
        throw new IllegalStateException("listener");
      };
      elect(this.a, this.b);
      ElectorTest.this.run(Duration.ofSeconds(20), this.a, this.b);
      assertThat(this.a.service.isLeader()).isTrue();
    }

    private void elect(Node... nodes) {
      ElectorTest.this.run(LEASE.plusMillis(200), nodes);
      assertThat(nodes[0].service.isLeader()).isTrue();
    }
  }

  @Nested
  class Threaded {

    private final Node node = new Node("a").start();

    @Test
    void lossIsAnnouncedAtTheDeadlineWhileACallHangs() {
      elect();
      CountDownLatch hung = new CountDownLatch(1);
      CountDownLatch healed = new CountDownLatch(1);
      this.node.store.before((name) -> block(hung, healed));
      tick(Duration.ofSeconds(2));
      this.node.elector.wakeUp();
      await().until(() -> hung.getCount() == 0);
      tick(LEASE);
      assertThat(this.node.service.isLeader()).isFalse();
      this.node
          .elector
          .events()
          .add(new LeadershipAcquiredEvent(
              "another", "a", 0, LeadershipAcquiredEvent.Reason.ALLOCATED));
      await()
          .until(
              () -> this.node.events().contains(lost("a", 1, LeadershipLostEvent.Reason.EXPIRED)));
      healed.countDown();
      elect();
      assertThat(this.node.service.leadership()).map(Leadership::term).contains(2L);
    }

    @Test
    void aListenerThatBlocksDelaysNeitherRenewalsNorTheLoss() {
      CountDownLatch listening = new CountDownLatch(1);
      CountDownLatch release = new CountDownLatch(1);
      this.node.listener = (event) -> block(listening, release);
      elect();
      await().until(() -> listening.getCount() == 0);
      for (int i = 0; i < 10; i++) {
        int calls = this.node.store.calls.size();
        tick(Duration.ofSeconds(2));
        this.node.elector.wakeUp();
        await().until(() -> this.node.store.calls.size() > calls && this.node.service.isLeader());
      }
      release.countDown();
    }

    @Test
    void leaderWorkIsUncoveredAtTheDeadlineWhileACallHangsAndAListenerBlocks() {
      CountDownLatch listening = new CountDownLatch(1);
      CountDownLatch heard = new CountDownLatch(1);
      this.node.listener = (event) -> block(listening, heard);
      elect();
      await().until(() -> listening.getCount() == 0);
      CountDownLatch hung = new CountDownLatch(1);
      CountDownLatch healed = new CountDownLatch(1);
      this.node.store.before((name) -> block(hung, healed));
      tick(Duration.ofSeconds(2));
      this.node.elector.wakeUp();
      await().until(() -> hung.getCount() == 0);
      assertThat(this.node.uncovered).isEmpty();
      tick(LEASE);
      this.node
          .elector
          .events()
          .add(new LeadershipAcquiredEvent(
              "another", "a", 0, LeadershipAcquiredEvent.Reason.ALLOCATED));
      await().until(() -> this.node.uncovered.equals(List.of(1L)));
      healed.countDown();
      heard.countDown();
    }

    @Test
    void aListenerThatInterruptsItsThreadKeepsNoEventFromTheNext() {
      Consumer<LeadershipEvent> recording = this.node.listener;
      this.node.listener = (event) -> {
        recording.accept(event);
        Thread.currentThread().interrupt();
      };
      elect();
      await().until(() -> this.node.events().size() == 1);
      this.node.service.lostLeader();
      await().until(() -> this.node.events().size() == 2);
    }

    @Test
    void anInterruptionOfTheElectorsThreadEndsNothing() {
      elect();
      Thread.getAllStackTraces().keySet().stream()
          .filter((thread) -> thread.getName().equals("election-elector"))
          .forEach(Thread::interrupt);
      tick(LEASE);
      assertThat(this.node.service.isLeader()).isFalse();
      elect();
    }

    @Test
    void theWantOfMemoryEndsTheLeadershipAtItsDeadlineAndNothingElse() {
      elect();
      this.node.store.before((name) -> {
        throw new OutOfMemoryError("injected");
      });
      tick(Duration.ofSeconds(2));
      this.node.elector.wakeUp();
      await().until(() -> lines().contains("the elector failed; it goes on"));
      tick(LEASE);
      await()
          .until(
              () -> this.node.events().contains(lost("a", 1, LeadershipLostEvent.Reason.EXPIRED)));
      this.node.store.before((name) -> {});
      elect();
    }

    @Test
    void becomeLeaderThrowsWhatKeptTheAttemptFromBeingMade() {
      this.node.store.before((name) -> {
        throw new LeaseStoreException("the store is away");
      });
      assertThatThrownBy(this.node.service::becomeLeader)
          .isInstanceOf(LeaseStoreException.class)
          .hasMessage("the store is away");
      this.node.store.before((name) -> {});
    }

    @Test
    void becomeLeaderReturnsWhetherOrNotItWon() throws Exception {
      this.node.service.becomeLeader();
      assertThat(this.node.service.isLeader()).isFalse();
      elect();
      this.node.service.becomeLeader();
      assertThat(this.node.service.isLeader()).isTrue();
      this.node.service.lostLeader();
      assertThat(this.node.service.isLeader()).isFalse();
      await().until(() -> this.node.store.calls.contains("release"));
      this.node.service.becomeLeader();
      assertThat(this.node.service.isLeader()).isTrue();
    }

    @Test
    void becomeLeaderWaitsNoLongerThanOneOperationTimeout() {
      CountDownLatch hung = new CountDownLatch(1);
      CountDownLatch healed = new CountDownLatch(1);
      this.node.store.before((name) -> block(hung, healed));
      assertThatThrownBy(this.node.service::becomeLeader)
          .isInstanceOf(TimeoutException.class)
          .hasMessage("The simulation store gave no answer within PT1S; the node goes on trying");
      healed.countDown();
    }

    @Test
    void aNodeThatIsNotEligibleOrNotRunningCannotStand() {
      Node watcher = new Node(
              "watcher",
              new LeaseSettings(
                  LEASE, Duration.ofSeconds(2), Duration.ofSeconds(1), Duration.ZERO, false))
          .start();
      assertThatThrownBy(watcher.service::becomeLeader)
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("as.election.eligible=true");
      this.node.elector.stop();
      assertThatThrownBy(this.node.service::becomeLeader).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void anElectionWithoutARecordCannotBeDecided() {
      this.node.elector.stop();
      Node watcher = new Node(
              "watcher",
              new LeaseSettings(
                  LEASE, Duration.ofSeconds(2), Duration.ofSeconds(1), Duration.ZERO, false))
          .start();
      ElectorTest.this.database.emptyTables();
      assertThatThrownBy(() -> watcher.service.designate("a"))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("has no record yet");
      assertThatThrownBy(watcher.service::forceElection).isInstanceOf(IllegalStateException.class);
      assertThatThrownBy(() -> watcher.service.designate("a\nb"))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage("leader id 'a\\u000ab' must not contain control characters");
    }

    @Test
    void stopsAndStartsAgainManyTimes() {
      elect();
      for (int i = 0; i < 50; i++) {
        this.node.elector.stop();
        assertThat(this.node.service.isLeader()).isFalse();
        assertThat(ElectorTest.this.database.row("jobs").isReleased()).isTrue();
        this.node.elector.start(List.of(this.node.service));
        await().until(this.node.service::isLeader);
      }
      await().until(() -> this.node.events().size() == 101);
      assertThat(Thread.getAllStackTraces().keySet())
          .filteredOn((thread) -> thread.getName().startsWith("election-") && thread.isAlive())
          .hasSizeLessThanOrEqualTo(3);
    }

    @Test
    void aStopThatRunsOutOfPatienceKeepsTheLeaseUntilWorkHasEnded() {
      elect();
      this.node.working = true;
      this.node.names = List.of("Jobs.nightly since 48 s");
      stopWithoutPatience(this.node);
      assertThat(this.node.service.isLeader()).isFalse();
      for (int i = 0; i < 40; i++) {
        int calls = this.node.store.calls.size();
        await().until(() -> {
          tick(Duration.ofMillis(500));
          this.node.elector.wakeUp();
          return this.node.store.calls.size() > calls;
        });
      }
      assertThat(this.node.store.calls).doesNotContain("release");
      assertThat(this.node.uncovered).containsExactly(1L);
      assertThat(lines())
          .filteredOn(
              (line) -> line.startsWith(
                  "election 'jobs': node a was stopped, but leader work still runs: Jobs.nightly since 48 s; it keeps the lease until that or the process ends."))
          .hasSizeGreaterThanOrEqualTo(2)
          .hasSizeLessThanOrEqualTo(
              2 + (int) Duration.ofNanos(ElectorTest.this.clock.get()).toMinutes());
      assertThat(ElectorTest.this.database.row("jobs").isReleased()).isFalse();
      this.node.working = false;
      this.node.names = List.of();
      this.node.elector.wakeUp();
      await().until(() -> electionThreads() == 0);
      assertThat(ElectorTest.this.database.row("jobs").isReleased()).isTrue();
      assertThat(this.node.events())
          .last()
          .isEqualTo(lost("a", 1, LeadershipLostEvent.Reason.STOPPED));
    }

    @Test
    void noOtherNodeLeadsWhileAStoppedOneKeepsTheLease() {
      elect();
      Node other = new Node("b").start();
      this.node.working = true;
      stopWithoutPatience(this.node);
      for (int i = 0; i < 15; i++) {
        int renewals = this.node.store.calls.size();
        await().until(() -> {
          this.node.elector.wakeUp();
          tick(Duration.ofMillis(100));
          return this.node.store.calls.size() > renewals;
        });
        other.elector.wakeUp();
        assertThat(other.service.isLeader()).isFalse();
      }
      this.node.working = false;
      this.node.elector.wakeUp();
      await().until(() -> {
        tick(Duration.ofMillis(100));
        other.elector.wakeUp();
        return other.service.isLeader();
      });
      assertThat(this.node.store.calls).contains("release");
    }

    @ParameterizedTest
    @ValueSource(strings = {"designate", "force", "pause", "lostLeader", "row"})
    void aCommandEndsThatAtOnceAndNamesTheWork(String command) throws Exception {
      elect();
      this.node.working = true;
      this.node.names = List.of("Jobs.nightly since 48 s");
      stopWithoutPatience(this.node);
      // No caller waits for the stop any more.
      tick(SETTINGS.drainTimeout());
      await().until(() -> {
        this.node.elector.wakeUp();
        return lines().stream().anyMatch((line) -> line.contains("node a was stopped, but"));
      });
      Instruction instruction = new Instruction("alice", "");
      switch (command) {
        case "designate" -> this.node.service.designate("b", instruction);
        case "force" -> this.node.service.forceElection(instruction);
        case "pause" -> this.node.service.pause(instruction);
        case "lostLeader" -> this.node.service.lostLeader();
        default -> {
          ElectorTest.this.database.edit("jobs", (row) -> named(row, "b"));
          tick(SETTINGS.renewInterval());
          this.node.elector.wakeUp();
        }
      }
      await().until(() -> electionThreads() == 0);
      assertThat(ElectorTest.this.database.row("jobs").isReleased()).isTrue();
      assertThat(lines())
          .contains(
              "election 'jobs': node a, which was stopped, has no lease any more though leader work still runs: Jobs.nightly since 48 s; another node may start the same work now");
      if (command.equals("designate")) {
        assertThat(ElectorTest.this.database.row("jobs").leaderId()).isEqualTo("b");
        assertThat(ElectorTest.this.database.terms("jobs").get(0).endReason())
            .isEqualTo("HANDED_OVER");
      }
      this.node.working = false;
      this.node.names = List.of();
    }

    @Test
    void aStartDoesNotStandUntilTheWorkFromBeforeTheStopHasEnded() throws Exception {
      elect();
      this.node.working = true;
      this.node.names = List.of("Jobs.nightly since 48 s");
      stopWithoutPatience(this.node);
      this.node.start();
      Node anotherContext = new Node("a");
      anotherContext.start();
      assertThat(lines())
          .filteredOn(
              (line) -> line.startsWith(
                  "election 'jobs': node a was started again, and does not stand until leader work from before the stop has ended: Jobs.nightly since 48 s."))
          .hasSize(2);
      assertThatThrownBy(this.node.service::becomeLeader)
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("does not stand for election 'jobs' yet");
      int calls = this.node.store.calls.size();
      await().until(() -> {
        tick(Duration.ofMillis(500));
        this.node.elector.wakeUp();
        return this.node.store.calls.size() > calls + 10;
      });
      assertThat(this.node.service.isLeader()).isFalse();
      assertThat(anotherContext.service.isLeader()).isFalse();
      assertThat(anotherContext.store.calls).isEmpty();
      stopWithoutPatience(anotherContext);
      this.node.working = false;
      this.node.names = List.of();
      elect();
      assertThat(this.node.service.leadership()).map(Leadership::term).contains(2L);
    }

    /**
     * The other class loader shares no static state with this one, as after a restart by the
     * developer tools.
     */
    @Test
    void aStartThroughAnotherClassLoaderWaitsAsForAnotherNode() {
      elect();
      this.node.working = true;
      stopWithoutPatience(this.node);
      Elector restarted = new Elector(
          ElectorTest.this.database.new Store() {
            @Override
            public String name() {
              return "through another class loader";
            }
          },
          SETTINGS,
          () -> "a",
          (serviceId) -> false,
          (event) -> {},
          ElectorTest.this.clock::get,
          wall());
      LeaseElectionService service = new LeaseElectionService("jobs", restarted);
      restarted.join(List.of(service));
      for (int i = 0; i < 15; i++) {
        int renewals = this.node.store.calls.size();
        await().until(() -> {
          this.node.elector.wakeUp();
          tick(Duration.ofMillis(100));
          return this.node.store.calls.size() > renewals;
        });
        restarted.step();
        assertThat(service.isLeader()).isFalse();
      }
      this.node.working = false;
      this.node.elector.wakeUp();
      await().until(() -> {
        tick(Duration.ofMillis(100));
        restarted.step();
        return service.isLeader();
      });
      assertThat(this.node.store.calls).contains("release");
    }

    @Test
    void aCommandToANewElectorOfTheProcessReachesTheWorkOfTheOldOne() throws Exception {
      elect();
      this.node.working = true;
      stopWithoutPatience(this.node);
      tick(SETTINGS.drainTimeout());
      Node anotherContext = new Node("a");
      anotherContext.start();
      anotherContext.service.pause(new Instruction("alice", "upgrade"));
      await().until(() -> ElectorTest.this.database.row("jobs").isReleased());
      await().until(() -> anotherContext.service.paused().isPresent());
      this.node.working = false;
    }

    private static long electionThreads() {
      return Thread.getAllStackTraces().keySet().stream()
          .filter((thread) -> thread.getName().startsWith("election-"))
          .count();
    }

    @Test
    void noTwoThreadsCallTheStoreThoughACallOfAnEarlierLifeHangs() {
      AtomicInteger inside = new AtomicInteger();
      AtomicInteger most = new AtomicInteger();
      CountDownLatch hung = new CountDownLatch(1);
      CountDownLatch healed = new CountDownLatch(1);
      AtomicBoolean closedWithin = new AtomicBoolean();
      Node stubborn = new Node("b");
      stubborn.store.before((name) -> {
        most.accumulateAndGet(inside.incrementAndGet(), Math::max);
        hung.countDown();
        awaitThroughInterruptions(healed);
        inside.decrementAndGet();
      });
      stubborn.store.onClose = () -> closedWithin.compareAndSet(false, inside.get() > 0);
      for (int i = 0; i < 3; i++) {
        stubborn.start();
        await().until(() -> hung.getCount() == 0);
        stopWithoutPatience(stubborn);
      }
      stubborn.start();
      // Waiting threads end when they are stopped: only the one that hangs and the last one are
      // left.
      await().until(() -> electorThreads("b") == 2);
      assertThat(inside).hasValue(1);
      healed.countDown();
      await().until(() -> electorThreads("b") == 1);
      await().until(() -> {
        tick(Duration.ofMillis(500));
        stubborn.elector.wakeUp();
        return stubborn.service.leaderId().isPresent();
      });
      assertThat(most).hasValue(1);
      assertThat(closedWithin).isFalse();
    }

    @Test
    void afterItsDismissalAThreadMakesNoMoreCalls() {
      List<LeaseElectionService> services = new ArrayList<>();
      Node busy = new Node("b");
      for (int i = 0; i < 10; i++) {
        services.add(new LeaseElectionService("jobs-" + i, busy.elector));
      }
      busy.elector.start(services);
      await().until(() -> {
        tick(Duration.ofMillis(500));
        busy.elector.wakeUp();
        return services.stream().allMatch(LeaseElectionService::isLeader);
      });
      CountDownLatch hung = new CountDownLatch(1);
      CountDownLatch healed = new CountDownLatch(1);
      busy.store.before((name) -> {
        hung.countDown();
        awaitThroughInterruptions(healed);
      });
      tick(SETTINGS.renewInterval());
      busy.elector.wakeUp();
      await().until(() -> hung.getCount() == 0);
      stopWithoutPatience(busy);
      busy.store.calls.clear();
      healed.countDown();
      await().until(() -> electorThreads("b") == 0);
      assertThat(busy.store.calls).isEmpty();
    }

    @Test
    void whatWasAskedOfOneLifeIsNotDoneInTheNext() {
      elect();
      Node other = new Node("b").start();
      await().until(() -> other.service.leaderId().isPresent());
      CountDownLatch hung = new CountDownLatch(1);
      CountDownLatch healed = new CountDownLatch(1);
      other.store.before((name) -> {
        hung.countDown();
        awaitThroughInterruptions(healed);
      });
      await().until(() -> {
        tick(Duration.ofMillis(250));
        this.node.elector.wakeUp();
        other.elector.wakeUp();
        return hung.getCount() == 0;
      });
      assertThatThrownBy(() -> other.service.designate("c")).isInstanceOf(TimeoutException.class);
      stopWithoutPatience(other);
      other.start();
      healed.countDown();
      await().until(() -> {
        tick(Duration.ofMillis(500));
        this.node.elector.wakeUp();
        other.elector.wakeUp();
        return other.service.leaderId().isPresent();
      });
      assertThat(other.store.calls).doesNotContain("designate");
    }

    @Test
    void whoWaitsForAnAnswerWhenTheElectorStopsIsToldAtOnce() {
      CountDownLatch hung = new CountDownLatch(1);
      CountDownLatch healed = new CountDownLatch(1);
      Node other = new Node(
          "b",
          new LeaseSettings(
              Duration.ofMinutes(10),
              Duration.ofSeconds(2),
              Duration.ofMinutes(4),
              Duration.ZERO,
              true));
      other.store.before((name) -> {
        hung.countDown();
        awaitThroughInterruptions(healed);
      });
      other.start();
      await().until(() -> hung.getCount() == 0);
      List<Throwable> outcomes = new CopyOnWriteArrayList<>();
      Thread asking = new Thread(() -> {
        try {
          other.service.becomeLeader();
        } catch (Exception ex) {
          outcomes.add(ex);
        }
      });
      asking.start();
      await().until(() -> asking.getState() == Thread.State.TIMED_WAITING);
      stopWithoutPatience(other);
      await().until(() -> !outcomes.isEmpty());
      assertThat(outcomes.get(0))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("is not running on this node");
      healed.countDown();
    }

    @RepeatedTest(20)
    void whoAsksDuringTheFirstStartIsAnsweredByItsThread() throws Exception {
      Node other = new Node("b");
      List<Throwable> failures = new CopyOnWriteArrayList<>();
      CountDownLatch asking = new CountDownLatch(1);
      Thread eager = new Thread(() -> {
        boolean asked = false;
        while (!asked) {
          try {
            asking.countDown();
            other.service.becomeLeader();
            asked = true;
          } catch (IllegalStateException ex) {
            if (!String.valueOf(ex.getMessage()).contains("is not running on this node")) {
              failures.add(ex);
              asked = true;
            }
          } catch (Exception ex) {
            asked = true;
          }
        }
      });
      eager.start();
      asking.await();
      other.start();
      eager.join();
      assertThat(failures).isEmpty();
    }

    @Test
    void workThatCannotSayWhetherItRunsIsWaitedForWhenTheElectorStops() {
      elect();
      AtomicInteger asked = new AtomicInteger();
      this.node.isWorking = () -> {
        if (asked.incrementAndGet() < 10) {
          throw new IllegalStateException("unknown");
        }
        return false;
      };
      Thread stopping = new Thread(this.node.elector::stop);
      stopping.start();
      await().until(() -> {
        this.node.elector.wakeUp();
        return !stopping.isAlive();
      });
      assertThat(this.node.store.calls).contains("release");
      assertThat(lines())
          .filteredOn((line) -> line.startsWith("whether leader work runs is unknown"))
          .hasSize(1);
    }

    /** Stops on an interrupted thread, so that the stop waits for nothing. */
    private static void stopWithoutPatience(Node node) {
      Thread stopping = new Thread(() -> {
        Thread.currentThread().interrupt();
        node.elector.stop();
      });
      stopping.start();
      await().until(() -> !stopping.isAlive());
    }

    /** The number of elector threads, except those of the first elector. */
    private long electorThreads(String id) {
      assertThat(id).as("the first one, 'a', has one").isEqualTo("b");
      return Thread.getAllStackTraces().keySet().stream()
              .filter((thread) -> thread.getName().equals("election-elector"))
              .count()
          - 1;
    }

    private static void awaitThroughInterruptions(CountDownLatch latch) {
      while (true) {
        try {
          latch.await();
          return;
        } catch (InterruptedException ex) {
          // Ignored, as by a driver that does not support interruption.
        }
      }
    }

    @Test
    void stopsThoughTheStoreIsDead() {
      elect();
      this.node.store.before((name) -> {
        throw new LeaseStoreException("the store is away");
      });
      Thread stopping = new Thread(this.node.elector::stop);
      stopping.start();
      await().until(() -> this.node.store.calls.contains("release"));
      assertThat(this.node.service.isLeader()).isFalse();
      await().until(() -> {
        tick(Duration.ofMillis(100));
        this.node.elector.wakeUp();
        return !stopping.isAlive();
      });
    }

    private void elect() {
      await().until(() -> {
        tick(Duration.ofMillis(500));
        this.node.elector.wakeUp();
        return this.node.service.isLeader();
      });
    }

    private static void block(CountDownLatch reached, CountDownLatch release) {
      reached.countDown();
      try {
        release.await();
      } catch (InterruptedException ex) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private static LeaseRow named(LeaseRow row, String leaderId) {
    return new LeaseRow(
        leaderId,
        row.term(),
        row.version(),
        row.leaseMillis(),
        row.lastTermLeaseMillis(),
        row.lastActiveTime(),
        row.source());
  }

  private static LeadershipLostEvent lost(
      String nodeId, long term, LeadershipLostEvent.Reason reason) {
    return new LeadershipLostEvent("jobs", nodeId, term, reason);
  }
}
