package io.election.lease;

import io.election.LeadershipAcquiredEvent;
import java.time.Instant;

/**
 * One leadership of this node, with all its renewals. It alone changes after it was created, and
 * only once: when any thread has seen that it is over, it is over for all of them, whatever the
 * clocks show later.
 */
final class Tenure {

  private final long term;

  private final Instant since;

  private final LeadershipAcquiredEvent.Reason reason;

  private volatile boolean over;

  Tenure(long term, Instant since, LeadershipAcquiredEvent.Reason reason) {
    this.term = term;
    this.since = since;
    this.reason = reason;
  }

  long term() {
    return this.term;
  }

  /** Returns when it began, for display. */
  Instant since() {
    return this.since;
  }

  /** Returns why it could begin. */
  LeadershipAcquiredEvent.Reason reason() {
    return this.reason;
  }

  boolean isOver() {
    return this.over;
  }

  void end() {
    this.over = true;
  }

  @Override
  public String toString() {
    return "Tenure[term=" + this.term + ", reason=" + this.reason + ", over=" + this.over + "]";
  }
}
