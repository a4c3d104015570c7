package io.election.mysql.failover.agent;

import io.election.ElectionService;
import io.election.LeadershipAcquiredEvent;
import io.election.lease.Elector;
import io.election.lease.LeaseSettings;
import io.election.mysql.failover.Joining;
import io.election.mysql.failover.agent.Status.Role;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
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

  /** How long a receiver may take to connect at first. */
  private static final long CONNECT_NANOS = TimeUnit.SECONDS.toNanos(2);

  /** How often it compares the term of the election, which is known locally. */
  private static final long TERM_INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

  /** For how long a source is not asked that has not answered: a failover must not wait for that. */
  private static final long SILENCE_NANOS = TimeUnit.SECONDS.toNanos(2);

  private final AgentProperties properties;
  private final MysqlServer server;
  private final Promotions promotions;
  private final FreshestFirst freshest;
  private final ElectionService election;
  private final Elector elector;
  private final LeaseSettings settings;
  private final SourceDuty duty;

  private final Semaphore signal = new Semaphore(0);

  private volatile Status status =
      new Status(Role.UNKNOWN, "the agent has not looked at it yet", 0);

  private volatile @Nullable Thread thread;

  /** The source that the server may not join; {@code null} if there is none. */
  private volatile @Nullable Promotion refusedBy;

  /** From where to rebuild the server. */
  private final AtomicReference<@Nullable Promotion> donor = new AtomicReference<>();

  /** Whether the settings of the server are safe. */
  private boolean checked;

  /** Whether the receiver was connected when it was looked at last. */
  private boolean connected;

  private long joinedAt = System.nanoTime();

  /** The address of the source that did not answer when it was asked last; empty if there is none. */
  private String silent = "";

  private long silentSince;

  /** The term of the election when it looked at its server last. */
  private OptionalLong lookedIn = OptionalLong.empty();

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
    this.promotions = promotions;
    this.freshest = freshest;
    this.election = election;
    this.elector = elector;
    this.settings = settings;
    this.duty = duty;
    freshest.onAsked(this.signal::release);
  }

  /** Returns what the server is. */
  Status status() {
    Status duty = this.duty.status();
    return duty != null ? duty : this.status;
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
        show(Role.UNKNOWN, ex.toString(), 0);
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

  /** Waits until it is time to look again, or something has happened. */
  private void awaitNext() throws InterruptedException {
    Role role = this.status.role();
    boolean soon =
        role == Role.WAITING || role == Role.UNKNOWN || (role == Role.REPLICA && !this.connected);
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
    if (!this.checked) {
      check();
      return;
    }
    Promotion donor = this.donor.getAndSet(null);
    if (donor != null) {
      rebuild(donor);
      return;
    }
    ServerState state = this.server.state();
    if (!state.superReadOnly()) {
      log.warn(
          "{} is writable, but not the source: it is made read-only", this.properties.server());
      this.server.fenceFormerSource();
    }
    Optional<Promotion> last = this.promotions.last();
    this.freshest.know(last);
    long term = last.map(Promotion::electionTerm).orElse(0L);
    if (this.freshest.isOpen(this.settings.renewInterval()) && term <= this.openTerm) {
      if (state.receiving()) {
        log.info("{} stops its receiver: there is no source", this.properties.server());
        this.server.stopReceiver();
        state = this.server.state();
      }
      if (last.isPresent() && this.freshest.isDesignated()) {
        askLastSource(last.get());
      }
      String reason = this.freshest.reason();
      show(
          Role.WAITING,
          reason.isEmpty() ? "there is no source" : "there is no source: " + reason,
          state.lagSeconds());
      this.freshest.publish(state, term, this.status);
      this.elector.wakeUp();
    } else {
      this.openTerm = term;
      if (this.freshest.publish(state, Position.MAY_RECEIVE, this.status)) {
        this.elector.announcePosition(); // it may not join before the others can read that
      }
      join(last, state);
    }
  }

  /** Joins the source, if there is one. */
  private void join(Optional<Promotion> last, ServerState state) throws Exception {
    Optional<String> leader = this.election.leaderId();
    if (leader.isEmpty()) {
      show(Role.WAITING, "there is no source", state.lagSeconds());
    } else if (last.isEmpty()
        || !this.election.term().equals(OptionalLong.of(last.get().electionTerm()))) {
      // A server that joined the last source now could acknowledge transactions that the next
      // source
      // lacks.
      show(
          Role.WAITING,
          "%s leads, and has not promoted its server yet".formatted(leader.get()),
          state.lagSeconds());
    } else {
      follow(last.get(), state);
    }
  }

  /**
   * Replaces the data of a refused server by those of the source, soon.
   *
   * @throws IllegalStateException if the server is not refused
   */
  void rebuild() {
    Promotion refusedBy = this.refusedBy;
    if (this.status.role() != Role.REFUSED || refusedBy == null) {
      throw new IllegalStateException(
          "%s is %s, and only a server that may not join the source is rebuilt"
              .formatted(this.properties.server(), this.status.role()));
    }
    this.donor.set(refusedBy);
    this.signal.release();
  }

  private void rebuild(Promotion donor) throws SQLException {
    log.warn(
        "{} is rebuilt from {}: all its data are replaced",
        this.properties.server(),
        donor.server());
    show(Role.UNKNOWN, "it is rebuilt from " + donor.server(), 0);
    this.freshest.withdraw();
    this.server.rebuild(
        donor.host(),
        donor.port(),
        this.properties.replicationUsername(),
        this.properties.replicationPassword());
  }

  /** Looks at the settings of the server. It neither leads nor joins while they are not safe. */
  private void check() throws SQLException {
    List<String> problems = this.server.problems(this.properties.acknowledgingReplicas());
    this.checked = problems.isEmpty();
    if (!this.checked) {
      show(Role.REFUSED, String.join("; ", problems), 0);
    }
  }

  private void follow(Promotion source, ServerState state) throws Exception {
    boolean joined = state.source().equals(source.address()) && state.receiving();
    if (joined
        && !state.connected()
        && !this.connected
        && System.nanoTime() - this.joinedAt > CONNECT_NANOS) {
      // It acknowledges nothing, and to stop it takes as long as its attempt to connect: now rather
      // than when there is a failover.
      this.server.stopReceiver();
      joined = false;
    }
    this.connected = state.connected();
    if (joined) {
      show(
          state.applying() ? Role.REPLICA : Role.REFUSED,
          state.applying() ? "" : "its applier has stopped: see its error log",
          state.lagSeconds());
      return;
    }
    if (source.address().equals(this.silent)
        && System.nanoTime() - this.silentSince < SILENCE_NANOS) {
      return;
    }
    Peer peer;
    try {
      peer = look(source);
      if (peer == null) {
        return; // there is no source
      }
    } catch (SQLException ex) {
      this.silent = source.address();
      this.silentSince = System.nanoTime();
      show(
          Role.WAITING,
          "the source %s does not answer: %s".formatted(source.server(), ex.getMessage()),
          state.lagSeconds());
      return;
    }
    if (!peer.uuid().equals(source.uuid())) {
      show(
          Role.WAITING,
          "%s is another server, with the server_uuid %s instead of %s: the source %s was replaced, or its address belongs to another host now"
              .formatted(source.address(), peer.uuid(), source.uuid(), source.server()),
          state.lagSeconds());
      return;
    }
    if (peer.readOnly() && !peer.asksToAcknowledge()) {
      // A replica that connects before the source waits for acknowledgements never acknowledges.
      show(Role.WAITING, "the source does not accept writes yet", state.lagSeconds());
      return;
    }
    Joining.Verdict verdict = Joining.decide(
        state.term(),
        state.received(),
        source.term(),
        source.position(),
        peer.executed().union(peer.committing()));
    if (!verdict.allowed()
        && state.term() < source.term()
        && state.applying()
        && !state.executed().contains(state.received())) {
      // The newer term may be in what it applies.
      show(Role.WAITING, "it applies what it has received", state.lagSeconds());
      return;
    }
    this.refusedBy = verdict.allowed() ? null : source;
    if (!verdict.allowed()) {
      show(Role.REFUSED, verdict.reason(), state.lagSeconds());
      return;
    }
    if (!this.freshest.isWithdrawn(this.election.currentMembers())) {
      show(Role.WAITING, "other agents may still see a final position of it", state.lagSeconds());
      return;
    }
    log.info(
        "{} joins the source {} in term {}",
        this.properties.server(),
        source.server(),
        source.term());
    this.server.follow(
        source.host(),
        source.port(),
        this.properties.replicationUsername(),
        this.properties.replicationPassword());
    this.connected = true; // soon
    this.joinedAt = System.nanoTime();
    show(Role.REPLICA, "", state.lagSeconds());
  }

  /**
   * Looks at the source. That may take some time, and a failover must not wait for it.
   *
   * @return {@code null} if the election has opened meanwhile
   */
  private @Nullable Peer look(Promotion source) throws SQLException, InterruptedException {
    long began = System.nanoTime();
    FutureTask<Peer> task = new FutureTask<>(() -> Peer.look(source.address(), this.properties));
    Thread thread = new Thread(task, "look-at-source");
    thread.setDaemon(true);
    thread.start();
    while (true) {
      try {
        return task.get(10, TimeUnit.MILLISECONDS);
      } catch (TimeoutException ex) {
        if (this.freshest.hasOpenedSince(began)) {
          return null;
        }
      } catch (ExecutionException ex) {
        if (ex.getCause() instanceof SQLException failure) {
          throw failure;
        }
        throw new IllegalStateException(ex);
      }
    }
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
      log.info("The last source {} does not answer: {}", last.server(), ex.toString());
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
