package io.election.lease;

import static java.util.concurrent.TimeUnit.NANOSECONDS;

import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.Semaphore;

/**
 * Ends leaderships at their deadlines on a dedicated thread, even while a call to the store hangs,
 * and notifies leader work.
 */
final class DeadlineWatch {

  private final List<Candidate> candidates;

  private final Clocks clocks;

  private final Duration pause;

  private final ElectionLog log;

  /** A candidate may have a new or an earlier deadline. */
  private final Semaphore changes = new Semaphore(0);

  private volatile boolean dismissed;

  DeadlineWatch(List<Candidate> candidates, Clocks clocks, Duration pause, ElectionLog log) {
    this.candidates = candidates;
    this.clocks = clocks;
    this.pause = pause;
    this.log = log;
  }

  void start() {
    Daemon.start(
        "election-deadlines", () -> Daemon.repeat(this::awaitDeadline, this.pause, this.log));
  }

  /** Re-evaluates all deadlines. */
  void wakeUp() {
    this.changes.release();
  }

  /** Ends the thread. */
  void dismiss() {
    this.dismissed = true;
    this.changes.release();
  }

  private boolean awaitDeadline() throws InterruptedException {
    if (!this.dismissed) {
      this.changes.tryAcquire(untilDeadline(), NANOSECONDS);
      this.changes.drainPermits();
      this.candidates.forEach(Candidate::update);
    }
    return !this.dismissed;
  }

  private long untilDeadline() {
    long now = this.clocks.now();
    long pause = LeaseSettings.MAX_LEASE.toNanos();
    for (Candidate candidate : this.candidates) {
      OptionalLong until = candidate.protectedUntil();
      if (until.isPresent()) {
        pause = Math.min(pause, Math.max(until.getAsLong() - now, 0));
      }
    }
    return pause;
  }
}
