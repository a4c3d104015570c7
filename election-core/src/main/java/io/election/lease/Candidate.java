package io.election.lease;

import io.election.AuditNote;
import io.election.Leadership;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipEvent;
import io.election.LeadershipLostEvent;
import io.election.Names;
import io.election.PastTerm;
import io.election.lease.State.Draining;
import io.election.lease.State.Leader;
import io.election.store.LeadershipCondition;
import io.election.store.LeaseRow;
import io.election.store.LeaseSettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A node's part in one election: the only place where its {@link Candidacy} changes, and the
 * answers about it that need no I/O. Thread-safe.
 */
final class Candidate {

  private final String serviceId;

  private final Supplier<String> configuredId;

  private final LeaseSettings settings;

  private final Clocks clocks;

  private final RunningWork work;

  private final EventDelivery events;

  private final @Nullable LeadershipCondition condition;

  private final Runnable wakeUp;

  private final Object changes = new Object();

  private volatile Candidacy candidacy;

  private volatile List<PastTerm> history = List.of();

  /** The protected term as last reported to leader work; guarded by {@link #changes}. */
  private OptionalLong protectedTerm = OptionalLong.empty();

  Candidate(
      String serviceId,
      Supplier<String> configuredId,
      LeaseSettings settings,
      Clocks clocks,
      RunningWork work,
      EventDelivery events,
      @Nullable LeadershipCondition condition,
      Runnable wakeUp) {
    this.serviceId = Names.requireUsable("service id", serviceId);
    this.configuredId = configuredId;
    this.settings = settings;
    this.clocks = clocks;
    this.work = work;
    this.events = events;
    this.condition = condition;
    this.wakeUp = wakeUp;
    this.candidacy = Candidacy.start(Node.unnamed(settings), 0).stop(0);
  }

  String serviceId() {
    return this.serviceId;
  }

  /** Returns the node id of the current or last run; before the first run the configured one. */
  String nodeId() {
    Node node = this.candidacy.node();
    return node.isNamed() ? node.id() : this.configuredId.get();
  }

  Candidacy candidacy() {
    return this.candidacy;
  }

  /**
   * Brings the candidacy up to this instant, then changes it. Events are queued in the order of the
   * changes. Leader work that is no longer protected is notified before this method returns.
   *
   * @return the candidacy after the change
   */
  Candidacy change(UnaryOperator<Candidacy> change) {
    List<LeadershipEvent> events = new ArrayList<>(2);
    Candidacy after;
    OptionalLong leaseOver;
    synchronized (this.changes) {
      Candidacy before = this.candidacy;
      Candidacy current = before.at(this.clocks.read());
      after = change.apply(current);
      OptionalLong protectedTerm = after.protectedTerm(this.clocks.read());
      leaseOver =
          protectedTerm.equals(this.protectedTerm) ? OptionalLong.empty() : this.protectedTerm;
      if (!after.equals(before)) {
        addEvent(before, current, events);
        addEvent(current, after, events);
        if (!events.isEmpty()) {
          this.events.add(events, this.changes);
        }
      }
      // Nothing fails from here to the notification, so that none is lost.
      this.protectedTerm = protectedTerm;
      this.candidacy = after;
      if (before.state() instanceof Leader left
          && !(after.state() instanceof Leader leads && leads.tenure() == left.tenure())) {
        left.tenure().end();
      }
    }
    if (leaseOver.isPresent()) {
      this.work.leaseOver(this.serviceId, after, leaseOver.getAsLong());
    }
    if (!events.isEmpty()) {
      events.forEach(this.work::changed);
      this.events.changed(events);
    }
    return after;
  }

  /**
   * Brings the candidacy up to this instant.
   *
   * @return the updated candidacy
   */
  Candidacy update() {
    return change((current) -> current);
  }

  /**
   * Returns in how many nanoseconds leader work is no longer protected, unless it has already been
   * notified of the end; {@link Long#MAX_VALUE} if there is no notification to send.
   */
  long untilLeaseOver(Clocks.Reading reading) {
    synchronized (this.changes) {
      if (this.protectedTerm.isEmpty()) {
        return Long.MAX_VALUE;
      }
      return this.candidacy.state().protectedFor(reading);
    }
  }

  /** Returns whether a lease is kept after a stop until work has ended. */
  boolean keepsLeaseAfterStop() {
    return this.candidacy.state() instanceof Draining draining
        && draining.patient()
        && !draining.displaced();
  }

  /** Returns whether there is a lease to hand back. */
  boolean isDraining() {
    return this.candidacy.state() instanceof Draining;
  }

  boolean isLeader() {
    return this.candidacy.state() instanceof Leader leader && leads(leader);
  }

  /** For how many milliseconds the candidates that lead still do, by election. */
  static Map<String, Long> remaining(Collection<Candidate> candidates) {
    Map<String, Long> remaining = new HashMap<>();
    for (Candidate candidate : candidates) {
      if (candidate.candidacy.state() instanceof Leader leader) {
        long nanos = candidate.remaining(leader);
        if (nanos > 0) {
          remaining.put(candidate.serviceId, Duration.ofNanos(nanos).toMillis());
        }
      }
    }
    return remaining;
  }

