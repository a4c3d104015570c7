package io.election.joint;

import io.election.AuditNote;
import io.election.Leadership;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipEvent;
import io.election.LeadershipLostEvent;
import io.election.joint.JointState.Climbing;
import io.election.joint.JointState.Descending;
import io.election.joint.JointState.Leading;
import io.election.joint.JointState.Why;
import io.election.lease.LeaderWork;
import io.election.lease.LeaseSettings;
import io.election.lease.Ticker;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A node's part in one election by a list: the only place where its {@link JointState} changes.
 * Thread-safe.
 */
final class JointElection {

  /** The dependencies that all elections of a node share. */
  record Context(
      LeaseSettings settings,
      Supplier<String> nodeId,
      LeaderWork work,
      JointRules rules,
      JointLog log,
      Ticker ticker,
      InstantSource clock,
      Consumer<LeadershipEvent> listener) {

    /**
     * Does something whose failure must keep the caller from nothing else. Logs the failure.
     *
     * @return whether it succeeded
     */
    boolean attempt(Runnable action) {
      try {
        action.run();
        return true;
      } catch (Throwable ex) {
        this.log.failedUnexpectedly(ex);
        return false;
      }
    }
  }

  private final String serviceId;

  private final List<Part> parts;

  private final List<LeasePart> leases;

  private final Context context;

  private final JointRules rules;

  private volatile JointState state;

  /** When the leadership began, for display. */
  private volatile Instant since = Instant.EPOCH;

  private volatile boolean running;

  private volatile @Nullable AuditNote paused;

  /** Why a command has just ended the leadership; {@code null} if none has. */
  private LeadershipLostEvent.@Nullable Reason commanded;

  /** Whether it is logged that leader work may run. */
  private boolean workUnknown;

  /** Until when parts without a lease wait for leader work. */
  private long drainUntil;

  JointElection(String serviceId, List<Part> parts, Context context) {
    this.serviceId = serviceId;
    this.parts = List.copyOf(parts);
    this.leases = parts.stream()
        .filter(LeasePart.class::isInstance)
        .map(LeasePart.class::cast)
        .toList();
    this.context = context;
    this.rules = context.rules();
    this.state = Climbing.from(context.ticker().read());
  }

  String serviceId() {
    return this.serviceId;
  }

  /** Returns the node id in the stores. A part that is asked may call this node otherwise. */
  String nodeId() {
    return this.leases.stream()
        .findFirst()
        .map((part) -> part.service().nodeId())
        .orElseGet(this.context.nodeId());
  }

  List<Part> parts() {
    return this.parts;
  }

  JointState state() {
    return this.state;
  }

  synchronized void start() {
    this.paused = null;
    this.running = true;
  }

  /** Leads no longer, and stands for no part. */
  synchronized void stop() {
    this.running = false;
    this.commanded = LeadershipLostEvent.Reason.STOPPED;
  }

  private List<PartView> glance() {
    List<PartView> views = new ArrayList<>(this.parts.size());
    for (Part part : this.parts) {
      views.add(part.glance());
    }
    return views;
  }

  boolean isLeader() {
    return leading() != null;
  }

  /**
   * Returns the state in which this node leads at this instant; {@code null} if it does not lead.
   * Parts without a lease may block, so they are asked first: commands and deadlines are compared
   * after the last answer.
   */
  private @Nullable Leading leading() {
    if (!(this.state instanceof Leading) || !confirmed()) {
      return null;
    }
    return this.state instanceof Leading leading
            && this.running
            && this.paused == null
            && this.rules.leads(leading, glance())
        ? leading
        : null;
  }

  /** Returns whether the parts without a lease, when asked, say that this node leads. */
  private boolean confirmed() {
    for (Part part : this.parts) {
      if (part instanceof ServicePart asked && !asked.isLeaderNow()) {
        return false;
      }
    }
    return true;
  }

