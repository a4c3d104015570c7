package io.election.lease;

import io.election.store.LeaseSettings;
import java.time.Duration;
import java.util.function.IntSupplier;

/**
 * Schedules a follower's reads of the records: about one per renew interval, shortly after the
 * leader's next expected renewal, so that the observation of each renewal begins without lag.
 * Affects timing only, never a decision.
 *
 * <p>If a renewal is a little late, the next read follows soon. If renewals become visible late
 * (many elections, slow server), the reads keep the distance at which they saw the last one, since
 * otherwise each renewal would need two reads, and reduce it step by step. The distance is that of
 * the request, not of the answer: the duration of a read must not delay the next one.
 *
 * <p>The reads of many nodes are spread over almost half of an interval, and with them the instants at
 * which the nodes find a lease expired: they would overload the server together. The first nodes read
 * as early as those of a few.
 */
final class PollSchedule {

  private final Node node;

  private final IntSupplier members;

  private final long interval;

  /**
   * Creates a schedule.
   *
   * @param members how many members there are, as far as is known
   */
  PollSchedule(Node node, IntSupplier members) {
    this.node = node;
    this.members = members;
    this.interval = node.settings().renewInterval().toNanos();
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
    long lag = lag();
    long excess = old < this.interval / 4 ? Math.max(old - half - lag, 0) : 0;
    long distance = lag + excess - excess / 8;
    long wait = this.interval - old % this.interval + distance - half;
    return now + (wait < this.interval / 2 ? wait + this.interval : wait);
  }

  /** How long after the expected renewal this node reads; a part differs from node to node. */
  private long lag() {
    return this.interval / 32 + this.node.spread(this.interval / 16 * groupsOf(16, 7));
  }

  /** How many groups of a size the members make: one at least. */
  private int groupsOf(int size, int most) {
    return Math.max(1, Math.min(this.members.getAsInt() / size, most));
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
   * hundreds of nodes may do the same, so the reads are spread over an interval, or with hundreds of
   * members over an interval for each hundred, four at most.
   */
  long afterLostRace(long now) {
    return now + this.interval / 16 + this.node.spread(this.interval * groupsOf(100, 4));
  }
}
