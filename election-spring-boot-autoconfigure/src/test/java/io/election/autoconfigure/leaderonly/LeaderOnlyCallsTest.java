package io.election.autoconfigure.leaderonly;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.autoconfigure.Elections;
import io.election.autoconfigure.SwitchedElection;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;

class LeaderOnlyCallsTest {

  private final SwitchedElection election = new SwitchedElection();

  private final LeaderOnlyCalls calls = calls(this.election);

  private final LeaderOnlyCalls.Gate gate = this.calls.gate("");

  @AutoClose("shutdownNow")
  private final ExecutorService executor = Executors.newCachedThreadPool();

  @Test
  void electionThatFailsToAnswerLeavesNobodyInside() {
    LeaderOnlyCalls calls = calls(new SwitchedElection() {
      @Override
      public boolean isLeader() {
        throw new IllegalStateException("expected");
      }
    });
    LeaderOnlyCalls.Gate gate = calls.gate("");
    Assertions.assertThatIllegalStateException().isThrownBy(() -> gate.enter("Job.run"));
    assertThat(calls.isRunning("default")).isFalse();
  }

  @Test
  void onlyThoseWhoAskedHearOfTheEnd() {
    AtomicInteger ends = new AtomicInteger();
    this.calls.onEnd(ends::incrementAndGet);
    this.election.becomeLeader();
    this.gate.leave(enter("Job.run"), null);
    assertThat(ends).hasValue(0);
    LeaderOnlyCalls.Call first = enter("Job.run");
    LeaderOnlyCalls.Call second = enter("Job.run");
    assertThat(this.calls.isRunning("default")).isTrue();
    this.gate.leave(first, null);
    assertThat(ends).hasValue(0);
    this.gate.leave(second, null);
    assertThat(ends).hasValue(1);
  }

  @Test
  void callsThatRunAreNamedWithTheirAges() {
    this.election.becomeLeader();
    LeaderOnlyCalls.Call nightly = enter("Job.nightly");
    LeaderOnlyCalls.Call hourly = enter("Job.hourly");
    assertThat(this.calls.describe("default"))
        .satisfiesExactly(
            (oldest) -> assertThat(oldest).matches("Job\\.nightly since \\d+ s"),
            (next) -> assertThat(next).matches("Job\\.hourly since \\d+ s"));
    this.gate.leave(nightly, null);
    assertThat(this.calls.describe("default"))
        .singleElement()
        .satisfies((left) -> assertThat(left).startsWith("Job.hourly"));
    this.gate.leave(hourly, null);
    assertThat(this.calls.describe("default")).isEmpty();
    assertThat(this.calls.describe("unknown")).isEmpty();
  }

  private LeaderOnlyCalls.Call enter(String method) {
    return Objects.requireNonNull(this.gate.enter(method));
  }

  @RepeatedTest(200)
  void leaderThatStepsDownAndSeesNobodyHasMissedNobody() throws Exception {
    AtomicBoolean handedBack = new AtomicBoolean();
    AtomicBoolean ranTooLate = new AtomicBoolean();
    CountDownLatch start = new CountDownLatch(1);
    Semaphore ends = new Semaphore(0);
    this.calls.onEnd(ends::release);
    this.election.becomeLeader();
    Future<?>[] callers = new Future<?>[3];
    for (int i = 0; i < callers.length; i++) {
      callers[i] = this.executor.submit(() -> {
        start.await();
        for (int call = 0; call < 200; call++) {
          LeaderOnlyCalls.Call entered = this.gate.enter("Job.run");
          if (entered != null) {
            if (handedBack.get()) {
              ranTooLate.set(true);
            }
            this.gate.leave(entered, null);
          }
        }
        return null;
      });
    }
    start.countDown();
    this.election.lostLeader();
    while (this.calls.isRunning("default")) {
      // This would wait forever if the end of a call were not signalled.
      assertThat(ends.tryAcquire(10, TimeUnit.SECONDS)).isTrue();
    }
    handedBack.set(true);
    for (Future<?> caller : callers) {
      caller.get(10, TimeUnit.SECONDS);
    }
    assertThat(ranTooLate).isFalse();
  }

  private static LeaderOnlyCalls calls(SwitchedElection election) {
    DefaultListableBeanFactory beans = new DefaultListableBeanFactory();
    beans.registerSingleton("election", election);
    Elections elections = SwitchedElection.registry(beans);
    return new LeaderOnlyCalls(() -> elections, () -> null);
  }
}
