package io.election.lease;

import java.time.Duration;

/**
 * When a follower looks at the records: about once a renew interval, shortly after the leader's next
 * renewal is to be expected, so that the observation of its last one begins without lag. A matter of
 * timing, which decides nothing. Used by one thread.
 *
 * <p>Where renewals come to be seen late, for they are of many elections or the server is slow, the
 * looks follow them: otherwise each of them would take two looks. They come closer again step by step.
 * Where looks take long, many followers look at the same time, and they spread.
 */
final class Looks {

  private final long interval;

  /** Whether the last look came before a renewal that was a little late. */
  private boolean tooSoon;

  /** How long after its writing a renewal can be seen; 0 where a look in phase sees it. */
  private long delay;

  private long lastTook;

  /** How long looks have taken at most, of late, two in succession: one may have had to connect. */
  private long take;

  Looks(Duration renewInterval) {
    this.interval = renewInterval.toNanos();
  }

  /** After a look. */
  void took(long nanos) {
    this.take = Math.max(Math.min(nanos, this.lastTook), this.take - this.take / 8);
    this.lastTook = nanos;
  }

  /** How long looks take, of late, in nanoseconds. */
  long take() {
    return this.take;
  }

  /**
   * When to look again. Soon if the renewal is a little late.
   *
   * @param node who looks
   * @param now after the answer to this look
   * @param age how long ago the record was written, by the store's clock: a hint, nothing more
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
    // A little late, so that the renewal comes first, and not all followers at the same time.
    long crowd = Math.max(this.interval / 16, Math.min(4 * this.take, this.interval / 2));
    long lag = Math.max(this.interval / 50 + node.spread(crowd), this.delay);
    if (!known) {
      return now + this.interval + lag;
    }
    long wait = this.interval - old % this.interval + lag;
    return now + (wait < this.interval / 2 ? wait + this.interval : wait);
  }
}
