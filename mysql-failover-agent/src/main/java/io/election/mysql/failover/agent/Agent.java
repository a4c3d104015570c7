package io.election.mysql.failover.agent;

import io.election.ElectionService;
import io.election.LeadershipAcquiredEvent;
import io.election.Member;
import io.election.lease.Elector;
import io.election.lease.LeaseSettings;
import io.election.mysql.failover.GtidSet;
import io.election.mysql.failover.agent.Status.Role;
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
 * Looks at its server each second and makes it what it must be: source, replica, or read-only. All
 * of that happens on one thread.
 */
final class Agent implements SmartLifecycle {

  private static final Logger log = LoggerFactory.getLogger(Agent.class);

  private static final long INTERVAL_MILLIS = 1_000;

  /** How often it looks while its server has no source, or one of both does not answer. */
  private static final long SHORT_INTERVAL_MILLIS = INTERVAL_MILLIS / 5;

  /** How often it compares the term of the election, which is known locally. */
  private static final long TERM_INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

  /** For how long another agent has no connection while it connects anew. */
  private static final long CONNECTS_ANEW_MILLIS = 200;

  /** For how long the server must have been without another agent that it had. */
  private static final long ALONE_NANOS = TimeUnit.SECONDS.toNanos(2);

  private final AgentProperties properties;
  private final MysqlServer server;
  private final Fitness fitness;
  private final Promotions promotions;
  private final FreshestFirst freshest;
  private final ElectionService election;
  private final Elector elector;
  private final LeaseSettings settings;
  private final SourceDuty duty;
  private final ReplicaDuty replica;

  private final Semaphore signal = new Semaphore(0);

  private volatile Status status =
      new Status(Role.UNKNOWN, "the agent has not looked at it yet", 0);

  private volatile @Nullable Thread thread;

  /** From where to rebuild the server, until that is done or there is another source. */
  private volatile @Nullable Promotion donor;

  /** Why the rebuild has not been done yet; empty if it has not been tried. */
  private String rebuildFailure = "";

  /** Whether the server was found fit, and nothing has happened since that could have changed it. */
  private boolean checked;

  /** Why the server may neither lead nor join; empty if it may. */
  private String unfit = "";

  /** Whether it is unfit because its data may be incomplete. */
  private boolean incomplete;

  /** Whether this agent looks after the server, so that others must not. */
  private boolean everChecked;

  /** The connection of another agent, as seen last. */
  private String otherAgent = "";

  /** Until when it counts as running, by the monotonic clock. */
  private long otherAgentUntil;

  /** Whether the election was open when it was looked at last. */
  private boolean open;

  /** What the server had executed when it was looked at last. */
  private GtidSet executed = GtidSet.EMPTY;

  /** The term of the election when it looked at its server last. */
  private OptionalLong lookedIn = OptionalLong.empty();

  /** The term of the election in which the last promotion was recorded; negative before it is known. */
  private long seenTerm = -1;

  /** When another promotion was seen last, by the monotonic clock. */
  private long promotedAt = System.nanoTime();

  /** The term of the election in which the last promotion before it opened was recorded. */
  private long openTerm;