  Optional<Leadership> leadership() {
    Leading leading = leading();
    if (leading == null) {
      return Optional.empty();
    }
    Duration remaining = Leadership.UNLIMITED;
    for (LeasePart part : this.leases) {
      Optional<Leadership> each = part.service().leadership();
      if (each.isEmpty()) {
        return Optional.empty();
      }
      remaining =
          each.get().remaining().compareTo(remaining) < 0 ? each.get().remaining() : remaining;
    }
    return Optional.of(new Leadership(leading.term(), this.since, remaining));
  }

  /** Returns whether this node may stand for a part now. */
  boolean mayStand(int part) {
    return this.running && this.paused == null && this.rules.mayStand(this.state, part, glance());
  }

  long aboveTerm(int part) {
    return this.rules.aboveTerm(part, glance());
  }

  /** Returns whether a part must not be handed back yet. */
  boolean keeps(int part, boolean working) {
    return this.rules.keeps(part, glance(), working);
  }

  Optional<AuditNote> paused() {
    return Optional.ofNullable(this.paused);
  }

  /**
   * Applies a command to all leases, the last one first. A part without a lease is called once no
   * leader work is running.
   *
   * @param reason why the leadership ends, if this node leads
   */
  synchronized void command(
      LeadershipLostEvent.Reason reason, @Nullable AuditNote pause, Consumer<LeasePart> command) {
    this.commanded = reason;
    if (pause != null) {
      this.paused = pause;
    }
    lastToFirst(command);
    if (this.state instanceof Leading) {
      boolean aside = reason == LeadershipLostEvent.Reason.RESIGNED;
      change(this.state, new Descending(aside, Why.LOST), this.context.ticker().read());
    }
  }

  synchronized void resume(Consumer<LeasePart> command) {
    this.paused = null;
    this.leases.forEach(command);
  }

  /** Decides on the next state, and instructs the parts accordingly. Never blocks. */
  synchronized void step() {
    long now = this.context.ticker().read();
    JointState before;
    do {
      before = this.state;
      change(before, decide(before, now), now);
    } while (!before.equals(this.state) && !(this.state instanceof Climbing));
    if (this.state instanceof Descending descending) {
      descend(descending, now);
    } else if (this.state instanceof Climbing) {
      climb();
    }
  }

  private JointState decide(JointState before, long now) {
    List<PartView> views = glance();
    boolean mayStand = this.running && this.paused == null;
    if (!mayStand && before instanceof Leading) {
      return new Descending(false, Why.LOST);
    }
    if (!mayStand && before instanceof Climbing) {
      return views.stream().anyMatch(PartView::leads) ? new Descending(false, Why.LOST) : before;
    }
    int held = JointRules.held(views);
    if (before instanceof Climbing && held > 0 && held < views.size()) {
      views.set(held, this.parts.get(held).view());
    }
    return this.rules.next(before, views, now);
  }

  private void change(JointState before, JointState after, long now) {
    // Created first: if there is no memory for it, nothing changes yet.
    LeadershipEvent event = event(before, after);
    this.state = after;
    if (event instanceof LeadershipAcquiredEvent) {
      this.since = this.context.clock().instant();
    } else if (event instanceof LeadershipLostEvent lost) {
      this.drainUntil = now + this.context.settings().drainTimeout().toNanos();
      if (this.parts.stream()
          .anyMatch((part) -> part instanceof ServicePart && !part.glance().leads())) {
        this.context.attempt(() -> this.context.work().onLeaseOver(this.serviceId, lost.term()));
      }
    } else if (after instanceof Descending descending && before instanceof Climbing) {
      this.drainUntil = now;
      this.context.attempt(
          () -> this.context.log().handsBack(this.serviceId, nodeId(), descending.why()));
    }
    if (event != null) {
      this.commanded = null;
      this.context.attempt(() -> this.context.log().changed(event));
      this.context.attempt(() -> this.context.listener().accept(event));
    }
    if (!after.getClass().equals(before.getClass())) {
      if (after instanceof Descending descending && descending.aside()) {
        Duration aside = this.context.settings().leaseDuration();
        lastToFirst((part) -> part.handBack(aside));
      }
      wakeUp();
    } else if (after instanceof Climbing climbing
        && climbing.held() != ((Climbing) before).held()) {
      wakeUp();
    }
  }

