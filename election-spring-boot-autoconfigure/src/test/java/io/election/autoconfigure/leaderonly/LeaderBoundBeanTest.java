package io.election.autoconfigure.leaderonly;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.awaitility.Awaitility.await;
import static org.mockito.AdditionalAnswers.delegatesTo;
import static org.mockito.Mockito.doReturn;
import static org.mockito.Mockito.mock;

import io.election.ElectionService;
import io.election.Leadership;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipLostEvent;
import io.election.LeadershipLostEvent.Reason;
import io.election.autoconfigure.Elections;
import io.election.autoconfigure.SwitchedElection;
import io.election.lease.LeaseElectionService;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.SmartLifecycle;

@ExtendWith(OutputCaptureExtension.class)
class LeaderBoundBeanTest {

  private final Election election = new Election();

  private final LeaderOnlyCalls calls = calls(this.election);

  private final Time time = new Time();

  private final Consumer consumer = new Consumer();

  private Executor threads = Runnable::run;

  private final LeaderBoundBean bean = bean(this.calls);

  @BeforeEach
  void open() {
    this.bean.open();
    this.time.run(this.bean);
  }

  @Test
  void runsWhileThisNodeLeadsAndCountsAsLeaderWorkUntilItHasStopped() {
    assertThat(this.consumer.history).isEmpty();
    assertThat(this.calls.isRunning("default")).isFalse();
    lead(1);
    assertThat(this.consumer.history).containsExactly("start");
    assertThat(this.bean.status().state()).isEqualTo("running");
    lose(1);
    assertThat(this.consumer.history).containsExactly("start", "stop");
    assertThat(this.calls.isRunning("default")).isTrue();
    assertThat(this.bean.status().state()).isEqualTo("stopping");
    this.consumer.callBack();
    assertThat(this.calls.isRunning("default")).isFalse();
    assertThat(this.bean.status().state()).isEqualTo("stopped");
  }

  @Test
  void startsAtOnceIfThisNodeLeadsWhenTheApplicationIsReady() {
    this.bean.close();
    this.time.pass(Duration.ZERO);
    this.election.term = 1;
    this.bean.open();
    assertThat(this.consumer.history).isEmpty();
    this.time.run(this.bean);
    assertThat(this.consumer.history).containsExactly("start");
  }

  @Test
  void aTaskRunsUntilItIsClosed() {
    AtomicInteger closed = new AtomicInteger();
    LeaderTaskLifecycle task = new LeaderTaskLifecycle(() -> closed::incrementAndGet);
    assertThat(task.isRunning()).isFalse();
    task.start();
    assertThat(task.isRunning()).isTrue();
    task.stop();
    task.stop();
    assertThat(task.isRunning()).isFalse();
    assertThat(closed).hasValue(1);
  }

  /** Nobody knows whether it still runs. */
  @Test
  void aTaskThatCouldNotBeClosedRuns() {
    AtomicInteger closed = new AtomicInteger();
    LeaderTaskLifecycle task = new LeaderTaskLifecycle(() -> () -> {
      if (closed.incrementAndGet() == 1) {
        throw new TimeoutException("the worker still runs");
      }
    });
    task.start();
    assertThatIllegalStateException().isThrownBy(task::stop);
    assertThat(task.isRunning()).isTrue();
    task.stop();
    assertThat(task.isRunning()).isFalse();
  }

  @Test
  @SuppressWarnings("NullAway") // what a lambda may return
  void aTaskThatReturnsNothingToCloseDoesNotRun() {
    assertThatNullPointerException()
        .isThrownBy(new LeaderTaskLifecycle(() -> null)::start)
        .withMessage("the task returned null");
  }

  @Test
  void isLeaderWorkBeforeItsStartIsCalled() {
    this.consumer.onStart = () -> assertThat(this.calls.isRunning("default")).isTrue();
    lead(1);
    assertThat(this.bean.status().state()).isEqualTo("running");
  }

  @Test
  void doesNotStartAgainBeforeItsStopHasEnded() {
    lead(1);
    lose(1);
    lead(2);
    this.time.pass(Duration.ofSeconds(5));
    assertThat(this.consumer.history).containsExactly("start", "stop");
    this.consumer.callBack();
    this.time.pass(Duration.ZERO);
    assertThat(this.consumer.history).containsExactly("start", "stop", "start");
  }

