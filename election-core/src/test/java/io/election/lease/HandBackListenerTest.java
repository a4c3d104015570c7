package io.election.lease;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests a follower whose next poll is far away, so that only a signal makes it poll now. */
class HandBackListenerTest {

  private static final Duration RENEW = Duration.ofSeconds(2);

  private static final LeaseSettings SETTINGS =
      new LeaseSettings(Duration.ofSeconds(10), RENEW, Duration.ofSeconds(1), Duration.ZERO, true);

  private final AtomicLong clock = new AtomicLong();

  private volatile Ticker ticker = this.clock::get;

  private final MemoryLeaseStore store = new MemoryLeaseStore();

  private final Elector holder = elector("holder");

  private final LeaseElectionService held = new LeaseElectionService("jobs", this.holder);

  private final Elector follower = elector("follower");

  private final LeaseElectionService followed = new LeaseElectionService("jobs", this.follower);

  private final Bell bell = new Bell();

  private final HandBackListener listener =
      new HandBackListener(this.bell, this.follower, new ElectionLog("memory"));

  /** What the next call of {@link #await} does. */
  private enum Ring {
    SIGNAL,
    SILENCE,
    FAILURE
  }

  private final class Bell implements HandBackSignal {

    final List<String> awaited = new ArrayList<>();

    final CountDownLatch closed = new CountDownLatch(1);

    Ring next = Ring.SIGNAL;

    Duration silence = RENEW.plusSeconds(1);

    @Override
    public boolean await(String holder, Runnable look) throws LeaseStoreException {
      this.awaited.add(holder);
      if (this.next == Ring.FAILURE) {
        throw new LeaseStoreException("no signals today", null);
      }
      if (this.next == Ring.SIGNAL) {
        look.run();
        return true;
      }
      HandBackListenerTest.this.clock.addAndGet(this.silence.toNanos());
      return false;
    }

    @Override
    public void close() {
      this.closed.countDown();
    }
  }

  private Elector elector(String id) {
    return new Elector(
        this.store,
        SETTINGS,
        () -> id,
        (serviceId) -> false,
        (event) -> {},
        () -> this.ticker.read(),
        () -> Instant.EPOCH.plusNanos(this.clock.get()));
  }

  @BeforeEach
  void oneLeadsAndTheOtherHasJustLooked() {
    this.holder.join(List.of(this.held));
    while (!this.held.isLeader()) {
      this.clock.addAndGet(Math.max(this.holder.step(), 1));
    }
    this.follower.join(List.of(this.followed));
    this.follower.step();
    assertThat(this.followed.leaderId()).contains("holder");
  }

  private void handBack() {
    this.held.lostLeader();
    this.holder.step();
  }

  @Test
  void aSignalMakesTheFollowerLookAndTakeWhatWasHandedBack() {
    handBack();
    this.follower.step();
    assertThat(this.followed.isLeader()).as("its next look is not due").isFalse();

    assertThat(this.listener.listen()).as("rest").isZero();

    assertThat(this.bell.awaited).containsExactly("holder");
    assertThat(this.followed.isLeader()).isTrue();
  }

  @Test
  void whoFollowsNobodyWaitsForNobody() {
    handBack();
    this.listener.listen();
    this.bell.awaited.clear();

    assertThat(this.listener.listen()).as("rest").isBetween(1L, RENEW.toNanos());
    assertThat(this.bell.awaited).isEmpty();
  }

  @Test
  void signalsInVainAreWaitedForMoreAndMoreRarely() {
    assertThat(rests(6)).containsExactly(0L, 1L, 2L, 4L, 8L, 8L);
    assertThat(this.followed.isLeader()).isFalse();

    this.bell.next = Ring.SILENCE;
    assertThat(rests(3)).as("then waits that are not in vain").containsExactly(8L, 0L, 0L);

    this.bell.next = Ring.SIGNAL;
    assertThat(rests(3)).containsExactly(0L, 1L, 2L);
  }

  @Test
  void anotherHolderIsWaitedForAtOnce() {
    rests(4);
    this.store.designate("jobs", "another", null);
    this.clock.addAndGet(RENEW.multipliedBy(2).toNanos());
    this.follower.step();
    assertThat(this.followed.leaderId()).contains("another");
    this.bell.awaited.clear();

    this.listener.listen();

    assertThat(this.bell.awaited).containsExactly("another");
  }

  @Test
  void aSilenceThatDoesNotLastIsAWaitInVain() {
    this.bell.next = Ring.SILENCE;
    this.bell.silence = Duration.ofMillis(1);
    assertThat(rests(4)).containsExactly(0L, 1L, 2L, 4L);
  }

  @Test
  void failuresAreSurvivedAndMakeTheWaitingRarer() {
    this.bell.next = Ring.FAILURE;
    assertThat(rests(4)).containsExactly(0L, 1L, 2L, 4L);

    this.bell.next = Ring.SIGNAL;
    assertThat(rests(1)).containsExactly(8L);
  }

  /**
   * How many leases pass before each of the next {@code count} waits, while the holder continues.
   */
  private List<Long> rests(int count) {
    List<Long> rests = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      long since = this.clock.get();
      int waits = this.bell.awaited.size();
      while (this.bell.awaited.size() == waits) {
        this.clock.addAndGet(this.listener.listen());
        this.holder.step();
        this.follower.step();
      }
      rests.add((this.clock.get() - since) / SETTINGS.leaseDuration().toNanos());
    }
    return rests;
  }

  @Test
  void whatFailsOutsideTheSignalIsSurvivedToo() throws Exception {
    AtomicInteger asked = new AtomicInteger();
    // Before it waits for a holder, the listener reads the elector's clock outside the call of the
    // signal.
    this.ticker = () -> {
      if (Thread.currentThread().getName().equals("listener") && asked.getAndIncrement() == 0) {
        throw new OutOfMemoryError("injected");
      }
      return this.clock.get();
    };
    Thread thread = new Thread(this.listener::run, "listener");
    thread.start();

    Awaitility.await().until(() -> asked.get() > 1);

    this.listener.dismiss();
    thread.join();
  }

  @Test
  void dismissingEndsTheListening() throws Exception {
    Thread thread = new Thread(this.listener::run);
    thread.start();

    this.listener.dismiss();

    thread.join();
    assertThat(this.bell.closed.getCount()).isZero();
  }
}
