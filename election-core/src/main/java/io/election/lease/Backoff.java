package io.election.lease;

import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Restricts the calls to the store to renewals for a while after a failed call, so that a server
 * that hundreds of nodes have overloaded can recover. The pause doubles with each failure, halves
 * with each answer, and differs from node to node. It is one renew interval at most, and with more
 * than a hundred members an interval for each hundred, at most a lease; a quarter of that at first.
 * Used by the elector's thread.
 */
final class Backoff {

  private static final int MEMBERS = 100;

  private final Node node;

  private final IntSupplier members;

  private @Nullable Long until;

  /** The longest pause after the next failure, unless this node led last. */
  private long longest;

  /**
   * Creates a back-off.
   *
   * @param members how many members there are, as far as is known
   */
  Backoff(Node node, IntSupplier members) {
    this.node = node;
    this.members = members;
    this.longest = shortest();
  }

  /** Returns the remaining back-off in nanoseconds; 0 if it is over. */
  long remaining(long now) {
    return this.until == null ? 0 : Math.max(this.until - now, 0);
  }

  boolean isOver(long now) {
    return remaining(now) == 0;
  }

  void end() {
    this.until = null;
  }

  /** Applies an answer. */
  void answered() {
    // If one answer ended the growth, a few answers would bring the full load back at once.
    this.longest = Math.max(this.longest / 2, shortest());
  }

  /**
   * Applies a failure.
   *
   * @param ledLast whether this node led one of its elections last. Then it may lead again at once,
   *     and other nodes wait for it, so its pauses do not grow
   */
  void failed(long now, boolean ledLast) {
    long hundreds = Math.max(this.members.getAsInt() / MEMBERS, 1);
    long limit = Math.min(
        this.node.settings().renewInterval().toNanos() * hundreds,
        this.node.settings().leaseDuration().toNanos());
    this.longest = Math.max(this.longest, limit / 4);
    long most = ledLast ? shortest() : this.longest;
    this.until = now + most / 2 + this.node.spread(most / 2);
    this.longest = Math.min(this.longest * 2, limit);
  }

  private long shortest() {
    return this.node.settings().renewInterval().toNanos() / 4;
  }
}
