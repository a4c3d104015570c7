package io.election.autoconfigure.leaderonly;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.election.ElectionService;
import io.election.Fence;
import io.election.LeaderOnly;
import io.election.LeaderOnlyAssert;
import io.election.Leadership;
import io.election.autoconfigure.Elections;
import io.election.autoconfigure.SwitchedElection;
import io.election.autoconfigure.leaderonly.LeaderOnlyCalls.Outcome;
import io.election.autoconfigure.leaderonly.Permits.Binding;
import io.election.autoconfigure.leaderonly.Permits.Continuation;
import io.election.autoconfigure.leaderonly.Permits.Permit;
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
import java.util.stream.Stream;
import org.assertj.core.api.Assertions;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Publisher;
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
    Assertions.assertThatIllegalStateException()
        .isThrownBy(() -> calls.enter(gate, "Job.run", Binding.NONE));
    assertThat(calls.isRunning("default")).isFalse();
  }

  @Test
  void onlyThoseWhoAskedHearOfTheEnd() {
    AtomicInteger ends = new AtomicInteger();
    this.calls.onEnd(ends::incrementAndGet);
    this.election.becomeLeader();
    end(enter("Job.run"));
    assertThat(ends).hasValue(0);
    Permit first = enter("Job.run");
    Permit second = enter("Job.run");
    assertThat(this.calls.isRunning("default")).isTrue();
    end(first);
    assertThat(ends).hasValue(0);
    end(second);
    assertThat(ends).hasValue(1);
  }

  @Test
  void callsThatRunAreNamedWithTheirAges() {
    this.election.becomeLeader();
    Permit before = enter("Job.before");
    Permit nightly = enter("Job.nightly");
    end(before);
    // The elector asks at each renewal.
    assertThat(this.calls.isRunning("default")).isTrue();
    Permit hourly = enter("Job.hourly");
    assertThat(this.calls.describe("default"))
        .satisfiesExactly(
            (oldest) -> assertAge(oldest, "Job.nightly since "),
            (next) -> assertAge(next, "Job.hourly since "));
    end(nightly);
    assertThat(this.calls.describe("default"))
        .singleElement()
        .satisfies((left) -> assertThat(left).startsWith("Job.hourly"));
    end(hourly);
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
    Permit call = enter("Job.run");
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
      end(call);
    }
    waiting.join(TimeUnit.SECONDS.toMillis(30));
    assertThat(waiting.isAlive()).isFalse();
    assertThat(flag.get()).isEqualTo(interrupted);
  }

  @Test
  void callOfAContextThatHasEndedAssertsNothing() {
    this.election.becomeLeader();
    enter("Job.run");
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
    List<Permit> running = Stream.generate(() -> enter("Job.run")).limit(20).toList();
    assertThat(running).doesNotHaveDuplicates();
    assertThat(this.calls.running("default")).isEqualTo(20);
    assertThat(this.calls.describe("default")).hasSize(20);
    assertThat(this.calls.isRunning("default")).isTrue();
    for (int left = 19; left >= 0; left--) {
      assertThat(ends).hasValue(0);
      end(running.get(left));
      assertThat(this.calls.running("default")).isEqualTo(left);
    }
    assertThat(ends).hasValue(1);
  }

  /** Also of a call that takes the place of another one. */
  @Test
  void durationIsThatOfTheCall() {
    this.election.becomeLeader();
    List<String> ended = new ArrayList<>();
    Permit before = enter("Job.before");
    this.calls.onCall((serviceId, method, outcome, nanos) -> {
      assertThat(nanos).isBetween(0L, System.nanoTime() - this.created);
      ended.add(method + " " + outcome);
    });
    end(before);
    end(enter("Job.run"));
    enter("Job.fail").close();
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
    for (Binding binding : Binding.values()) {
      try (Permit call = calls.enter(gate, "Job.run", binding)) {
        assertThat(call != null).isEqualTo(leads);
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
    for (Binding binding : Binding.values()) {
      assertThat(calls.enter(calls.gate(""), "Job.run", binding)).isNull();
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
    assertThat(calls.enter(calls.gate(""), "Job.run", Binding.NONE)).isNull();
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

  private static final class NeverBegins implements Fence {

    @Override
    public boolean appliesTo(ElectionService election) {
      return true;
    }

    @Override
    public Bound bind(ElectionService election, long term) {
      return Assertions.fail("A call began in term " + term);
    }

    @Override
    public long rejections(String serviceId) {
      return 0;
    }
  }

  private Permit enter(String method) {
    return Objects.requireNonNull(this.calls.enter(this.gate, method, Binding.NONE));
  }

  private static void end(Permit permit) {
    permit.succeed();
    permit.close();
  }

  /** A result may end before its call has returned, more than once, and after the call has failed. */
  @ParameterizedTest
  @CsvSource({
    "true, true, true, RAN",
    "true, false, true, RAN",
    "true, true, false, FAILED",
    "true, false, false, FAILED",
    "false, true, true, FAILED",
  })
  void workThatGoesOnEndsWithItsLastPart(
      boolean callSucceeds, boolean callFirst, boolean resultSucceeds, Outcome outcome) {
    List<Outcome> ended = new ArrayList<>();
    this.calls.onCall((serviceId, method, each, nanos) -> ended.add(each));
    this.election.becomeLeader();
    Permit call = enter("Job.run");
    Continuation result = call.goesOn();
    Runnable returns = () -> {
      if (callSucceeds) {
        call.succeed();
      }
      call.close();
    };
    if (callFirst) {
      returns.run();
    } else {
      result.end(!resultSucceeds);
    }
    assertThat(this.calls.running("default")).isEqualTo(callSucceeds ? 1 : 0);
    if (callFirst) {
      result.end(!resultSucceeds);
    } else {
      returns.run();
    }
    assertThat(this.calls.running("default")).isZero();
    assertThat(enter("Job.next")).isSameAs(call);
    result.end(true);
    assertThat(this.calls.running("default")).isEqualTo(1);
    assertThat(ended).containsExactly(outcome);
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
          try (Permit entered = this.calls.enter(this.gate, "Job.run", Binding.NONE)) {
            if (entered != null && handedBack.get()) {
              ranTooLate.set(true);
            }
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

  private static LeaderOnlyCalls calls(SwitchedElection election, @Nullable Fence fence) {
    DefaultListableBeanFactory beans = new DefaultListableBeanFactory();
    beans.registerSingleton("election", election);
    Elections elections = SwitchedElection.registry(beans);
    return new LeaderOnlyCalls(() -> elections, () -> fence);
  }
}