  @Test
  void aSecondCallBackOfOneStopDoesNotEndTheNextRun() {
    lead(1);
    lose(1);
    Runnable first = this.consumer.callback();
    first.run();
    lead(2);
    lose(2);
    first.run();
    assertThat(this.bean.status().state()).isEqualTo("stopping");
    assertThat(this.calls.isRunning("default")).isTrue();
  }

  /** Spring's container of JMS does not call back if its threads have not seen the start. */
  @Test
  void aContainerWithoutConsumersHasStoppedEvenIfItDoesNotCallBack() {
    this.consumer.consumers = 0;
    lead(1);
    lose(1);
    assertThat(this.consumer.history).containsExactly("start", "stop");
    assertThat(this.bean.status().state()).isEqualTo("stopped");
    assertThat(this.calls.isRunning("default")).isFalse();
  }

  @Test
  void aLateReportOfAnEarlierTermDoesNotEndTheRun() {
    lead(2);
    this.calls.onChange(new LeadershipLostEvent("default", "n", 1, Reason.EXPIRED));
    this.time.pass(Duration.ofSeconds(2));
    assertThat(this.consumer.history).containsExactly("start");
  }

  @Test
  void aLateReportOfAnEarlierTermDuringTheStartDoesNotEndTheRun() {
    this.election.term = 2;
    this.calls.onChange(acquired(2));
    this.calls.onChange(new LeadershipLostEvent("default", "n", 1, Reason.EXPIRED));
    this.time.pass(Duration.ofSeconds(2));
    assertThat(this.consumer.history).containsExactly("start");
  }

  @Test
  void aLeadershipThatIsLostDuringTheStartStopsItAfterwards() {
    this.consumer.onStart = () -> lose(1);
    lead(1);
    assertThat(this.consumer.history).containsExactly("start", "stop");
    assertThat(this.bean.status().failure()).isNull();
  }

  @Test
  void aLeadershipThatIsLostAndWonDuringTheStartBeginsAnotherRun() {
    this.consumer.onStart = () -> {
      this.consumer.onStart = () -> {};
      lose(1);
      lead(2);
    };
    lead(1);
    assertThat(this.consumer.history).containsExactly("start", "stop");
    this.consumer.callBack();
    assertThat(this.consumer.history).containsExactly("start", "stop", "start");
    this.time.pass(Duration.ofSeconds(5));
    assertThat(this.consumer.history).hasSize(3);
  }

  @Test
  void whatIsClosedDuringTheStartStopsAfterwards() {
    this.consumer.onStart = this.bean::close;
    lead(1);
    assertThat(this.consumer.history).containsExactly("start", "stop");
    assertThat(this.bean.status().failure()).isNull();
    this.consumer.callBack();
    this.time.pass(Duration.ofSeconds(5));
    assertThat(this.consumer.history).containsExactly("start", "stop");
  }

  @Test
  void theStartIsInterruptedWhenTheLeaseIsOver() {
    List<Boolean> interrupted = new ArrayList<>();
    this.consumer.onStart = () -> {
      this.calls.onLeaseOver("default", 1);
      interrupted.add(Thread.currentThread().isInterrupted());
      lose(1);
    };
    lead(1);
    assertThat(interrupted).containsExactly(true);
    assertThat(Thread.interrupted()).isFalse();
  }

  @Test
  void aNodeThatDoesNotLeadAnyMoreStartsNothing() {
    this.election.term = 1;
    this.calls.onChange(acquired(1));
    this.election.term = 0;
    this.time.pass(Duration.ZERO);
    assertThat(this.consumer.history).isEmpty();
    assertThat(this.calls.isRunning("default")).isFalse();
    assertThat(this.bean.status().state()).isEqualTo("stopped");
  }

  @Test
  void anElectionThatPublishesNothingIsFollowedToo() {
    this.election.term = 1;
    this.time.pass(Duration.ofSeconds(1));
    assertThat(this.consumer.history).containsExactly("start");
    this.election.term = 0;
    this.time.pass(Duration.ofSeconds(1));
    assertThat(this.consumer.history).containsExactly("start", "stop");
  }

