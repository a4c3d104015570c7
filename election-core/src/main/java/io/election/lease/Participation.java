package io.election.lease;

import io.election.AuditNote;
import io.election.LeadershipLostEvent;
import io.election.store.TermEnd;
import io.election.store.Ticker;
import org.jspecify.annotations.Nullable;

/** Whether a node takes part in an election, by its own and its operators' commands. */
sealed interface Participation {

  /** Stands for the election. */
  record Active() implements Participation {}

  /**
   * Stands aside, so that another node can lead.
   *
   * @param until until when, by the {@link Ticker}
   */
  record Aside(long until) implements Participation {}

  /**
   * Is paused.
   *
   * @param by who paused it, and why
   */
  record Paused(AuditNote by) implements Participation {}

  /**
   * Is stopped, or waits for the end of an earlier run.
   *
   * @param paused who has paused it meanwhile, and why; {@code null} if it is not paused
   */
  record Stopped(@Nullable AuditNote paused) implements Participation {}

  /** Returns who paused the node; {@code null} if it is not paused. */
  default @Nullable AuditNote pausedBy() {
    if (this instanceof Stopped stopped) {
      return stopped.paused();
    }
    return this instanceof Paused paused ? paused.by() : null;
  }

  /** Returns whether the node may lead, now or once it no longer stands aside. */
  default boolean isCandidate() {
    return this instanceof Active || this instanceof Aside;
  }

  /** Returns whether the node may lead at this instant. */
  default boolean isActive(long now) {
    return this instanceof Active || (this instanceof Aside aside && now - aside.until() >= 0);
  }

  /** Applies a stop. */
  default Participation stop() {
    return new Stopped(pausedBy());
  }

  /** Applies a pause. */
  default Participation pause(AuditNote by) {
    return this instanceof Stopped ? new Stopped(by) : new Paused(by);
  }

  /** Applies the end of a pause. */
  default Participation resume() {
    return this instanceof Stopped ? new Stopped(null) : new Active();
  }

  /** Applies the request to let another node lead. */
  default Participation standAside(long until) {
    return isCandidate() ? new Aside(until) : this;
  }

  /** Applies the request to stand again. */
  default Participation stand() {
    return this instanceof Aside ? new Active() : this;
  }

  /** Returns why a node immediately hands back a lease that it was just granted. */
  default TermEnd whyItMayNotLead() {
    if (this instanceof Stopped) {
      return TermEnd.of(LeadershipLostEvent.Reason.STOPPED);
    }
    return this instanceof Paused paused
        ? new TermEnd(LeadershipLostEvent.Reason.PAUSED, paused.by())
        : TermEnd.of(LeadershipLostEvent.Reason.RESIGNED);
  }
}
