package io.election.mysql.failover.agent;

import io.election.ElectionOperations;
import io.election.LeadershipAcquiredEvent;
import io.election.Member;
import io.election.lease.Elector;
import io.election.mysql.failover.GtidSet;
import io.election.mysql.failover.agent.Status.Role;
import io.election.store.LeaseSettings;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.event.EventListener;

/**
 * Checks its server once a second and makes it a source, a replica, or read-only, as the election
 * requires. All of this happens on one thread.
 */
final class Agent implements SmartLifecycle {

  private static final Logger log = LoggerFactory.getLogger(Agent.class);

  private static final long INTERVAL_MILLIS = 1_000;

  /**
   * The interval while its server has no source, or while the server or the source does not answer.
   */
  private static final long SHORT_INTERVAL_MILLIS = INTERVAL_MILLIS / 5;

  /** The interval for comparing the election's term, which is known locally. */
  private static final long TERM_INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

  /** How long another agent may be without a connection while it reconnects. */
  private static final long CONNECTS_ANEW_MILLIS = 200;

  /** How long a former agent must have been gone from the server. */
  private static final long ALONE_NANOS = TimeUnit.SECONDS.toNanos(2);

  private final AgentProperties properties;
  private final MysqlServer server;
  private final Fitness fitness;
  private final Promotions promotions;
  private final FreshestFirst freshest;
  private final ElectionOperations election;
  private final Elector elector;
  private final LeaseSettings settings;
  private final SourceDuty duty;
  private final ReplicaDuty replica;

  private final Semaphore signal = new Semaphore(0);

  private volatile Status status = new Status(Role.UNKNOWN, "the agent has not checked it yet", 0);

  private volatile @Nullable Thread thread;

  /**
   * The source to rebuild the server from, until the rebuild is complete or another source is
   * promoted.
   */
  private volatile @Nullable Promotion donor;

  /** Why the last attempt to rebuild failed; empty if there was none. */
  private String rebuildFailure = "";

  /**
   * Whether the server was found fit, and nothing has happened since then that could have changed
   * that.
   */
  private boolean checked;

  /** Why the server may neither lead nor join; empty if it may. */
  private String unfit = "";

  /** Whether the server is unfit because its data may be incomplete. */
  private boolean incomplete;

  /** Whether this agent manages the server, so that other agents must not. */
  private boolean everChecked;

  /** The connection of another agent, as last seen. */
  private String otherAgent = "";

  /** Until when the other agent counts as running, by the monotonic clock. */
  private long otherAgentUntil;

  /** Whether the election was open at the last check. */
  private boolean open;

  /** The transactions that the server had executed at the last check. */
  private GtidSet executed = GtidSet.EMPTY;

  /** The election's term at the last check of the server. */
  private OptionalLong lookedIn = OptionalLong.empty();

  /** The election term in which the last promotion was recorded; negative until it is known. */
  private long seenTerm = -1;

  /** When a new promotion was last seen, by the monotonic clock. */
  private long promotedAt = System.nanoTime();

  /** The election term of the last promotion that was recorded before the election opened. */
  private long openTerm;

  Agent(
      AgentProperties properties,
      MysqlServer server,
      Promotions promotions,
      FreshestFirst freshest,
      ElectionOperations election,
      Elector elector,
      LeaseSettings settings,
      SourceDuty duty) {
    this.properties = properties;
    this.server = server;
    this.fitness = new Fitness(server);
    this.promotions = promotions;
    this.freshest = freshest;
    this.election = election;
    this.elector = elector;
    this.settings = settings;
    this.duty = duty;
    this.replica = new ReplicaDuty(properties, server, freshest, election, duty, this::show);
    freshest.onAsked(this.signal::release);
  }

  /** Returns the status of the server. */
  Status status() {
    Status duty = this.duty.status();
    return duty != null ? duty : this.status;
  }

  /**
   * Returns the number of servers of the set without an agent that has published a position; empty
   * if it is not known.
   */
  OptionalInt missing() {
    Optional<List<Member>> members = this.election.members();
    return members.isPresent()
        ? OptionalInt.of(this.freshest.missing(members.get()))
        : OptionalInt.empty();
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
        inspect();
      } catch (Exception ex) {
        show(Role.UNKNOWN, Refusals.text(ex), 0);
        log.debug("Failed to manage {}", this.properties.server(), ex);
        this.checked = false; // the server may have been restarted with other settings
        this.freshest.withdraw();
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
    this.promotions.close();
  }