  @Test
  void aStartThatFailsIsRepeatedWithGrowingPausesAndThenTheLeadershipIsHandedOn(
      CapturedOutput output) {
    this.consumer.onStart = () -> {
      throw new IllegalStateException("no broker");
    };
    lead(1);
    assertThat(this.bean.status().failure()).contains("no broker");
    assertThat(this.bean.status().problem()).isNotNull();
    this.time.pass(Duration.ofSeconds(59));
    assertThat(this.consumer.starts).containsExactly(0L, 1L, 3L, 7L, 15L, 31L);
    assertThat(this.election.losses).isZero();
    assertThat(output).contains("Next start in 1000 ms", "Next start in 16000 ms");
    this.time.pass(Duration.ofSeconds(2));
    assertThat(this.election.losses).isOne();
    assertThat(output)
        .contains("'orders' of election 'default' has not run steadily for PT1M: this node hands");
    assertThat(this.calls.isRunning("default")).isFalse();
    this.time.pass(Duration.ofMinutes(5));
    assertThat(this.election.losses).isOne();
    assertThat(this.bean.status().problem()).isNull();
    assertThat(this.bean.status().failure()).contains("no broker");
  }

  @Test
  void anOldFailureDoesNotExplainWhyItDoesNotRun() {
    lead(1);
    this.consumer.running = false;
    this.time.pass(Duration.ofMinutes(2));
    lose(1);
    this.consumer.callBack();
    List<@Nullable String> problems = new ArrayList<>();
    this.consumer.onStart = () -> {
      problems.add(this.bean.status().problem());
      this.time.pass(Duration.ofSeconds(61));
    };
    assertThat(this.bean.status().failure()).isEqualTo("it has ended by itself");
    lead(2);
    assertThat(problems).containsOnlyNulls();
    assertThat(this.bean.status().failure()).isEqualTo("it has not started within PT1M");
  }

  @Test
  void theTimeBeforeItIsOpenedDoesNotCount() {
    this.bean.close();
    this.time.pass(Duration.ZERO);
    this.time.check = () -> {};
    this.time.pass(Duration.ofMinutes(5));
    this.consumer.onStart = () -> this.time.pass(Duration.ofSeconds(10));
    this.election.term = 1;
    this.bean.open();
    this.time.run(this.bean);
    assertThat(this.consumer.history).containsExactly("start");
    assertThat(this.election.losses).isZero();
  }

  @Test
  void anElectionWithoutLeaseKeepsItsLeader() {
    this.election.lease = null;
    this.consumer.onStart = () -> {
      throw new IllegalStateException("no broker");
    };
    lead(1);
    this.time.pass(Duration.ofMinutes(5));
    assertThat(this.election.losses).isZero();
    assertThat(this.bean.status().problem()).isNotNull();
  }

  @Test
  void anElectionThatCannotBeHandedOnIsAskedAgain(CapturedOutput output) {
    this.election.refuses = true;
    this.consumer.onStart = () -> {
      throw new IllegalStateException("no broker");
    };
    lead(1);
    this.time.pass(Duration.ofSeconds(61));
    assertThat(output)
        .contains("leader-bound bean 'orders' of election 'default' could not be checked");
    this.election.refuses = false;
    this.time.pass(Duration.ofSeconds(60));
    assertThat(this.election.losses).isOne();
  }

  @Test
  void whatEndsByItselfIsStartedAgain() {
    lead(1);
    this.consumer.running = false;
    this.time.pass(Duration.ofSeconds(1));
    assertThat(this.consumer.history).containsExactly("start", "stop");
    this.time.pass(Duration.ofSeconds(1));
    assertThat(this.consumer.history).containsExactly("start", "stop", "start");
    assertThat(this.bean.status().failure()).isEqualTo("it has ended by itself");
    assertThat(this.bean.status().problem()).isNull();
  }

  @Test
  void whatEndsAgainAndAgainHandsTheLeadershipOn() {
    lead(1);
    for (int i = 0; i < 4; i++) {
      assertThat(this.election.losses).isZero();
      this.time.pass(Duration.ofSeconds(20));
      this.consumer.running = false;
    }
    this.time.pass(Duration.ofSeconds(1));
    assertThat(this.election.losses).isOne();
  }

