package io.election.lease;

import java.time.Duration;

/**
 * Schedules a follower's reads of the records: about one per renew interval, shortly after the
 * leader's next expected renewal, so that the observation of each renewal begins without lag.
 * Affects timing only, never a decision. Used by one thread.
 *
 * <p>If renewals become visible late (many elections, slow server), the reads shift to follow them:
 * otherwise each renewal would need two reads. They shift back step by step. If reads take long,
 * many followers read at the same time, and the reads are spread.
 */
final class Looks {

  private final long interval;

  /** Whether the last read came before a renewal that was a little late. */
  private boolean tooSoon;

  /** How long after its write a renewal becomes visible; 0 if a read in phase shows it. */
  private long delay;

  private long lastTook;

  /**
   * The longest recent duration of two reads in succession: a single one may have had to connect.
   */
  private long take;

  Looks(Duration renewInterval) {
    this.interval = renewInterval.toNanos();
  }

  /** Applies the duration of a read. */
  void took(long nanos) {
    this.take = Math.max(Math.min(nanos, this.lastTook), this.take - this.take / 8);
    this.lastTook = nanos;
  }

  /** Returns how long recent reads took, in nanoseconds. */
  long take() {
    return this.take;
  }

  /**
   * Returns when to read again: soon if the renewal is a little late.
   *
   * @param node the node that reads
   * @param now after the answer to this read
   * @param age how long ago the record was written, by the clock of the store; only a hint
   */
  long next(Candidacy.Node node, long now, Duration age) {
    boolean known = !age.isNegative() && age.compareTo(LeaseSettings.MAX_LEASE) <= 0;
    long old = known ? age.toNanos() : 0;
    boolean sooner = this.tooSoon;
    this.tooSoon = old >= this.interval && old - this.interval < this.interval / 5;
    if (this.tooSoon) {
      return now + this.interval / 20 + node.spread(this.interval / 20);
    }
    long seen = sooner && old < this.interval / 4 ? old : 0;
    this.delay = Math.max(seen, Math.max(this.delay - this.interval / 200, 0));
    // Slightly late, so that the renewal comes first, and spread over the followers.
    long crowd = Math.max(this.interval / 16, Math.min(4 * this.take, this.interval / 2));
    long lag = Math.max(this.interval / 50 + node.spread(crowd), this.delay);
    if (!known) {
      return now + this.interval + lag;
    }
    long wait = this.interval - old % this.interval + lag;
    return now + (wait < this.interval / 2 ? wait + this.interval : wait);
  }
}
