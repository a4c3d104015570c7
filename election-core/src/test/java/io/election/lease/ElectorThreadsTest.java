package io.election.lease;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.election.AuditNote;
import io.election.Leadership;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipEvent;
import io.election.LeadershipLostEvent;
import io.election.Names;
import io.election.store.LeaseSettings;
import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;
import io.election.store.SimulatedDatabase;
import java.time.Duration;
import java.util.AbstractList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests electors that run on their own threads. */
class ElectorThreadsTest extends ElectorFixture {

  private static final LeaseSettings IMPATIENT =
      new LeaseSettings(LEASE, ofSeconds(2), ofMillis(100), ofSeconds(5), true);

  private final Node node = new Node("a").start();

  @Test
  void lossIsAnnouncedAtTheDeadlineWhileACallHangs() {
    LeaseSettings brief =
        new LeaseSettings(ofMillis(240), ofMillis(50), ofMillis(50), ofSeconds(5), true);
    this.ticker = System::nanoTime;
    this.wall = System::nanoTime;
    Node other = new Node("b", brief, this.database.new Store(), "others").start();
    await().until(other.service::isLeader);
    Gate gate = other.hang();
    await().until(gate::isReached);
    await().until(() -> other.events.size() == 2);
  }

  /** Nobody asks whether the node leads, and its elector waits for an answer. */
  @ParameterizedTest
  @ValueSource(longs = {60, -60, 3_600, -3_600})
  void lossIsAnnouncedAtOnceAfterTheMachineWasSuspendedOrItsClockWasSet(long seconds) {
    elect();
    Gate gate = hangInTheNextCall(this.node);
    this.wallAhead.addAndGet(ofSeconds(seconds).toNanos());
    await().until(() -> this.node.events.size() == 2 && this.node.uncovered.contains(1L));
    assertThat(gate.isReached()).isTrue();
  }

  @Test
  void aListenerThatBlocksDelaysNeitherRenewalsNorTheLoss() {
    Gate listening = listenAndHang();
    elect();
    await().until(listening::isReached);
    for (int i = 0; i < 10; i++) {
      int calls = this.node.store.calls.size();
      tick(ofSeconds(2));
      this.node.elector.wakeUp();
      await().until(() -> this.node.store.calls.size() > calls && this.node.service.isLeader());
    }
  }

  @Test
  void leaderWorkIsUncoveredAtTheDeadlineWhileACallHangsAndAListenerBlocks() {
    Gate listening = listenAndHang();
    elect();
    await().until(listening::isReached);
    hangInTheNextCall(this.node);
    assertThat(this.node.uncovered).isEmpty();
    tick(LEASE);
    wakeTheDeadlineWatch();
    await().until(() -> this.node.uncovered.equals(List.of(1L)));
  }

  @Test
  void aStopWaitsUntilTheLossIsPublished() {
    elect();
    await().until(() -> this.node.events.size() == 1);
    Gate listening = listenAndHang();
    Thread stopping = started(this.node.elector::stop);
    await().until(listening::isReached);
    await().until(() -> threads("election-elector") == 0);
    await().until(() -> stopping.getState() == Thread.State.TIMED_WAITING);
    listening.open();
    await().until(() -> !stopping.isAlive());
  }

