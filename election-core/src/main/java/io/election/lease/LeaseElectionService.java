package io.election.lease;

import io.election.ElectionService;
import io.election.HistoryEntry;
import io.election.Instruction;
import io.election.Leadership;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipEvent;
import io.election.LeadershipLostEvent;
import io.election.Member;
import io.election.Names;
import io.election.lease.Candidacy.Observation;
import io.election.lease.Standing.Leading;
import io.election.lease.Standing.SteppingDown;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.UnaryOperator;

/**
 * A node's part in an election that an {@link Elector} drives. A backend extends it to give its kind
 * of election a name.
 */
public class LeaseElectionService implements ElectionService {

  private final String serviceId;

  private final Elector elector;

  private final Object changes = new Object();

  private volatile Candidacy candidacy;

  private volatile List<HistoryEntry> history = List.of();

  /** The term whose work is covered, as far as leader work has been told; under {@link #changes}. */
  private OptionalLong covered = OptionalLong.empty();

  /**
   * Creates the service; it takes part in the election while the elector runs.
   *
   * @param serviceId the name of the election; 1 to 128 characters
   * @param elector who drives it
   * @throws IllegalArgumentException if the name cannot be used
   */
  protected LeaseElectionService(String serviceId, Elector elector) {
    this.serviceId = Names.requireUsable("service id", serviceId);
    this.elector = elector;
    this.candidacy =
        Candidacy.start(new Candidacy.Node("", elector.settings()), 0).stop(0);
  }

  @Override
  public final boolean isLeader() {
    return this.candidacy.standing() instanceof Leading leading && isValid(leading);
  }

  @Override
  public final void becomeLeader() throws Exception {
    this.elector.attempt(this);
  }

  @Override
  public final void lostLeader() {
    this.elector.resign(this);
  }

  @Override
  public final String serviceId() {
    return this.serviceId;
  }

  @Override
  public final String nodeId() {
    String id = this.candidacy.node().id();
    return id.isEmpty() ? this.elector.nodeId() : id;
  }

  @Override
  public final Optional<Leadership> leadership() {
    if (!(this.candidacy.standing() instanceof Leading leading)) {
      return Optional.empty();
    }
    long remaining = Math.min(
        leading.deadline() - this.elector.now(),
        (leading.wallDeadline() - this.elector.wall()) * 1_000_000);
    return remaining > 0
        ? Optional.of(new Leadership(leading.term(), leading.since(), Duration.ofNanos(remaining)))
        : Optional.empty();
  }

  /**
   * How long ago this node sent the renewal that was confirmed last, or took the lease. Local.
   *
   * @return the age; empty on a follower
   */
  public final Optional<Duration> renewalAge() {
    return leadership()
        .map((leadership) ->
            Duration.ofNanos(this.elector.settings().tenureNanos()).minus(leadership.remaining()));
  }

  @Override
  public final Optional<String> leaderId() {
    Candidacy current = this.candidacy;
    if (current.standing() instanceof Leading leading) {
      return isValid(leading) ? Optional.of(current.node().id()) : Optional.empty();
    }
    return rowOfLeader(current).map(LeaseRow::leaderId).map(Names::printable);
  }

  @Override
  public final OptionalLong term() {
    Candidacy current = this.candidacy;
    if (current.standing() instanceof Leading leading) {
      return isValid(leading) ? OptionalLong.of(leading.term()) : OptionalLong.empty();
    }
    return rowOfLeader(current)
        .map((row) -> OptionalLong.of(row.term()))
        .orElseGet(OptionalLong::empty);
  }

  @Override
  public final void designate(String leaderId) throws Exception {
    this.elector.designate(this, Names.requireUsable("leader id", leaderId), null);
  }

  @Override
  public final void designate(String leaderId, Instruction instruction) throws Exception {
    this.elector.designate(this, Names.requireUsable("leader id", leaderId), instruction);
  }

  @Override
  public final void forceElection() throws Exception {
    this.elector.forceElection(this, null);
  }

  @Override
  public final void forceElection(Instruction instruction) throws Exception {
    this.elector.forceElection(this, instruction);
  }