  /** Waits until the next check is due, or until a signal requests one at once. */
  private void awaitNext() throws InterruptedException {
    Role role = this.status.role();
    boolean soon = role == Role.WAITING
        || role == Role.UNKNOWN
        || (role == Role.REPLICA && !this.replica.isConnected());
    long end = System.nanoTime()
        + TimeUnit.MILLISECONDS.toNanos(soon ? SHORT_INTERVAL_MILLIS : INTERVAL_MILLIS);
    long left;
    while ((left = end - System.nanoTime()) > 0
        && !this.signal.tryAcquire(Math.min(left, TERM_INTERVAL_NANOS), TimeUnit.NANOSECONDS)
        && this.election.term().equals(this.lookedIn)) {
      // No other source has been elected yet.
    }
    this.signal.drainPermits();
  }

  private void inspect() throws Exception {
    this.lookedIn = this.election.term();
    if (this.election.isLeader()) {
      this.duty.serve();
      this.checked = false;
      return;
    }
    if (!this.checked && !check()) {
      return;
    }
    Promotion donor = this.donor;
    if (donor != null && isElected(donor)) {
      rebuild(donor);
      return;
    }
    ServerState state = this.server.state();
    if (state.executed().subtract(this.executed).hasOrigin(state.uuid())) {
      this.replica.hasWritten();
    }
    this.executed = state.executed();
    if (this.unfit.isEmpty()) {
      fenceUnlessReadOnly(state);
    }
    Optional<Promotion> last = this.promotions.last();
    if (!this.unfit.isEmpty() && last.isPresent()) {
      fenceUnlessReadOnly(state); // before the first promotion, the server may be in use as it is
    }
    this.freshest.know(last);
    long term = last.map(Promotion::electionTerm).orElse(0L);
    if (term != this.seenTerm) {
      this.promotedAt = this.seenTerm < 0 ? this.promotedAt : System.nanoTime();
      this.seenTerm = term;
    }
    if (this.freshest.isOpen(this.settings.renewInterval(), this.promotedAt)
        && term <= this.openTerm) {
      if (!this.open) {
        this.open = true;
        this.checked = false; // each promotion must follow a check
        if (!check()) {
          return;
        }
      }
      if (state.receiving()) {
        log.info("Stopping the receiver of {}: there is no source", this.properties.server());
        state = this.replica.stopReceiver();
      }
      if (last.isPresent() && this.freshest.isDesignated()) {
        askLastSource(last.get());
      }
      showWaiting(state);
      this.freshest.publish(state, term, this.status);
      this.elector.wakeUp();
    } else {
      this.open = false;
      this.openTerm = term;
      if (this.freshest.publish(state, Position.MAY_RECEIVE, this.status)) {
        this.elector.announcePosition(); // the server may not join before the others can read this
      }
      join(last, state);
    }
  }

  private void fenceUnlessReadOnly(ServerState state) throws SQLException {
    if (!state.superReadOnly()) {
      log.warn("{} is writable but not the source; making it read-only", this.properties.server());
      this.replica.hasWritten();
      this.server.fenceWithoutAcknowledgements();
    }
  }

  /** Shows why there is no source, as far as this agent knows. */
  private void showWaiting(ServerState state) {
    if (!this.unfit.isEmpty()) {
      show(Role.REFUSED, this.unfit, state.lagSeconds());
      return;
    }
    String reason = this.freshest.reason();
    show(
        Role.WAITING,
        "there is no source" + (reason.isEmpty() ? "" : ": " + reason) + failure(),
        state.lagSeconds());
  }

  private String failure() {
    String failure = this.duty.failure();
    return failure.isEmpty()
        ? ""
        : "; its last attempt to become or stay the source failed: " + failure;
  }