  private @Nullable LeadershipEvent event(JointState before, JointState after) {
    if (after instanceof Leading leading) {
      return before instanceof Leading
          ? null
          : new LeadershipAcquiredEvent(this.serviceId, nodeId(), leading.term(), whyAcquired());
    }
    return before instanceof Leading leading
        ? new LeadershipLostEvent(this.serviceId, nodeId(), leading.term(), whyLost())
        : null;
  }

  private LeadershipAcquiredEvent.Reason whyAcquired() {
    return lastEvents(LeadershipAcquiredEvent.class)
        .map(LeadershipAcquiredEvent::reason)
        .reduce((first, second) -> second)
        .orElse(LeadershipAcquiredEvent.Reason.RELEASED);
  }

  private LeadershipLostEvent.Reason whyLost() {
    LeadershipLostEvent.Reason commanded = this.commanded;
    return commanded != null
        ? commanded
        : lastEvents(LeadershipLostEvent.class)
            .map(LeadershipLostEvent::reason)
            .findFirst()
            .orElse(LeadershipLostEvent.Reason.EXPIRED);
  }

  private <E extends LeadershipEvent> Stream<E> lastEvents(Class<E> type) {
    return this.parts.stream()
        .map(Part::lastEvent)
        .filter(Objects::nonNull)
        .filter(type::isInstance)
        .map(type::cast);
  }

  /** Hands the parts back, the last one first. */
  private void descend(Descending descending, long now) {
    boolean drains = (now - this.drainUntil < 0 || !this.running) && isWorking();
    for (int i = this.parts.size() - 1; i >= 0; i--) {
      Part part = this.parts.get(i);
      // A lease drains by itself; in a stop its elector hands it back, however long work runs.
      boolean free = part instanceof LeasePart ? this.running : !keeps(i, drains);
      if (part.glance().leads() && free) {
        part.handBack(descending.aside() ? this.context.settings().leaseDuration() : Duration.ZERO);
      }
    }
  }

  /** Returns whether leader work runs. Unknown work counts as running. */
  private boolean isWorking() {
    try {
      boolean working = this.context.work().isRunning(this.serviceId);
      this.workUnknown = false;
      return working;
    } catch (Throwable ex) {
      if (!this.workUnknown) {
        this.workUnknown = true;
        this.context.attempt(() -> this.context.log().workUnknown(this.serviceId, ex));
      }
      return true;
    }
  }

  private void lastToFirst(Consumer<LeasePart> command) {
    for (int i = this.leases.size() - 1; i >= 0; i--) {
      command.accept(this.leases.get(i));
    }
  }

  private void climb() {
    for (int i = 0; i < this.parts.size(); i++) {
      if (mayStand(i) && !this.parts.get(i).glance().leads()) {
        this.parts.get(i).stand();
      }
    }
  }

  private void wakeUp() {
    this.parts.forEach(Part::wakeUp);
  }

  /**
   * Returns the part that shows who leads: the last lease that has a leader. Other parts may block,
   * and know only of themselves.
   */
  Optional<LeasePart> shown() {
    return this.leases.stream()
        .filter((part) -> part.service().leaderId().isPresent())
        .reduce((first, second) -> second);
  }

  /** Returns the parts that are leases. */
  List<LeasePart> leases() {
    return this.leases;
  }

  /** Returns whether this node still keeps other nodes out of any part. */
  boolean holdsAny() {
    return glance().stream().anyMatch(PartView::holds);
  }
}
