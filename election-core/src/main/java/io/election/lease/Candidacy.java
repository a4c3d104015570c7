package io.election.lease;

import io.election.AuditNote;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipLostEvent;
import io.election.lease.Clocks.Reading;
import io.election.lease.State.Claimant;
import io.election.lease.State.Draining;
import io.election.lease.State.Follower;
import io.election.lease.State.Leader;
import io.election.lease.Step.Acquire;
import io.election.lease.Step.Cede;
import io.election.lease.Step.Read;
import io.election.lease.Step.Release;
import io.election.lease.Step.Renew;
import io.election.lease.Step.Touch;
import io.election.lease.Step.Wait;
import io.election.lease.TakeoverRule.Option;
import io.election.store.LeaseRow;
import io.election.store.TermEnd;
import io.election.store.Ticker;
import java.time.Instant;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * All that one process knows about its part in one election, and the decisions that follow from it.
 * An immutable value: {@link #next} decides; the other methods return the candidacy after an
 * answer, a command, or the passing of time. No I/O, no threads, no clocks.
 *
 * <p>The rules, in short. A leader's deadline counts from before its renewal was sent. A follower
 * acts on a record only after it has watched the very same record for as long as the holder was
 * promised, counted from after the answer that first showed it; it acts at once on a record that no
 * other process has written to since the store confirmed this process as leader. A record that
 * disappeared may have had a leader, so the node that recreates it waits for a whole lease. An
 * unknown outcome extends nothing and grants nothing.
 *
 * <p>All instants are readings of the {@link Ticker}, compared by subtraction. An answer comes with
 * {@code sent}, taken before the request, and {@code now}, taken after the answer: one value for
 * both would be a bug.
 *
 * @param node this node and its settings
 * @param participation whether the node takes part
 * @param remembered what outlives a standing
 * @param state the current standing of the node
 * @param dueAt when the next regular call to the store is due
 */
record Candidacy(
    Node node, Participation participation, Remembered remembered, State state, long dueAt) {

  static Candidacy start(Node node, long now) {
    return new Candidacy(node, new Participation.Active(), Remembered.NONE, Follower.unread(), now);
  }

  /**
   * Decides what to do next.
   *
   * @param now this instant; {@link #at} has been applied for it
   * @param working whether leader work of this election runs in this process
   */
  Step next(long now, boolean working) {
    if (this.state instanceof Leader leader) {
      return isDue(now)
          ? new Renew(leader.term())
          : new Wait(earlier(this.dueAt, leader.deadline().at()));
    }
    if (this.state instanceof Draining draining) {
      return nextOf(draining, now, working);
    }
    if (this.state instanceof Claimant claimant) {
      return nextOf(claimant, now);
    }
    if (this.participation instanceof Participation.Stopped) {
      return new Wait(now + renewNanos());
    }
    Option opening = rule().opening((Follower) this.state);
    if (opening != null && opening.isOpen(now)) {
      return opening.step();
    }
    if (isDue(now)) {
      return new Read();
    }
    return new Wait(opening != null ? earlier(this.dueAt, opening.from()) : this.dueAt);
  }

  private Step nextOf(Draining draining, long now, boolean working) {
    if (working && draining.drains(now)) {
      if (draining.displaced()) {
        return new Wait(draining.drainUntil());
      }
      return isDue(now)
          ? new Renew(draining.term())
          : new Wait(draining.patient() ? this.dueAt : earlier(this.dueAt, draining.drainUntil()));
    }
    if (now - draining.retryAt() < 0) {
      return new Wait(draining.retryAt());
    }
    return draining.displaced()
        ? new Cede(draining.term(), draining.ending())
        : new Release(draining.term(), draining.successor(), draining.ending());
  }

  private Step nextOf(Claimant claimant, long now) {
    Option opening = rule().opening(claimant);
    if (opening.isOpen(now)) {
      return opening.step();
    }
    return isDue(now)
        ? new Touch(claimant.row(), claimant.since())
        : new Wait(earlier(this.dueAt, opening.from()));
  }

  /** Returns the candidacy at this instant: a standing whose deadline has passed is over. */
  Candidacy at(Reading reading) {
    if (this.state instanceof Leader leader && !leader.isValid(reading)) {
      return follower(this.participation, reading.now());
    }
    if (this.state instanceof Draining draining
        && draining.displaced()
        && draining.deadline().isOver(reading)) {
      // The node that was written into the record has waited for our whole lease: there is nothing
      // left to cede.
      return follower(this.participation, reading.now());
    }
    return this;
  }

  /**
   * Returns the term whose leader work the lease covers at this instant: while the node leads, and
   * while it waits for work to end and continues to renew. The latter is limited to the drain
   * timeout, even if a stop keeps the lease for longer.
   */
  OptionalLong protectedTerm(Reading reading) {
    return this.state.protectedFor(reading) > 0 ? this.state.heldTerm() : OptionalLong.empty();
  }

  /** Returns whether the lease is kept for work that still runs after a stop. */
  boolean keepsLease(Reading reading) {
    return this.state instanceof Draining draining
        && draining.patient()
        && !draining.displaced()
        && !draining.deadline().isOver(reading);
  }

  /**
   * Applies a read. The next one is due a renew interval later.
   *
   * @param row the record; {@code null} if there is none
   * @param now taken after the answer
   */
  Candidacy onRead(@Nullable LeaseRow row, long now) {
    if (!(this.state instanceof Follower follower)) {
      return this;
    }
    Observation last = follower.seen();
    long since = last != null && last.shows(row) ? last.since() : now;
    boolean names = row != null && row.leaderId().equals(this.node.id());
    return new Candidacy(
        this.node,
        this.participation.isActive(now) ? this.participation.stand() : this.participation,
        row != null
            ? this.remembered.seen(row.term()).promised(rule().promisedMillis(row))
            : this.remembered,
        new Follower(new Observation(row, since, false), follower.shared() && names),
        now + renewNanos());
  }

  /** Sets the next read of a follower to an instant that it shares with its other elections. */
  Candidacy pollAt(long due) {
    return this.state instanceof Follower ? with(this.state, due) : this;
  }

  /** Lets a follower read the record at an instant, unless it does so earlier. */
  Candidacy pollBy(long due) {
    return pollAt(earlier(this.dueAt, due));
  }

  /**
   * Applies a hint that the record may have changed: a follower reads it before it acts.
   *
   * @param due when to read it
   */
  Candidacy readAgainAt(long due) {
    return this.state instanceof Follower ? readAgain(due) : this;
  }

  /**
   * Lets other nodes try first for a record that was handed back: a follower reads it again before
   * it acts.
   *
   * @param nanos for how long, from when this node first saw the record or noticed the hand-back
   * @param noticed when it has noticed the hand-back; {@code now} if it has not
   */
  Candidacy afterOthers(long nanos, long noticed, long now) {
    Observation seen = seen();
    if (seen == null || !isOpen(now)) {
      return this;
    }
    long turn = earlier(seen.since(), noticed) + nanos;
    return now - turn < 0 ? readAgainAt(turn) : this;
  }

  /** Applies the answer to {@link Renew}. */
  Candidacy onRenewed(Renew step, boolean renewed, Timing timing) {
    long due = timing.sent() + renewNanos();
    if (this.state instanceof Leader leader && leader.term() == step.term()) {
      return renewed
          ? with(new Leader(leader.tenure(), deadline(timing)), due)
          : draining(
              leader, "", true, TermEnd.of(LeadershipLostEvent.Reason.DISPLACED), timing.now());
    }
    if (this.state instanceof Draining draining && draining.term() == step.term()) {
      return renewed
          ? with(draining.renewed(deadline(timing)), due)
          : with(draining.displacedByAnother(), due);
    }
    return this;
  }

  /** Applies the answer to {@link Create}: the record as created, {@code null} if one existed. */
  Candidacy onCreated(@Nullable LeaseRow row, long now) {
    if (!(this.state instanceof Follower)) {
      return this;
    }
    return row != null && mayStand(now)
        ? claimant(this.remembered.seen(row.term()), new Claimant(row, now, true), now)
        : readAgain(now);
  }

  /**
   * Applies the answer to {@link Touch}: the record after the write, {@code null} if another
   * process had changed it.
   */
  Candidacy onTouched(Touch step, @Nullable LeaseRow row, long now) {
    if (!mayStand(now) || this.state instanceof Leader || this.state instanceof Draining) {
      return this;
    }
    boolean created = this.state instanceof Claimant claimant && claimant.created();
    return row != null
        ? claimant(this.remembered, new Claimant(row, step.since(), created), now)
        : changedByAnother(now);
  }

  /** Applies the answer to {@link Acquire}: the term, empty if the record had changed. */
  Candidacy onAcquired(Acquire step, OptionalLong term, Timing timing) {
    if (term.isPresent()) {
      return elected(term.getAsLong(), step.reason(), timing);
    }
    return this.state instanceof Claimant
        ? changedByAnother(timing.now())
        : readAgain(timing.now());
  }

  private Candidacy elected(long term, LeadershipAcquiredEvent.Reason reason, Timing timing) {
    Tenure tenure = new Tenure(term, Instant.ofEpochMilli(timing.after().wall()), reason);
    Leader leader = new Leader(tenure, deadline(timing));
    Candidacy elected = new Candidacy(
        this.node,
        this.participation,
        this.remembered.led(term),
        leader,
        timing.sent() + renewNanos());
    if (!mayStand(timing.now())) {
      // The node was stopped or ordered to step down while the answer was on its way.
      return elected.draining(
          leader, "", false, this.participation.whyItMayNotLead(), timing.now());
    }
    return elected.at(timing.after());
  }

  /** Applies the answer to {@link Release}. */
  Candidacy onReleased(Release step, boolean released, long now) {
    if (!(this.state instanceof Draining draining) || draining.term() != step.term()) {
      return this;
    }
    return released
        ? follower(draining.staysCandidate() ? this.participation : standAside(now), now)
        : with(draining.displacedByAnother(), this.dueAt);
  }

  /** Applies the answer to {@link Cede}. */
  Candidacy onCeded(Cede step, boolean ceded, long now) {
    if (!(this.state instanceof Draining draining) || draining.term() != step.term()) {
      return this;
    }
    return follower(ceded ? standAside(now) : this.participation, now);
  }

  /** Applies a call to the store whose outcome is unknown. */
  Candidacy onFailure(Step step, long now) {
    // The rest of a lease has room for several attempts.
    long retry = now + renewNanos() / 4;
    if (this.state instanceof Draining draining && !(step instanceof Renew)) {
      return with(draining.retryAt(retry), this.dueAt);
    }
    // Retrying a take-over whose outcome is unknown would keep the record changing and lock out all
    // other nodes.
    boolean touched = this.state instanceof Claimant
        || step instanceof Touch
        || (step instanceof Acquire acquire && acquire.row().own());
    return touched && !(this.state instanceof Leader) ? changedByAnother(retry) : readAgain(retry);
  }

  /** Applies {@link io.election.ElectionService#becomeLeader()}. */
  Candidacy campaign(long now) {
    return new Candidacy(
        this.node,
        this.participation.stand(),
        this.remembered,
        this.state,
        this.state instanceof Follower || this.state instanceof Claimant ? now : this.dueAt);
  }

  /** Applies {@link io.election.ElectionService#lostLeader()} or a forced election. */
  Candidacy resign(@Nullable AuditNote auditNote, long now) {
    TermEnd ending = new TermEnd(LeadershipLostEvent.Reason.RESIGNED, auditNote);
    return stepDown(standAside(now), "", ending, now);
  }

  /** Applies the designation of another node, if this one leads. */
  Candidacy handOver(String successor, @Nullable AuditNote auditNote, long now) {
    TermEnd ending = new TermEnd(LeadershipLostEvent.Reason.HANDED_OVER, auditNote);
    return stepDown(this.participation, successor, ending, now);
  }

  /** Applies {@link io.election.ElectionOperations#pause}: hands the lease back, and stands aside. */
  Candidacy pause(AuditNote auditNote, long now) {
    TermEnd ending = new TermEnd(LeadershipLostEvent.Reason.PAUSED, auditNote);
    return stepDown(this.participation.pause(auditNote), "", ending, now);
  }

  /**
   * Applies {@link io.election.ElectionOperations#resume}, which also ends the standing aside that
   * followed the release.
   */
  Candidacy resume(long now) {
    return this.participation.pausedBy() == null
        ? this
        : with(this.participation.resume()).campaign(now);
  }

  /**
   * Applies a stop: the node hands the lease back once no work runs, and does not take over again.
   */
  Candidacy stop(long now) {
    return stepDown(
        this.participation.stop(), "", TermEnd.of(LeadershipLostEvent.Reason.STOPPED), now);
  }

  private Candidacy stepDown(
      Participation participation, String successor, TermEnd ending, long now) {
    Candidacy commanded = with(participation);
    if (this.state instanceof Leader leader) {
      return commanded.draining(leader, successor, false, ending, now);
    }
    if (this.state instanceof Draining draining
        && draining.patient()
        && ending.reason() != LeadershipLostEvent.Reason.STOPPED) {
      return commanded.with(draining.commanded(successor, ending), this.dueAt);
    }
    return this.state instanceof Claimant ? follower(participation, now) : commanded;
  }

  private Candidacy draining(
      Leader leader, String successor, boolean displaced, TermEnd ending, long now) {
    long drainUntil = now + this.node.settings().drainTimeout().toNanos();
    return with(leader.stepDown(successor, displaced, ending, drainUntil, now), this.dueAt);
  }

  private Deadline deadline(Timing timing) {
    return Deadline.after(timing, this.node.settings());
  }

  private Candidacy claimant(Remembered remembered, Claimant claimant, long now) {
    return new Candidacy(this.node, this.participation, remembered, claimant, now + renewNanos());
  }

  private Candidacy follower(Participation participation, long now) {
    return new Candidacy(this.node, participation, this.remembered, Follower.unread(), now);
  }

  private Candidacy changedByAnother(long due) {
    return with(new Follower(null, true), due);
  }

  private Candidacy readAgain(long due) {
    return with(this.state instanceof Follower follower ? follower.outdated() : this.state, due);
  }

  private Candidacy with(State state, long due) {
    return new Candidacy(this.node, this.participation, this.remembered, state, due);
  }

  private Candidacy with(Participation participation) {
    return new Candidacy(this.node, participation, this.remembered, this.state, this.dueAt);
  }

  private Participation standAside(long now) {
    return this.participation.standAside(now + leaseNanos());
  }

  private boolean mayStand(long now) {
    return this.node.settings().eligible() && this.participation.isActive(now);
  }

  private boolean isDue(long now) {
    return now - this.dueAt >= 0;
  }

  /**
   * Returns whether this node may have to write now. A follower of another node that holds the
   * lease does not.
   */
  boolean mayHaveToWrite(long now) {
    if (!rule().isCandidate()) {
      return false;
    }
    return isOpen(now)
        || rowOfLeader()
            .map(LeaseRow::leaderId)
            .filter((holder) -> !holder.equals(this.node.id()))
            .isEmpty();
  }

  /** Returns from when on this node may try for the lease, by the ticker; empty if unknown. */
  OptionalLong opensAt() {
    return rule().opensAt(this.state);
  }

  /** Returns whether a follower may try for the record now. */
  boolean isOpen(long now) {
    Option opening = this.state instanceof Follower follower ? rule().opening(follower) : null;
    return opening != null && opening.isOpen(now);
  }

  /** Returns the record that a follower last read, if it names a holder. */
  Optional<LeaseRow> rowOfLeader() {
    Observation seen = seen();
    return seen != null ? seen.rowOfLeader() : Optional.empty();
  }

  /** Returns whether this node led last, as far as it knows, or is about to lead. */
  boolean ledLast() {
    return !(this.state instanceof Follower) || this.remembered.ledHighest();
  }

  /** Returns the record as a follower last read it; {@code null} if it must be read first. */
  @Nullable
  Observation seen() {
    return this.state instanceof Follower follower ? follower.seen() : null;
  }

  private TakeoverRule rule() {
    return new TakeoverRule(this.node, this.participation, this.remembered);
  }

  private long renewNanos() {
    return this.node.settings().renewInterval().toNanos();
  }

  private long leaseNanos() {
    return this.node.settings().leaseDuration().toNanos();
  }

  private static long earlier(long a, long b) {
    return a - b < 0 ? a : b;
  }
}
