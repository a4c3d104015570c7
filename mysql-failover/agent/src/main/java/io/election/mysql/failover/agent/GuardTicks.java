package io.election.mysql.failover.agent;

import java.util.concurrent.TimeUnit;

/** What an agent has seen of its guard's ticks. Times are readings of the monotonic clock. */
final class GuardTicks {

  /** How long a guard that counts four times a second may stand still. */
  private static final long STANDS_NANOS = TimeUnit.SECONDS.toNanos(3);

  /** The number of checks in which it must have stood still: all may have been paused in between. */
  private static final int STANDS_CHECKS = 3;

  /** Whether the guard has counted without interruption since the first tick, as far as is known. */
  private boolean known;

  private long last;

  private long seenAt;

  private long movedAt;

  /** The number of checks since then. */
  private int still;

  boolean areKnown() {
    return this.known;
  }

  /** Forgets the ticks: the guard may have stood still or started again. */
  void forget() {
    this.known = false;
  }

  void see(long tick, long now) {
    if (!this.known || tick > this.last) {
      this.movedAt = now;
      this.still = 0;
    } else {
      this.still++;
    }
    this.known = true;
    this.last = tick;
    this.seenAt = now;
  }

  /** Returns the tick last seen. */
  long last() {
    return this.last;
  }

  long seenAt() {
    return this.seenAt;
  }

  /** Returns whether the guard does not count, although the server answers. */
  boolean standStill() {
    return this.known && this.still >= STANDS_CHECKS && this.seenAt - this.movedAt >= STANDS_NANOS;
  }
}
