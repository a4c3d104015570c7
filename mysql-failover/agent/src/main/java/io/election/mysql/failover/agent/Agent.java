package io.election.mysql.failover.agent;

import io.election.ElectionOperations;
import io.election.LeadershipAcquiredEvent;
import io.election.lease.Elector;
import io.election.mysql.failover.agent.Announcer.Facts;
import io.election.mysql.failover.agent.Registry.Snapshot;
import io.election.mysql.failover.agent.Status.Role;
import io.election.store.LeaseSettings;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.event.EventListener;

/**
 * Looks at its server once a second and makes it a source, a replica, or read-only, as the election
 * requires. All of this happens on one thread.
 */
final class Agent implements SmartLifecycle {

  private static final Logger log = LoggerFactory.getLogger(Agent.class);

  private static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** While its server has no source, or while the server or the source does not answer. */
  private static final long SHORT_INTERVAL_NANOS = INTERVAL_NANOS / 5;

  /** The interval for comparing the election's term, which is known locally. */
  private static final long TERM_INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

  private final AgentProperties properties;
  private final MysqlServer server;
  private final Registry registry;
  private final Standing standing;
  private final Announcer announcer;
  private final ElectionOperations election;
  private final Elector elector;
  private final LeaseSettings settings;
  private final SourceDuty duty;
  private final Follower follower;
  private final Rehearsal rehearsal;
  private final LongSupplier clock;
  private final Semaphore signal = new Semaphore(0);

  private volatile Status status =
      new Status(Role.UNKNOWN, "the agent has not looked at it yet", 0);

  private volatile @Nullable Thread thread;

  /** The source from which an operator has asked to rebuild the server. */
  private volatile @Nullable Promotion donor;

  private Seen seen;

  /** The election's term at the last look. */
  private OptionalLong lookedIn = OptionalLong.empty();

  /**
   * What the agent has seen; used by its thread.
   *
   * @param term the election term in which the last promotion was recorded; negative until known
   * @param promotedAt when that changed last
   * @param openTerm the same term when the election last was not open
   */
  private record Seen(long term, long promotedAt, long openTerm) {}

  Agent(
      AgentProperties properties,
      MysqlServer server,
      Registry registry,
      Standing standing,
      Announcer announcer,
      ElectionOperations election,
      Elector elector,
      LeaseSettings settings,
      SourceDuty duty,
      Rehearsal rehearsal,
      LongSupplier clock) {
    this.properties = properties;
    this.server = server;
    this.registry = registry;
    this.standing = standing;
    this.announcer = announcer;
    this.election = election;
    this.elector = elector;
    this.settings = settings;
    this.duty = duty;
    this.follower = new Follower(properties, server, standing, announcer, clock);
    this.rehearsal = rehearsal;
    this.clock = clock;
    this.seen = new Seen(-1, clock.getAsLong(), 0);
    standing.onAsked(this.signal::release);
  }

  Status status() {
    Status duty = this.duty.status();
    return duty != null ? duty : this.status;
  }

  @Override
  public void start() {
    Thread thread = VitalThread.vital("failover-agent", this::run);
    this.thread = thread;
    thread.start();
  }

  /** Wakes the agent up to promote its server at once. */
  @EventListener
  void onAcquired(LeadershipAcquiredEvent event) {
    this.signal.release();
  }

  private void run() {
    while (this.thread == Thread.currentThread()) {
      try {
        look();
      } catch (Exception ex) {
        show(new Status(Role.UNKNOWN, Refusals.text(ex), 0));
        log.debug("Failed to manage {}", this.properties.server(), ex);
        this.standing.withdraw();
        if (this.election.isLeader()) {
          this.election.lostLeader();
        }
      }
      try {
        awaitNext();
      } catch (InterruptedException ex) {
        // The loop ends when the thread is replaced.
      }
    }
    this.server.close();
    this.registry.close();
  }

  /** Waits until the next look is due, or until a signal requests one at once. */
  private void awaitNext() throws InterruptedException {
    Role role = this.status.role();
    boolean soon = role == Role.WAITING
        || role == Role.UNKNOWN
        || (role == Role.REPLICA && this.follower.isUnsettled());
    long end = this.clock.getAsLong() + (soon ? SHORT_INTERVAL_NANOS : INTERVAL_NANOS);
    long left;
    while ((left = end - this.clock.getAsLong()) > 0
        && !this.signal.tryAcquire(Math.min(left, TERM_INTERVAL_NANOS), TimeUnit.NANOSECONDS)
        && this.election.term().equals(this.lookedIn)) {
      // No other source has been elected yet.
    }
    this.signal.drainPermits();
  }

  private void look() throws Exception {
    this.lookedIn = this.election.term();
    if (this.election.isLeader()) {
      this.duty.serve();
      return;
    }
    Snapshot read = this.registry.read();
    ServerState state = this.server.state();
    if (!state.otherAgent().isEmpty()) {
      this.standing.withdraw();
      show(new Status(Role.REFUSED, state.otherAgent(), 0));
      return;
    }
    see(read.electionTerm());
    if (!state.superReadOnly() && read.last().isPresent()) {
      log.warn("{} is writable but not the source; making it read-only", this.properties.server());
      this.server.fenceWithoutAcknowledgements();
      state = this.server.state();
    }
    Promotion donor = this.donor;
    if (donor != null) {
      rebuild(donor);
      return;
    }
    if (this.standing.isOpen(this.settings.renewInterval())
        && this.standing.hasOpenedSince(this.seen.promotedAt())
        && this.seen.term() <= this.seen.openTerm()) {
      stand(read, state);
    } else {
      this.standing.withdraw();
      this.seen = new Seen(this.seen.term(), this.seen.promotedAt(), this.seen.term());
      // Until it joins, its position remains final: a server that was elected still needs it.
      long finalIn = state.receiver().runs() ? Position.MAY_RECEIVE : read.electionTerm();
      Facts facts = this.announcer.announce(state, finalIn, read);
      join(read, state, facts);
    }
  }

