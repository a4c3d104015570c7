package io.election.mysql.failover.agent;

import io.election.ElectionOperations;
import io.election.LeadershipAcquiredEvent;
import io.election.lease.Elector;
import io.election.mysql.failover.agent.AgentState.Seen;
import io.election.mysql.failover.agent.AgentState.Stand;
import io.election.mysql.failover.agent.Announcer.Facts;
import io.election.mysql.failover.agent.Registry.Snapshot;
import io.election.mysql.failover.agent.Status.Role;
import io.election.store.LeaseSettings;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
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
  private final AgentState.Reference state;
  private final LongSupplier clock;

  /** The source from which an operator has asked to rebuild the server. */
  private final AtomicReference<@Nullable Promotion> donor = new AtomicReference<>();

  private volatile @Nullable Thread thread;

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
      AgentState.Reference state,
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
    this.follower = new Follower(properties, server, standing, announcer, state, clock);
    this.state = state;
    this.clock = clock;
  }

  AgentState state() {
    return this.state.get();
  }

  Status status() {
    return state().status();
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
    this.standing.wake().release();
  }

  private void run() {
    while (this.thread == Thread.currentThread()) {
      OptionalLong term = this.election.term();
      try {
        look();
      } catch (Exception ex) {
        show(new Status(Role.UNKNOWN, Refusals.text(ex), 0));
        log.debug("Failed to manage {}", this.properties.server(), ex);
        this.standing.stand(null);
        if (this.election.isLeader()) {
          this.election.lostLeader();
        }
      }
      try {
        awaitNext(term);
      } catch (InterruptedException ex) {
        // The loop ends when the thread is replaced.
      }
    }
    this.server.close();
    this.registry.close();
  }

  /**
   * Waits until the next look is due, or until a signal requests one at once.
   *
   * @param lookedIn the election's term at the last look
   */
  private void awaitNext(OptionalLong lookedIn) throws InterruptedException {
    Semaphore signal = this.standing.wake();
    long now = this.clock.getAsLong();
    Role role = status().role();
    boolean soon = role == Role.WAITING
        || role == Role.UNKNOWN
        || (role == Role.REPLICA && state().link().isUnsettled(this.announcer.isWhole(), now));
    long end = now + (soon ? SHORT_INTERVAL_NANOS : INTERVAL_NANOS);
    long left;
    while ((left = end - this.clock.getAsLong()) > 0
        && !signal.tryAcquire(Math.min(left, TERM_INTERVAL_NANOS), TimeUnit.NANOSECONDS)
        && this.election.term().equals(lookedIn)) {
      // No other source has been elected yet.
    }
    signal.drainPermits();
  }

  private void look() throws Exception {
    if (this.election.isLeader()) {
      this.duty.serve();
      return;
    }
    Snapshot read = this.registry.read();
    ServerState server = this.server.state();
    if (!server.otherAgent().isEmpty()) {
      this.standing.stand(null);
      show(new Status(Role.REFUSED, server.otherAgent(), 0));
      return;
    }
    long now = this.clock.getAsLong();
    Seen seen =
        this.state.change((before) -> before.with(before.seen().see(read, now))).seen();
    if (!server.superReadOnly() && read.last().isPresent()) {
      log.warn("{} is writable but not the source; making it read-only", this.properties.server());
      this.server.fenceWithoutAcknowledgements();
      server = this.server.state();
    }
    Promotion donor = this.donor.getAndSet(null);
    if (donor != null) {
      rebuild(donor);
      return;
    }
    if (this.standing.isOpen(this.settings.renewInterval())
        && this.standing.hasOpenedSince(seen.promotedAt())
        && read.electionTerm() <= seen.openTerm()) {
      stand(read, server);
    } else {
      this.standing.stand(null);
      this.state.change((before) -> before.with(seen.notOpen()));
      // Until it joins, its position remains final: a server that was elected still needs it.
      long finalIn = server.receiver().runs() ? Position.MAY_RECEIVE : read.electionTerm();
      join(read, server, this.announcer.announce(server, finalIn, read));
    }
  }

  /** Publishes the final position of a server that has no source, and stands by it. */
  private void stand(Snapshot read, ServerState found) throws Exception {
    ServerState server = found;
    if (server.receiver().runs()) {
      log.info("Stopping the receiver of {}: there is no source", this.properties.server());
      this.follower.stopReceiver();
      server = this.server.state();
    }
    Facts facts = this.announcer.announce(server, read.electionTerm(), read);
    if (facts.position().isFinal(read.electionTerm())) {
      this.standing.stand(new Stand(this.registry.read(), facts.position()));
      this.elector.wakeUp();
    } else {
      this.standing.stand(null);
    }
    Candidacy.Decision decision = state().ballot().decision();
    String reason = decision != null ? decision.turn().reason() : "";
    show(
        facts.unfit().isEmpty()
            ? new Status(
                Role.WAITING,
                "there is no source" + (reason.isEmpty() ? "" : ": " + reason) + failure(),
                server.lagSeconds())
            : new Status(Role.REFUSED, facts.unfit(), server.lagSeconds()));
  }

  private String failure() {
    String failure = state().duty().failure();
    return failure.isEmpty()
        ? ""
        : "; its last attempt to become or stay the source failed: " + failure;
  }

  private void join(Snapshot read, ServerState server, Facts facts) throws Exception {
    Optional<String> leader = this.election.leaderId();
    Promotion source = read.last().filter(this::isElected).orElse(null);
    Status status;
    if (!facts.unfit().isEmpty()) {
      if (server.receiver().runs()) {
        this.follower.stopReceiver(); // transactions that it acknowledges might be lost
      }
      boolean rebuildable = server.settings().isIncomplete() || !facts.mayCount();
      status =
          new Status(Role.REFUSED, facts.unfit(), server.lagSeconds(), rebuildable ? source : null);
    } else if (leader.isEmpty()) {
      status = new Status(Role.WAITING, "there is no source" + failure(), server.lagSeconds());
    } else if (source == null) {
      // If the server joined the last source now, it could acknowledge transactions that the next
      // source lacks.
      status = new Status(
          Role.WAITING,
          leader.get() + " leads but has not promoted its server yet" + failure(),
          server.lagSeconds());
    } else {
      this.standing.rehearse(read, this.election.members());
      status = this.follower.follow(source, server, read);
    }
    if (status != null) {
      show(status);
      if (status.role() == Role.REPLICA) {
        this.state.change((before) -> before.with(before.duty().with("")));
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
    Status status = status();
    Promotion donor = status.donor();
    if (donor == null) {
      throw new IllegalStateException(
          "%s is %s, and only a server that may not join the source can be rebuilt from it%s"
              .formatted(
                  this.properties.server(),
                  status.role(),
                  status.reason().isEmpty() ? "" : ": " + status.reason()));
    }
    log.warn(
        "Rebuilding {} from {}: all of its data will be replaced",
        this.properties.server(),
        donor.server());
    this.donor.set(donor);
    this.standing.wake().release();
  }

  /** Rebuilds the server, once for each request. */
  private void rebuild(Promotion donor) throws Exception {
    if (!isElected(donor)) {
      log.warn("{} is not rebuilt: {} is no longer the source", this.properties.server(), donor);
      return;
    }
    String address = this.properties.address(donor.server());
    Peer.inspect(address, this.properties); // otherwise the data would be given up for nothing
    show(new Status(Role.UNKNOWN, "it is being rebuilt from " + donor.server(), 0));
    this.standing.stand(null);
    this.registry.withdraw(this.properties.server());
    this.server
        .replication()
        .rebuild(
            address, this.properties.replicationUsername(), this.properties.replicationPassword());
  }

  private void show(Status status) {
    Status before = status();
    this.state.change((state) -> state.with(status));
    if (before.role() != status.role() || !before.reason().equals(status.reason())) {
      String reason = status.reason().isEmpty() ? "" : ": " + status.reason();
      log.atLevel(status.isOut() ? Level.WARN : Level.INFO)
          .log("{} is {}{}", this.properties.server(), status.role(), reason);
    }
  }

  @Override
  public void stop() {
    Thread thread = this.thread;
    this.thread = null;
    this.duty.end();
    if (thread != null) {
      this.standing.wake().release();
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