  @Test
  void whatRanForAWhileFailsWithShortPausesAgain() {
    lead(1);
    for (int i = 0; i < 4; i++) {
      this.time.pass(Duration.ofMinutes(2));
      this.consumer.running = false;
      this.time.pass(Duration.ofSeconds(2));
      assertThat(this.bean.status().state()).isEqualTo("running");
    }
    assertThat(this.election.losses).isZero();
  }

  @Test
  void whatAnotherStartsIsStoppedUnlessThisNodeLeads(CapturedOutput output) {
    this.consumer.running = true;
    this.time.pass(Duration.ofSeconds(1));
    assertThat(this.consumer.history).containsExactly("stop");
    assertThat(output).contains("was started although this node does not lead");
    this.consumer.callBack();
    assertThat(this.bean.status().state()).isEqualTo("stopped");
    lead(1);
    this.time.pass(Duration.ofSeconds(5));
    assertThat(this.consumer.history).containsExactly("stop", "start");
  }

  @Test
  void whatAlwaysSaysThatItRunsIsLoggedOnceAMinute(CapturedOutput output) {
    for (int i = 0; i < 30; i++) {
      this.consumer.running = true;
      this.time.pass(Duration.ofSeconds(1));
      this.consumer.callBack();
    }
    assertThat(this.consumer.history).hasSize(30).containsOnly("stop");
    assertThat(output).containsOnlyOnce("was started although").doesNotContain("stopped leader");
  }

  /** Then it calls back at once, although it still handles a message. */
  @Test
  void aContainerThatHasStoppedByItselfIsWaitedFor() {
    lead(1);
    this.consumer.running = false;
    this.consumer.handling = 1;
    lose(1);
    this.time.pass(Duration.ofSeconds(5));
    assertThat(this.calls.isRunning("default")).isTrue();
    this.consumer.handling = 0;
    this.time.pass(Duration.ofSeconds(1));
    assertThat(this.calls.isRunning("default")).isFalse();
    assertThat(this.consumer.history).containsExactly("start", "stop");
  }

  @Test
  void whatIsClosedRunsAgainWhenItIsOpened() {
    lead(1);
    this.bean.close();
    this.time.pass(Duration.ZERO);
    this.consumer.callBack();
    this.time.pass(Duration.ofSeconds(5));
    assertThat(this.consumer.history).containsExactly("start", "stop");
    this.bean.open();
    this.time.run(this.bean);
    this.time.pass(Duration.ofSeconds(5));
    assertThat(this.consumer.history).containsExactly("start", "stop", "start");
  }

  @Test
  void aStopThatFailsIsRepeatedWhileTheWorkRuns(CapturedOutput output) {
    lead(1);
    this.consumer.stopFails = true;
    lose(1);
    assertThat(this.calls.isRunning("default")).isTrue();
    assertThat(this.bean.status().failure()).contains("its stop failed");
    this.time.pass(Duration.ofSeconds(1));
    this.consumer.stopFails = false;
    this.time.pass(Duration.ofSeconds(2));
    assertThat(this.consumer.history).containsExactly("start", "stop", "stop", "stop");
    this.consumer.callBack();
    assertThat(this.calls.isRunning("default")).isFalse();
    assertThat(output)
        .contains("leader-bound bean 'orders' of election 'default' could not be stopped");
  }

  @Test
  void aStopThatFailsAfterTheWorkHasEndedIsOver() {
    lead(1);
    this.consumer.running = false;
    this.consumer.stopFails = true;
    lose(1);
    assertThat(this.calls.isRunning("default")).isFalse();
    assertThat(this.bean.status().state()).isEqualTo("stopped");
  }

  @Test
  void aStopThatDoesNotCallBackIsLoggedOnceAMinute(CapturedOutput output) {
    lead(1);
    lose(1);
    this.time.pass(Duration.ofSeconds(181));
    assertThat(output.getOut().lines().filter((line) -> line.contains("has not ended for")))
        .hasSize(3);
  }

  @Test
  void whatDoesNotSayWhetherItRunsGoesOnAndIsLoggedOnceAMinute(CapturedOutput output) {
    lead(1);
    this.consumer.unknown = "down";
    this.time.pass(Duration.ofSeconds(65));
    this.consumer.unknown = "down since 65 s";
    this.time.pass(Duration.ofSeconds(65));
    assertThat(this.consumer.history).containsExactly("start");
    assertThat(output.getOut().lines().filter((line) -> line.contains("whether it runs")))
        .hasSize(3);
    lose(1);
    this.consumer.callBack();
    this.time.pass(Duration.ofSeconds(5));
    assertThat(this.consumer.history).containsExactly("start", "stop");
  }