  private void see(long term) {
    Seen before = this.seen;
    boolean promoted = before.term() >= 0 && term != before.term();
    this.seen =
        new Seen(term, promoted ? this.clock.getAsLong() : before.promotedAt(), before.openTerm());
  }

  /** Publishes the final position of a server that has no source, and stands by it. */
  private void stand(Snapshot read, ServerState found) throws Exception {
    ServerState state = found;
    if (state.receiver().runs()) {
      log.info("Stopping the receiver of {}: there is no source", this.properties.server());
      this.follower.stopReceiver();
      state = this.server.state();
    }
    Facts facts = this.announcer.announce(state, read.electionTerm(), read);
    if (facts.position().isFinal(read.electionTerm())) {
      this.standing.see(this.registry.read(), facts.position());
      this.elector.wakeUp();
    } else {
      this.standing.withdraw();
    }
    Candidacy.Decision decision = this.standing.decision();
    String reason = decision != null ? decision.turn().reason() : "";
    show(
        facts.unfit().isEmpty()
            ? new Status(
                Role.WAITING,
                "there is no source" + (reason.isEmpty() ? "" : ": " + reason) + failure(),
                state.lagSeconds())
            : new Status(Role.REFUSED, facts.unfit(), state.lagSeconds()));
  }

  private String failure() {
    String failure = this.duty.failure();
    return failure.isEmpty()
        ? ""
        : "; its last attempt to become or stay the source failed: " + failure;
  }

  private void join(Snapshot read, ServerState state, Facts facts) throws Exception {
    Optional<String> leader = this.election.leaderId();
    Promotion source = read.last().filter(this::isElected).orElse(null);
    Status status;
    if (!facts.unfit().isEmpty()) {
      if (state.receiver().runs()) {
        this.follower.stopReceiver(); // transactions that it acknowledges might be lost
      }
      boolean rebuildable = state.settings().isIncomplete() || !facts.mayCount();
      this.follower.refuse(rebuildable ? source : null);
      status = new Status(Role.REFUSED, facts.unfit(), state.lagSeconds());
    } else if (leader.isEmpty()) {
      status = new Status(Role.WAITING, "there is no source" + failure(), state.lagSeconds());
    } else if (source == null) {
      // If the server joined the last source now, it could acknowledge transactions that the next
      // source lacks.
      status = new Status(
          Role.WAITING,
          leader.get() + " leads but has not promoted its server yet" + failure(),
          state.lagSeconds());
    } else {
      this.rehearsal.look(read);
      status = this.follower.follow(source, state, read);
    }
    if (status != null) {
      show(status);
      if (status.role() == Role.REPLICA) {
        this.duty.forgetFailure();
      }
    }
  }

  /**
   * Returns whether, as far as this node knows, the leader's term is still the one in which the
   * source was promoted.
   */
  private boolean isElected(Promotion source) {
    return this.election.leaderId().isPresent()
        && this.election.term().equals(OptionalLong.of(source.electionTerm()));
  }

  /**
   * Requests that all data of a refused server be replaced by those of the source.
   *
   * @throws IllegalStateException if the server is not refused
   */
  void rebuild() {
    Promotion refusedBy = this.follower.refusedBy();
    if (this.status.role() != Role.REFUSED || refusedBy == null) {
      throw new IllegalStateException(
          "%s is %s, and only a server that may not join the source can be rebuilt from it%s"
              .formatted(
                  this.properties.server(),
                  this.status.role(),
                  this.status.reason().isEmpty() ? "" : ": " + this.status.reason()));
    }
    log.warn(
        "Rebuilding {} from {}: all of its data will be replaced",
        this.properties.server(),
        refusedBy.server());
    this.donor = refusedBy;
    this.signal.release();
  }

  /** Rebuilds the server, once for each request. */
  private void rebuild(Promotion donor) throws Exception {
    this.donor = null;
    if (!isElected(donor)) {
      log.warn("{} is not rebuilt: {} is no longer the source", this.properties.server(), donor);
      return;
    }
    String address = this.properties.address(donor.server());
    Peer.inspect(address, this.properties); // otherwise the data would be given up for nothing
    show(new Status(Role.UNKNOWN, "it is being rebuilt from " + donor.server(), 0));
    this.standing.withdraw();
    this.registry.withdraw(this.properties.server());
    this.server
        .replication()
        .rebuild(
            address, this.properties.replicationUsername(), this.properties.replicationPassword());
  }

  private void show(Status status) {
    Status before = this.status;
    this.status = status;
    this.standing.show(Rehearsal.show(this.properties.server(), status));
    if (before.role() != status.role() || !before.reason().equals(status.reason())) {
      String reason = status.reason().isEmpty() ? "" : ": " + status.reason();
      boolean out = status.role() == Role.REFUSED || status.role() == Role.UNKNOWN;
      log.atLevel(out ? Level.WARN : Level.INFO)
          .log("{} is {}{}", this.properties.server(), status.role(), reason);
    }
  }

  @Override
  public void stop() {
    Thread thread = this.thread;
    this.thread = null;
    this.duty.end();
    if (thread != null) {
      this.signal.release();
      try {
        thread.join(this.settings.leaseDuration().toMillis() * 2);
      } catch (InterruptedException ex) {
        Thread.currentThread().interrupt();
      }
    }
  }

  @Override
  public boolean isRunning() {
    return this.thread != null;
  }
}
