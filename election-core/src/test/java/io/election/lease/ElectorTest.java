package io.election.lease;

import static io.election.LeadershipLostEvent.Reason.EXPIRED;
import static io.election.LeadershipLostEvent.Reason.HANDED_OVER;
import static io.election.LeadershipLostEvent.Reason.PAUSED;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import io.election.AuditNote;
import io.election.ExpectedLeader;
import io.election.Leadership;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipLostEvent;
import io.election.Names;
import io.election.OtherLeaderException;
import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;
import java.lang.reflect.Field;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests electors that are stepped. */
class ElectorTest extends ElectorFixture {

  private static final String STILL_RUNS =
      "election 'jobs': leader work of node a still runs although its lease of term 1 ends: Jobs.nightly since 48 s; another node may start the same work now";

  private static final Duration CALL = ofMillis(700);

  private final Node a = new Node("a").join();

  private final Node b = new Node("b").join();

  private final Map<String, List<Long>> sent = new HashMap<>();

  /**
   * Lets calls take time, so the instants before and after a call differ.
   *
   * @param ahead by how much more the wall clock advances during a call
   */
  private void slow(Duration ahead, String... calls) {
    this.a.store.before((name) -> {
      if (List.of(calls).contains(name)) {
        this.sent.computeIfAbsent(name, (key) -> new ArrayList<>()).add(this.clock.get());
        this.clock.addAndGet(CALL.toNanos());
        this.wallAhead.addAndGet(ahead.toNanos());
      }
    });
  }

  private void runUntilLeading() {
    while (true) {
      this.a.elector.step();
      if (this.a.service.isLeader()) {
        return;
      }
      tick(ofMillis(10));
    }
  }

  private void assertThatTheDeadlineCountsFromBefore(String call, Duration passed) {
    assertThat(this.sent).containsOnlyKeys(call);
    assertThat(this.a.service.leadership().orElseThrow().remaining())
        .isEqualTo(LEASE.minus(SETTINGS.margin()).minus(passed));
    assertThat(this.a.service.renewalAge()).contains(passed);
    this.sent.clear();
  }

