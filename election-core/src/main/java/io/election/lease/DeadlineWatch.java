package io.election.lease;

import static java.util.concurrent.TimeUnit.NANOSECONDS;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.Semaphore;

/**
 * Ends leaderships at their deadlines on a dedicated thread, even while a call to the store hangs,
 * and notifies leader work. While there is one, looks at the clocks several times in a renew
 * interval: a wait for a deadline does not end sooner because the machine was suspended.
 */
final class DeadlineWatch {

  private final List<Candidate> candidates;

  private final Clocks clocks;

  /** How long the thread pauses after a failure, and between two looks at the clocks. */
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
      Clocks.Reading reading = this.clocks.read();
      for (Candidate candidate : this.candidates) {
        if (candidate.untilLeaseOver(reading) == 0) {
          candidate.update();
        }
      }
    }
    return !this.dismissed;
  }

  /** Returns how long to wait at most, in nanoseconds. */
  long untilDeadline() {
    Clocks.Reading reading = this.clocks.read();
    long until = Long.MAX_VALUE;
    for (Candidate candidate : this.candidates) {
      until = Math.min(until, candidate.untilLeaseOver(reading));
    }
    return until == Long.MAX_VALUE ? until : Math.min(until, this.pause.toNanos());
  }
}
