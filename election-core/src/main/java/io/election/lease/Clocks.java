package io.election.lease;

import java.time.InstantSource;

/**
 * The two clocks of a node. Deadlines are readings of the monotonic one; the wall clock can only shorten
 * them.
 */
record Clocks(Ticker ticker, InstantSource source) {

  long now() {
    return this.ticker.read();
  }

  /** Milliseconds of the epoch. */
  long wall() {
    return this.source.millis();
  }
}