  @Test
  void whatMayRunAfterAStopThatFailedIsStoppedAgain() {
    lead(1);
    this.consumer.unknown = "down";
    this.consumer.stopFails = true;
    lose(1);
    assertThat(this.calls.isRunning("default")).isTrue();
    this.consumer.stopFails = false;
    this.time.pass(Duration.ofSeconds(1));
    this.consumer.callBack();
    assertThat(this.calls.isRunning("default")).isFalse();
  }

  @Test
  void anElectionThatDoesNotSayWhetherThisNodeLeadsHasNoLeader(CapturedOutput output) {
    lead(1);
    this.election.unknown = true;
    this.time.pass(Duration.ofSeconds(65));
    assertThat(this.consumer.history).containsExactly("start", "stop");
    assertThat(output.getOut().lines().filter((line) -> line.contains("whether this node leads")))
        .hasSize(2);
  }

  @Test
  void anElectionThatFailsWhenItIsAskedForAPermitIsAskedAgain(CapturedOutput output) {
    this.election.answers = 2;
    lead(1);
    assertThat(output)
        .contains("leader-bound bean 'orders' of election 'default' could not be run");
    assertThat(this.calls.isRunning("default")).isFalse();
    this.time.pass(Duration.ofSeconds(1));
    assertThat(this.consumer.history).containsExactly("start");
  }

  /** Such as a loop in start(), which would go on when other nodes lead. */
  @Test
  void aStartThatDoesNotEndIsLoggedOnceAMinuteAndStoppedOnceTheLeadershipIsOver(
      CapturedOutput output) {
    this.consumer.onStart = () -> {
      this.time.pass(Duration.ofSeconds(60));
      this.consumer.history.add("lost");
      lose(1);
      this.time.pass(Duration.ofSeconds(1));
      this.consumer.history.add("a second later");
      this.time.pass(Duration.ofSeconds(119));
    };
    lead(1);
    assertThat(this.consumer.history)
        .startsWith(
            "start",
            "lost",
            "stop without a callback",
            "a second later",
            "stop without a callback");
    assertThat(output.getOut().lines().filter((line) -> line.contains("the start of leader-bound")))
        .hasSize(3);
  }

  @Test
  void aStartThatGoesOnAfterTheLeaseIsStopped() {
    this.consumer.onStart = () -> {
      this.time.pass(Duration.ofSeconds(5));
      this.consumer.history.add("lost");
      lose(1);
      this.time.pass(Duration.ofSeconds(2));
      this.consumer.history.add("two seconds later");
    };
    lead(1);
    assertThat(this.consumer.history)
        .startsWith("start", "lost", "stop without a callback", "two seconds later");
  }

  @Test
  void aStartIsGivenItsTimeWhileItsLeaseProtectsIt() {
    LeaseElectionService lease = mock(LeaseElectionService.class, delegatesTo(this.election));
    doReturn(Optional.of(Duration.ofSeconds(1))).when(lease).leaseRemaining();
    this.consumer.onStart = () -> {
      this.election.term = 0;
      this.time.pass(Duration.ofSeconds(30));
      this.consumer.history.add("half a minute later");
      doReturn(Optional.empty()).when(lease).leaseRemaining();
      this.time.pass(Duration.ofSeconds(2));
    };
    this.bean.close();
    this.time.pass(Duration.ZERO);
    this.election.term = 1;
    LeaderBoundBean bean = bean(calls(lease));
    bean.open();
    this.time.run(bean);
    assertThat(this.consumer.history)
        .startsWith("start", "half a minute later", "stop without a callback");
  }

  @Test
  void aStartThatDoesNotEndIsStoppedWhenTheApplicationCloses() {
    this.consumer.onStart = () -> {
      this.time.pass(Duration.ofSeconds(60));
      this.bean.close();
      this.consumer.history.add("closed");
    };
    lead(1);
    assertThat(this.consumer.history)
        .containsExactly("start", "stop without a callback", "closed", "stop");
  }

