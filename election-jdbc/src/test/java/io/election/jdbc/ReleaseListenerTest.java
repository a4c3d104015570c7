package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.store.LeaseRow;
import io.election.store.LeaseStore.Reading;
import io.election.store.LeaseStoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ReleaseListenerTest {

  private static final Duration LEASE = Duration.ofSeconds(10);

  private final AtomicLong clock = new AtomicLong();

  private final FollowedLeases followed = new FollowedLeases();

  private final Bell bell = new Bell();

  private Runnable found = () -> {};

  private final ReleaseListener listener = new ReleaseListener(
      this.bell, this.followed, "follower", () -> this.found.run(), this.clock::get);

  private enum Ring {
    SIGNAL,
    SILENCE,
    FAILURE
  }

  private final class Bell implements ReleaseListener.Signal {

    final List<String> awaited = new CopyOnWriteArrayList<>();

    final CountDownLatch closed = new CountDownLatch(1);

    Ring next = Ring.SIGNAL;

    Duration silence = Duration.ofMinutes(1);

    @Override
    public boolean await(String holder, Runnable changed) throws LeaseStoreException {
      this.awaited.add(holder);
      if (this.next == Ring.FAILURE) {
        throw new LeaseStoreException("no signals today");
      }
      if (this.next == Ring.SIGNAL) {
        changed.run();
        return true;
      }
      ReleaseListenerTest.this.clock.addAndGet(this.silence.toNanos());
      return false;
    }

    @Override
    public void close() {
      this.closed.countDown();
    }
  }

  private void read(String election, String holder, long leaseMillis) {
    read(election, holder, leaseMillis, false);
  }

  private void read(String election, String holder, long leaseMillis, boolean own) {
    LeaseRow row = new LeaseRow(holder, 1, leaseMillis, 1, own);
    this.followed.read(Set.of(election), Map.of(election, new Reading(row, Duration.ZERO)));
  }

  @BeforeEach
  void anotherNodeHoldsALease() {
    read("jobs", "holder", LEASE.toMillis());
  }

  @Test
  void aSignalMakesTheNodeReadAndIsFruitfulIfTheHolderHoldsLess() {
    this.found = () -> read("jobs", "", 0);
    assertThat(this.listener.listen()).as("pause").isZero();
    assertThat(this.bell.awaited).containsExactly("holder");

    read("jobs", "holder", LEASE.toMillis());
    this.found = () -> this.followed.acquired("jobs");
    this.listener.listen();
    assertThat(this.bell.awaited).as("at once again").hasSize(2);
  }

  @Test
  void aNodeThatFollowsNobodyWaitsForNobody() {
    for (String holder : List.of("follower", "")) {
      read("jobs", holder, LEASE.toMillis());
      assertThat(this.listener.listen()).as("pause").isPositive();
    }
    read("jobs", "holder", 0);
    this.listener.listen();
    read("jobs", "holder", LEASE.toMillis(), true);
    this.listener.listen();
    this.followed.read(Set.of("jobs"), Map.of());
    this.listener.listen();
    assertThat(this.bell.awaited).isEmpty();
  }

  @Test
  void theHolderOfMostLeasesIsAwaited() {
    read("mail", "other", LEASE.toMillis());
    read("news", "other", LEASE.toMillis());
    this.listener.listen();
    assertThat(this.bell.awaited).containsExactly("other");
  }

  @Test
  void signalsInVainAreAwaitedMoreAndMoreRarely() {
    assertThat(pauses(6)).containsExactly(0L, 1L, 2L, 4L, 8L, 8L);

    this.bell.next = Ring.SILENCE;
    assertThat(pauses(1)).containsExactly(8L);
    assertThat(pauses(2)).as("a long silence is not in vain").containsExactly(0L, 0L);

    this.bell.next = Ring.SIGNAL;
    assertThat(pauses(3)).containsExactly(0L, 1L, 2L);
  }

  @Test
  void anotherHolderIsAwaitedAtOnce() {
    pauses(4);
    read("jobs", "another", LEASE.toMillis());
    this.bell.awaited.clear();
    this.listener.listen();
    assertThat(this.bell.awaited).containsExactly("another");
  }

  @Test
  void silenceThatDoesNotLastAndFailuresAreInVain() {
    this.bell.next = Ring.SILENCE;
    this.bell.silence = Duration.ofMillis(1);
    assertThat(pauses(4)).containsExactly(0L, 1L, 2L, 4L);

    this.bell.next = Ring.FAILURE;
    assertThat(pauses(2)).containsExactly(8L, 8L);
  }

  /** Returns how many leases pass before each of the next waits. */
  private List<Long> pauses(int count) {
    List<Long> pauses = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      long since = this.clock.get();
      int waits = this.bell.awaited.size();
      long silence = this.bell.next == Ring.SILENCE ? this.bell.silence.toNanos() : 0;
      while (this.bell.awaited.size() == waits) {
        this.clock.addAndGet(this.listener.listen());
      }
      pauses.add((this.clock.get() - silence - since) / LEASE.toNanos());
    }
    return pauses;
  }

  @Test
  void aHolderThatBecomesKnownDuringAPauseIsAwaitedAtOnce() throws Exception {
    this.followed.read(Set.of("jobs"), Map.of());
    Thread thread = new Thread(this.listener::run);
    thread.start();
    Awaitility.await().until(() -> thread.getState() == Thread.State.TIMED_WAITING);

    read("jobs", "holder", LEASE.toMillis());

    Awaitility.await().until(() -> !this.bell.awaited.isEmpty());
    this.listener.close();
    thread.join();
  }

  @Test
  void errorsOutsideTheSignalAreSurvivedAndClosingEndsTheThread() throws Exception {
    AtomicInteger asked = new AtomicInteger();
    ReleaseListener failing =
        new ReleaseListener(this.bell, this.followed, "follower", () -> {}, () -> {
          if (asked.getAndIncrement() == 0) {
            throw new OutOfMemoryError("injected");
          }
          return 0;
        });
    Thread thread = new Thread(failing::run);
    thread.start();
    Awaitility.await().until(() -> asked.get() > 1);

    failing.close();

    thread.join();
    assertThat(this.bell.closed.getCount()).isZero();
  }
}
