package io.election.lease;

import java.time.InstantSource;

/**
 * The two clocks of a node. Deadlines are readings of the monotonic clock; the wall clock can only
 * shorten them.
 */
record Clocks(Ticker ticker, InstantSource source) {

  /** How far apart two readings may be that need not be taken again, in nanoseconds. */
  private static final long AT_ONCE = 1_000_000;

  private static final int ATTEMPTS = 10;

  /**
   * Both clocks at one instant.
   *
   * @param now a reading of the ticker
   * @param wall the wall clock, in milliseconds since the epoch
   */
  record Reading(long now, long wall) {}

  long now() {
    return this.ticker.read();
  }

  /** Returns milliseconds since the epoch. */
  private long wall() {
    return this.source.millis();
  }

  /**
   * Reads both clocks at once. A thread that was held up between its readings would take them for
   * clocks that have advanced by different times, so it reads again, and the closest pair counts.
   */
  Reading read() {
    long before = now();
    Reading closest = new Reading(before, wall());
    long apart = now() - before;
    for (int i = 1; i < ATTEMPTS && apart > AT_ONCE; i++) {
      before = now();
      Reading reading = new Reading(before, wall());
      long took = now() - before;
      if (took < apart) {
        closest = reading;
        apart = took;
      }
    }
    return closest;
  }

  /** Returns in how many nanoseconds a lease ends; 0 if it is over. Cheap while it is not. */
  long remaining(Deadline deadline) {
    long remaining = deadline.remaining(now(), wall());
    if (remaining > 0) {
      return remaining;
    }
    Reading reading = read();
    return deadline.remaining(reading.now(), reading.wall());
  }
}
