package io.election.lease;

import io.election.Instruction;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipLostEvent;
import io.election.lease.Standing.Following;
import io.election.lease.Standing.Leading;
import io.election.lease.Standing.SteppingDown;
import io.election.lease.Standing.Warming;
import io.election.lease.Step.Acquire;
import io.election.lease.Step.Await;
import io.election.lease.Step.GiveWay;
import io.election.lease.Step.Read;
import io.election.lease.Step.Release;
import io.election.lease.Step.Renew;
import io.election.lease.Step.Touch;
import io.election.lease.TakeoverRule.Opening;
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
 * @param memory what outlives a standing
 * @param standing the current standing of the node
 * @param dueAt when the next regular call to the store is due
 */
record Candidacy(
    Node node, Participation participation, Memory memory, Standing standing, long dueAt) {

  /**
   * A candidate.
   *
   * @param id its node id
   * @param settings its settings
   */
  record Node(String id, LeaseSettings settings) {

    /** Returns a node whose id is known only at its first start. */
    static Node unnamed(LeaseSettings settings) {
      return new Node("", settings);
    }

    boolean isNamed() {
      return !this.id.isEmpty();
    }

    /** Returns a fraction of a duration that differs from node to node. */
    long spread(long nanos) {
      return nanos / 100 * Math.floorMod(this.id.hashCode(), 100);
    }
  }

  static Candidacy start(Node node, long now) {
    return new Candidacy(node, new Participation.Active(), Memory.NONE, Following.unread(), now);
  }

  /**
   * Decides what to do next.
   *
   * @param now this instant; {@link #at} has been applied for it
   * @param working whether leader work of this election runs in this process
   */
  Step next(long now, boolean working) {
    if (this.standing instanceof Leading leading) {
      return isDue(now)
          ? new Renew(leading.term())
          : new Await(earlier(this.dueAt, leading.deadline()));
    }
    if (this.standing instanceof SteppingDown down) {
      return nextOf(down, now, working);
    }
    if (this.standing instanceof Warming warming) {
      return nextOf(warming, now);
    }
    if (this.participation instanceof Participation.Stopped) {
      return new Await(now + renewNanos());
    }
    Opening opening = rule().opening((Following) this.standing);
    if (opening != null && opening.isOpen(now)) {
      return opening.step();
    }
    if (isDue(now)) {
      return new Read();
    }
    return new Await(opening != null ? earlier(this.dueAt, opening.from()) : this.dueAt);
  }

  private Step nextOf(SteppingDown down, long now, boolean working) {
    if (working && down.drains(now)) {
      if (down.displaced()) {
        return new Await(down.drainUntil());
      }
      return isDue(now)
          ? new Renew(down.term())
          : new Await(down.patient() ? this.dueAt : earlier(this.dueAt, down.drainUntil()));
    }
    if (now - down.retryAt() < 0) {
      return new Await(down.retryAt());
    }
    return down.displaced()
        ? new GiveWay(down.term(), down.ending())
        : new Release(down.term(), down.successor(), down.ending());
  }

  private Step nextOf(Warming warming, long now) {
    Opening opening = rule().opening(warming);
    if (opening.isOpen(now)) {
      return opening.step();
    }
    return isDue(now)
        ? new Touch(warming.row(), warming.since())
        : new Await(earlier(this.dueAt, opening.from()));
  }

  /** Returns the candidacy at this instant: a standing whose deadline has passed is over. */
  Candidacy at(long now, long wall) {
    if (this.standing instanceof Leading leading && !leading.isValid(now, wall)) {
      return following(this.participation, now);
    }
    if (this.standing instanceof SteppingDown down
        && down.displaced()
        && now - down.deadline() >= 0) {
      // The node that was written into the record has waited for our whole lease: there is nothing
      // left to give way with.
      return following(this.participation, now);
    }
    return this;
  }

  /**
   * Returns until when the lease covers leader work: while the node leads, and while it waits for
   * work to end and continues to renew. The latter is limited to the drain timeout, even if a stop
   * keeps the lease for longer. Empty if no work is covered.
   */
  OptionalLong coveredUntil() {
    return this.standing.coveredUntil();
  }

  /** Returns whether the lease is kept for work that still runs after a stop. */
  boolean keepsLease(long now) {
    return this.standing instanceof SteppingDown down
        && down.patient()
        && !down.displaced()
        && now - down.deadline() < 0;
  }

  /** Returns the term whose leader work the lease covers at this instant. */
  OptionalLong coveredTerm(long now) {
    OptionalLong until = coveredUntil();
    return until.isEmpty() || now - until.getAsLong() >= 0
        ? OptionalLong.empty()
        : this.standing.heldTerm();
  }

  /**
   * Applies a read. The next one is due a renew interval later.
   *
   * @param row the record; {@code null} if there is none
   * @param now taken after the answer
   */
  Candidacy onRead(@Nullable LeaseRow row, long now) {
    if (!(this.standing instanceof Following following)) {
      return this;
    }
    Observation last = following.seen();
    long since = last != null && last.shows(row) ? last.since() : now;
    boolean names = row != null && row.leaderId().equals(this.node.id());
    return new Candidacy(
        this.node,
        this.participation.isActive(now) ? this.participation.stand() : this.participation,
        row != null
            ? this.memory.seen(row.term()).promised(rule().promisedMillis(row))
            : this.memory,
        new Following(new Observation(row, since, false), following.shared() && names),
        now + renewNanos());
  }

  /** Sets the next read of a follower to an instant that it shares with its other elections. */
  Candidacy pollAt(long due) {
    return this.standing instanceof Following ? with(this.standing, due) : this;
  }

  /**
   * Applies a hint that the record may have changed: a follower reads it before it acts.
   *
   * @param due when to read it
   */
  Candidacy look(long due) {
    return this.standing instanceof Following ? lookAgain(due) : this;
  }

  /** Applies the answer to {@link Renew}. */
  Candidacy onRenewed(Renew step, boolean renewed, Timing timing) {
    long due = timing.sent() + renewNanos();
    if (this.standing instanceof Leading leading && leading.term() == step.term()) {
      return renewed
          ? with(leading(leading.term(), timing, leading.since(), leading.reason()), due)
          : steppingDown(
              leading, "", true, Ending.of(LeadershipLostEvent.Reason.DISPLACED), timing.now());
    }
    if (this.standing instanceof SteppingDown down && down.term() == step.term()) {
      return renewed
          ? with(down.renewed(timing.sent() + this.node.settings().tenureNanos()), due)
          : with(down.displacedBySomebodyElse(), due);
    }
    return this;
  }

  /** Applies the answer to {@link Create}: the record as created, {@code null} if one existed. */
  Candidacy onCreated(@Nullable LeaseRow row, long now) {
    if (!(this.standing instanceof Following)) {
      return this;
    }
    return row != null && mayStand(now)
        ? warming(this.memory.seen(row.term()), new Warming(row, now, true), now)
        : lookAgain(now);
  }

  /**
   * Applies the answer to {@link Touch}: the record after the write, {@code null} if another
   * process had changed it.
   */
  Candidacy onTouched(Touch step, @Nullable LeaseRow row, long now) {
    if (!mayStand(now)
        || this.standing instanceof Leading
        || this.standing instanceof SteppingDown) {
      return this;
    }
    boolean created = this.standing instanceof Warming warming && warming.created();
    return row != null
        ? warming(this.memory, new Warming(row, step.since(), created), now)
        : changedBySomebodyElse(now);
  }

  /** Applies the answer to {@link Acquire}: the term, empty if the record had changed. */
  Candidacy onAcquired(Acquire step, OptionalLong term, Timing timing) {
    if (term.isPresent()) {
      return elected(term.getAsLong(), step.reason(), timing);
    }
    return this.standing instanceof Warming
        ? changedBySomebodyElse(timing.now())
        : lookAgain(timing.now());
  }

  private Candidacy elected(long term, LeadershipAcquiredEvent.Reason reason, Timing timing) {
    Leading leading = leading(term, timing, Instant.ofEpochMilli(timing.wall()), reason);
    Candidacy elected = new Candidacy(
        this.node,
        this.participation,
        this.memory.led(term),
        leading,
        timing.sent() + renewNanos());
    if (!mayStand(timing.now())) {
      // The node was stopped or told to step down while the answer was on its way.
      return elected.steppingDown(
          leading, "", false, this.participation.whyItMayNotLead(), timing.now());
    }
    return elected.at(timing.now(), timing.wall());
  }

  /** Applies the answer to {@link Release}. */
  Candidacy onReleased(Release step, boolean released, long now) {
    if (!(this.standing instanceof SteppingDown down) || down.term() != step.term()) {
      return this;
    }
    return released
        ? following(standAside(now), now)
        : with(down.displacedBySomebodyElse(), this.dueAt);
  }

  /** Applies the answer to {@link GiveWay}. */
  Candidacy onGivenWay(GiveWay step, boolean gaveWay, long now) {
    if (!(this.standing instanceof SteppingDown down) || down.term() != step.term()) {
      return this;
    }
    return following(gaveWay ? standAside(now) : this.participation, now);
  }

  /** Applies a call to the store whose outcome is unknown. */
  Candidacy onFailure(Step step, long now) {
    // The rest of a lease has room for several attempts.
    long retry = now + renewNanos() / 4;
    if (this.standing instanceof SteppingDown down && !(step instanceof Renew)) {
      return with(down.retryAt(retry), this.dueAt);
    }
    // Retrying a take-over whose outcome is unknown would keep the record changing and lock out all
    // other nodes.
    boolean warmed = this.standing instanceof Warming
        || step instanceof Touch
        || (step instanceof Acquire acquire && acquire.row().own());
    return warmed && !(this.standing instanceof Leading)
        ? changedBySomebodyElse(retry)
        : lookAgain(retry);
  }

  /** Applies {@link io.election.ElectionService#becomeLeader()}. */
  Candidacy campaign(long now) {
    return new Candidacy(
        this.node,
        this.participation.stand(),
        this.memory,
        this.standing,
        this.standing instanceof Following || this.standing instanceof Warming ? now : this.dueAt);
  }

  /** Applies {@link io.election.ElectionService#lostLeader()}. */
  Candidacy resign(long now) {
    return resign(null, now);
  }

  /** Applies a forced election. */
  Candidacy resign(@Nullable Instruction instruction, long now) {
    Ending ending = new Ending(LeadershipLostEvent.Reason.RESIGNED, instruction);
    return stepDown(standAside(now), "", ending, now);
  }

  /** Applies the designation of another node, if this one leads. */
  Candidacy handOver(String successor, @Nullable Instruction instruction, long now) {
    Ending ending = new Ending(LeadershipLostEvent.Reason.HANDED_OVER, instruction);
    return stepDown(this.participation, successor, ending, now);
  }

  /** Applies {@link io.election.ElectionService#pause}: hands the lease back, and stands aside. */
  Candidacy pause(Instruction instruction, long now) {
    Ending ending = new Ending(LeadershipLostEvent.Reason.PAUSED, instruction);
    return stepDown(this.participation.pause(instruction), "", ending, now);
  }

  /**
   * Applies {@link io.election.ElectionService#resume}, which also ends the standing aside that
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
        this.participation.stop(), "", Ending.of(LeadershipLostEvent.Reason.STOPPED), now);
  }

  private Candidacy stepDown(
      Participation participation, String successor, Ending ending, long now) {
    Candidacy commanded = with(participation);
    if (this.standing instanceof Leading leading) {
      return commanded.steppingDown(leading, successor, false, ending, now);
    }
    if (this.standing instanceof SteppingDown down
        && down.patient()
        && ending.reason() != LeadershipLostEvent.Reason.STOPPED) {
      return commanded.with(down.commanded(successor, ending), this.dueAt);
    }
    return this.standing instanceof Warming ? following(participation, now) : commanded;
  }

  private Candidacy steppingDown(
      Leading leading, String successor, boolean displaced, Ending ending, long now) {
    long drainUntil = now + this.node.settings().drainTimeout().toNanos();
    return with(leading.stepDown(successor, displaced, ending, drainUntil, now), this.dueAt);
  }

  private Leading leading(
      long term, Timing timing, Instant since, LeadershipAcquiredEvent.Reason reason) {
    return Leading.since(since, term, reason, timing, this.node.settings().tenureNanos());
  }

  private Candidacy warming(Memory memory, Warming warming, long now) {
    return new Candidacy(this.node, this.participation, memory, warming, now + renewNanos());
  }

  private Candidacy following(Participation participation, long now) {
    return new Candidacy(this.node, participation, this.memory, Following.unread(), now);
  }

  private Candidacy changedBySomebodyElse(long due) {
    return with(new Following(null, true), due);
  }

  private Candidacy lookAgain(long due) {
    return with(
        this.standing instanceof Following following ? following.outdated() : this.standing, due);
  }

  private Candidacy with(Standing standing, long due) {
    return new Candidacy(this.node, this.participation, this.memory, standing, due);
  }

  private Candidacy with(Participation participation) {
    return new Candidacy(this.node, participation, this.memory, this.standing, this.dueAt);
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

  /** Returns whether a follower may try for the record now. */
  boolean isOpen(long now) {
    Opening opening =
        this.standing instanceof Following following ? rule().opening(following) : null;
    return opening != null && opening.isOpen(now);
  }

  /** Returns the record that a follower last read, if it names a holder. */
  Optional<LeaseRow> rowOfLeader() {
    Observation seen = seen();
    return seen != null ? seen.rowOfLeader() : Optional.empty();
  }

  /** Returns whether this node led last, as far as it knows, or is about to lead. */
  boolean ledLast() {
    return !(this.standing instanceof Following) || this.memory.ledHighest();
  }

  /** Returns the record as a follower last read it; {@code null} if it must be read first. */
  @Nullable
  Observation seen() {
    return this.standing instanceof Following following ? following.seen() : null;
  }

  private TakeoverRule rule() {
    return new TakeoverRule(this.node, this.participation, this.memory);
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