  @Override
  public final void pause(Instruction instruction) {
    this.elector.pause(this, instruction);
  }

  @Override
  public final void resume(Instruction instruction) {
    this.elector.resume(this, instruction);
  }

  @Override
  public final Optional<Instruction> paused() {
    Memory memory = this.candidacy.memory();
    return memory.running() ? Optional.ofNullable(memory.paused()) : Optional.empty();
  }

  @Override
  public final List<HistoryEntry> history() {
    return this.history;
  }

  @Override
  public final Optional<List<Member>> members() {
    return this.elector.members(this);
  }

  @Override
  public final Optional<List<Member>> currentMembers() throws InterruptedException {
    return this.elector.currentMembers(this);
  }

  final void remember(List<HistoryEntry> history) {
    this.history = history;
  }

  final Candidacy candidacy() {
    return this.candidacy;
  }

  /**
   * Changes the candidacy, after it has been brought up to this instant. Events are queued in the
   * order of the changes; leader work that is no longer covered is told before this returns.
   *
   * @return the candidacy after the change
   */
  final Candidacy change(UnaryOperator<Candidacy> change) {
    List<LeadershipEvent> events = new ArrayList<>(2);
    Candidacy after;
    OptionalLong uncovered;
    synchronized (this.changes) {
      Candidacy before = this.candidacy;
      Candidacy current = before.at(this.elector.now(), this.elector.wall());
      after = change.apply(current);
      uncovered = cover(after.coveredTerm(this.elector.now()));
      if (!after.equals(before)) {
        addEvent(before, current, events);
        addEvent(current, after, events);
        this.candidacy = after;
        events.forEach(this.elector::deliverLater);
      }
    }
    uncovered.ifPresent((term) -> this.elector.uncover(this, after, term));
    events.forEach(this.elector::log);
    return after;
  }

  /** Changes the candidacy as an operator wants it, and lets the elector see to it. */
  final void command(UnaryOperator<Candidacy> change) {
    change(change);
    this.elector.wakeUp();
  }

  /** Names the leader work that runs, for people. */
  final List<String> runningWork() {
    return this.elector.runningWork(this);
  }

  /**
   * Until when leader work is covered, unless it has been told that it is not.
   *
   * @return a reading of the ticker; empty if there is nothing to tell
   */
  final OptionalLong coveredUntil() {
    synchronized (this.changes) {
      return this.covered.isPresent() ? this.candidacy.coveredUntil() : OptionalLong.empty();
    }
  }

  /** Gives the term that was covered and is not any more. */
  private OptionalLong cover(OptionalLong covered) {
    OptionalLong before = this.covered;
    this.covered = covered;
    return before.equals(covered) ? OptionalLong.empty() : before;
  }

  /** The record that a follower saw last, if it names a holder. */
  static Optional<LeaseRow> rowOfLeader(Candidacy candidacy) {
    Observation seen = candidacy.seen();
    LeaseRow row = seen != null ? seen.row() : null;
    return row == null || row.isReleased() || row.leaderId().isEmpty()
        ? Optional.empty()
        : Optional.of(row);
  }

  private boolean isValid(Leading leading) {
    return leading.isValid(this.elector.now(), this.elector.wall());
  }

  private void addEvent(Candidacy before, Candidacy after, List<LeadershipEvent> events) {
    long left = before.standing() instanceof Leading leading ? leading.term() : Long.MIN_VALUE;
    long held = after.standing() instanceof Leading leading ? leading.term() : Long.MIN_VALUE;
    if (left == held) {
      return;
    }
    String nodeId = after.node().id();
    if (left != Long.MIN_VALUE) {
      LeadershipLostEvent.Reason reason = after.standing() instanceof SteppingDown down
          ? down.ending().reason()
          : LeadershipLostEvent.Reason.EXPIRED;
      events.add(new LeadershipLostEvent(this.serviceId, nodeId, left, reason));
    }
    if (after.standing() instanceof Leading leading) {
      events.add(
          new LeadershipAcquiredEvent(this.serviceId, nodeId, leading.term(), leading.reason()));
    }
  }
}
