package io.election;

import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/**
 * A node's leadership as it stood when asked for: a snapshot, not a view.
 *
 * @param term the fencing token: greater with each new leadership of the election, never reused.
 *     Hand it to systems that can refuse an older one. 0 where the election has no terms ({@linkplain
 *     ManualAllocationElectionService manual allocation}, election disabled)
 * @param since when this node began to lead, by its wall clock; for people
 * @param remaining how long the leadership lasts if no renewal succeeds from now on; positive. {@link
 *     #UNLIMITED} where there is no lease
 */
public record Leadership(long term, Instant since, Duration remaining) {

  /** The {@link #remaining()} of a leadership that no lease bounds. */
  public static final Duration UNLIMITED = ChronoUnit.FOREVER.getDuration();
}
