package io.election.lease;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Lets every call to the store fail in turn, in ways that no store should. */
class ElectorFailuresTest {

  private static final Duration LEASE = Duration.ofMillis(400);

  private static final LeaseSettings SETTINGS =
      new LeaseSettings(LEASE, Duration.ofMillis(40), Duration.ofMillis(100), Duration.ZERO, true);

  private final AtomicLong clock = new AtomicLong();

  private final SimulatedDatabase database = new SimulatedDatabase();

  private final SimulatedDatabase.Store store = this.database.new Store();

  private final Elector elector = new Elector(
      this.store,
      SETTINGS,
      () -> "a",
      (serviceId) -> false,
      (event) -> {},
      this.clock::get,
      () -> Instant.EPOCH.plusNanos(this.clock.get()));

  private final LeaseElectionService service = new LeaseElectionService("jobs", this.elector);

  @AfterEach
  void stop() {
    this.elector.stop();
  }

  @ParameterizedTest
  @CsvSource({
    "read, false", "create, false", "keepWarm, false", "lead, false", "renew, false",
    "take, false", "release, false", "giveWay, false", "history, false", "prune, false",
    "designate, false", "read, true", "create, true", "keepWarm, true", "lead, true",
    "renew, true", "take, true", "release, true", "giveWay, true", "history, true",
    "prune, true", "designate, true"
  })
  void anElectorSurvivesWhateverACallThrowsAndLosesNoThread(String call, boolean error) {
    AtomicInteger failures = new AtomicInteger();
    this.store.before((name) -> {
      if (name.equals(call) && failures.getAndIncrement() < 2) {
        if (error) {
          throw new NoClassDefFoundError("injected");
        }
        throw new IllegalArgumentException("injected");
      }
    });
    this.elector.start(List.of(this.service));
    long threads = threads();
    until(() -> this.service.isLeader() && this.store.calls.contains("prune"));
    // An edit displaces the leader, and another edit brings it back.
    until(() -> {
      if (this.service.isLeader()) {
        edit("x");
      }
      return this.store.calls.contains("giveWay");
    });
    edit("a");
    until(() -> this.service.isLeader() && this.store.calls.contains("keepWarm"));
    this.service.lostLeader();
    until(() -> !this.service.isLeader() && this.store.calls.contains("release"));
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
    assertThat(threads()).isEqualTo(threads);
    this.elector.stop();
    until(() -> threads() == 0);
    assertThat(this.database.row("jobs").isReleased()).isTrue();
  }

  /** The thread that watches deadlines may end slowly, while that of the next start waits. */
  @Test
  void aThreadThatIsSlowToEndIsNotForgottenByTheNextStart() {
    List<Thread> watchers = new CopyOnWriteArrayList<>();
    CountDownLatch slow = new CountDownLatch(1);
    Elector elector = new Elector(
        this.store,
        SETTINGS,
        () -> "a",
        (serviceId) -> false,
        (event) -> {},
        () -> {
          Thread caller = Thread.currentThread();
          if (caller.getName().equals("election-deadlines") && !watchers.contains(caller)) {
            watchers.add(caller);
            if (watchers.size() == 1) {
              Awaitility.await().forever().until(() -> slow.getCount() == 0);
            }
          }
          return this.clock.get();
        },
        () -> Instant.EPOCH);
    LeaseElectionService service = new LeaseElectionService("jobs", elector);
    elector.start(List.of(service));
    Awaitility.await().until(() -> watchers.size() == 1);
    elector.stop();
    elector.start(List.of(service));
    Awaitility.await()
        .until(
            () -> watchers.size() == 2 && watchers.get(1).getState() == Thread.State.TIMED_WAITING);

    slow.countDown();

    elector.stop();
    Awaitility.await().until(() -> watchers.stream().noneMatch(Thread::isAlive));
  }

  private void edit(String leaderId) {
    this.database.edit(
        "jobs",
        (row) -> new LeaseRow(
            leaderId,
            row.term(),
            row.version(),
            row.leaseMillis(),
            row.lastTermLeaseMillis(),
            row.lastActiveTime(),
            row.source()));
  }

  private void until(Callable<Boolean> condition) {
    Awaitility.await()
        .pollDelay(Duration.ZERO)
        .pollInterval(Duration.ofMillis(1))
        .until(() -> {
          this.clock.addAndGet(LEASE.toNanos() / 20);
          this.elector.wakeUp();
          return condition.call();
        });
  }

  private static long threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter((thread) -> thread.getName().startsWith("election-"))
        .count();
  }
}