  @Test
  void aListenerThatInterruptsItsThreadKeepsNoEventFromTheNext() {
    Consumer<LeadershipEvent> recording = this.node.listener;
    this.node.listener = (event) -> {
      recording.accept(event);
      Thread.currentThread().interrupt();
    };
    elect();
    await().until(() -> this.node.events.size() == 1);
    this.node.service.lostLeader();
    await().until(() -> this.node.events.size() == 2);
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
  void lackOfMemoryEndsTheLeadershipAtItsDeadlineAndNothingElse() {
    // After a failure the thread pauses for a quarter of the renew interval, in real time.
    LeaseSettings brief = new LeaseSettings(LEASE, ofMillis(100), ofSeconds(1), ofSeconds(5), true);
    Node other = new Node("b", brief, this.database.new Store(), "others").start();
    advanceUntil(other.service::isLeader);
    other.store.before((name) -> {
      throw new OutOfMemoryError("injected");
    });
    tick(ofMillis(100));
    other.elector.wakeUp();
    await().until(() -> !linesWith("java.lang.OutOfMemoryError: injected").isEmpty());
    tick(LEASE);
    await()
        .until(() -> other.events.contains(
            new LeadershipLostEvent("others", "b", 1, LeadershipLostEvent.Reason.EXPIRED)));
    other.heal();
    advanceUntil(other.service::isLeader);
  }

  @Test
  void becomeLeaderThrowsWhatKeptTheAttemptFromBeingMade() {
    this.node.fail("the store is away");
    assertThatThrownBy(this.node.service::becomeLeader)
        .isInstanceOf(LeaseStoreException.class)
        .hasMessage("the store is away");
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
    Node other = new Node("b", IMPATIENT).start();
    Gate gate = other.hang();
    assertThatThrownBy(other.service::becomeLeader)
        .isInstanceOf(TimeoutException.class)
        .hasMessage("The " + this.database.name()
            + " store gave no answer within PT0.1S; the node keeps trying");
  }

  @Test
  void aNodeThatIsNotEligibleOrNotRunningCannotStand() {
    Node watcher = new Node("watcher", settings(Duration.ZERO, false)).start();
    assertThatThrownBy(watcher.service::becomeLeader)
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("as.election.eligible=true");
    this.node.elector.stop();
    assertThatThrownBy(this.node.service::becomeLeader).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void anElectionWithoutARecordCannotBeDecided() {
    this.node.elector.stop();
    Node watcher = new Node("watcher", settings(Duration.ZERO, false)).start();
    this.database.emptyTables();
    assertThatThrownBy(() -> watcher.service.designate("a"))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("has no record yet");
    assertThatThrownBy(watcher.service::forceElection).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> watcher.service.designate("a\nb"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("leader id 'a\\u000ab' must not contain control characters");
  }

  @ParameterizedTest
  @ValueSource(strings = {"moved to Mysql", "moved to ", "moved to"})
  void aMarkOfAMoveIsNoNode(String mark) {
    assertThatThrownBy(() -> this.node.service.designate(mark))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("leader id '" + mark + "' must not begin with 'moved to'");
    assertThatThrownBy(() -> this.node.service.designate(mark, new AuditNote("eve", "")))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> new Node(mark, settings(Duration.ZERO, true)).start())
        .hasMessageStartingWith("node id '" + mark + "' must not begin with 'moved to'");
    assertThat(Names.nodeIdProblem("moved")).isNull();
    assertThat(Names.nodeIdProblem("moved-to:8080:1")).isNull();
  }

  @Test
  void stopsAndStartsAgainManyTimes() {
    elect();
    for (int i = 0; i < 50; i++) {
      this.node.elector.stop();
      assertThat(this.node.service.isLeader()).isFalse();
      assertThat(this.database.row("jobs").isReleased()).isTrue();
      this.node.start();
      await().until(this.node.service::isLeader);
    }
    await().until(() -> this.node.events.size() == 101);
    assertThat(threads("election-")).isLessThanOrEqualTo(3);
  }

  @Test
  void aStopThatRunsOutOfPatienceKeepsTheLeaseUntilWorkHasEnded() {
    electAndStopWithWork();
    assertThat(this.node.service.isLeader()).isFalse();
    for (int i = 0; i < 40; i++) {
      awaitRenewal();
    }
    assertThat(this.node.store.calls).doesNotContain("release");
    assertThat(this.node.uncovered).containsExactly(1L);
    assertThat(
            linesWith(
                "election 'jobs': node a was stopped, but leader work still runs: Jobs.nightly since 48 s; it keeps the lease until the work or the process ends."))
        .hasSizeBetween(2, 2 + (int) Duration.ofNanos(this.clock.get()).toMinutes());
    assertThat(this.database.row("jobs").isReleased()).isFalse();
    this.node.worksNoMore();
    await().until(() -> threads("election-") == 0);
    assertThat(this.database.row("jobs").isReleased()).isTrue();
    assertThat(this.node.events)
        .last()
        .isEqualTo(new LeadershipLostEvent("jobs", "a", 1, LeadershipLostEvent.Reason.STOPPED));
  }

  /** As a person reads it at night: what a line says holds until another line says otherwise. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void theLogOfOneStopSaysOfTheLeaseWhatIsTrue(boolean runsOutBeforeTheStopReturns) {
    String kept = "; it keeps the lease until the work or the process ends.";
    String keptAgain = "; it has renewed and keeps the lease until the work or the process ends.";
    String runOut = "; another node may start the same work now";
    elect();
    this.node.works("Jobs.nightly since 48 s");
    if (runsOutBeforeTheStopReturns) {
      this.node.fail("the store is away");
      Thread stopping = started(this.node.elector::stop);
      await().until(() -> stopping.getState() == Thread.State.TIMED_WAITING);
      tick(LEASE);
      wakeTheDeadlineWatch();
      await().until(() -> lastOnTheLease().contains(runOut));
      stopping.interrupt();
      await().until(() -> !stopping.isAlive());
    } else {
      stopWithoutPatience(this.node);
      await().until(() -> lastOnTheLease().contains(kept));
      tick(SETTINGS.drainTimeout());
      this.node.fail("the store is away");
    }
    tick(LEASE);
    awaitAwake(() -> lastOnTheLease().contains("node a, which was stopped, no longer has a lease"));
    assertThat(linesWith(kept)).hasSize(runsOutBeforeTheStopReturns ? 0 : 1);
    healAtRest();
    tick(SETTINGS.renewInterval());
    awaitAwake(() -> lastOnTheLease().contains(keptAgain));
    this.node.fail("the store is away");
    tick(LEASE);
    awaitAwake(() -> lastOnTheLease().contains(runOut));
    int reminders = linesWith(runOut).size();
    tick(Duration.ofMinutes(1));
    awaitAwake(() -> linesWith(runOut).size() > reminders);
    assertThat(linesWith(keptAgain)).hasSize(1);
    healAtRest();
    tick(SETTINGS.renewInterval());
    awaitAwake(() -> linesWith(keptAgain).size() == 2);
    this.node.worksNoMore();
    awaitAwake(() -> threads("election-") == 0);
    assertThat(this.database.row("jobs").isReleased()).isTrue();
    assertThat(lines()).last().asString().contains("node a handed term 1 back");
  }

  /** Otherwise an attempt that has failed already may count from a later time. */
  private void healAtRest() {
    await().until(() -> threads("election-elector", Thread.State.TIMED_WAITING) == 1);
    this.node.heal();
  }

  private void awaitAwake(BooleanSupplier condition) {
    await().until(() -> {
      this.node.elector.wakeUp();
      return condition.getAsBoolean();
    });
  }

  private String lastOnTheLease() {
    return lines().stream()
        .filter((line) -> line.contains("leader work"))
        .reduce("", (before, line) -> line);
  }

  @ParameterizedTest
  @ValueSource(strings = {"designate", "force", "pause", "lostLeader", "row"})
  void aCommandEndsThatAtOnceAndNamesTheWork(String command) throws Exception {
    electAndStopWithWork();
    // No caller waits for the stop any more.
    tick(SETTINGS.drainTimeout());
    await().until(() -> {
      this.node.elector.wakeUp();
      return !linesWith("node a was stopped, but").isEmpty();
    });
    AuditNote auditNote = new AuditNote("alice", "");
    switch (command) {
      case "designate" -> this.node.service.designate("b", auditNote);
      case "force" -> this.node.service.forceElection(auditNote);
      case "pause" -> this.node.service.pause(auditNote);
      case "lostLeader" -> this.node.service.lostLeader();
      default -> {
        nameInRecord("b");
        tick(SETTINGS.renewInterval());
        this.node.elector.wakeUp();
      }
    }
    await().until(() -> threads("election-") == 0);
    assertThat(this.database.row("jobs").isReleased()).isTrue();
    assertThat(lines())
        .contains(
            "election 'jobs': node a, which was stopped, no longer has a lease although leader work still runs: Jobs.nightly since 48 s; another node may start the same work now");
    if (command.equals("designate")) {
      assertThat(this.database.row("jobs").leaderId()).isEqualTo("b");
      assertThat(this.database.history("jobs").get(1L).endReason()).isEqualTo("HANDED_OVER");
    }
  }

  @Test
  void aStartDoesNotStandUntilTheWorkFromBeforeTheStopHasEnded() {
    electAndStopWithWork();
    this.node.start();
    assertThat(
            linesWith(
                "election 'jobs': node a was started again, and does not stand until leader work from before the stop has ended: Jobs.nightly since 48 s."))
        .hasSize(1);
    assertThatThrownBy(this.node.service::becomeLeader)
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("does not stand for election 'jobs' yet");
    int calls = this.node.store.calls.size();
    advanceUntil(() -> this.node.store.calls.size() > calls + 10);
    assertThat(this.node.service.isLeader()).isFalse();
    this.node.worksNoMore();
    elect();
    assertThat(this.node.service.leadership()).map(Leadership::term).contains(2L);
  }

  @ParameterizedTest
  @ValueSource(strings = {"b", "a"})
  void noOtherNodeLeadsWhileAStoppedOneKeepsTheLease(String id) {
    electAndStopWithWork();
    Node other = new Node(id).start();
    for (int i = 0; i < 15; i++) {
      awaitRenewal();
      assertThat(other.service.isLeader()).isFalse();
    }
    this.node.worksNoMore();
    advanceUntil(other.service::isLeader);
    assertThat(this.node.store.calls).contains("release");
  }

  /** Two applications in one process may have the same names on different databases. */
  @Test
  void anElectorOnAnotherDatabaseNeitherWaitsForAStoppedOneNorHandsItsLeaseBack() {
    electAndStopWithWork();
    Node other = new Node(
            "a",
            SETTINGS,
            new SimulatedDatabase(() -> this.clock.get() / 1_000).new Store() {
              @Override
              public String name() {
                return ElectorThreadsTest.this.database.name();
              }
            },
            "jobs")
        .start();
    advanceUntil(other.service::isLeader);
    other.service.lostLeader();
    advanceUntil(other.service::isLeader);
    assertThat(this.database.row("jobs").isReleased()).isFalse();
    assertThat(this.node.store.calls).doesNotContain("release");
  }

  @Test
  void noTwoThreadsCallTheStoreThoughACallOfAnEarlierLifeHangs() {
    AtomicInteger inside = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    AtomicBoolean closedWithin = new AtomicBoolean();
    Gate gate = new Gate();
    Node stubborn = new Node("b");
    stubborn.store.before((name) -> {
      most.accumulateAndGet(inside.incrementAndGet(), Math::max);
      gate.pass();
      inside.decrementAndGet();
    });
    stubborn.store.onClose = () -> closedWithin.compareAndSet(false, inside.get() > 0);
    for (int i = 0; i < 3; i++) {
      stubborn.start();
      await().until(gate::isReached);
      stopWithoutPatience(stubborn);
    }
    stubborn.start();
    // Waiting threads end when they are stopped: only the one that hangs and the last one are left.
    await().until(() -> threadsBesideTheFirst() == 2 && threads("election-deadlines") == 2);
    assertThat(inside).hasValue(1);
    gate.open();
    await().until(() -> threadsBesideTheFirst() == 1);
    advanceUntil(() -> stubborn.service.leaderId().isPresent());
    assertThat(most).hasValue(1);
    assertThat(closedWithin).isFalse();
  }

  @Test
  void afterItsDismissalAThreadMakesNoMoreCalls() {
    Node busy = new Node(
            "b",
            SETTINGS,
            this.database.new Store(),
            IntStream.range(0, 10).mapToObj((i) -> "jobs-" + i).toArray(String[]::new))
        .start();
    advanceUntil(() -> busy.services.stream().allMatch(LeaseElectionService::isLeader));
    Gate gate = hangInTheNextCall(busy);
    stopWithoutPatience(busy);
    busy.store.calls.clear();
    gate.open();
    await().until(() -> threadsBesideTheFirst() == 0);
    assertThat(busy.store.calls).isEmpty();
  }

  @Test
  void whatWasAskedOfOneLifeIsNotDoneInTheNext() {
    elect();
    Node other = new Node("b", IMPATIENT).start();
    await().until(() -> other.service.leaderId().isPresent());
    Gate gate = other.hang();
    advanceUntil(gate::isReached);
    assertThatThrownBy(() -> other.service.designate("c")).isInstanceOf(TimeoutException.class);
    stopWithoutPatience(other);
    other.start();
    gate.open();
    advanceUntil(() -> other.service.leaderId().isPresent());
    assertThat(other.store.calls).doesNotContain("designate");
  }

  @Test
  void aCallerThatWaitsIsAnsweredAtOnceWhenTheElectorStops() {
    Node other = new Node(
        "b",
        new LeaseSettings(
            Duration.ofMinutes(10), ofSeconds(2), Duration.ofMinutes(4), Duration.ZERO, true));
    Gate gate = other.hang();
    other.start();
    await().until(gate::isReached);
    FutureTask<Object> asking = new FutureTask<>(() -> {
      other.service.becomeLeader();
      return null;
    });
    Thread thread = started(asking);
    await().until(() -> thread.getState() == Thread.State.TIMED_WAITING);
    stopWithoutPatience(other);
    assertThatThrownBy(() -> asking.get(10, TimeUnit.SECONDS))
        .cause()
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("is not running on this node");
  }

  @RepeatedTest(20)
  void aQuestionDuringTheFirstStartIsAnsweredByItsThread() throws Exception {
    Node other = new Node("b");
    List<Throwable> failures = new CopyOnWriteArrayList<>();
    CountDownLatch asking = new CountDownLatch(1);
    Thread eager = new Thread(() -> {
      for (boolean asked = false; !asked; ) {
        asking.countDown();
        asked = true;
        try {
          other.service.becomeLeader();
        } catch (IllegalStateException ex) {
          asked = !String.valueOf(ex.getMessage()).contains("is not running on this node");
          if (asked) {
            failures.add(ex);
          }
        } catch (Exception ex) {
          // The attempt was made.
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
    stopWithUnknownWork(() -> {
      throw new IllegalStateException("unknown");
    });
    assertThat(this.node.store.calls).contains("release");
    assertThat(linesWith("whether leader work runs is unknown")).hasSize(1);
  }

  @Test
  void workThatThrowsAnErrorKeepsNoLeaseFromBeingHandedBack() {
    Runnable failing = () -> {
      throw new NoClassDefFoundError("injected");
    };
    this.node.onLeaseOver = failing;
    stopWithUnknownWork(failing);
    assertThat(this.node.store.calls).contains("uncovered", "release");
    assertThat(linesWith("whether leader work runs is unknown")).hasSize(1);
  }

  /** Elects the node and stops it. Its work throws several times before it says that it has ended. */
  private void stopWithUnknownWork(Runnable failing) {
    elect();
    AtomicInteger asked = new AtomicInteger();
    this.node.isWorking = () -> {
      if (asked.incrementAndGet() < 10) {
        failing.run();
      }
      return false;
    };
    Thread stopping = started(this.node.elector::stop);
    await().until(() -> {
      this.node.elector.wakeUp();
      return !stopping.isAlive();
    });
  }

  @Test
  void aFollowerThatItsStoreWakesTakesOverBeforeItsNextPoll() {
    Watching watching = new Watching();
    Node follower = followerOfNobody(watching);
    assertThat(follower.service.isLeader()).isFalse();
    assertThat(watching.nodeId).isEqualTo("b");
    watching.wake.now();
    assertThat(follower.service.isLeader()).isTrue();
    assertThat(watching.closed).isFalse();
    follower.elector.stop();
    assertThat(watching.closed).isTrue();
  }

  /** Others came before it, and have died without a word. */
  @Test
  void aFollowerThatIsWokenLetsTheCandidatesBeforeItTryFirst() {
    Watching watching = new Watching();
    Node follower = followerOfNobody(watching);
    watching.ahead = 8;
    watching.wake.now();
    assertThat(follower.service.leaderId()).isEmpty();
    assertThat(follower.calls("take")).isZero();
    tick(ofMillis(999));
    watching.wake.now();
    assertThat(follower.calls("take")).isZero();
    tick(ofMillis(1));
    follower.elector.wakeUp();
    await().until(follower.service::isLeader);
  }

  @Test
  void aFollowerThatLetsOthersTryFirstSeesAtOnceWhichOfThemLeads() throws Exception {
    Watching watching = new Watching();
    Node follower = followerOfNobody(watching);
    watching.ahead = 1;
    watching.wake.now();
    this.database.acquire(
        "jobs",
        this.database.row("jobs"),
        new LeaseStore.Claim("c", 10_000, 0, LeadershipAcquiredEvent.Reason.RELEASED));
    watching.wake.now();
    assertThat(follower.service.leaderId()).hasValue("c");
  }

  /** Others came before it, and have died without a word. */
  @Test
  void aFollowerReadsARecordThatWasHandedBackOnlyInItsTurn() {
    Watching watching = new Watching();
    Node follower = followerOfNobody(watching);
    watching.ahead = 8;
    long before = follower.calls("read");

    watching.wake.inTurn(8);
    tick(ofMillis(999));
    follower.elector.wakeUp();

    assertThat(follower.calls("read")).isEqualTo(before);
    assertThat(follower.service.leaderId()).hasValue("a");
    tick(ofMillis(1));
    follower.elector.wakeUp();
    await().until(follower.service::isLeader);
  }

  /** The thread of a watch ends by an interrupt, and may be waking the node just then. */
  @Test
  void aWatchThatIsInterruptedWhileItWakesTheNodeStaysInterrupted() {
    Watching watching = new Watching();
    Node follower = followerOfNobody(watching);
    Gate reading = follower.hang();
    AtomicBoolean interrupted = new AtomicBoolean();
    Thread waking = started(() -> {
      watching.wake.now();
      interrupted.set(Thread.currentThread().isInterrupted());
    });
    await().until(reading::isReached);
    waking.interrupt();
    await().until(() -> !waking.isAlive());
    assertThat(interrupted).isTrue();
  }

  /** The next renewal is far away. */
  @Test
  void aCommandActsAtOnceAndAStopClosesTheStore() {
    LeaseSettings slow = new LeaseSettings(
        Duration.ofMinutes(10), Duration.ofMinutes(2), ofSeconds(5), ofSeconds(5), true);
    AtomicBoolean closed = new AtomicBoolean();
    Node other = new Node("b", slow, this.database.new Store(), "others");
    other.store.onClose = () -> closed.set(true);
    other.start();
    await().until(() -> {
      tick(Duration.ofMinutes(1));
      other.elector.wakeUp();
      return other.service.isLeader();
    });
    other.service.lostLeader();
    await().until(() -> this.database.row("others").isReleased());
    assertThat(closed).isFalse();
    other.elector.stop();
    assertThat(closed).isTrue();
  }

  @Test
  void aNodeThatMayNotLeadWatchesNothing() {
    Watching watching = new Watching();
    new Node("b", settings(ofSeconds(5), false), watching.store, "jobs").start();
    assertThat(watching.wake).isNull();
  }

  @Test
  void aStartThatFailsLeavesNoThread() {
    SimulatedDatabase.Store unwatched = this.database.new Store() {
      @Override
      public Watch watch(String nodeId, Wake wake) {
        throw new IllegalStateException("cannot be watched");
      }
    };
    Node other = new Node("b", SETTINGS, unwatched, "jobs");
    assertThatThrownBy(other::start).hasMessage("cannot be watched");
    await().until(() -> {
      other.elector.wakeUp();
      return threads("election-") == 3;
    });
    assertThat(other.elector.isRunning()).isFalse();
  }

  @Test
  void aStartThatHasNoThreadForEventsLeavesTheNextItsEvents() {
    InheritableThreadLocal<String> noThreads = new InheritableThreadLocal<>() {
      @Override
      protected String childValue(String value) {
        throw new OutOfMemoryError("unable to create native thread");
      }
    };
    Node other = new Node("b");
    noThreads.set("");
    Throwable failure = catchThrowable(other::start);
    noThreads.remove();
    assertThat(failure).isInstanceOf(OutOfMemoryError.class);
    this.node.elector.stop();

    other.start();

    advanceUntil(other.service::isLeader);
    await().until(() -> other.events.size() == 1);
  }

  @Test
  void theNextStartsStandThoughWorkCouldNotBeNamedAtTheEnd() {
    electAndStopWithWork();
    tick(SETTINGS.drainTimeout());
    await().until(() -> {
      this.node.elector.wakeUp();
      return !linesWith("node a was stopped, but").isEmpty();
    });
    this.node.work = new AbstractList<>() {
      @Override
      public String get(int index) {
        throw new IndexOutOfBoundsException(index);
      }

      @Override
      public int size() {
        throw new NoClassDefFoundError("injected");
      }
    };
    this.node.working = false;
    this.node.elector.wakeUp();
    await().dontCatchUncaughtExceptions().until(() -> threads("election-") == 0);
    this.node.worksNoMore();

    Node anotherContext = new Node("a").start();

    advanceUntil(anotherContext.service::isLeader);
    anotherContext.elector.stop();
    this.node.start();
    elect();
  }

  @Test
  void stopsThoughTheStoreIsDead() {
    elect();
    this.node.fail("the store is away");
    Thread stopping = started(this.node.elector::stop);
    await().until(() -> this.node.store.calls.contains("release"));
    assertThat(this.node.service.isLeader()).isFalse();
    advanceUntil(() -> !stopping.isAlive());
    assertThat(linesWith("leases were not handed back")).hasSize(1);
  }

  /** The watch of a store that the test wakes. */
  private final class Watching {

    private @Nullable String nodeId;

    private LeaseStore.@Nullable Wake wake;

    private boolean closed;

    private volatile int ahead;

    private final SimulatedDatabase.Store store = ElectorThreadsTest.this.database.new Store() {
      @Override
      public Map<String, Reading> read(Set<String> serviceIds) throws LeaseStoreException {
        Map<String, Reading> readings = new HashMap<>(super.read(serviceIds));
        readings.replaceAll(
            (id, reading) -> new Reading(reading.row(), reading.age(), Watching.this.ahead));
        return readings;
      }

      @Override
      public Watch watch(String nodeId, Wake wake) {
        Watching.this.nodeId = nodeId;
        Watching.this.wake = wake;
        return () -> Watching.this.closed = true;
      }
    };
  }

  /** Follows a node that has just handed back, and is not told of that. */
  private Node followerOfNobody(Watching watching) {
    elect();
    Node follower = new Node("b", SETTINGS, watching.store, "jobs").start();
    await().until(() -> follower.service.leaderId().equals(Optional.of("a")));
    this.node.elector.stop();
    return follower;
  }

  /** Lets the listeners of the node hang until the gate is opened. */
  private Gate listenAndHang() {
    Gate gate = new Gate();
    this.node.listener = (event) -> gate.pass();
    return gate;
  }

  private static Thread started(Runnable task) {
    Thread thread = new Thread(task);
    thread.start();
    return thread;
  }

  private void elect() {
    advanceUntil(this.node.service::isLeader);
  }

  private void electAndStopWithWork() {
    elect();
    this.node.works("Jobs.nightly since 48 s");
    stopWithoutPatience(this.node);
  }

  /** Stops on an interrupted thread, so that the stop waits for nothing. */
  private static void stopWithoutPatience(Node node) {
    AtomicBoolean interrupted = new AtomicBoolean();
    Thread stopping = new Thread(() -> {
      Thread.currentThread().interrupt();
      node.elector.stop();
      interrupted.set(Thread.currentThread().isInterrupted());
    });
    stopping.start();
    await().until(() -> !stopping.isAlive());
    assertThat(interrupted).isTrue();
  }

  /** Lets time pass until the node renews its lease. */
  private void awaitRenewal() {
    long renewals = this.node.calls("renew");
    tick(SETTINGS.renewInterval().minus(ofMillis(250)));
    advanceUntil(() -> this.node.calls("renew") > renewals);
  }

  private Gate hangInTheNextCall(Node node) {
    Gate gate = node.hang();
    tick(SETTINGS.renewInterval());
    node.elector.wakeUp();
    await().until(gate::isReached);
    return gate;
  }

  /** Lets the thread that watches deadlines read the ticked clock. */
  private void wakeTheDeadlineWatch() {
    this.node.elector.events().changed(List.of());
  }

  private long threadsBesideTheFirst() {
    return threads("election-elector") - 1;
  }
}