  /** Joins the source, if there is one. */
  private void join(Optional<Promotion> last, ServerState state) throws Exception {
    Optional<String> leader = this.election.leaderId();
    boolean promoted = last.isPresent() && isElected(last.get());
    if (promoted) {
      forgetOtherDonor(last.get());
    }
    if (!this.unfit.isEmpty()) {
      if (state.receiving()) {
        this.replica.stopReceiver(); // transactions that it acknowledges might be lost
      }
      this.replica.refuse(this.incomplete && promoted ? last.get() : null);
      show(Role.REFUSED, this.unfit, state.lagSeconds());
    } else if (leader.isEmpty()) {
      show(Role.WAITING, "there is no source" + failure(), state.lagSeconds());
    } else if (!promoted) {
      // If the server joined the last source now, it could acknowledge transactions that the next
      // source lacks.
      show(
          Role.WAITING,
          "%s leads but has not promoted its server yet (the election is in term %s, and the last promotion was recorded in term %s)"
                  .formatted(
                      leader.get(),
                      this.election.term().isPresent()
                          ? this.election.term().getAsLong()
                          : "unknown",
                      last.isPresent() ? last.get().electionTerm() : "none")
              + failure(),
          state.lagSeconds());
    } else {
      this.replica.follow(last.get(), state);
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
    Promotion refusedBy = this.replica.refusedBy();
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

  /** Rebuilds the server. If that fails because of the donor, the next check tries again. */
  private void rebuild(Promotion donor) throws SQLException {
    showRebuild(donor);
    this.freshest.withdraw();
    try {
      this.server.rebuild(
          donor.address(),
          this.properties.replicationUsername(),
          this.properties.replicationPassword());
    } catch (SQLException ex) {
      if (ex.getErrorCode() == MysqlServer.CLONE_DONOR_ERROR) {
        // A donor serves one clone at a time, and a source that closes for writes aborts clones.
        this.rebuildFailure = Refusals.text(ex);
        this.checked = false; // its data may be gone
        showRebuild(donor);
        return;
      }
      forgetRebuild();
      throw ex; // also if the server shut down after the clone
    }
    forgetRebuild();
  }

  private void showRebuild(Promotion donor) {
    String reason = "it is being rebuilt from " + donor.server();
    if (this.rebuildFailure.isEmpty()) {
      show(Role.UNKNOWN, reason, 0);
    } else {
      show(
          Role.REFUSED,
          "%s; the last attempt failed and will be retried: %s"
              .formatted(reason, this.rebuildFailure),
          0);
    }
  }

  private void forgetOtherDonor(Promotion source) {
    Promotion donor = this.donor;
    if (donor != null && donor.electionTerm() != source.electionTerm()) {
      log.warn(
          "{} will not be rebuilt from {}: the source is now {}",
          this.properties.server(),
          donor.server(),
          source.server());
      forgetRebuild();
    }
  }

  private void forgetRebuild() {
    this.donor = null;
    this.rebuildFailure = "";
  }

  /**
   * Checks the settings of the server, and whether its data are complete.
   *
   * @return {@code false} if another agent manages the server, so that this agent must not touch it
   */
  private boolean check() throws Exception {
    if (!this.everChecked && hasOtherAgent()) {
      show(Role.REFUSED, this.otherAgent, 0);
      return false;
    }
    Fitness.Finding finding = this.fitness.inspect(this.properties.acknowledgingReplicas());
    this.incomplete = finding.incomplete();
    this.unfit = finding.reason();
    this.freshest.unfit(this.unfit, this.incomplete);
    this.checked = this.unfit.isEmpty();
    this.everChecked |= this.checked;
    return true;
  }

  /** Returns whether another agent manages the server, or did so a moment ago. */
  private boolean hasOtherAgent() throws Exception {
    String other = this.server.otherAgent();
    if (other.isEmpty() && this.otherAgent.isEmpty()) {
      TimeUnit.MILLISECONDS.sleep(CONNECTS_ANEW_MILLIS);
      other = this.server.otherAgent();
    }
    if (!other.isEmpty()) {
      this.otherAgent = other;
      this.otherAgentUntil = System.nanoTime() + ALONE_NANOS;
    }
    return !this.otherAgent.isEmpty() && System.nanoTime() - this.otherAgentUntil < 0;
  }

  /**
   * Asks the last source for its position if it is handing over to this server. The last source has
   * every acknowledged transaction, so no other position is needed.
   */
  private void askLastSource(Promotion last) {
    try {
      Peer source = Peer.inspect(last.address(), this.properties);
      if (source.superReadOnly() && source.uuid().equals(last.uuid())) {
        this.freshest.handedOverAt(last, source.executed());
      }
    } catch (SQLException ex) {
      log.info("The last source {} does not answer: {}", last.server(), Refusals.text(ex));
    }
  }

  private void show(Role role, String reason, long lagSeconds) {
    Status before = this.status;
    this.status = new Status(role, reason, lagSeconds);
    if (before.role() != role || !before.reason().equals(reason)) {
      if (role == Role.REFUSED || role == Role.UNKNOWN) {
        log.warn("{} is {}: {}", this.properties.server(), role, reason);
      } else {
        log.info(
            "{} is {}{}", this.properties.server(), role, reason.isEmpty() ? "" : ": " + reason);
      }
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
