package io.election.mysql.failover.agent;

import static io.election.mysql.failover.agent.Accession.require;

import io.election.ElectionOperations;
import io.election.LeaderOnly;
import io.election.Leadership;
import io.election.mysql.failover.agent.Registry.Snapshot;
import io.election.mysql.failover.agent.Status.Role;
import io.election.store.LeaseSettings;
import io.election.store.LeaseStoreException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the server the source, keeps it the source while the agent leads, and fences it before the
 * lease ends. This is leader work: the election keeps the lease until the server is read-only.
 */
class SourceDuty {

  private static final Logger log = LoggerFactory.getLogger(SourceDuty.class);

  private static final long INTERVAL_NANOS = 1_000_000_000;

  /** How long the source may fail to answer before the agent gives up the leadership. */
  private static final long SILENCE_NANOS = 2 * INTERVAL_NANOS;

  private static final Status OPEN = new Status(Role.SOURCE, "", 0);

  /** How long a source accepts writes while too few replicas acknowledge. */
  private static final long UNACKNOWLEDGED_NANOS = 10 * INTERVAL_NANOS;

  /** The time limit for each statement of a check of the source. */
  private static final Duration LOOK = Duration.ofSeconds(1);

  private final AgentProperties properties;
  private final MysqlServer server;
  private final Registry registry;
  private final Standing standing;
  private final Announcer announcer;
  private final Rehearsal rehearsal;
  private final ElectionOperations election;
  private final LongSupplier clock;
  private final Fence fence;
  private final HandOver handOver;
  private final Accession accession;
  private final Semaphore ends = new Semaphore(0);

  private volatile @Nullable Status status;

  /** Why the last attempt to become or stay the source failed; empty if it did not. */
  private volatile String failure = "";

  /** When enough replicas last acknowledged; used by the agent's thread. */
  private long acknowledgedAt;

  /** The server as last seen; {@code null} before that. */
  private volatile @Nullable ServerState state;

  /** Whether a switch-over has made the server read-only; used by the agent's thread. */
  private boolean drained;

  SourceDuty(
      AgentProperties properties,
      MysqlServer server,
      Registry registry,
      Standing standing,
      Announcer announcer,
      Rehearsal rehearsal,
      ElectionOperations election,
      LeaseSettings settings,
      LongSupplier clock) {
    this.properties = properties;
    this.server = server;
    this.registry = registry;
    this.standing = standing;
    this.announcer = announcer;
    this.rehearsal = rehearsal;
    this.election = election;
    this.clock = clock;
    this.handOver = new HandOver(properties, server, registry, announcer, election, clock);
    KillCommand kill = new KillCommand(properties.killServer(), Duration.ofSeconds(2));
    this.fence = new Fence(properties.server(), server, election, settings, kill, clock);
    this.accession =
        new Accession(properties, server, registry, standing, announcer, this.fence, clock);
  }

  /** Returns the status of the server while it is or becomes the source; {@code null} otherwise. */
  @Nullable
  Status status() {
    return this.status;
  }

  private void show(Status status) {
    this.status = status;
    this.standing.show(Rehearsal.show(this.properties.server(), status));
  }

  void forgetFailure() {
    this.failure = "";
  }

  /** Returns why the last attempt to become or stay the source failed; empty if it did not. */
  String failure() {
    return this.failure;
  }

  private int acknowledging() {
    ServerState state = this.state;
    return state != null ? state.acknowledging() : 0;
  }

  /** Returns the users of clients of the source that no setting keeps out; empty if none do. */
  String administrators() {
    ServerState state = this.state;
    return state != null && this.status != null ? state.administrators() : "";
  }

  /**
   * Hands over to another server once it has caught up. Until then, no client can write.
   *
   * @param target the name of the server
   * @return a description of the outcome; completes exceptionally if no hand-over took place
   */
  CompletableFuture<String> switchOver(String target) {
    Status status = this.status;
    return this.handOver.request(target, status != null && status.role() == Role.SOURCE);
  }

  void end() {
    this.ends.release();
  }

  /**
   * Promotes the server, and returns when the server is read-only again. Returns at once if this
   * node does not lead.
   */
  @LeaderOnly
  public void serve() {
    Leadership leadership = this.election.leadership().orElse(null);
    if (leadership == null) {
      return;
    }
    this.ends.drainPermits();
    this.drained = false;
    this.state = null;
    this.handOver.refuse(); // a request that came when the last duty ended
    show(new Status(Role.PROMOTING, "it is applying the received transactions", 0));
    try {
      long began = this.clock.getAsLong();
      Promotion promotion = this.accession.promote(leadership.term());
      show(OPEN);
      this.failure = "";
      log.info(
          "{} is the source in term {}, {} ms after it was elected",
          this.properties.server(),
          promotion.term(),
          (this.clock.getAsLong() - began) / 1_000_000);
      log.info("{} is no longer the source: {}", this.properties.server(), hold(promotion));
    } catch (Exception ex) {
      this.failure = Refusals.text(ex);
      log.error("{} gives up the leadership", this.properties.server(), ex);
    } finally {
      show(new Status(Role.WAITING, "it is no longer the source and becomes read-only", 0));
      this.handOver.refuse();
      if (!this.drained) {
        this.fence.run();
      }
      this.server.close(); // the next connection has the usual patience
      this.status = null;
      this.standing.withdraw();
      if (this.election.isLeader()) {
        this.election.lostLeader();
      }
    }
  }

  /** Waits until this server must stop being the source, and returns the reason. */
  private String hold(Promotion promoted) throws Exception {
    this.server.answerWithin(LOOK);
    long looked = this.clock.getAsLong();
    this.acknowledgedAt = looked;
    try (Probe probe = new Probe(this.server.another(Probe.PATIENCE), this.clock)) {
      return hold(promoted, probe, looked);
    }
  }

