package io.election.lease;

import io.election.store.LeaseSettings;
import java.time.Duration;

/**
 * Schedules a follower's reads of the records: about one per renew interval, shortly after the
 * leader's next expected renewal, so that the observation of each renewal begins without lag.
 * Affects timing only, never a decision.
 *
 * <p>If a renewal is a little late, the next read follows soon. If renewals become visible late
 * (many elections, slow server), the reads keep the distance at which they saw the last one, since
 * otherwise each renewal would need two reads, and reduce it step by step. The distance is that of
 * the request, not of the answer: the duration of a read must not delay the next one.
 */
final class PollSchedule {

  private final long interval;

  /** How long after the expected renewal this node reads; a part differs from node to node. */
  private final long lag;

  /** How long after a lost race this node reads; most of it differs from node to node. */
  private final long afterLostRace;

  PollSchedule(Node node) {
    this.interval = node.settings().renewInterval().toNanos();
    this.lag = this.interval / 32 + node.spread(this.interval / 16);
    this.afterLostRace = this.interval / 16 + node.spread(this.interval);
  }

  /**
   * Returns when to read again.
   *
   * @param sent before the last read was sent
   * @param now after its answer
   * @param age how long before the middle of that read the record was written, by the clock of the
   *     store; only a hint
   */
  long next(long sent, long now, Duration age) {
    boolean known = !age.isNegative() && age.compareTo(LeaseSettings.MAX_LEASE) <= 0;
    long old = known ? age.toNanos() : 0;
    long late = old - this.interval;
    if (late >= 0 && late < this.interval / 4) {
      return now + this.interval / 16;
    }
    long half = (now - sent) / 2;
    long excess = old < this.interval / 4 ? Math.max(old - half - this.lag, 0) : 0;
    long distance = this.lag + excess - excess / 8;
    long wait = this.interval - old % this.interval + distance - half;
    return now + (wait < this.interval / 2 ? wait + this.interval : wait);
  }

  /**
   * Returns for how long a node lets others try first after a leader has handed back: less than a
   * renew interval, however many there are. The first ones have the most time.
   *
   * @param ahead how many others there are
   */
  long turn(int ahead) {
    return (long) (this.interval * (ahead / (ahead + 8.0)));
  }

  /**
   * Returns when to read after another node was faster or holds a lock. It is not urgent, and
   * hundreds of nodes may do the same, so the reads are spread over an interval.
   */
  long afterLostRace(long now) {
    return now + this.afterLostRace;
  }
}