  @Test
  void anApplicationThatOpensAgainWaitsForTheStopOfBefore() {
    lead(1);
    this.bean.close();
    this.time.pass(Duration.ZERO);
    this.bean.open();
    Thread next = new Thread(this.bean::run);
    next.setDaemon(true);
    next.start();
    await().until(() -> next.getState() == Thread.State.BLOCKED);
    assertThat(this.consumer.history).containsExactly("start", "stop");
    this.consumer.callBack();
    assertThat(this.consumer.history).containsExactly("start", "stop", "start");
  }

  @Test
  void anElectionForgetsABeanWhoseApplicationHasClosed() {
    assertThat(this.calls.gate("").listeners()).hasSize(1);
    this.bean.close();
    this.time.pass(Duration.ZERO);
    assertThat(this.calls.gate("").listeners()).isEmpty();
  }

  /** It is leader work too, and must not reach the next run. */
  @Test
  void theStopOfAStartThatDoesNotEndIsWaitedFor() {
    List<Runnable> stops = new ArrayList<>();
    this.threads = stops::add;
    this.consumer.onStart = () -> {
      this.consumer.onStart = () -> {};
      this.time.pass(Duration.ofSeconds(60));
      lose(1);
      this.time.pass(Duration.ofSeconds(300));
      lead(2);
    };
    lead(1);
    assertThat(stops).hasSize(1);
    this.time.pass(Duration.ofSeconds(1));
    assertThat(this.consumer.history).containsExactly("start");
    stops.get(0).run();
    this.time.pass(Duration.ofSeconds(1));
    assertThat(this.consumer.history).containsExactly("start", "stop without a callback", "stop");
    this.consumer.callBack();
    assertThat(this.consumer.history).endsWith("stop", "start");
  }

  @Test
  void anInterruptThatAStepHasLeftDoesNotReachTheNextOne() {
    List<Boolean> interrupted = new ArrayList<>();
    this.consumer.onStart = () -> {
      interrupted.add(Thread.currentThread().isInterrupted());
      this.consumer.onStart = () -> interrupted.add(Thread.currentThread().isInterrupted());
      Thread.currentThread().interrupt();
      lose(1);
      lead(2);
    };
    this.consumer.onStop = () -> {
      interrupted.add(Thread.currentThread().isInterrupted());
      this.consumer.running = false;
      Thread.currentThread().interrupt();
    };
    lead(1);
    this.time.pass(Duration.ofSeconds(2));
    assertThat(this.consumer.history).containsExactly("start", "stop", "start");
    assertThat(interrupted).containsExactly(false, false, false);
  }

  @Test
  void aFailureThatCannotBePrintedKeepsNoLease() {
    this.consumer.onStart = () -> {
      this.consumer.onStart = () -> {};
      throw new Error() {
        @Override
        public String getMessage() {
          throw new IllegalStateException("expected");
        }
      };
    };
    lead(1);
    assertThat(this.consumer.history).containsExactly("start", "stop");
    assertThat(this.calls.isRunning("default")).isFalse();
    this.time.pass(Duration.ofSeconds(1));
    assertThat(this.consumer.history).containsExactly("start", "stop", "start");
  }

  @Test
  void whatSaysOnlyAfterItsStartThatItRunsGoesOn() {
    this.consumer.late = true;
    lead(1);
    this.consumer.late = false;
    this.time.pass(Duration.ofSeconds(5));
    assertThat(this.consumer.history).containsExactly("start");
    assertThat(this.bean.status().failure()).isNull();
  }

  @Test
  void whenTheApplicationClosesItStopsAndDoesNotStartAgain() {
    lead(1);
    this.bean.close();
    this.time.pass(Duration.ZERO);
    assertThat(this.consumer.history).containsExactly("start", "stop");
    this.consumer.callBack();
    this.time.pass(Duration.ofMinutes(2));
    assertThat(this.consumer.history).containsExactly("start", "stop");
  }

