package io.election.jdbc;

import static java.util.concurrent.TimeUnit.NANOSECONDS;

import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Waits until the node that holds most of the followed leases hands one back, and then makes the
 * elector read the records. Uses a thread of its own.
 */
final class ReleaseListener implements LeaseStore.Watch {

  private static final Logger log = LoggerFactory.getLogger(ReleaseListener.class);

  /** After how many fruitless waits the pause no longer doubles: it is eight leases then. */
  private static final int MAX_DOUBLINGS = 4;

  /** The pause after an unexpected failure, and the shortest rest after a fruitless wait. */
  private static final long SHORTEST_REST_NANOS = Duration.ofMillis(500).toNanos();

  /** A wait that ends at once without a signal is fruitless. */
  private static final long SHORTEST_WAIT_NANOS = Duration.ofSeconds(1).toNanos();

  /** Reports that a holder has handed leases back. Used by one thread, except for the end. */
  interface Signal extends AutoCloseable {

    /**
     * Waits until a holder may have handed back a lease, then runs an action. Of all waiters for the
     * same holder, the next one is notified only when the action has returned, so that the first
     * one can take over what it finds before others try.
     *
     * @param holder the node id of the holder of leases
     * @param changed the action; throws nothing
     * @return {@code true} if the action was run; {@code false} if nothing happened for a while, and
     *     the call can be repeated
     * @throws LeaseStoreException if waiting is not possible for now, or the signal is closed
     */
    boolean await(String holder, Runnable changed) throws LeaseStoreException;

    /** Ends the wait permanently. May be called by any thread. Never throws. */
    @Override
    void close();
  }

  private final Signal signal;
  private final FollowedLeases followed;
  private final String self;
  private final Runnable changed;
  private final LongSupplier ticker;
  private final Semaphore news = new Semaphore(0);
  private volatile boolean closed;

  /** The holder whose signal was fruitless, how often in a row, and until when not to wait. */
  private String vainHolder = "";

  private int inVain;
  private long restsUntil;
  private boolean failing;

  /**
   * Creates a listener that does not listen yet.
   *
   * @param changed reads the records and does what follows; throws nothing
   * @param ticker the monotonic clock, in nanoseconds
   */
  ReleaseListener(
      Signal signal, FollowedLeases followed, String self, Runnable changed, LongSupplier ticker) {
    this.signal = signal;
    this.followed = followed;
    this.self = self;
    this.changed = changed;
    this.ticker = ticker;
    followed.onChange(this.news::release);
  }

  void start() {
    Thread thread = new Thread(this::run, "election-signal");
    thread.setDaemon(true);
    thread.start();
  }

  /** Listens until it is closed, whatever fails. */
  void run() {
    while (!this.closed) {
      try {
        this.news.tryAcquire(listen(), NANOSECONDS);
        this.news.drainPermits();
      } catch (InterruptedException ex) {
        // Interrupted by unrelated code.
      } catch (Throwable ex) {
        logAndPause(ex);
      }
    }
  }

  private void logAndPause(Throwable failure) {
    try {
      failed(failure);
    } catch (Throwable ex) {
      // Out of memory: logging is not possible.
    }
    LockSupport.parkNanos(SHORTEST_REST_NANOS);
  }

  @Override
  public void close() {
    this.closed = true;
    this.news.release();
    this.signal.close();
  }

  /**
   * Waits for a signal if a holder is known.
   *
   * @return how long to pause before the next call, unless the followed leases change
   */
  long listen() {
    Optional<String> holder = this.followed.mainHolder(this.self);
    if (!holder.equals(Optional.of(this.vainHolder))) {
      this.inVain = 0;
    }
    long now = this.ticker.getAsLong();
    if (holder.isEmpty()) {
      return Long.MAX_VALUE;
    }
    if (this.inVain > 0 && now - this.restsUntil < 0) {
      return this.restsUntil - now;
    }
    if (isFruitful(holder.get(), now)) {
      this.inVain = 0;
      return 0;
    }
    // The holder lost its connection, none of its leases is available, or the wait ended at once.
    // If the holder died, another node holds the leases after one lease; until then this wait has
    // no value.
    this.vainHolder = holder.get();
    this.inVain = Math.min(this.inVain + 1, MAX_DOUBLINGS);
    long lease = Math.max(this.followed.longest(holder.get()).toNanos(), SHORTEST_REST_NANOS);
    this.restsUntil = this.ticker.getAsLong() + (lease << (this.inVain - 1));
    return 0;
  }

  /** Returns whether the wait was fruitful, or the next one may be. Never throws. */
  private boolean isFruitful(String holder, long since) {
    try {
      long held = this.followed.count(holder);
      boolean signalled = this.signal.await(holder, this.changed);
      if (this.failing) {
        log.info("leases that are handed back are noticed at once again");
        this.failing = false;
      }
      return signalled
          ? this.followed.count(holder) < held
          : this.ticker.getAsLong() - since > SHORTEST_WAIT_NANOS;
    } catch (Throwable ex) {
      if (!this.closed) {
        failed(ex);
      }
      return false;
    }
  }

  /** Logs a failure once until signals work again, because the election does not depend on them. */
  private void failed(Throwable failure) {
    if (!this.failing) {
      this.failing = true;
      log.info(
          "{} Until that works, a lease that is handed back is noticed at the next poll, within a renew interval",
          failure instanceof LeaseStoreException ? failure.getMessage() : failure.toString());
    }
    log.debug("waiting for a signal failed", failure);
  }
}
