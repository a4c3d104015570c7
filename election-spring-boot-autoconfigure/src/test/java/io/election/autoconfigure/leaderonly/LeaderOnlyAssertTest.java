package io.election.autoconfigure.leaderonly;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.election.LeaderOnly;
import io.election.LeaderOnlyAssert;
import io.election.autoconfigure.SwitchedElection;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.ObjectProvider;
import reactor.core.publisher.Mono;

/** A method can assert that it runs in a guarded call. */
class LeaderOnlyAssertTest {

  private final SwitchedElection election = new SwitchedElection();

  @Test
  void callFromWithinTheSameBeanFails() {
    run((job) -> {
      job.run();
      assertThatIllegalStateException()
          .isThrownBy(job::bypass)
          .withMessage("This thread does not run in a @LeaderOnly call, so nothing has checked that"
              + " this node leads. Call the method through its bean: a call from within the same"
              + " bean bypasses the check.");
      job.callThrough();
    });
  }

  @Test
  void callOfAnotherElectionIsNone() {
    run((job) -> {
      job.run("default");
      assertThatIllegalStateException()
          .isThrownBy(() -> job.run("reports"))
          .withMessageContaining("in a @LeaderOnly call of election 'reports', so");
    });
  }

  @Test
  void callThatHasEndedIsNone() {
    run((job) -> {
      job.run();
      assertThatIllegalStateException().isThrownBy(LeaderOnlyAssert::assertGuarded);
      job.run(new IllegalArgumentException());
      assertThatIllegalStateException().isThrownBy(LeaderOnlyAssert::assertGuarded);
    });
  }

  /** The place of a nested call is not that of the outer one. */
  @Test
  void outerCallGoesOnAfterANestedOne() {
    run(Job::nest);
  }

  @Test
  void workThatGoesOnElsewhereIsNoLongerTheCall() {
    run((job) -> {
      CompletableFuture<Void> gate = new CompletableFuture<>();
      CompletableFuture<Void> later = job.later(gate);
      assertThatIllegalStateException().isThrownBy(LeaderOnlyAssert::assertGuarded);
      gate.complete(null);
      assertThat(later)
          .failsWithin(Duration.ofSeconds(30))
          .withThrowableOfType(ExecutionException.class)
          .withCauseInstanceOf(IllegalStateException.class);
    });
  }

  @Test
  void publisherIsAssembledInTheCallAndRunsOutsideOfIt() {
    run((job) -> {
      assertThat(job.mono(false).block()).isEqualTo("ran");
      Mono<String> mono = job.mono(true);
      assertThatIllegalStateException().isThrownBy(mono::block);
      assertThatIllegalStateException().isThrownBy(LeaderOnlyAssert::assertGuarded);
    });
  }

  private void run(Consumer<Job> test) {
    this.election.becomeLeader();
    LeaderOnlyTest.contexts()
        .withBean(SwitchedElection.class, () -> this.election)
        .withBean(Job.class)
        .run((context) -> test.accept(context.getBean(Job.class)));
  }

  static class Job {

    private final ObjectProvider<Job> self;

    Job(ObjectProvider<Job> self) {
      this.self = self;
    }

    @LeaderOnly
    void run() {
      LeaderOnlyAssert.assertGuarded();
    }

    @LeaderOnly
    void run(String election) {
      LeaderOnlyAssert.assertGuarded(election);
    }

    @LeaderOnly
    void run(RuntimeException failure) {
      try {
        this.self.getObject().fail(failure);
      } catch (IllegalArgumentException ex) {
        LeaderOnlyAssert.assertGuarded();
      }
    }

    @LeaderOnly
    void fail(RuntimeException failure) {
      throw failure;
    }

    @LeaderOnly
    void nest() {
      this.self.getObject().run();
      LeaderOnlyAssert.assertGuarded();
    }

    @LeaderOnly
    CompletableFuture<Void> later(CompletableFuture<Void> gate) {
      return gate.thenRunAsync(LeaderOnlyAssert::assertGuarded);
    }

    @LeaderOnly
    Mono<String> mono(boolean late) {
      LeaderOnlyAssert.assertGuarded("default");
      return Mono.just("ran").doOnNext((value) -> {
        if (late) {
          LeaderOnlyAssert.assertGuarded();
        }
      });
    }

    void bypass() {
      run();
    }

    void callThrough() {
      this.self.getObject().run();
    }
  }
}
