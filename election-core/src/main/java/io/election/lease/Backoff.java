package io.election.lease;

import org.jspecify.annotations.Nullable;

/**
 * Restricts the calls to the store to renewals for a while after a failed call. The pause doubles
 * with each failure, up to one renew interval, and differs from node to node, so that a server that
 * hundreds of nodes have overloaded can recover. Used by the elector's thread.
 */
final class Backoff {

  private final Node node;

  private @Nullable Long until;

  /** The number of consecutive failed calls. */
  private int failures;

  Backoff(Node node) {
    this.node = node;
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
    this.failures = 0;
  }

  /**
   * Applies a failure.
   *
   * @param ledLast whether this node led one of its elections last. Then it may lead again at once,
   *     and other nodes wait for it, so its pauses do not grow
   */
  void failed(long now, boolean ledLast) {
    long interval = this.node.settings().renewInterval().toNanos();
    long longest = ledLast ? interval / 4 : interval >> Math.max(2 - this.failures, 0);
    this.failures++;
    this.until = now + longest / 2 + this.node.spread(longest / 2);
  }
}