  /** On threads of its own, whatever the order of reports, starts, stops and calls back. */
  @RepeatedTest(20)
  void runsOneAfterTheOtherWhenTheLeadershipFlaps() throws Exception {
    Election election = new Election();
    LeaderOnlyCalls calls = calls(election);
    ExecutorService threads = Executors.newCachedThreadPool();
    Strict strict = new Strict(threads, () -> calls.isRunning("default"));
    LeaderBoundBean bean = new LeaderBoundBean(
        "orders",
        calls.gate(""),
        strict,
        new LeaderBoundBean.Shared(
            calls,
            Duration.ofMinutes(1),
            threads,
            LeaderBoundBean::pause,
            System::nanoTime,
            InstantSource.system()));
    Random random = new Random();
    for (long term = 1; term <= 50; term++) {
      if (term % 10 == 1) {
        bean.close();
        bean.open();
        threads.execute(bean::run);
      }
      election.term = term;
      calls.onChange(acquired(term));
      pause(random);
      election.term = 0;
      long lost = term;
      threads.execute(
          () -> calls.onChange(new LeadershipLostEvent("default", "n", lost, Reason.RESIGNED)));
      pause(random);
    }
    election.term = 51;
    calls.onChange(acquired(51));
    await().until(() -> bean.status().isRunning());
    bean.close();
    await().until(() -> bean.status().state().equals("stopped"));
    threads.shutdown();
    assertThat(threads.awaitTermination(10, TimeUnit.SECONDS)).isTrue();
    assertThat(calls.isRunning("default")).isFalse();
    assertThat(strict.mistakes).isEmpty();
    assertThat(strict.starts.get()).isPositive();
  }

  private static void pause(Random random) {
    LockSupport.parkNanos(random.nextInt(300_000));
  }

  private void lead(long term) {
    this.election.term = term;
    this.calls.onChange(acquired(term));
    this.time.pass(Duration.ZERO);
  }

  private static LeadershipAcquiredEvent acquired(long term) {
    return new LeadershipAcquiredEvent(
        "default", "n", term, LeadershipAcquiredEvent.Reason.RELEASED);
  }

  private void lose(long term) {
    this.election.term = 0;
    this.calls.onChange(new LeadershipLostEvent("default", "n", term, Reason.RESIGNED));
    this.time.pass(Duration.ZERO);
  }

  private LeaderBoundBean bean(LeaderOnlyCalls calls) {
    return new LeaderBoundBean(
        "orders",
        calls.gate(""),
        this.consumer,
        new LeaderBoundBean.Shared(
            calls,
            Duration.ofMinutes(1),
            (task) -> this.threads.execute(task),
            this.time::pause,
            () -> this.time.nanos,
            InstantSource.system()));
  }

  private static LeaderOnlyCalls calls(ElectionService election) {
    DefaultListableBeanFactory beans = new DefaultListableBeanFactory();
    beans.registerSingleton("election", election);
    Supplier<Elections> elections = () -> SwitchedElection.registry(beans);
    return new LeaderOnlyCalls(elections, () -> null);
  }

  private static final class Election extends SwitchedElection {

    private volatile long term;

    private int losses;

    private boolean unknown;

    /** Before it fails once. */
    private int answers = Integer.MAX_VALUE;

    private boolean refuses;

    private @Nullable Duration lease = Duration.ofSeconds(10);

    @Override
    public boolean isLeader() {
      if (this.unknown || this.answers-- == 0) {
        throw new IllegalStateException("expected");
      }
      return this.term > 0;
    }

    @Override
    public Optional<Leadership> leadership() {
      return isLeader()
          ? Optional.of(new Leadership(this.term, Instant.EPOCH, Duration.ofSeconds(10)))
          : Optional.empty();
    }

    @Override
    public Optional<Duration> leaderLease() {
      return Optional.ofNullable(this.lease);
    }

    @Override
    public void lostLeader() {
      if (this.refuses) {
        throw new IllegalStateException("expected");
      }
      this.losses++;
      this.term = 0;
    }
  }

  /** A consumer whose stop calls back when the test says so. */
  final class Consumer implements SmartLifecycle {

    private final List<String> history = new ArrayList<>();

    private final List<Long> starts = new ArrayList<>();

    private Runnable onStart = () -> {};

    private boolean running;

    private boolean stopFails;

    /** Whether it does not say yet that it runs. */
    private boolean late;

    private Runnable onStop = () -> {};

    private @Nullable String unknown;

    private int consumers = 1;

    /** Those that still handle a message after the stop. */
    private volatile int handling;

    private @Nullable Runnable callback;

