package io.election.lease;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.NANOSECONDS;

import io.election.lease.Clocks.Reading;
import io.election.store.LeaseSettings;
import io.election.store.Ticker;

/**
 * When a lease ends for its holder, by both clocks of the node. Monotonic clocks stop while a
 * machine is suspended, so the wall clock may shorten the lease; it never lengthens it. If the two
 * clocks have advanced by different times since the request was sent, the machine was suspended, or
 * its wall clock was set, or both: how long that took is unknown, so the lease is over. A thread
 * that is held up between its readings of the two clocks sees such a difference too: what the
 * spread of the readings explains is no difference.
 *
 * @param at the deadline as a reading of the {@link Ticker}
 * @param wallAt the deadline by the wall clock, in milliseconds since the epoch
 * @param tolerance by how many nanoseconds the advances of the clocks may differ
 */
record Deadline(long at, long wallAt, long tolerance) {

  /** The resolution of the wall clock, twice. */
  private static final long RESOLUTION = MILLISECONDS.toNanos(2);

  /** Returns the deadline of a lease that a request has taken or renewed. */
  static Deadline after(Timing timing, LeaseSettings settings) {
    long lasts = settings.leadershipNanos();
    Reading sent = timing.before();
    return new Deadline(
        sent.now() + lasts,
        sent.wall() + NANOSECONDS.toMillis(lasts),
        settings.margin().toNanos() + RESOLUTION + sent.spread());
  }

  /**
   * Returns in how many nanoseconds the lease ends; 0 if it is over. What a glance at the clocks
   * takes for a lease is one by any closer reading too.
   */
  long remaining(Clocks clocks) {
    long remaining = remaining(clocks.glance());
    return remaining > 0 ? remaining : remaining(clocks.read());
  }

  /** Returns in how many nanoseconds the lease ends; 0 if it is over. */
  long remaining(Reading reading) {
    long left = this.at - reading.now();
    long wallLeft = MILLISECONDS.toNanos(this.wallAt - reading.wall());
    long apart = this.tolerance + reading.spread();
    boolean parted = wallLeft < left - apart || wallLeft > left + apart;
    return parted ? 0 : Math.max(Math.min(left, wallLeft), 0);
  }

  boolean isOver(Reading reading) {
    return remaining(reading) == 0;
  }
}