  private String hold(Promotion promoted, Probe probe, long began) throws Exception {
    Promotion promotion = promoted;
    long looked = began;
    while (!this.ends.tryAcquire(INTERVAL_NANOS / 10, TimeUnit.NANOSECONDS)) {
      if (!this.fence.leads(promotion.electionTerm())) {
        return "its agent no longer leads, or could not renew its lease in time";
      }
      HandOver.Request request = this.handOver.requested();
      if (request != null) {
        try {
          this.handOver.execute(request);
          this.drained = true;
          return "it was handed over to " + request.target();
        } catch (Exception ex) {
          stay(promotion, request, ex);
        } finally {
          this.handOver.refuse();
        }
      }
      if (this.clock.getAsLong() - looked >= INTERVAL_NANOS || mayGuardActSoon()) {
        int before = acknowledging();
        try {
          if (!inspect(promotion)) {
            return "its read-only setting was changed by someone else";
          }
          looked = this.clock.getAsLong();
        } catch (SQLException ex) {
          // Tries again at once, unless the server no longer listens.
          if (Refusals.isGone(ex)
              || this.clock.getAsLong() - looked >= INTERVAL_NANOS + SILENCE_NANOS) {
            throw ex;
          }
        }
        promotion = announce(promotion);
        if (!OPEN.equals(this.status) || acknowledging() < promotion.acknowledging()) {
          probe.forget();
        }
        require(
            probe.look(acknowledging() > before),
            "it has committed nothing for %s s: its disk may be full, or hang"
                .formatted(Probe.PATIENCE.toSeconds()));
      }
    }
    return "its agent is stopping";
  }

  /**
   * Publishes what the source has, and records servers that have announced themselves, so that they
   * may join.
   */
  private Promotion announce(Promotion promotion) throws Exception {
    ServerState state = this.state;
    if (state == null || !this.fence.canWait()) {
      return promotion; // the fence must not wait for etcd
    }
    Snapshot read;
    try {
      read = this.registry.read();
      this.announcer.announce(state, Position.MAY_RECEIVE, read);
      this.rehearsal.look(read);
    } catch (LeaseStoreException ex) {
      return promotion; // without etcd, the lease ends the duty
    }
    Promotion grown =
        promotion.with(promotion.membersAmong(this.properties, read.positions(), state.uuid()));
    if (grown.equals(promotion)) {
      return promotion;
    }
    require(this.registry.record(grown), "another agent leads");
    log.info("The members of the set are now {}", grown.members());
    return grown;
  }

  /** Returns whether the guard may act soon, because the lease could not be renewed for a while. */
  private boolean mayGuardActSoon() {
    return OPEN.equals(this.status)
        && this.server.guardActsBy() - this.clock.getAsLong()
            < this.fence.silence().toNanos() / 2;
  }

  /** Lets clients write again after a failed switch-over, and reports the failure. */
  private void stay(Promotion promotion, HandOver.Request request, Exception failure)
      throws Exception {
    boolean open = OPEN.equals(this.status);
    String outcome = open
        ? "is still the source and accepts writes again"
        : "is still the source but does not accept writes yet: see GET /check";
    try {
      // The position may be final already.
      ServerState state = this.server.state();
      this.announcer.announce(state, Position.MAY_RECEIVE, this.registry.read());
      if (open && state.readOnly()) {
        this.accession.open(promotion);
      }
    } catch (Exception ex) {
      outcome =
          "cannot be opened for writes again and gives up the leadership: " + Refusals.text(ex);
      throw ex;
    } finally {
      request.refuse(
          "%s. %s %s".formatted(Refusals.text(failure), this.properties.server(), outcome));
    }
  }

  /**
   * Checks the server, and extends the time for which its guard lets it serve. While too few
   * replicas acknowledge, the server accepts no writes: a transaction that waits forever would
   * prevent other servers from being rebuilt.
   *
   * @return {@code false} if the server's read-only setting was changed by someone else
   */
  private boolean inspect(Promotion promotion) throws SQLException {
    boolean open = OPEN.equals(this.status);
    ServerState state =
        open ? this.server.stateAndServe(this.fence.guardMustActBy()) : this.server.state();
    require(
        !open || !this.server.guardStandsStill(),
        "its guard does not count: event_scheduler was off, the guard was killed, or the wall clock was set back");
    int needed = promotion.acknowledging();
    require(state.otherAgent().isEmpty(), state.otherAgent());
    String broken = open ? state.settings().brokenBy(needed) : state.settings().unfit();
    require(broken.isEmpty(), "what its promise rests on was changed: " + broken);
    long now = this.clock.getAsLong();
    if (state.acknowledging() >= needed || !this.registry.paused().isEmpty()) {
      this.acknowledgedAt = now;
    }
    if (open && now - this.acknowledgedAt > UNACKNOWLEDGED_NANOS) {
      log.warn(
          "{} accepts no writes until {} replicas acknowledge; {} do",
          this.properties.server(),
          needed,
          state.acknowledging());
      this.server.closeForWrites();
      state = this.server.state();
      open = false;
    } else if (!open && this.acknowledgedAt == now) {
      log.info("{} accepts writes again", this.properties.server());
      this.accession.open(promotion);
      state = this.server.stateAndServe(this.fence.guardMustActBy());
      open = true;
    }
    show(
        open
            ? OPEN
            : new Status(
                Role.WAITING,
                "it is the source, and %s replicas must acknowledge before it accepts writes; %s do"
                    .formatted(needed, state.acknowledging()),
                0));
    this.state = state;
    return open != state.readOnly();
  }
}
