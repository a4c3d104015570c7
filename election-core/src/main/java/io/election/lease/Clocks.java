package io.election.lease;

import java.time.InstantSource;

/**
 * The two clocks of a node. Deadlines are readings of the monotonic clock; the wall clock can only
 * shorten them.
 */
record Clocks(Ticker ticker, InstantSource source) {

  long now() {
    return this.ticker.read();
  }

  /** Returns milliseconds since the epoch. */
  long wall() {
    return this.source.millis();
  }
}
