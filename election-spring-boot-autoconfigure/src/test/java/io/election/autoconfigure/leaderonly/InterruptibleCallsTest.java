package io.election.autoconfigure.leaderonly;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.OptionalLong;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class InterruptibleCallsTest {

  private final InterruptibleCalls calls = new InterruptibleCalls("default");

  private final InterruptibleCalls others = new InterruptibleCalls("others");

  private final ExecutorService executor = Executors.newCachedThreadPool();

  @AfterEach
  void shutDown() {
    Thread.interrupted();
    this.executor.shutdownNow();
  }

  @ParameterizedTest
  @CsvSource({"false, false, false", "false, true, false", "true, false, true", "true, true, true"})
  void onlyTheFlagThatTheLossHasSetEndsWithTheCall(boolean others, boolean loss, boolean left) {
    begin(this.calls, 1);
    if (others) {
      Thread.currentThread().interrupt();
    }
    if (loss) {
      this.calls.interrupt(1);
      assertThat(isInterrupted()).isTrue();
    }
    this.calls.end();
    assertThat(isInterrupted()).isEqualTo(left);
    assertThat(this.calls)
        .extracting("running", InstanceOfAssertFactories.ITERABLE)
        .isEmpty();
  }

  @Test
  void callOfALaterTermGoesOn() {
    begin(this.calls, 2);
    this.calls.interrupt(1);
    assertThat(isInterrupted()).isFalse();
    this.calls.interrupt(2);
    assertThat(isInterrupted()).isTrue();
    this.calls.end();
  }

  /** A loss may be reported once for several terms. */
  @Test
  void callOfAnEarlierTermIsInterruptedWithThoseOfTheTermThatEnded() {
    begin(this.calls, 1);
    this.calls.interrupt(3);
    assertThat(isInterrupted()).isTrue();
    this.calls.end();
    assertThat(this.calls.begin("asking", () -> {
          this.calls.interrupt(3);
          return OptionalLong.of(2);
        }))
        .isTrue();
    assertThat(isInterrupted()).isTrue();
    this.calls.end();
    assertThat(isInterrupted()).isFalse();
    assertThat(this.calls.interrupted()).isEqualTo(2);
  }

  @Test
  void callIsInterruptedOnce() {
    begin(this.calls, 1);
    this.calls.interrupt(1);
    assertThat(Thread.interrupted()).isTrue();
    this.calls.interrupt(1);
    assertThat(isInterrupted()).isFalse();
    this.calls.end();
    assertThat(this.calls.interrupted()).isEqualTo(1);
  }

  @Test
  void callThatIsRefusedLeavesNothing() {
    assertThat(this.calls.begin("refused", OptionalLong::empty)).isFalse();
    this.calls.interrupt(1);
    assertThat(isInterrupted()).isFalse();
    assertThat(this.calls.interrupted()).isZero();
  }

  @ParameterizedTest
  @CsvSource({"true, false", "true, true", "false, true"})
  void eachFlagReachesItsOwnCallOnly(boolean inner, boolean outer) {
    begin(this.calls, 1);
    begin(this.others, 1);
    if (inner) {
      this.others.interrupt(1);
    }
    if (outer) {
      this.calls.interrupt(1);
    }
    this.others.end();
    assertThat(isInterrupted()).isEqualTo(outer);
    this.calls.interrupt(1);
    assertThat(isInterrupted()).isTrue();
    this.calls.end();
    assertThat(isInterrupted()).isFalse();
  }

  /** Calls begin and end continuously while leadership comes and goes. */
  @RepeatedTest(20)
  void threadIsNeverInterruptedOutsideOfACall() throws Exception {
    AtomicLong term = new AtomicLong(1);
    AtomicBoolean done = new AtomicBoolean();
    Future<?>[] callers = new Future<?>[3];
    for (int i = 0; i < callers.length; i++) {
      callers[i] = this.executor.submit(() -> {
        while (!done.get()) {
          assertThat(this.calls.begin("test", () -> OptionalLong.of(term.get())))
              .isTrue();
          Thread.onSpinWait();
          this.calls.end();
          assertThat(isInterrupted()).isFalse();
        }
      });
    }
    // Continue until losses have hit calls: otherwise the test would prove nothing.
    await().pollDelay(Duration.ZERO).pollInterval(Duration.ofNanos(1)).until(() -> {
      for (int loss = 0; loss < 100; loss++) {
        this.calls.interrupt(term.getAndIncrement());
      }
      return this.calls.interrupted() > 20;
    });
    done.set(true);
    for (Future<?> caller : callers) {
      caller.get(30, TimeUnit.SECONDS);
    }
  }

  /** An application's own election may answer late or never: the loss does not wait for it. */
  @ParameterizedTest
  @CsvSource({"1, true", "2, false"})
  void lossThatComesWhileTheQuestionIsAnsweredFindsTheCall(long term, boolean interrupted)
      throws Exception {
    assertThat(this.calls.begin("test", () -> {
          Future<?> loss = this.executor.submit(() -> this.calls.interrupt(1));
          assertThat(loss).succeedsWithin(Duration.ofSeconds(30));
          return OptionalLong.of(term);
        }))
        .isTrue();
    assertThat(isInterrupted()).isEqualTo(interrupted);
    assertThat(this.calls.interrupted()).isEqualTo(interrupted ? 1 : 0);
    this.calls.end();
    assertThat(isInterrupted()).isFalse();
  }

  @Test
  void questionThatFailsLeavesNothing() {
    assertThatThrownBy(() -> this.calls.begin("test", () -> {
          throw new IllegalStateException("no answer");
        }))
        .hasMessage("no answer");
    this.calls.interrupt(1);
    assertThat(isInterrupted()).isFalse();
  }

  private static void begin(InterruptibleCalls calls, long term) {
    assertThat(calls.begin("test", () -> OptionalLong.of(term))).isTrue();
  }

  private static boolean isInterrupted() {
    return Thread.currentThread().isInterrupted();
  }
}
