package io.election.autoconfigure.leaderonly;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.election.ElectionService;
import io.election.LeaderOnly;
import io.election.LeaderOnlyAssert;
import io.election.Leadership;
import io.election.autoconfigure.Elections;
import io.election.autoconfigure.SwitchedElection;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.stream.Stream;
import org.assertj.core.api.Assertions;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Publisher;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.support.StaticApplicationContext;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.core.ReactiveTypeDescriptor;
import reactor.core.publisher.Flux;

class LeaderOnlyCallsTest {

  private final long created = System.nanoTime();

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
    RunningCalls.Call first = enter("Job.run");
    RunningCalls.Call second = enter("Job.run");
    assertThat(this.calls.isRunning("default")).isTrue();
    this.gate.leave(first, null);
    assertThat(ends).hasValue(0);
    this.gate.leave(second, null);
    assertThat(ends).hasValue(1);
  }

  @Test
  void callsThatRunAreNamedWithTheirAges() {
    this.election.becomeLeader();
    RunningCalls.Call before = enter("Job.before");
    RunningCalls.Call nightly = enter("Job.nightly");
    this.gate.leave(before, null);
    // The elector asks at each renewal.
    assertThat(this.calls.isRunning("default")).isTrue();
    RunningCalls.Call hourly = enter("Job.hourly");
    assertThat(this.calls.describe("default"))
        .satisfiesExactly(
            (oldest) -> assertAge(oldest, "Job.nightly since "),
            (next) -> assertAge(next, "Job.hourly since "));
    this.gate.leave(nightly, null);
    assertThat(this.calls.describe("default"))
        .singleElement()
        .satisfies((left) -> assertThat(left).startsWith("Job.hourly"));
    this.gate.leave(hourly, null);
    assertThat(this.calls.describe("default")).isEmpty();
    assertThat(this.calls.describe("unknown")).isEmpty();
  }

  private void assertAge(String described, String before) {
    assertThat(described).startsWith(before).endsWith(" s");
    long age = Long.parseLong(described.substring(before.length(), described.length() - 2));
    assertThat(age).isBetween(0L, TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - this.created));
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void waitEndsWithTheLastCallOrIfItIsInterrupted(boolean interrupted) throws Exception {
    this.election.becomeLeader();
    RunningCalls.Call call = enter("Job.run");
    AtomicBoolean flag = new AtomicBoolean();
    Thread waiting = new Thread(() -> {
      this.calls.awaitEnd(Duration.ofHours(1));
      flag.set(Thread.interrupted());
    });
    waiting.start();
    await().until(() -> waiting.getState() == Thread.State.TIMED_WAITING);
    if (interrupted) {
      waiting.interrupt();
    } else {
      this.gate.leave(call, null);
    }
    waiting.join(TimeUnit.SECONDS.toMillis(30));
    assertThat(waiting.isAlive()).isFalse();
    assertThat(flag.get()).isEqualTo(interrupted);
  }

  @Test
  void callOfAContextThatHasEndedAssertsNothing() {
    this.election.becomeLeader();
    RunningCalls.Call call = enter("Job.run");
    call.attach();
    this.calls.afterPropertiesSet();
    LeaderOnlyAssert.assertGuarded();
    this.calls.destroy();
    Assertions.assertThatIllegalStateException().isThrownBy(LeaderOnlyAssert::assertGuarded);
  }

  @Test
  void anyNumberOfCallsRunsAtOnce() {
    AtomicInteger ends = new AtomicInteger();
    this.calls.onEnd(ends::incrementAndGet);
    this.election.becomeLeader();
    List<RunningCalls.Call> running =
        Stream.generate(() -> enter("Job.run")).limit(20).toList();
    assertThat(running).doesNotHaveDuplicates();
    assertThat(this.calls.running("default")).isEqualTo(20);
    assertThat(this.calls.describe("default")).hasSize(20);
    assertThat(this.calls.isRunning("default")).isTrue();
    for (int left = 19; left >= 0; left--) {
      assertThat(ends).hasValue(0);
      this.gate.leave(running.get(left), null);
      assertThat(this.calls.running("default")).isEqualTo(left);
    }
    assertThat(ends).hasValue(1);
  }

  /** Also of a call that takes the place of another one. */
  @Test
  void durationIsThatOfTheCall() {
    this.election.becomeLeader();
    List<String> ended = new ArrayList<>();
    RunningCalls.Call before = enter("Job.before");
    this.calls.onCall((serviceId, method, outcome, nanos) -> {
      assertThat(nanos).isBetween(0L, System.nanoTime() - this.created);
      ended.add(method + " " + outcome);
    });
    this.gate.leave(before, null);
    this.gate.leave(enter("Job.run"), null);
    this.gate.leave(enter("Job.fail"), new IllegalStateException());
    this.gate.skipped("Job.run");
    assertThat(ended).containsExactly("Job.run RAN", "Job.fail FAILED", "Job.run SKIPPED");
  }

  /** Otherwise a call may begin between a drain's last look and the release. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void callIsCountedBeforeTheElectionIsAsked(boolean leads) {
    AtomicReference<LeaderOnlyCalls> asked = new AtomicReference<>();
    AtomicInteger questions = new AtomicInteger();
    LeaderOnlyCalls calls = calls(new SwitchedElection() {
      @Override
      public boolean isLeader() {
        assertThat(asked.get().running("default")).isEqualTo(1);
        questions.incrementAndGet();
        return leads;
      }
    });
    asked.set(calls);
    LeaderOnlyCalls.Gate gate = calls.gate("");
    for (Function<String, RunningCalls.@Nullable Call> door : doors(gate)) {
      RunningCalls.Call call = door.apply("Job.run");
      assertThat(call != null).isEqualTo(leads);
      if (call != null) {
        gate.leave(call, null);
      }
      assertThat(calls.running("default")).isZero();
    }
    assertThat(questions).hasValue(3);
  }

  /** An election that shows a term may yet not lead: its answer has the last word. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void termAloneLetsNoCallBegin(boolean termBound) {
    LeaderOnlyCalls calls = calls(
        new SwitchedElection() {
          @Override
          public Optional<Leadership> leadership() {
            return Optional.of(new Leadership(1, Instant.EPOCH, Leadership.UNLIMITED));
          }
        },
        termBound ? new NeverBegins() : null);
    for (Function<String, RunningCalls.@Nullable Call> door : doors(calls.gate(""))) {
      assertThat(door.apply("Job.run")).isNull();
    }
    assertThat(calls.running("default")).isZero();
  }

  @Test
  void noCallBeginsIfTheContextClosesWhileTheElectionIsAsked() {
    AtomicReference<LeaderOnlyCalls> asked = new AtomicReference<>();
    StaticApplicationContext context = new StaticApplicationContext();
    LeaderOnlyCalls calls = calls(new SwitchedElection() {
      @Override
      public boolean isLeader() {
        asked.get().onApplicationEvent(new ContextClosedEvent(context));
        return true;
      }
    });
    calls.setApplicationContext(context);
    asked.set(calls);
    assertThat(calls.gate("").enter("Job.run")).isNull();
    assertThat(calls.running("default")).isZero();
  }

  /** A reactive type whose adapter fails. */
  private record Broken(@Nullable Publisher<?> publisher) {}

  /** Otherwise a stop waits for a call that never ends, and never hands the lease back. */
  @Test
  void callWhoseResultCannotBeSubscribedToEnds() {
    AtomicReference<Runnable> adapter = new AtomicReference<>();
    ReactiveAdapterRegistry.getSharedInstance()
        .registerReactiveType(
            ReactiveTypeDescriptor.multiValue(Broken.class, () -> new Broken(null)),
            (result) -> {
              adapter.get().run();
              return Flux.empty();
            },
            Broken::new);
    this.election.becomeLeader();
    Broken guarded = (Broken) ReactiveGuard.of(
            Broken.class, this.calls, () -> this.gate, LeaderOnly.OnFollower.SKIP, "Job.run")
        .guard(new Broken(null));
    Flux<?> result = Flux.from(Objects.requireNonNull(guarded.publisher()));

    adapter.set(() -> {
      throw new IllegalStateException("expected");
    });
    Assertions.assertThatIllegalStateException().isThrownBy(result::blockLast);
    assertThat(this.calls.running("default")).isZero();

    adapter.set(() -> {
      throw new NoClassDefFoundError("expected");
    });
    Assertions.assertThatThrownBy(result::blockLast).isInstanceOf(NoClassDefFoundError.class);
    assertThat(this.calls.running("default")).isZero();
  }

  private static List<Function<String, RunningCalls.@Nullable Call>> doors(
      LeaderOnlyCalls.Gate gate) {
    return List.of(gate::enter, gate::enterThread, gate::enterInterruptible);
  }

  private static final class NeverBegins implements TermBoundCalls {

    @Override
    public boolean appliesTo(ElectionService election) {
      return true;
    }

    @Override
    public void begin(ElectionService election, long term) {
      Assertions.fail("A call began in term " + term);
    }

    @Override
    public long rejections(String serviceId) {
      return 0;
    }

    @Override
    public BeanPostProcessor installer() {
      return new BeanPostProcessor() {};
    }

    @Override
    public void end() {}
  }

  private RunningCalls.Call enter(String method) {
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
          RunningCalls.Call entered = this.gate.enter("Job.run");
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
    return calls(election, null);
  }

  private static LeaderOnlyCalls calls(
      SwitchedElection election, @Nullable TermBoundCalls termBound) {
    DefaultListableBeanFactory beans = new DefaultListableBeanFactory();
    beans.registerSingleton("election", election);
    Elections elections = SwitchedElection.registry(beans);
    return new LeaderOnlyCalls(() -> elections, () -> termBound);
  }
}
