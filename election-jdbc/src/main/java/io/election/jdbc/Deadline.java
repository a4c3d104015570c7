package io.election.jdbc;

import java.sql.SQLTimeoutException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * The instant by which a call must end.
 *
 * @param nanoTime a reading of {@link System#nanoTime()}
 */
record Deadline(long nanoTime) {

  static Deadline in(Duration bound) {
    return new Deadline(System.nanoTime() + bound.toNanos());
  }

  /** Returns a deadline halfway between now and this one. */
  Deadline halfway() {
    long now = System.nanoTime();
    return new Deadline(now + (this.nanoTime - now) / 2);
  }

  /**
   * The remaining time, at least 1 ms, because drivers read 0 as unlimited.
   *
   * @throws SQLTimeoutException if the deadline has passed
   */
  int remainingMillis() throws SQLTimeoutException {
    long nanos = this.nanoTime - System.nanoTime();
    if (nanos <= 0) {
      throw new SQLTimeoutException("The time for this call is over");
    }
    return (int) Math.max(1, Math.min(Integer.MAX_VALUE, TimeUnit.NANOSECONDS.toMillis(nanos)));
  }
}