  Optional<Leadership> leadership() {
    if (!(this.candidacy.state() instanceof Leader leader) || !isConfirmed(leader)) {
      return Optional.empty();
    }
    long remaining = remaining(leader);
    return remaining > 0
        ? Optional.of(
            new Leadership(leader.term(), leader.tenure().since(), Duration.ofNanos(remaining)))
        : Optional.empty();
  }

  /** Returns for how long the lease still protects leader work; empty if it protects none. */
  Optional<Duration> leaseRemaining() {
    if (!(this.candidacy.state() instanceof Draining draining)) {
      return leadership().map(Leadership::remaining);
    }
    long remaining = draining.protectedFor(this.clocks.read());
    return remaining > 0 ? Optional.of(Duration.ofNanos(remaining)) : Optional.empty();
  }

  /** Returns how long ago the last confirmed renewal was sent; empty on a follower. */
  Optional<Duration> renewalAge() {
    return leadership()
        .map((leadership) ->
            Duration.ofNanos(this.settings.leadershipNanos()).minus(leadership.remaining()));
  }

  Duration operationTimeout() {
    return this.settings.operationTimeout();
  }

  Optional<String> leaderId() {
    Candidacy current = this.candidacy;
    if (current.state() instanceof Leader leader) {
      return leads(leader) ? Optional.of(current.node().id()) : Optional.empty();
    }
    return current.rowOfLeader().map(LeaseRow::leaderId).map(Names::printable);
  }

  OptionalLong term() {
    Candidacy current = this.candidacy;
    if (current.state() instanceof Leader leader) {
      return leads(leader) ? OptionalLong.of(leader.term()) : OptionalLong.empty();
    }
    return current
        .rowOfLeader()
        .map((row) -> OptionalLong.of(row.term()))
        .orElseGet(OptionalLong::empty);
  }

  /** Returns the lease of the leader, as the record states it; empty if it is unknown. */
  Optional<Duration> leaderLease() {
    Candidacy current = this.candidacy;
    if (current.state() instanceof Leader leader) {
      return leads(leader) ? Optional.of(this.settings.leaseDuration()) : Optional.empty();
    }
    return current.rowOfLeader().map(LeaseRow::leaseMillis).map(Duration::ofMillis);
  }

  /** Returns the mark of an election that has moved to another store, for display. */
  Optional<String> moved() {
    Observation seen = this.candidacy.seen();
    return seen != null && seen.row() != null && seen.row().isMoved()
        ? Optional.of(Names.printable(seen.row().leaderId()))
        : Optional.empty();
  }

  /** Returns whether this node has seen a record that does not name it. */
  boolean follows() {
    Candidacy current = this.candidacy;
    Observation seen = current.seen();
    return seen != null
        && seen.row() != null
        && !seen.row().leaderId().equals(current.node().id());
  }

  Optional<AuditNote> paused() {
    return this.candidacy.participation() instanceof Participation.Paused paused
        ? Optional.of(paused.by())
        : Optional.empty();
  }

  /** Returns the names of the leader work that runs, for display. */
  List<String> runningWork() {
    return this.work.names(this.serviceId);
  }

  List<PastTerm> history() {
    return this.history;
  }

  void remember(List<PastTerm> history) {
    this.history = history;
  }

  private boolean leads(Leader leader) {
    return isConfirmed(leader) && remaining(leader) > 0;
  }

  /**
   * Returns whether the condition is met at this instant; may block. It is asked before the deadline
   * is compared. A leadership that is not confirmed is over, and its lease is handed back.
   */
  private boolean isConfirmed(Leader leader) {
    if (this.condition == null || this.condition.confirms(this.serviceId)) {
      return true;
    }
    change((candidacy) ->
        candidacy.state() instanceof Leader leads && leads.tenure() == leader.tenure()
            ? candidacy.handOver("", null, this.clocks.now())
            : candidacy);
    this.wakeUp.run();
    return false;
  }

  /**
   * Returns for how many nanoseconds a leadership lasts. One that is over is over for every later
   * caller too, and the watch of deadlines learns of it.
   */
  private long remaining(Leader leader) {
    // The clocks before the tenure: they may show a leadership again that another thread, which has
    // read them in between, has seen to be over.
    long remaining = leader.deadline().remaining(this.clocks);
    Tenure tenure = leader.tenure();
    if (tenure.isOver()) {
      return 0;
    }
    if (remaining == 0) {
      tenure.end();
      this.events.changed(List.of());
    }
    return remaining;
  }

  private void addEvent(Candidacy before, Candidacy after, List<LeadershipEvent> events) {
    long left = before.state() instanceof Leader leader ? leader.term() : Long.MIN_VALUE;
    long held = after.state() instanceof Leader leader ? leader.term() : Long.MIN_VALUE;
    if (left == held) {
      return;
    }
    String nodeId = after.node().id();
    if (left != Long.MIN_VALUE) {
      LeadershipLostEvent.Reason reason = after.state() instanceof Draining draining
          ? draining.ending().reason()
          : LeadershipLostEvent.Reason.EXPIRED;
      events.add(new LeadershipLostEvent(this.serviceId, nodeId, left, reason));
    }
    if (after.state() instanceof Leader leader) {
      events.add(new LeadershipAcquiredEvent(
          this.serviceId, nodeId, leader.term(), leader.tenure().reason()));
    }
  }
}
