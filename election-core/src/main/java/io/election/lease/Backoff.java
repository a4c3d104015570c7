package io.election.lease;

import org.jspecify.annotations.Nullable;

/**
 * After a call to the store that failed, nothing but renewals is tried for a while. Used by the
 * elector's thread.
 */
final class Backoff {

  private final Candidacy.Node node;

  private @Nullable Long until;

  /** How many calls have failed, one after the other. */
  private int failures;

  /** Whether nobody waits for this node, which has led nothing last. */
  private boolean patient = true;

  Backoff(Candidacy.Node node) {
    this.node = node;
  }

  /** How long it lasts, in nanoseconds; 0 if it is over. */
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
   * After an answer.
   *
   * @param patient whether this node has led nothing last, so that nobody waits for it
   */
  void answered(boolean patient) {
    this.failures = 0;
    this.patient = patient;
  }

  /**
   * After a failure: at first as long as those wait that have failed. Then followers let a server come
   * to itself that hundreds of them have overloaded: each for another time, of a renew interval at most.
   */
  void failed(long now) {
    long quarter = this.node.settings().renewInterval().toNanos() / 4;
    long more = this.patient ? quarter * Math.min(this.failures, 3) : 0;
    this.failures++;
    this.until = now + quarter + this.node.spread(more);
  }
}