    /** The property of Spring's listener containers. */
    public int getActiveConsumerCount() {
      return this.running ? this.consumers : this.handling;
    }

    @Override
    public void start() {
      this.history.add("start");
      this.starts.add(LeaderBoundBeanTest.this.time.seconds());
      this.onStart.run();
      this.running = true;
    }

    @Override
    public void stop(Runnable callback) {
      this.history.add("stop");
      this.onStop.run();
      if (this.stopFails) {
        throw new IllegalStateException("expected");
      }
      this.callback = callback;
      if (this.running) {
        this.handling = this.consumers;
      } else {
        callback.run();
      }
      this.running = false;
    }

    @Override
    public void stop() {
      this.history.add("stop without a callback");
    }

    @Override
    public boolean isRunning() {
      if (this.unknown != null) {
        throw new IllegalStateException(this.unknown);
      }
      return this.running && !this.late;
    }

    Runnable callback() {
      return Objects.requireNonNull(this.callback);
    }

    void callBack() {
      this.handling = 0;
      callback().run();
      LeaderBoundBeanTest.this.time.pass(Duration.ZERO);
    }
  }

  /** A consumer that is started and stopped in turn, as leader work. */
  private static final class Strict implements SmartLifecycle {

    private final AtomicInteger starts = new AtomicInteger();

    private final AtomicBoolean occupied = new AtomicBoolean();

    private final List<String> mistakes = new CopyOnWriteArrayList<>();

    private final Executor threads;

    private final BooleanSupplier isCounted;

    private volatile boolean running;

    Strict(Executor threads, BooleanSupplier isCounted) {
      this.threads = threads;
      this.isCounted = isCounted;
    }

    @Override
    public void start() {
      this.starts.incrementAndGet();
      if (!this.occupied.compareAndSet(false, true)) {
        this.mistakes.add("started before it had stopped");
      }
      check("start");
      this.running = true;
    }

    private void check(String step) {
      if (!this.isCounted.getAsBoolean()) {
        this.mistakes.add("not counted in its " + step);
      }
    }

    @Override
    public void stop(Runnable callback) {
      if (!this.running) {
        this.mistakes.add("stopped before it ran");
      }
      this.running = false;
      this.threads.execute(() -> {
        check("stop");
        this.occupied.set(false);
        callback.run();
      });
    }

    @Override
    public void stop() {
      throw new UnsupportedOperationException();
    }

    @Override
    public boolean isRunning() {
      return this.running;
    }
  }

  /**
   * A clock that stands still between steps, and a check a second. The thread of the bean runs while
   * that of the test waits for it, until it waits for news.
   */
  private static final class Time {

    private static final long BEGIN = Long.MAX_VALUE - Duration.ofSeconds(2).toNanos();

    private final Semaphore turns = new Semaphore(0);

    private final Semaphore pauses = new Semaphore(0);

    private volatile Semaphore news = this.turns;

    private Runnable check = () -> {};

    /** Overflows soon. */
    private volatile long nanos = BEGIN;

    /** The thread of the bean, until it has ended. */
    private volatile @Nullable Thread thread;

    void run(LeaderBoundBean bean) {
      this.check = bean::check;
      Thread thread = new Thread(() -> {
        bean.run();
        this.thread = null;
        this.pauses.release();
      });
      this.thread = thread;
      thread.setDaemon(true);
      thread.start();
      this.pauses.acquireUninterruptibly();
    }

    void pause(Semaphore news) {
      this.news = news;
      if (news.drainPermits() == 0) {
        this.pauses.release();
        this.turns.acquireUninterruptibly();
        news.drainPermits();
      }
    }

    void pass(Duration duration) {
      if (this.news.availablePermits() > 0) {
        turn();
      }
      long end = this.nanos + duration.toNanos();
      while (this.nanos - end < 0) {
        this.nanos += Duration.ofSeconds(1).toNanos();
        this.check.run();
        turn();
      }
    }

    long seconds() {
      return Duration.ofNanos(this.nanos - BEGIN).toSeconds();
    }

    /** Within a step of the bean there is no other one. */
    private void turn() {
      if (this.thread != null && Thread.currentThread() != this.thread) {
        this.turns.release();
        this.pauses.acquireUninterruptibly();
      }
    }
  }
}
