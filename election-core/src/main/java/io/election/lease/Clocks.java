package io.election.lease;

import io.election.store.Ticker;
import java.time.InstantSource;

/**
 * The two clocks of a node. Deadlines are readings of the monotonic clock; the wall clock can only
 * shorten them.
 */
record Clocks(Ticker ticker, InstantSource source) {

  /** The spread of a reading that need not be taken again. */
  private static final long AT_ONCE = 1_000_000;

  private static final int ATTEMPTS = 3;

  /**
   * A reading of both clocks. No program can read two clocks at one instant: the wall clock was
   * read between {@code now} and {@code now + spread}.
   *
   * @param now a reading of the ticker, before that of the wall clock
   * @param wall the wall clock, in milliseconds since the epoch
   * @param spread how many nanoseconds later the ticker was read again
   */
  record Reading(long now, long wall, long spread) {}

  long now() {
    return this.ticker.read();
  }

  /**
   * Reads both clocks one after the other and takes that for one instant, which costs a reading of
   * the ticker less than {@link #read()}. A thread that was held up between them sees clocks that
   * have parted: then only {@link #read()} tells whether they have.
   */
  Reading glance() {
    return new Reading(now(), this.source.millis(), 0);
  }

  /**
   * Reads both clocks at once. A thread that was held up between its readings reads again, and the
   * closest pair counts. If it was held up each time, the spread of the pair tells so.
   */
  Reading read() {
    Reading closest = readOnce();
    for (int i = 1; i < ATTEMPTS && closest.spread() > AT_ONCE; i++) {
      Reading reading = readOnce();
      closest = reading.spread() < closest.spread() ? reading : closest;
    }
    return closest;
  }

  private Reading readOnce() {
    long now = now();
    long wall = this.source.millis();
    return new Reading(now, wall, now() - now);
  }
}
