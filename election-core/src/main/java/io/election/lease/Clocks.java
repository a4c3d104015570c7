package io.election.lease;

import java.time.InstantSource;

/**
 * The two clocks of a node. Deadlines are readings of the monotonic clock; the wall clock can only
 * shorten them.
 */
record Clocks(Ticker ticker, InstantSource source) {

  /** How long two readings that count as one may take, in nanoseconds. */
  private static final long AT_ONCE = 1_000_000;

  private static final int ATTEMPTS = 3;

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
   * Reads both clocks, and again if the thread was held up in between: otherwise they would seem to
   * have advanced by different times.
   */
  Reading read() {
    Reading reading = new Reading(now(), wall());
    for (int i = 1; i < ATTEMPTS && now() - reading.now() > AT_ONCE; i++) {
      reading = new Reading(now(), wall());
    }
    return reading;
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
