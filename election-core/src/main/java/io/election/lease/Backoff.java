package io.election.lease;

import org.jspecify.annotations.Nullable;

/**
 * Restricts the calls to the store to renewals for a while after a failed call. Used by the
 * elector's thread.
 */
final class Backoff {

  private final Candidacy.Node node;

  private @Nullable Long until;

  /** The number of consecutive failed calls. */
  private int failures;

  /** Whether this node led none of its elections last, so that no other node waits for it. */
  private boolean patient = true;

  Backoff(Candidacy.Node node) {
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

  /**
   * Applies an answer.
   *
   * @param patient whether this node led none of its elections last, so that no other node waits
   *     for it
   */
  void answered(boolean patient) {
    this.failures = 0;
    this.patient = patient;
  }

  /**
   * Applies a failure. The first back-off is as long as the retry delay of the elections whose call
   * failed. Later ones of followers are longer, so that a server that hundreds of nodes have
   * overloaded can recover. They differ from node to node and last at most one renew interval.
   */
  void failed(long now) {
    long quarter = this.node.settings().renewInterval().toNanos() / 4;
    long more = this.patient ? quarter * Math.min(this.failures, 3) : 0;
    this.failures++;
    this.until = now + quarter + this.node.spread(more);
  }
}
