package io.election;

import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/**
 * A snapshot of a node's leadership.
 *
 * @param term the fencing token: greater with each new leadership of the election, never reused.
 *     Pass it to systems that can refuse an older one. 0 if the election has no terms
 *     ({@linkplain ManualAllocationElectionService manual allocation}, election disabled)
 * @param since when this node began to lead, by its own wall clock; for display only
 * @param remaining how long the leadership lasts if no further renewal succeeds; positive.
 *     {@link #UNLIMITED} if there is no lease
 */
public record Leadership(long term, Instant since, Duration remaining) {

  /** The {@link #remaining()} of a leadership without a lease. */
  public static final Duration UNLIMITED = ChronoUnit.FOREVER.getDuration();
}
