package io.election.lease;

import io.election.lease.Clocks.Reading;

/**
 * The instants around a call to the store.
 *
 * @param before taken before the request
 * @param after taken after the answer
 */
record Timing(Reading before, Reading after) {

  /** Returns the reading of the ticker before the request. */
  long sent() {
    return this.before.now();
  }

  /** Returns the reading of the ticker after the answer. */
  long now() {
    return this.after.now();
  }
}