  Agent(
      AgentProperties properties,
      MysqlServer server,
      Promotions promotions,
      FreshestFirst freshest,
      ElectionService election,
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

  /** Returns what the server is. */
  Status status() {
    Status duty = this.duty.status();
    return duty != null ? duty : this.status;
  }

  /**
   * Returns how many servers of the set have no agent that has published a position; empty if that
   * is not known.
   */
  OptionalInt missing() {
    Optional<List<Member>> members = this.election.members();
    return members.isPresent()
        ? OptionalInt.of(this.freshest.missing(members.get()))
        : OptionalInt.empty();
  }

  @Override
  public void start() {
    Thread thread = new Thread(this::run, "failover-agent");
    this.thread = thread;
    thread.start();
  }

  /** Promotes its server at once. */
  @EventListener
  void onAcquired(LeadershipAcquiredEvent event) {
    this.signal.release();
  }

  private void run() {
    while (this.thread == Thread.currentThread()) {
      try {
        look();
      } catch (Exception ex) {
        show(Role.UNKNOWN, Refusals.text(ex), 0);
        log.debug("{} cannot be looked after", this.properties.server(), ex);
        this.checked = false; // the server may have been started again with other settings
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

  /** Waits for the next look, or for a signal to look at once. */
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
      // There is no other source yet.
    }
    this.signal.drainPermits();
  }

  private void look() throws Exception {
    this.lookedIn = this.election.term();
    if (this.election.isLeader()) {
      this.duty.serve();
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
      fenceUnlessReadOnly(state); // before that it may be in use as it is
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
        this.checked = false; // each promotion follows a check
        if (!check()) {
          return;
        }
      }
      if (state.receiving()) {
        log.info("{} stops its receiver: there is no source", this.properties.server());
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
        this.elector.announcePosition(); // it may not join before the others can read that
      }
      join(last, state);
    }
  }

  private void fenceUnlessReadOnly(ServerState state) throws SQLException {
    if (!state.superReadOnly()) {
      log.warn(
          "{} is writable, but not the source: it is made read-only", this.properties.server());
      this.replica.hasWritten();
      this.server.fenceFormerSource();
    }
  }

  /** Shows why there is no source, as far as this server knows. */
  private void showWaiting(ServerState state) {
    if (!this.unfit.isEmpty()) {
      show(Role.REFUSED, this.unfit, state.lagSeconds());
      return;
    }
    String reason = this.freshest.reason();
    String failure = this.duty.failure();
    show(
        Role.WAITING,
        "there is no source"
            + (reason.isEmpty() ? "" : ": " + reason)
            + (failure.isEmpty()
                ? ""
                : "; its last attempt to become the source failed: " + failure),
        state.lagSeconds());
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
        this.replica.stopReceiver(); // what it acknowledged might be lost
      }
      this.replica.refuse(this.incomplete && promoted ? last.get() : null);
      show(Role.REFUSED, this.unfit, state.lagSeconds());
    } else if (leader.isEmpty()) {
      show(Role.WAITING, "there is no source", state.lagSeconds());
    } else if (!promoted) {
      // A server that joined the last source now could acknowledge transactions that the next
      // source lacks.
      show(
          Role.WAITING,
          "%s leads, and has not promoted its server yet (its term of the election is %s, and the record of promotions is of %s)"
              .formatted(
                  leader.get(),
                  this.election.term().isPresent() ? this.election.term().getAsLong() : "unknown",
                  last.isPresent() ? last.get().electionTerm() : "none"),
          state.lagSeconds());
    } else {
      this.replica.follow(last.get(), state);
    }
  }

  /** Whether the node leads, as far as this one knows, in the term in which a source was promoted. */
  private boolean isElected(Promotion source) {
    return this.election.leaderId().isPresent()
        && this.election.term().equals(OptionalLong.of(source.electionTerm()));
  }

  /**
   * Replaces the data of a refused server by those of the source, soon.
   *
   * @throws IllegalStateException if the server is not refused
   */
  void rebuild() {
    Promotion refusedBy = this.replica.refusedBy();
    if (this.status.role() != Role.REFUSED || refusedBy == null) {
      throw new IllegalStateException(
          "%s is %s, and only a server that may not join the source is rebuilt from it%s"
              .formatted(
                  this.properties.server(),
                  this.status.role(),
                  this.status.reason().isEmpty() ? "" : ": " + this.status.reason()));
    }
    log.warn(
        "{} is rebuilt from {}: all its data are replaced",
        this.properties.server(),
        refusedBy.server());
    this.donor = refusedBy;
    this.signal.release();
  }

  /** Tries that again at each look if it fails because of the donor. */
  private void rebuild(Promotion donor) throws SQLException {
    showRebuild(donor);
    this.freshest.withdraw();
    try {
      this.server.rebuild(
          donor.host(),
          donor.port(),
          this.properties.replicationUsername(),
          this.properties.replicationPassword());
    } catch (SQLException ex) {
      if (ex.getErrorCode() == MysqlServer.CLONE_DONOR_ERROR) {
        // A donor clones to one server at a time, and a source that is closed ends clones.
        this.rebuildFailure = Refusals.text(ex);
        showRebuild(donor);
        return;
      }
      forgetRebuild();
      throw ex; // also if the server has ended after the clone
    }
    forgetRebuild();
  }

  private void showRebuild(Promotion donor) {
    String reason = "it is rebuilt from " + donor.server();
    if (this.rebuildFailure.isEmpty()) {
      show(Role.UNKNOWN, reason, 0);
    } else {
      show(
          Role.REFUSED,
          "%s, and that is tried again, since it has failed: %s"
              .formatted(reason, this.rebuildFailure),
          0);
    }
  }

  private void forgetOtherDonor(Promotion source) {
    Promotion donor = this.donor;
    if (donor != null && donor.electionTerm() != source.electionTerm()) {
      log.warn(
          "{} is not rebuilt from {}: the source is {} now",
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
   * Looks at the settings of the server, and at what was done to its data.
   *
   * @return false if another agent looks after the server, so that this one must not touch it
   */
  private boolean check() throws Exception {
    if (!this.everChecked && hasOtherAgent()) {
      show(Role.REFUSED, this.otherAgent, 0);
      return false;
    }
    Fitness.Finding finding = this.fitness.look(this.properties.acknowledgingReplicas());
    this.incomplete = finding.incomplete();
    this.unfit = finding.reason();
    this.freshest.unfit(this.unfit);
    this.checked = this.unfit.isEmpty();
    this.everChecked |= this.checked;
    return true;
  }

  /** Whether another agent looks after the server, or has done so a moment ago. */
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
   * Asks the last source itself if it hands over to this server: it has all that was acknowledged,
   * so that no other position is needed.
   */
  private void askLastSource(Promotion last) {
    try {
      Peer source = Peer.look(last.address(), this.properties);
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
