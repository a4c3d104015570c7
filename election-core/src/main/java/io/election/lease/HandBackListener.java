package io.election.lease;

import static java.util.concurrent.TimeUnit.NANOSECONDS;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Semaphore;

/**
 * Waits for the holder of what this node follows to hand back, and has the elector look then. Nothing
 * depends on it: what it misses, the next regular look shows.
 */
final class HandBackListener {

  /** After so many waits in vain the rest does not double any more: it is eight leases. */
  private static final int MAX_DOUBLINGS = 4;

  /** Who knows no holder asks the elector again, not the store. */
  private static final long ASK_AGAIN_NANOS = Duration.ofSeconds(1).toNanos();

  private final HandBackSignal signal;

  private final Elector elector;

  private final ElectionLog log;

  private final long renewNanos;

  private final long leaseNanos;

  private final Semaphore dismissals = new Semaphore(0);

  private volatile boolean dismissed;

  /** How many times in a row there was nothing to see; the listener's own thread's. */
  private int inVain;

  HandBackListener(HandBackSignal signal, Elector elector, ElectionLog log) {
    this.signal = signal;
    this.elector = elector;
    this.log = log;
    this.renewNanos = elector.settings().renewInterval().toNanos();
    this.leaseNanos = elector.settings().leaseDuration().toNanos();
  }

  /** Listens until it is dismissed. */
  void run() {
    while (!this.dismissed) {
      try {
        this.dismissals.tryAcquire(listen(), NANOSECONDS);
      } catch (InterruptedException ex) {
        // Somebody who has no business with this thread.
      }
    }
  }

  /** Ends the listening; from another thread. */
  void dismiss() {
    this.dismissed = true;
    this.dismissals.release();
    this.signal.close();
  }

  /** Waits for one signal. Whatever goes wrong is survived. Returns how long not to listen. */
  long listen() {
    try {
      Optional<String> holder = this.elector.mainHolder();
      if (holder.isEmpty()) {
        return Math.min(this.renewNanos, ASK_AGAIN_NANOS);
      }
      boolean[] found = new boolean[1];
      long since = this.elector.now();
      boolean signalled =
          this.signal.await(holder.get(), () -> found[0] = this.elector.lookAt(holder.get()));
      this.log.signalAnswered();
      boolean waited = this.elector.now() - since > this.renewNanos;
      if (signalled ? found[0] : waited) {
        this.inVain = 0;
        return 0;
      }
    } catch (Throwable ex) {
      if (!this.dismissed) {
        this.log.signalFailed(ex);
      }
    }
    // The holder lost its connection, none of its leases is to be had, or nobody keeps us waiting.
    // If it
    // is dead, somebody else holds them after a lease, and until then all have better things to do.
    this.inVain = Math.min(this.inVain + 1, MAX_DOUBLINGS);
    return this.leaseNanos << (this.inVain - 1);
  }
}
