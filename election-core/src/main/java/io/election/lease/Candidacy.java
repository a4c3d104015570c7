package io.election.lease;

import io.election.Instruction;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipLostEvent;
import io.election.lease.Standing.Following;
import io.election.lease.Standing.Leading;
import io.election.lease.Standing.SteppingDown;
import io.election.lease.Standing.Warming;
import io.election.lease.Step.Await;
import io.election.lease.Step.GiveWay;
import io.election.lease.Step.KeepWarm;
import io.election.lease.Step.Lead;
import io.election.lease.Step.Read;
import io.election.lease.Step.Release;
import io.election.lease.Step.Renew;
import io.election.lease.Step.Take;
import io.election.lease.TakeoverRule.Opening;
import java.time.Instant;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * All that one process knows of its part in one election, and what follows from it. An immutable
 * value: {@link #next} decides, the other methods give the candidacy after an answer, a command, or
 * the passing of time. No I/O, no threads, no clocks.
 *
 * <p>The rules, in short. A leader's deadline counts from before its renewal was sent. A follower acts
 * on a record only after it has watched the very same record for as long as the holder was promised,
 * counted from after the answer that first showed it; but on one that nobody has written to since this
 * process was answered to lead, at once. A record that vanished may have had a leader, so that who
 * creates it anew waits for a whole lease. An unknown outcome extends nothing and grants nothing.
 *
 * <p>All instants are readings of the {@link Ticker}, compared by subtraction. An answer comes with
 * {@code sent}, taken before the request, and {@code now}, taken after the answer: one for both would
 * be a bug.
 *
 * @param node this node and its settings
 * @param memory what outlives a standing
 * @param standing where the node stands
 * @param seen the record as a follower last read it; {@code null} if it has to be read first
 * @param dueAt when the next regular call to the store is due
 */
record Candidacy(
    Node node, Memory memory, Standing standing, @Nullable Observation seen, long dueAt) {

  /**
   * A candidate.
   *
   * @param id its node id
   * @param settings its settings
   */
  record Node(String id, LeaseSettings settings) {

    /** A part of a time that differs from node to node. */
    long spread(long nanos) {
      return nanos / 100 * Math.floorMod(this.id.hashCode(), 100);
    }
  }

  static Candidacy start(Node node, long now) {
    return new Candidacy(node, Memory.NONE, new Following(), null, now);
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
    if (!this.memory.running()) {
      return new Await(now + renewNanos());
    }
    Opening opening = rule().opening(this.seen);
    if (opening != null && opening.isOpen(now)) {
      return opening.step();
    }
    if (isDue(now)) {
      return new Read();
    }
    return new Await(opening != null ? earlier(this.dueAt, opening.from()) : this.dueAt);
  }

  /**
   * What may be done before it is due, when the same is done for other elections with one request: so
   * that all fall due together from then on.
   *
   * @param now this instant, at which {@link #next} is to wait
   * @param working whether leader work of this election runs in this process
   * @return a {@link Renew}, or a {@link Read} that is due within half a renew interval; else {@code
   *     null}
   */
  Step.@Nullable Call<?> early(long now, boolean working) {
    if (this.standing instanceof Leading leading) {
      return new Renew(leading.term());
    }
    if (this.standing instanceof SteppingDown down) {
      return working && !down.displaced() && down.drains(now) ? new Renew(down.term()) : null;
    }
    return this.standing instanceof Following
            && this.memory.running()
            && isDue(now + renewNanos() / 2)
        ? new Read()
        : null;
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
        ? new KeepWarm(warming.row(), warming.since())
        : new Await(earlier(this.dueAt, opening.from()));
  }

  /** The candidacy at this instant: what has a deadline that has passed is over. */
  Candidacy at(long now, long wall) {
    if (this.standing instanceof Leading leading && !leading.isValid(now, wall)) {
      return following(this.memory, now);
    }
    if (this.standing instanceof SteppingDown down
        && down.displaced()
        && now - down.deadline() >= 0) {
      // Who was written in has waited for our whole lease: nothing is left to give way with.
      return following(this.memory, now);
    }
    return this;
  }

  /**
   * Until when the lease covers leader work: while the node leads, and while it lets work end and goes
   * on renewing, for the drain time-out at most, though a stop keeps the lease for longer. Empty if it
   * covers none.
   */
  OptionalLong coveredUntil() {
    return this.standing.coveredUntil();
  }

  /** Whether the lease is kept for work that a stop has left behind. */
  boolean keepsLease(long now) {
    return this.standing instanceof SteppingDown down
        && down.patient()
        && !down.displaced()
        && now - down.deadline() < 0;
  }

  /** The term whose leader work the lease covers at this instant. */
  OptionalLong coveredTerm(long now) {
    OptionalLong until = coveredUntil();
    return until.isEmpty() || now - until.getAsLong() >= 0
        ? OptionalLong.empty()
        : this.standing.heldTerm();
  }

  /**
   * After a read. The next one is due a renew interval later.
   *
   * @param row the record; {@code null} if there is none
   * @param now taken after the answer
   */
  Candidacy onRead(@Nullable LeaseRow row, long now) {
    if (!(this.standing instanceof Following)) {
      return this;
    }
    Memory memory = this.memory;
    if (!memory.isAside(now)) {
      memory = memory.asideUntil(null);
    }
    if (row != null) {
      memory = memory.seen(row.term()).promised(rule().promisedMillis(row));
    }
    if (row == null || !row.leaderId().equals(this.node.id())) {
      memory = memory.watchOnly(false);
    }
    long since = this.seen != null && this.seen.shows(row) ? this.seen.since() : now;
    return new Candidacy(
        this.node, memory, this.standing, new Observation(row, since, false), now + renewNanos());
  }

  /** A follower's next read, at an instant that suits those of its other elections. */
  Candidacy nextLookAt(long due) {
    return this.standing instanceof Following ? with(this.standing, due) : this;
  }

  /** After a hint that there may be something to see. */
  Candidacy look(long now) {
    return this.standing instanceof Following ? lookAgain(now) : this;
  }

  /** After the answer to {@link Renew}. */
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

  /** After the answer to {@link Create}: the record as created, {@code null} if there was one. */
  Candidacy onCreated(@Nullable LeaseRow row, long now) {
    if (!(this.standing instanceof Following)) {
      return this;
    }
    return row != null && mayStand(now)
        ? warming(this.memory.seen(row.term()), new Warming(row, now, true), now)
        : lookAfterRace(now);
  }

  /**
   * After the answer to {@link KeepWarm}: the record as left, {@code null} if somebody else had
   * changed it.
   */
  Candidacy onKeptWarm(KeepWarm step, @Nullable LeaseRow row, long now) {
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

  /** After the answer to {@link Lead}. */
  Candidacy onLed(Lead step, boolean led, Timing timing) {
    if (led) {
      return elected(step.row().term(), LeadershipAcquiredEvent.Reason.CREATED, timing);
    }
    return this.standing instanceof Warming ? changedBySomebodyElse(timing.now()) : this;
  }

  /** After the answer to {@link Take}: the new term, none if the record had changed. */
  Candidacy onTaken(Take step, OptionalLong term, Timing timing) {
    if (term.isPresent()) {
      return elected(term.getAsLong(), step.reason(), timing);
    }
    if (this.standing instanceof Warming) {
      return changedBySomebodyElse(timing.now());
    }
    return lookAfterRace(timing.now());
  }

  /**
   * After somebody else was faster in another election. The holder of many has died, and hundreds may be
   * after them: one read tells what is left, at less cost than an attempt at each.
   */
  Candidacy onRaceLost(long now) {
    Opening opening = this.standing instanceof Following ? rule().opening(this.seen) : null;
    return opening != null && opening.isOpen(now) ? lookAfterRace(now) : this;
  }

  /** Somebody else was faster, or holds a lock: no hurry, and there may be hundreds of us. */
  private Candidacy lookAfterRace(long now) {
    return lookAgain(now + renewNanos() / 16 + this.node.spread(renewNanos()));
  }

  private Candidacy elected(long term, LeadershipAcquiredEvent.Reason reason, Timing timing) {
    Leading leading = leading(term, timing, Instant.ofEpochMilli(timing.wall()), reason);
    Candidacy elected = new Candidacy(
        this.node,
        this.memory.led(term).watchOnly(false),
        leading,
        null,
        timing.sent() + renewNanos());
    if (!mayStand(timing.now())) {
      // Stopped, or told to step down, while the answer was on its way.
      return elected.steppingDown(leading, "", false, this.memory.whyItMayNotStand(), timing.now());
    }
    return elected.at(timing.now(), timing.wall());
  }

  /** After the answer to {@link Release}. */
  Candidacy onReleased(Release step, boolean released, long now) {
    if (!(this.standing instanceof SteppingDown down) || down.term() != step.term()) {
      return this;
    }
    return released ? following(aside(now), now) : with(down.displacedBySomebodyElse(), this.dueAt);
  }

  /** After the answer to {@link GiveWay}. */
  Candidacy onGivenWay(GiveWay step, boolean gaveWay, long now) {
    if (!(this.standing instanceof SteppingDown down) || down.term() != step.term()) {
      return this;
    }
    return following(gaveWay ? aside(now) : this.memory, now);
  }

  /** After a call to the store whose outcome is unknown. */
  Candidacy onFailure(Step step, long now) {
    // Several tries fit into what is left of a lease.
    long retry = now + renewNanos() / 4;
    if (this.standing instanceof SteppingDown down && !(step instanceof Renew)) {
      return with(down.retryAt(retry), this.dueAt);
    }
    // Who took what was its own anew, again and again without an answer, would keep others from it.
    boolean warmed = this.standing instanceof Warming
        || step instanceof KeepWarm
        || (step instanceof Take take && take.row().own());
    return warmed && !(this.standing instanceof Leading)
        ? changedBySomebodyElse(retry)
        : lookAgain(retry);
  }

  /** After {@link io.election.ElectionService#becomeLeader()}. */
  Candidacy campaign(long now) {
    return new Candidacy(
        this.node,
        this.memory.asideUntil(null),
        this.standing,
        this.seen,
        this.standing instanceof Following || this.standing instanceof Warming ? now : this.dueAt);
  }

  /** After {@link io.election.ElectionService#lostLeader()}. */
  Candidacy resign(long now) {
    return resign(null, now);
  }

  /** After an election was forced. */
  Candidacy resign(@Nullable Instruction instruction, long now) {
    Ending ending = new Ending(LeadershipLostEvent.Reason.RESIGNED, instruction);
    return stepDown(aside(now), "", ending, now);
  }

  /** After the designation of another node, if this one leads. */
  Candidacy handOver(String successor, @Nullable Instruction instruction, long now) {
    Ending ending = new Ending(LeadershipLostEvent.Reason.HANDED_OVER, instruction);
    return stepDown(this.memory, successor, ending, now);
  }

  /** After {@link io.election.ElectionService#pause}: hands back what it holds, and stands aside. */
  Candidacy pause(Instruction instruction, long now) {
    Ending ending = new Ending(LeadershipLostEvent.Reason.PAUSED, instruction);
    return stepDown(this.memory.paused(instruction), "", ending, now);
  }

  /**
   * After {@link io.election.ElectionService#resume}: also ends the standing aside that followed the
   * release.
   */
  Candidacy resume(long now) {
    return this.memory.paused() == null
        ? this
        : new Candidacy(this.node, this.memory.paused(null), this.standing, this.seen, this.dueAt)
            .campaign(now);
  }

  /**
   * After the end of this node's part: hands back what it holds once no work runs, and takes nothing any
   * more.
   */
  Candidacy stop(long now) {
    return stepDown(this.memory.stopped(), "", Ending.of(LeadershipLostEvent.Reason.STOPPED), now);
  }

  private Candidacy stepDown(Memory memory, String successor, Ending ending, long now) {
    Candidacy remembering = new Candidacy(this.node, memory, this.standing, this.seen, this.dueAt);
    if (this.standing instanceof Leading leading) {
      return remembering.steppingDown(leading, successor, false, ending, now);
    }
    if (this.standing instanceof SteppingDown down
        && down.patient()
        && ending.reason() != LeadershipLostEvent.Reason.STOPPED) {
      return remembering.with(down.commanded(successor, ending), this.dueAt);
    }
    return this.standing instanceof Warming ? following(memory, now) : remembering;
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
    return new Candidacy(this.node, memory, warming, null, now + renewNanos());
  }

  private Candidacy following(Memory memory, long now) {
    return new Candidacy(this.node, memory, new Following(), null, now);
  }

  private Candidacy changedBySomebodyElse(long due) {
    return new Candidacy(this.node, this.memory.watchOnly(true), new Following(), null, due);
  }

  private Candidacy lookAgain(long due) {
    Observation seen = this.seen != null ? this.seen.outdated() : null;
    return new Candidacy(this.node, this.memory, this.standing, seen, due);
  }

  private Candidacy with(Standing standing, long due) {
    return new Candidacy(this.node, this.memory, standing, this.seen, due);
  }

  private Memory aside(long now) {
    return this.memory.asideUntil(now + leaseNanos());
  }

  private boolean mayStand(long now) {
    return rule().isCandidate() && !this.memory.isAside(now);
  }

  private boolean isDue(long now) {
    return now - this.dueAt >= 0;
  }

  /** Whether this node has something to write: others than followers of a living leader do. */
  boolean mayHaveToWrite(long now) {
    if (!rule().isCandidate()) {
      return false;
    }
    Opening opening = rule().opening(this.seen);
    return (opening != null && opening.isOpen(now))
        || rowOfLeader()
            .map(LeaseRow::leaderId)
            .filter((holder) -> !holder.equals(this.node.id()))
            .isEmpty();
  }

  /** The record that a follower saw last, if it names a holder. */
  Optional<LeaseRow> rowOfLeader() {
    return this.seen != null ? this.seen.rowOfLeader() : Optional.empty();
  }

  /** Whether this node led last, as far as it knows. */
  boolean ledLast() {
    if (this.standing instanceof Following) {
      LeaseRow row = this.seen == null ? null : this.seen.row();
      return row != null && row.own();
    }
    return true;
  }

  private TakeoverRule rule() {
    return new TakeoverRule(this.node, this.memory);
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
