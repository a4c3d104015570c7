package io.election.lease;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.store.LeaseSettings;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Lets every call to the store fail in turn, in ways that no store should. */
class ElectorFailuresTest extends ElectorFixture {

  private static final Duration BRIEF = Duration.ofMillis(400);

  private static final LeaseSettings BRIEFLY =
      new LeaseSettings(BRIEF, Duration.ofMillis(40), Duration.ofMillis(100), Duration.ZERO, true);

  private final Node node = new Node("a", BRIEFLY);

  private final LeaseElectionService service = this.node.service;

  @ParameterizedTest
  @ValueSource(
      strings = {
        "read",
        "create",
        "touch",
        "lead",
        "renew",
        "take",
        "release",
        "cede",
        "history",
        "prune",
        "designate"
      })
  void anElectorSurvivesWhateverACallThrowsAndLosesNoThread(String call) {
    AtomicInteger failures = new AtomicInteger();
    // A history that two exceptions kept from being read is read again only after a minute.
    this.node.store.before((name) -> {
      if (name.equals(call) && failures.get() < 2) {
        if (failures.getAndIncrement() == 0) {
          throw new NoClassDefFoundError("injected");
        }
        throw new IllegalArgumentException("injected");
      }
    });
    this.node.start();
    long threads = threads("election-");
    until(() -> this.service.isLeader() && this.node.store.calls.contains("prune"));
    // An edit displaces the leader, and another edit brings it back.
    until(() -> {
      if (this.service.isLeader()) {
        nameInRecord("x");
      }
      return this.node.store.calls.contains("cede");
    });
    nameInRecord("a");
    until(() -> this.service.isLeader() && this.node.store.calls.contains("touch"));
    this.service.lostLeader();
    until(() -> !this.service.isLeader() && this.node.store.calls.contains("release"));
    until(() -> {
      if (this.service.isLeader()) {
        this.service.lostLeader();
        return false;
      }
      try {
        this.service.designate("a");
        return true;
      } catch (Exception | Error ex) {
        return false;
      }
    });
    until(() -> failures.get() > 0 && this.service.isLeader());
    assertThat(threads("election-")).isEqualTo(threads);
    this.node.elector.stop();
    until(() -> threads("election-") == 0);
    assertThat(this.database.row("jobs").isReleased()).isTrue();
  }

  /** The thread that watches deadlines may end slowly, while that of the next start waits. */
  @Test
  void aThreadThatIsSlowToEndIsNotForgottenByTheNextStart() {
    List<Thread> watchers = new CopyOnWriteArrayList<>();
    Gate slow = new Gate();
    this.ticker = () -> {
      Thread caller = Thread.currentThread();
      if (caller.getName().equals("election-deadlines") && !watchers.contains(caller)) {
        watchers.add(caller);
        if (watchers.size() == 1) {
          slow.pass();
        }
      }
      return this.clock.get();
    };
    this.node.start();
    await().until(slow::isReached);
    this.node.elector.stop();
    this.node.start();
    await()
        .until(
            () -> watchers.size() == 2 && watchers.get(1).getState() == Thread.State.TIMED_WAITING);

    slow.open();

    this.node.elector.stop();
    await().until(() -> watchers.stream().noneMatch(Thread::isAlive));
  }

  private void until(BooleanSupplier condition) {
    await().pollInterval(Duration.ofMillis(1)).until(() -> {
      tick(BRIEF.dividedBy(20));
      this.node.elector.wakeUp();
      return condition.getAsBoolean();
    });
  }
}