  private void assertThatALeasePassesBetweenTheAnswersTo(String first, String then) {
    slow(Duration.ZERO, first, then);
    runUntilLeading();
    assertThat(this.sent.get(then).get(0) - this.sent.get(first).get(0))
        .isGreaterThanOrEqualTo(LEASE.plus(CALL).toNanos());
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void theDeadlineCountsFromBeforeTheCallByEitherClock(boolean monotonic) {
    Duration half = SETTINGS.margin().dividedBy(2);
    Duration ahead = monotonic ? half.negated() : half;
    Duration passed = monotonic ? CALL : CALL.plus(ahead);
    slow(ahead, "lead", "renew", "take");
    runUntilLeading();
    assertThatTheDeadlineCountsFromBefore("lead", passed);
    tick(SETTINGS.renewInterval());
    this.a.elector.step();
    assertThatTheDeadlineCountsFromBefore("renew", passed);
    this.a.service.lostLeader();
    this.a.elector.step();
    runUntilLeading();
    assertThatTheDeadlineCountsFromBefore("take", passed);
  }

  @Test
  void aRecordIsWatchedFromAfterTheAnswerThatFirstShowedIt() throws Exception {
    this.a.store.create(
        "jobs",
        new LeaseStore.Claim("dead", LEASE.toMillis(), 0, LeadershipAcquiredEvent.Reason.CREATED));
    assertThatALeasePassesBetweenTheAnswersTo("read", "take");
  }

  @Test
  void aRecordThatWasCreatedIsKeptWarmForALeaseFromAfterTheAnswer() {
    assertThatALeasePassesBetweenTheAnswersTo("create", "lead");
  }

  @Test
  void anAnswerThatComesAfterTheDeadlineMakesNoLeader() {
    runUntilLeading();
    tick(SETTINGS.renewInterval());
    this.a.store.before((name) -> tick(LEASE));
    this.a.elector.step();
    assertThat(this.a.service.isLeader()).isFalse();
    assertLastLoss(this.a, EXPIRED);
  }

  @Test
  void theVeryFirstLeaderWaitsOneLeaseAndSaysSo() {
    run(LEASE.minusMillis(100), this.a, this.b);
    assertThat(this.a.service.isLeader()).isFalse();
    assertThat(
            linesWith("election 'jobs' had no record: node a created it and will lead in 10000 ms"))
        .isNotEmpty();
    run(ofMillis(200), this.a, this.b);
    assertThat(this.a.service.isLeader()).isTrue();
    assertThat(this.b.service.isLeader()).isFalse();
    assertThat(this.b.service.leaderId()).contains("a");
    assertThat(this.b.service.term()).hasValue(1);
    assertThat(this.b.service.leadership()).isEmpty();
    assertThat(this.a.events)
        .containsExactly(
            new LeadershipAcquiredEvent("jobs", "a", 1, LeadershipAcquiredEvent.Reason.CREATED));
    assertThat(lines())
        .contains(
            "try acquire leader by " + this.database.name()
                + " with result: true (election 'jobs', node a)",
            "become leader by " + this.database.name()
                + ": election 'jobs', node a, term 1 (CREATED)");
  }

  @Test
  void aHandOverDrainsAndLeadsToTheDesignatedNode() throws Exception {
    Node c = new Node("c").join();
    elect(this.a, this.b, c);
    this.a.working = true;
    this.a.service.designate("c");
    assertThat(this.a.service.isLeader()).isFalse();
    run(ofSeconds(4), this.a, this.b, c);
    assertThat(this.nodes).noneMatch((node) -> node.service.isLeader());
    this.a.working = false;
    run(ofMillis(2_200), this.a, this.b, c);
    assertThat(c.service.isLeader()).isTrue();
    assertLastLoss(this.a, HANDED_OVER);
    assertThat(lines()).contains("election 'jobs': node c was designated");
    assertThat(linesWith("designated node 'c' has not led lately; seen were [a]"))
        .hasSize(1);
  }

  @Test
  void aDesignationOfANodeThatNeverLedIsWarnedOf() throws Exception {
    elect(this.a, this.b);
    this.b.service.designate("c");
    assertThat(linesWith("designated node 'c' has not led lately; seen were [a, b]"))
        .hasSize(1);
    assertThat(lines()).contains("election 'jobs': node c was designated");
  }

  @Test
  void theActorOfACommandAndItsReasonAreLoggedAndNoted() throws Exception {
    elect(this.a, this.b);
    this.a.service.designate("b", new AuditNote("alice", "canary 'two'"));
    run(ofSeconds(5), this.a, this.b);
    assertThat(this.b.service.isLeader()).isTrue();
    run(LEASE, this.a, this.b);
    this.b.service.forceElection(new AuditNote("bob", ""));
    run(ofSeconds(5), this.a, this.b);
    assertThat(this.a.service.isLeader()).isTrue();
    run(LEASE, this.a, this.b);
    // The command comes from a node other than the leader.
    this.b.service.forceElection(new AuditNote("carol", "again"));
    run(ofSeconds(5), this.a, this.b);
    assertThat(this.b.service.isLeader()).as("another than the old leader").isTrue();

    assertThat(this.database.history("jobs").headMap(3L, true).values())
        .extracting((term) -> term.endReason() + " by " + term.auditNote())
        .containsExactly(
            "HANDED_OVER by alice: canary 'two'", "RESIGNED by bob", "DISPLACED by carol: again");
    assertThat(lines())
        .contains(
            "election 'jobs': node b was designated by alice: canary 'two'",
            "election 'jobs': a new election was forced by bob",
            "election 'jobs': a new election was forced by carol: again");
  }

  /** Otherwise an appender that blocks would hold what the thread that watches deadlines needs. */
  @Test
  void aForcedElectionIsLoggedAfterTheChange() throws Exception {
    runUntilLeading();
    List<Boolean> led = new ArrayList<>();
    AppenderBase<ILoggingEvent> appender = new AppenderBase<>() {
      @Override
      protected void append(ILoggingEvent event) {
        if (event.getFormattedMessage().contains("was forced")) {
          led.add(ElectorTest.this.a.service.isLeader());
        }
      }
    };
    appender.start();
    logger().addAppender(appender);
    this.a.service.forceElection();
    logger().detachAppender(appender);
    assertThat(led).containsExactly(false);
  }

  @Test
  void aRequestToAnEarlierRunIsRefused() {
    Inbox inbox = new Inbox();
    boolean[] ran = new boolean[1];
    CompletableFuture<?> outcome =
        inbox.add("an earlier run", this.a.service.candidate(), () -> ran[0] = true);
    assertThat(inbox.runNext("this run")).isNull();
    assertThat(ran[0]).isFalse();
    assertThat(outcome).isCompletedExceptionally();
  }

  @Test
  void aNodeDoesNotFollowAnElectionWhoseRecordNamesIt() {
    Node watching = new Node("c", settings(ofSeconds(5), false)).join();
    this.database.replace("jobs", "c");
    run(ofSeconds(3), watching);
    assertThat(watching.service.candidate().candidacy().seen()).isNotNull();
    assertThat(watching.service.candidate().follows()).isFalse();
    this.database.replace("jobs", "d");
    run(ofSeconds(3), watching);
    assertThat(watching.service.candidate().follows()).isTrue();
  }

  @Test
  void theDeadlineOfEachElectionIsWatchedNotThatOfTheFirstAlone() {
    Node many = new Node("c", SETTINGS, this.database.new Store(), "first", "second").join();
    run(LEASE.multipliedBy(2), many);
    many.service.lostLeader();
    run(ofMillis(200), many);
    DeadlineWatch watch = new DeadlineWatch(
        many.elector.candidates(),
        new Clocks(
            this.clock::get,
            () -> Instant.EPOCH.plusNanos(this.clock.get() + this.wallAhead.get())),
        ofHours(1),
        new ElectionLog("test"));
    Duration remaining = many.services.get(1).leadership().orElseThrow().remaining();
    assertThat(watch.untilDeadline()).isEqualTo(remaining.toNanos());
  }

  @Test
  void anElectionIsForcedOnlyIfTheExpectedNodeLeadsInTheExpectedTerm() throws Exception {
    elect(this.a, this.b);
    AuditNote bob = new AuditNote("bob", "");
    for (Node asked : List.of(this.a, this.b)) {
      for (ExpectedLeader other : List.of(
          new ExpectedLeader("b", null),
          new ExpectedLeader(null, 2L),
          new ExpectedLeader("a", 0L),
          new ExpectedLeader("b", 1L))) {
        assertThatThrownBy(() -> asked.service.forceElection(bob, other))
            .as("%s of %s", other, asked.id)
            .isInstanceOf(OtherLeaderException.class)
            .hasMessageContaining("is led by 'a' in term 1")
            .satisfies(
                (ex) -> assertThat(((OtherLeaderException) ex).leaderId()).hasValue("a"))
            .satisfies((ex) -> assertThat(((OtherLeaderException) ex).term()).hasValue(1));
      }
    }
    run(ofSeconds(5), this.a, this.b);
    assertThat(this.a.service.isLeader()).isTrue();
    assertThat(linesWith("was forced")).isEmpty();

    this.b.service.forceElection(bob, new ExpectedLeader("a", 1L));
    run(ofSeconds(5), this.a, this.b);
    assertThat(this.b.service.isLeader()).isTrue();
    run(LEASE, this.a, this.b);

    this.b.service.forceElection(bob, new ExpectedLeader(null, 2L));
    assertThat(this.b.service.isLeader()).isFalse();
    step(this.b);
    assertThatThrownBy(() -> this.b.service.forceElection(bob, new ExpectedLeader("b", null)))
        .hasMessage("no node leads election 'jobs' now");
    run(ofSeconds(5), this.a, this.b);
    assertThat(this.a.service.isLeader()).isTrue();
  }

  @Test
  void aLeaderThatIsElectedDuringTheComparisonStays() throws Exception {
    elect(this.a, this.b);
    this.b.store.before((name) -> {
      if (name.equals("designate") && this.database.row("jobs").term() == 1) {
        this.database.acquire(
            "jobs",
            this.database.row("jobs"),
            new LeaseStore.Claim("c", 10_000, 0, LeadershipAcquiredEvent.Reason.EXPIRED));
      }
    });
    assertThatThrownBy(() ->
            this.b.service.forceElection(new AuditNote("bob", ""), new ExpectedLeader("a", 1L)))
        .hasMessageContaining("is led by 'c' in term 2");
    assertThat(this.database.row("jobs").leaderId()).isEqualTo("c");
  }

  @Test
  void aRecordThatChangesAllTheTimeIsNotCompared() {
    elect(this.a, this.b);
    this.b.store.before((name) -> {
      if (name.equals("designate")) {
        this.database.touch("jobs", this.database.row("jobs"));
      }
    });
    assertThatThrownBy(() ->
            this.b.service.forceElection(new AuditNote("bob", ""), new ExpectedLeader("a", null)))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("changes while it is compared");
    assertThat(this.b.calls("designate")).isEqualTo(4);
  }

  @Test
  void theHistoryIsReadOnceAfterEachChangeOfLeaderAndOtherwiseNever() throws Exception {
    elect(this.a, this.b);
    run(LEASE.plusSeconds(4), this.a, this.b);
    assertHistory("1 a null null null");
    run(LEASE.multipliedBy(6), this.a, this.b);
    assertThat(this.a.store.calls).containsOnly("renew");
    assertThat(this.b.store.calls).containsOnly("read");

    this.a.service.designate("b", new AuditNote("alice", "canary"));
    run(LEASE.plusSeconds(8), this.a, this.b);
    assertThat(this.b.service.isLeader()).isTrue();
    assertHistory("2 b null null null", "1 a HANDED_OVER alice canary");
    run(LEASE.multipliedBy(6), this.a, this.b);
    assertThat(this.a.store.calls).doesNotContain("history");
    assertThat(this.b.store.calls).containsOnly("renew");
  }

  private void assertHistory(String... entries) {
    for (Node node : this.nodes) {
      assertThat(node.service.history())
          .extracting((entry) -> entry.term() + " " + entry.leaderId() + " " + entry.endReason()
              + " " + entry.endedBy() + " " + entry.note())
          .containsExactly(entries);
      assertThat(node.service.history().get(0).until()).isNull();
      node.store.calls.clear();
    }
  }

  @Test
  void aNewLeaderPrunesTheHistoryOnce() throws Exception {
    this.database.insertTerm("jobs", 1, "x", 1_000);
    this.database.insertTerm("jobs", 2, "y", 1_000);
    this.database.endTerm("jobs", 1, Duration.ofDays(31));
    this.database.endTerm("jobs", 2, Duration.ofDays(29));
    elect(this.a, this.b);
    run(LEASE.multipliedBy(6), this.a, this.b);
    assertThat(this.a.store.calls).containsOnlyOnce("prune");
    assertThat(this.b.store.calls).doesNotContain("prune");
    assertThat(this.database.history("jobs")).containsOnlyKeys(2L, 3L);

    this.b.fail("no", "prune");
    logger().setLevel(Level.DEBUG);
    this.a.service.designate("b");
    run(LEASE.multipliedBy(2), this.a, this.b);
    assertThat(this.b.service.isLeader()).isTrue();
    assertThat(this.b.store.calls).containsOnlyOnce("prune");
    assertThat(lines()).contains("the history was not pruned");
  }

  @Test
  void aHistoryThatCannotBeReadHarmsNothingAndIsTriedAgainSoonAndThenAfterAMinute() {
    this.a.fail("Unknown column 'end_reason'", "history");
    elect(this.a);
    run(ofSeconds(50), this.a);
    assertThat(this.a.service.isLeader()).isTrue();
    assertThat(this.a.service.history()).isEmpty();
    assertThat(this.a.calls("history")).isEqualTo(2);
    assertThat(lines()).containsOnlyOnce("Unknown column 'end_reason' (the history is not shown)");
    run(ofSeconds(60), this.a);
    assertThat(this.a.calls("history")).isEqualTo(3);
    this.a.heal();
    run(ofSeconds(60), this.a);
    assertThat(this.a.service.history()).hasSize(1);
    assertThat(this.a.events).hasSize(1);
  }

  @Test
  void whatSomebodyWroteIntoTheHistoryIsShownOnOneLine() {
    this.database.insertTerm("jobs", 3, "x\nforged\u202e" + "y".repeat(200), 1_000);
    elect(this.a);
    run(ofSeconds(4), this.a);
    assertThat(this.a.service.history().get(1).leaderId())
        .startsWith("x\\u000aforged\\u202ey")
        .hasSizeLessThan(150);
  }

  @Test
  void aNameThatSomebodyWroteIntoTheRecordCannotForgeALogLine() {
    elect(this.a, this.b);
    nameInRecord("x\n12:00:00 INFO become leader by mysql\u2028" + "y".repeat(200));
    run(ofSeconds(5), this.b);
    assertThat(this.b.service.leaderId().orElseThrow())
        .startsWith("x\\u000a12:00:00 INFO")
        .hasSizeLessThan(150);
    run(ofSeconds(5), this.a, this.b);

    assertThat(linesWith("election 'jobs' is held by x\\u000a12:00:00")).isNotEmpty();
    assertThat(lines())
        .allSatisfy((line) -> assertThat(line).doesNotContain("\n", "\u2028").hasSizeLessThan(400));
  }

  @Test
  void aPausedLeaderDrainsAndStandsAsideUntilItIsResumed() throws Exception {
    elect(this.a, this.b);
    this.a.working = true;
    this.a.service.pause(new AuditNote("alice", "canary"));
    assertThat(this.a.service.isLeader()).isFalse();
    assertThat(this.a.service.paused()).contains(new AuditNote("alice", "canary"));
    run(ofSeconds(4), this.a, this.b);
    assertThat(this.b.service.isLeader()).isFalse();
    assertThat(this.a.uncovered).isEmpty();
    this.a.working = false;
    run(ofMillis(2_200), this.a, this.b);
    assertThat(this.b.service.isLeader()).isTrue();
    assertLastLoss(this.a, PAUSED);

    this.b.service.designate("a");
    run(LEASE.minusSeconds(1), this.a, this.b);
    assertThat(this.nodes).noneMatch((node) -> node.service.isLeader());
    assertThatThrownBy(this.a.service::becomeLeader)
        .isInstanceOf(IllegalStateException.class)
        .hasMessage(
            "Node 'a' is paused in election 'jobs' by alice: canary. Resume it with ElectionService.resume or DELETE /actuator/leader/jobs/pause");
    run(ofSeconds(5), this.a, this.b);
    assertThat(this.b.service.isLeader()).as("the designation falls back").isTrue();

    this.b.elector.leave();
    run(LEASE.multipliedBy(3), this.a, this.b);
    assertThat(this.a.service.isLeader()).isFalse();
    this.a.service.resume(new AuditNote("bob", ""));
    run(ofSeconds(3), this.a);
    assertThat(this.a.service.isLeader()).isTrue();
    assertThat(this.a.service.paused()).isEmpty();

    this.a.service.resume(new AuditNote("carol", ""));
    assertThat(lines())
        .contains(
            "election 'jobs': node a was paused by alice: canary; it does not lead until it is resumed or restarted",
            "election 'jobs': node a was resumed by bob; it may lead again")
        .noneMatch((line) -> line.contains("carol"));
  }

  @Test
  void aPauseEndsWithTheProcess() {
    elect(this.a);
    this.a.service.pause(new AuditNote("alice", ""));
    run(ofSeconds(1), this.a);
    this.a.elector.stop();
    assertThat(this.a.service.paused()).isEmpty();
    assertThatThrownBy(() -> this.a.service.pause(new AuditNote("alice", "")))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("is not running on this node");
    this.a.join();
    assertThat(health(this.a).silence()).isZero();
    assertThat(linesWith("node a stands for election 'jobs'")).hasSize(1);
    run(ofSeconds(3), this.a);
    assertThat(this.a.service.isLeader()).isTrue();
  }

  @Test
  void termsGrowThoughBothTablesWereEmptied() {
    elect(this.a, this.b);
    this.database.emptyTables();
    run(LEASE.plusSeconds(5), this.a, this.b);
    assertThat(this.nodes)
        .filteredOn((node) -> node.service.isLeader())
        .singleElement()
        .satisfies((node) -> assertThat(node.service.term().orElseThrow()).isGreaterThan(1));
  }

  @Test
  void anUnreachableStoreEndsALeadershipThatGoesOnAtOnceWhenTheStoreIsBack() {
    assertThat(health(this.a).failure()).isNull();
    elect(this.a, this.b);
    this.logged.list.clear();
    this.a.fail("the store is away");
    run(ofMinutes(3).minusSeconds(1), this.a);
    assertThat(this.a.service.isLeader()).isFalse();
    assertLastLoss(this.a, EXPIRED);
    assertThat(linesWith("the store is away")).hasSize(3);
    assertThat(lines().get(0))
        .matches(
            "the store is away \\(keeps trying; leads 'jobs' for another \\d+ ms unless a renewal succeeds\\)");
    assertThat(health(this.a).silence()).isBetween(ofSeconds(177), ofSeconds(181));
    assertThat(health(this.a).failure()).isEqualTo("the store is away");
    this.a.heal();
    run(ofSeconds(2), this.a);
    assertThat(health(this.a).silence()).isLessThanOrEqualTo(ofSeconds(2));
    assertThat(health(this.a).failure()).isNull();
    assertThat(this.a.service.leadership()).map(Leadership::term).contains(2L);
    assertThat(linesWith(this.database.name() + " store works again after")).hasSize(1);
    this.a.elector.leave();
    assertThat(this.a.elector.storeHealth()).isEmpty();
  }

  @Test
  void followersTryLessOftenTheLongerTheStoreFailsAndWhoLedLastDoesNot() {
    elect(this.a, this.b);
    for (Node node : this.nodes) {
      node.fail("the store is away");
      node.store.calls.clear();
    }
    run(ofSeconds(60), this.a, this.b);
    assertThat(this.a.store.calls).as("each quarter of an interval").hasSizeBetween(100, 120);
    assertThat(this.b.store.calls).as("each interval at least").hasSizeBetween(30, 60);
  }

  @Test
  void anAnswerMakesThePauseAfterTheNextFailureShortAgain() {
    elect(this.a, this.b);
    this.b.fail("the store is away");
    run(LEASE, this.b);
    this.b.heal();
    run(LEASE, this.a, this.b);

    this.b.store.calls.clear();
    this.b.fail("the store is away");
    while (this.b.store.calls.isEmpty()) {
      step(this.b);
    }
    run(ofMillis(900), this.b);
    assertThat(this.b.store.calls).hasSizeGreaterThanOrEqualTo(2);
  }

  @Test
  void takeOversThatFailAreToldOnceAMinuteThoughReadsWorkAndAreShownUntilTheyWork() {
    elect(this.a, this.b);
    this.b.fail("UPDATE command denied", "take");
    run(LEASE.plusSeconds(3), this.b);
    run(ofMinutes(10), this.b);
    assertThat(linesWith("UPDATE command denied (keeps trying")).hasSizeBetween(10, 11);
    assertThat(linesWith("works again")).isEmpty();
    assertThat(health(this.b).silence()).isLessThan(ofSeconds(3));
    assertThat(health(this.b).failing()).isBetween(ofMinutes(10), ofMinutes(10).plusSeconds(10));
    assertThat(health(this.b).failure()).isEqualTo("UPDATE command denied");

    this.b.heal();
    run(ofSeconds(3), this.b);
    assertThat(this.b.service.isLeader()).isTrue();
    assertThat(linesWith(this.database.name() + " store works again after")).hasSize(1);
    assertThat(health(this.b).failing()).isZero();
    assertThat(health(this.b).failure()).isNull();
  }

  @Test
  void aTakeOverThatFailedIsForgottenWhenAnotherNodeLeads() {
    elect(this.a, this.b);
    this.b.fail("UPDATE command denied", "take");
    run(LEASE.plusSeconds(3), this.b);
    assertThat(health(this.b).failure()).isNotNull();
    run(ofSeconds(5), this.a, this.b);
    assertThat(this.a.service.isLeader()).isTrue();
    assertThat(health(this.b).failure()).isNull();
    assertThat(linesWith("works again"))
        .as("nobody knows whether take-overs work")
        .isEmpty();
  }

  @Test
  void aSteppedElectorHandsBackWhenItStopsOrWhenItsWorkHasEnded() {
    elect(this.a);
    this.a.working = true;
    this.a.elector.stop();
    assertThat(this.a.service.isLeader()).isFalse();
    assertThat(this.a.events).hasSize(2);
    assertThat(this.database.row("jobs").isReleased()).isFalse();
    this.a.working = false;
    this.a.elector.step();
    assertThat(this.database.row("jobs").isReleased()).isTrue();
    assertThat(this.a.store.calls).doesNotContain("cede");
    this.a.join();
    this.a.elector.step();
    assertThat(this.a.service.leadership()).map(Leadership::term).contains(2L);
  }

  @Test
  void aStepTellsWhenALeaderCallsNext() {
    elect(this.a);
    run(LEASE.multipliedBy(2), this.a);
    for (String failing : List.of("none", "renew", "renew", "renew")) {
      long pause = this.a.elector.step();
      assertThat(pause).isPositive();
      this.a.store.calls.clear();
      this.a.fail("the store is away", failing);
      tick(Duration.ofNanos(pause - 1));
      this.a.elector.step();
      assertThat(this.a.store.calls).isEmpty();
      tick(Duration.ofNanos(1));
      this.a.elector.step();
      assertThat(this.a.store.calls).containsOnly("renew");
    }
  }

  @Test
  void aStepTellsWhenTheNextElectionIsServedAfterAFailure() {
    Node many = new Node("many", SETTINGS, this.database.new Store(), "x", "y").join();
    many.fail("the store is away", "create");
    long pause = many.elector.step();
    assertThat(pause).isPositive();
    tick(Duration.ofNanos(pause - 1));
    many.elector.step();
    assertThat(many.calls("create")).isOne();
    tick(Duration.ofNanos(1));
    many.elector.step();
    assertThat(many.calls("create")).isEqualTo(2);
  }

  @Test
  void anElectorIsEitherSteppedOrStarted() {
    assertThatThrownBy(this.a::join).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(this.a::start).isInstanceOf(IllegalStateException.class);
    Node started = new Node("started");
    assertThat(started.service.nodeId()).isEqualTo("started");
    started.start();
    assertThatThrownBy(started.elector::step).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void aLeaseProtectsWorkWhileTheNodeLeadsAndWhileItDrains() {
    elect(this.a, this.b);
    assertThat(this.a.service.leaseRemaining())
        .isEqualTo(this.a.service.leadership().map(Leadership::remaining));
    assertThat(this.b.service.leaseRemaining()).isEmpty();
    assertThat(this.b.service.moved()).isEmpty();

    // While it drains, the lease keeps others out, until its deadline.
    this.a.works("Jobs.nightly since 48 s");
    this.a.service.lostLeader();
    Duration cover = this.a.service.leaseRemaining().orElseThrow();
    assertThat(cover).isBetween(Duration.ofMillis(1), LEASE);
    tick(ofSeconds(1));
    assertThat(this.a.service.leaseRemaining()).contains(cover.minusSeconds(1));
    tick(LEASE);
    assertThat(this.a.service.leaseRemaining()).isEmpty();
  }

  @Test
  void aLeaderThatIsDisplacedHoldsNoLeaseAndItsWorkIsUncoveredAtOnce() {
    elect(this.a, this.b);
    this.a.works("Jobs.nightly since 48 s");
    nameInRecord("b");
    run(ofMillis(2_200), this.a);
    assertThat(this.a.service.isLeader()).isFalse();
    assertThat(this.a.service.leaseRemaining()).isEmpty();
    assertThat(this.a.uncovered).containsExactly(1L);
    assertThat(lines()).containsOnlyOnce(STILL_RUNS);
    nameInRecord("moved to etcd");
    run(ofSeconds(3), this.b);
    assertThat(this.b.service.moved()).contains("moved to etcd");
    assertThat(this.b.service.moved().isPresent()).isTrue();
    assertThat(linesWith("moved to etcd")).isNotEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"moved to ", "moved to"})
  void anElectionThatHasMovedWithoutSayingWhereHasNoLeader(String mark) {
    elect(this.a, this.b);
    nameInRecord(mark);
    run(ofSeconds(3), this.b);
    assertThat(this.b.service.moved()).contains(mark);
    assertThat(this.b.service.leaderId()).isEmpty();
  }

  @Test
  void workIsNotifiedOnceTheLossIsPublishedThoughMemoryWasLackingAtFirst() throws Exception {
    runUntilLeading();
    Field queue = EventDelivery.class.getDeclaredField("changes");
    queue.setAccessible(true);
    Object queued = queue.get(this.a.elector.events());
    queue.set(this.a.elector.events(), new LinkedBlockingQueue<>() {
      @Override
      public boolean add(Object change) {
        throw new OutOfMemoryError("injected");
      }
    });
    tick(LEASE);
    this.a.elector.step();
    assertThat(linesWith("the next step of this node failed: java.lang.OutOfMemoryError: injected"))
        .isNotEmpty();
    queue.set(this.a.elector.events(), queued);

    this.a.elector.step();

    assertThat(this.a.events).contains(new LeadershipLostEvent("jobs", "a", 1, EXPIRED));
    assertThat(this.a.uncovered).containsExactly(1L);
  }

  /** The renewals of a leader that drains show it too, but not at once. */
  @Test
  void aReleaseThatFindsAnotherNodeInTheRecordGivesWayToIt() {
    elect(this.a, this.b);
    this.a.works("Jobs.nightly since 48 s");
    this.a.service.lostLeader();
    nameInRecord("b");
    this.a.worksNoMore();
    run(ofMillis(500), this.a);
    assertThat(this.database.row("jobs").isReleased()).isTrue();
    assertThat(this.database.row("jobs").leaderId()).isEqualTo("b");
    run(ofSeconds(3), this.a, this.b);
    assertThat(this.b.service.isLeader()).isTrue();
  }

  @Test
  void aLeadershipIsOverAtItsDeadlineBeforeTheElectorActs() {
    elect(this.a);
    tick(this.a.service.leadership().orElseThrow().remaining());
    assertThat(this.a.service.leadership()).isEmpty();
    assertThat(this.a.service.isLeader()).isFalse();
    assertThat(this.a.service.leaderId()).isEmpty();
    assertThat(this.a.service.term()).isEmpty();
    assertThat(this.a.service.leaderLease()).isEmpty();
  }

  @Test
  void ofSeveralFailuresTheLastIsShownWithTheAgeOfTheOldest() {
    OpenFailures failures = new OpenFailures();
    Candidate first = this.a.service.candidate();
    Candidate second = this.b.service.candidate();
    failures.failed(first, new Step.Read(), "one", 10);
    failures.failed(second, new Step.Read(), "two", 20);
    assertThat(failures.problem()).isEqualTo(new OpenFailures.Problem("two", 10));
    failures.failed(first, new Step.Read(), "three", 30);
    assertThat(failures.problem()).isEqualTo(new OpenFailures.Problem("three", 10));
    failures.answered(first, new Step.Read(), first.candidacy(), 40);
    assertThat(failures.problem()).isEqualTo(new OpenFailures.Problem("two", 20));
    assertThat(failures.settle()).isEmpty();
    failures.answered(second, new Step.Read(), second.candidacy(), 50);
    assertThat(failures.settle()).contains(true);
  }

  @Test
  void anElectionThatHasMovedIsNotDecidedHere() {
    elect(this.a, this.b);
    nameInRecord(Names.MOVED + "Mysql");
    run(LEASE, this.b);
    assertThatThrownBy(() -> this.b.service.designate("b"))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("remove the mark from the record first");
  }

  @Test
  void leaderWorkIsUncoveredAtTheDeadlineAndNotBefore() {
    elect(this.a, this.b);
    this.a.works("Jobs.nightly since 48 s");
    this.a.fail("the store is away");
    while (this.a.service.isLeader()) {
      assertThat(this.a.uncovered).isEmpty();
      run(ofMillis(50), this.a);
    }
    this.a.elector.step();
    assertThat(this.a.uncovered).containsExactly(1L);
    assertThat(lines()).containsOnlyOnce(STILL_RUNS);
  }

  @Test
  void leaderWorkIsCoveredWhileItDrainsAndUncoveredBeforeTheLeaseIsHandedBack() {
    elect(this.a, this.b);
    this.a.works("Jobs.nightly since 48 s");
    this.a.service.lostLeader();
    run(ofSeconds(4), this.a, this.b);
    assertThat(this.a.service.isLeader()).isFalse();
    assertThat(this.a.uncovered).isEmpty();
    this.a.store.calls.clear();
    run(ofMillis(1_200), this.a, this.b);
    assertThat(this.a.store.calls).containsSubsequence("uncovered", "release");
    assertThat(this.a.uncovered).containsExactly(1L);
    assertThat(lines()).containsOnlyOnce(STILL_RUNS);
  }

  @Test
  void leaderWorkIsUncoveredWhenTheLeaseEndsThoughItMayStillDrain() {
    Node patient = new Node("patient", settings(Duration.ofHours(1), true)).join();
    elect(patient);
    patient.working = true;
    patient.service.lostLeader();
    run(LEASE.multipliedBy(3), patient);
    assertThat(patient.uncovered).isEmpty();
    patient.fail("the store is away");
    run(LEASE, patient);
    assertThat(patient.uncovered).containsExactly(1L);
  }

  /** Each question of each thread counts, whatever it asks. */
  @ParameterizedTest
  @MethodSource("questions")
  void fault_60_aLeadershipThatWasSeenToBeOverStaysOver(Predicate<Node> leads) {
    elect(this.a);
    assertThat(leads.test(this.a)).isTrue();
    long slept = LEASE.toNanos();
    this.wallAhead.addAndGet(slept);
    assertThat(leads.test(this.a)).isFalse();
    this.wallAhead.addAndGet(-slept);
    assertThat(questions()).noneMatch((question) -> question.test(this.a));

    this.a.elector.step();
    assertThat(this.a.events)
        .containsExactly(
            new LeadershipAcquiredEvent("jobs", "a", 1, LeadershipAcquiredEvent.Reason.CREATED),
            new LeadershipLostEvent("jobs", "a", 1, EXPIRED),
            new LeadershipAcquiredEvent("jobs", "a", 2, LeadershipAcquiredEvent.Reason.EXPIRED));
  }

  static Stream<Predicate<Node>> questions() {
    return Stream.of(
        (node) -> node.service.isLeader(),
        (node) -> node.service.leadership().isPresent(),
        (node) -> node.service.leaderId().isPresent(),
        (node) -> node.service.term().isPresent(),
        (node) -> node.service.leaseRemaining().isPresent());
  }

  @Test
  void fault_60_aSuspensionThatAClockSetBackHidesEndsALeadership() {
    elect(this.a);
    this.wallAhead.addAndGet(-ofSeconds(3).toNanos());
    assertThat(this.a.service.isLeader()).isFalse();
  }

  /** On a busy machine a thread may wait for a processor between its readings of the two clocks. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
  void aThreadThatIsHeldUpBetweenItsReadingsEndsNoLeadership(int after) {
    elect(this.a);
    for (int i = 0; i < 10; i++) {
      AtomicInteger readings = new AtomicInteger(after);
      this.ticker = () -> readings.getAndDecrement() == 0
          ? this.clock.getAndAdd(ofSeconds(1).toNanos())
          : this.clock.get();
      assertThat(this.a.service.isLeader()).isTrue();
      run(SETTINGS.renewInterval(), this.a);
    }
    assertThat(this.a.events).hasSize(1);
  }

  /** As on a machine where other threads run in between, each time. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void fault_60_aThreadThatIsHeldUpBetweenTheClocksEndsNoLeadership(boolean beforeTheWallClock) {
    elect(this.a);
    Duration heldUp = SETTINGS.margin().plusMillis(50);
    AtomicInteger looks = new AtomicInteger();
    this.wall = () -> {
      looks.incrementAndGet();
      long before = this.clock.get();
      tick(heldUp);
      return beforeTheWallClock ? this.clock.get() : before;
    };
    for (int i = 0; i < 20; i++) {
      tick(ofMillis(200));
      this.a.elector.step();
      assertThat(this.a.service.isLeader()).isTrue();
    }
    this.wall = this.clock::get;
    assertThat(this.a.service.isLeader()).isTrue();
    assertThat(this.a.events).hasSize(1);
    assertThat(this.a.calls("renew")).isGreaterThan(5);
    assertThat(looks).hasValueGreaterThan(100);
  }

  /** An answer that comes late shows no more than the clocks at its request. */
  @Test
  void fault_60_aLeaseIsNotHeldIfTheMachineWasSuspendedDuringTheCallThatTookIt() {
    this.a.store.before((name) -> {
      if (name.equals("lead")) {
        this.wallAhead.addAndGet(-ofSeconds(3).toNanos());
      }
    });
    run(LEASE.plusMillis(200), this.a);
    assertThat(this.a.service.leadership().orElseThrow().term()).isEqualTo(2);
    assertThat(this.a.events).hasSize(1);
  }

  @Test
  void aListenerThatThrowsHarmsNothing() {
    this.a.listener = (event) -> {
      throw new IllegalStateException("listener");
    };
    elect(this.a, this.b);
    run(ofSeconds(20), this.a, this.b);
    assertThat(this.a.service.isLeader()).isTrue();
  }

  private void elect(Node... nodes) {
    run(LEASE.plusMillis(200), nodes);
    assertThat(nodes[0].service.isLeader()).isTrue();
    assertThat(nodes[0].service.leaderId()).contains(nodes[0].id);
  }

  private static void assertLastLoss(Node node, LeadershipLostEvent.Reason reason) {
    assertThat(node.events).last().isEqualTo(new LeadershipLostEvent("jobs", node.id, 1, reason));
  }
}
