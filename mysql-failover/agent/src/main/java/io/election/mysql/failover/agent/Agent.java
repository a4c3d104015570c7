package io.election.mysql.failover.agent;

import io.election.LeadershipAcquiredEvent;
import io.election.lease.Elector;
import io.election.mysql.failover.agent.AgentState.Seen;
import io.election.mysql.failover.agent.AgentState.Stand;
import io.election.mysql.failover.agent.Announcer.Facts;
import io.election.mysql.failover.agent.Registry.Snapshot;
import io.election.mysql.failover.agent.Status.Role;
import io.election.store.LeaseSettings;
import io.election.store.LeaseStoreException;
import java.sql.SQLException;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
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

  private final Site site;
  private final Elector elector;
  private final LeaseSettings settings;
  private final SourceDuty duty;
  private final Follower follower;

  /** The source from which an operator has asked to rebuild the server. */
  private final AtomicReference<@Nullable Promotion> donor = new AtomicReference<>();

  private volatile @Nullable Thread thread;

  Agent(Site site, Elector elector, LeaseSettings settings, SourceDuty duty) {
    this.site = site;
    this.elector = elector;
    this.settings = settings;
    this.duty = duty;
    this.follower = new Follower(site);
  }

  AgentState state() {
    return this.site.state();
  }

  Status status() {
    return state().shown().statusAt(this.site.now());
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
    this.site.standing().wake().release();
  }

  private void run() {
    while (this.thread == Thread.currentThread()) {
      OptionalLong term = this.site.election().term();
      try {
        look();
      } catch (Exception ex) {
        this.site.show(new Status(Role.UNKNOWN, Refusals.text(ex), 0));
        log.debug("Failed to manage {}", this.site.name(), ex);
        this.site.standing().stand(null);
        if (this.site.election().isLeader()) {
          this.site.election().lostLeader();
        }
      }
      try {
        awaitNext(term);
      } catch (InterruptedException ex) {
        // The loop ends when the thread is replaced.
      }
    }
    this.site.server().close();
  }

  /**
   * Waits until the next look is due, or until a signal requests one at once.
   *
   * @param lookedIn the election's term at the last look
   */
  private void awaitNext(OptionalLong lookedIn) throws InterruptedException {
    Semaphore signal = this.site.standing().wake();
    long now = this.site.now();
    Role role = status().role();
    boolean soon = role == Role.WAITING
        || role == Role.UNKNOWN
        || (role == Role.REPLICA
            && state().link().isUnsettled(this.site.announcer().isWhole(), now));
    long end = now + (soon ? SHORT_INTERVAL_NANOS : INTERVAL_NANOS);
    long left;
    while ((left = end - this.site.now()) > 0
        && !signal.tryAcquire(Math.min(left, TERM_INTERVAL_NANOS), TimeUnit.NANOSECONDS)
        && this.site.election().term().equals(lookedIn)) {
      // No other source has been elected yet.
    }
    signal.drainPermits();
  }

  private void look() throws Exception {
    if (this.site.election().isLeader()) {
      this.duty.serve();
      return;
    }
    Snapshot read;
    try {
      read = this.site.registry().read();
    } catch (LeaseStoreException ex) {
      Snapshot before = state().seen().read();
      close(this.site.server().state(), before != null && before.last().isPresent());
      throw ex;
    }
    ServerState server = this.site.server().state();
    if (!server.otherAgent().isEmpty()) {
      this.site.standing().stand(null);
      this.site.show(new Status(Role.REFUSED, server.otherAgent(), 0));
      return;
    }
    Seen seen = this.site.see(read);
    server = close(server, read.last().isPresent());
    Promotion donor = this.donor.getAndSet(null);
    if (donor != null) {
      rebuild(donor);
      return;
    }
    if (this.site.standing().isOpen(this.settings.renewInterval())
        && this.site.standing().hasOpenedSince(seen.promotedAt())
        && read.electionTerm() <= seen.openTerm()) {
      stand(read, server);
    } else {
      this.site.standing().stand(null);
      this.site.change((before) -> before.with(seen.notOpen()));
      // Until it joins, its position remains final: a server that was elected still needs it.
      long finalIn = server.receiver().runs() ? Position.MAY_RECEIVE : read.electionTerm();
      join(read, server, this.site.announcer().announce(server, finalIn, read));
    }
  }

  /** Makes a server read-only that is no source, also if the store does not answer. */
  private ServerState close(ServerState server, boolean setHasBegun) throws SQLException {
    if (server.superReadOnly() || !setHasBegun || !server.otherAgent().isEmpty()) {
      return server;
    }
    log.warn("{} is writable but not the source; making it read-only", this.site.name());
    this.site.server().fenceWithoutAcknowledgements();
    return this.site.server().state();
  }

  /** Publishes the final position of a server that has no source, and stands by it. */
  private void stand(Snapshot read, ServerState found) throws Exception {
    ServerState server = found;
    if (server.receiver().runs()) {
      log.info("Stopping the receiver of {}: there is no source", this.site.name());
      this.follower.stopReceiver();
      server = this.site.server().state();
    }
    Facts facts = this.site.announcer().announce(server, read.electionTerm(), read);
    if (facts.position().isFinal(read.electionTerm())) {
      this.site.standing().stand(new Stand(this.site.registry().read(), facts.position()));
      this.elector.wakeUp();
    } else {
      this.site.standing().stand(null);
    }
    Candidacy.Decision decision = state().ballot().decision();
    String reason = decision != null ? decision.turn().reason() : "";
    this.site.show(
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
    Optional<String> leader = this.site.election().leaderId();
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
      this.site.standing().rehearse(read, this.site.election().members());
      status = this.follower.follow(source, server, read);
    }
    if (status != null) {
      this.site.show(status);
      if (status.role() == Role.REPLICA) {
        this.site.change((before) -> before.with(before.duty().with("")));
      }
    }
  }

  /**
   * Returns whether, as far as this node knows, the leader's term is still the one in which the
   * source was promoted.
   */
  private boolean isElected(Promotion source) {
    return this.site.election().leaderId().isPresent()
        && this.site.election().term().equals(OptionalLong.of(source.electionTerm()));
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
                  this.site.name(),
                  status.role(),
                  status.reason().isEmpty() ? "" : ": " + status.reason()));
    }
    log.warn(
        "Rebuilding {} from {}: all of its data will be replaced",
        this.site.name(),
        donor.server());
    this.donor.set(donor);
    this.site.standing().wake().release();
  }

  /** Rebuilds the server, once for each request. */
  private void rebuild(Promotion donor) throws Exception {
    if (!isElected(donor)) {
      log.warn("{} is not rebuilt: {} is no longer the source", this.site.name(), donor);
      return;
    }
    String address = this.site.properties().address(donor.server());
    Peer.inspect(
        address, this.site.properties()); // otherwise the data would be given up for nothing
    this.site.show(new Status(Role.UNKNOWN, "it is being rebuilt from " + donor.server(), 0));
    this.site.standing().stand(null);
    this.site.registry().withdraw(this.site.name());
    this.site
        .server()
        .replication()
        .rebuild(
            address,
            this.site.properties().replicationUsername(),
            this.site.properties().replicationPassword());
  }

  @Override
  public void stop() {
    Thread thread = this.thread;
    this.thread = null;
    this.duty.end();
    if (thread != null) {
      this.site.standing().wake().release();
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
