package io.election.mysql.failover.agent;

import static io.election.mysql.failover.agent.Accession.require;

import io.election.LeaderOnly;
import io.election.Leadership;
import io.election.mysql.failover.agent.AgentState.Duty;
import io.election.mysql.failover.agent.Registry.Snapshot;
import io.election.mysql.failover.agent.Status.Role;
import io.election.store.LeaseSettings;
import io.election.store.LeaseStoreException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
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

  private final Site site;
  private final Fence fence;
  private final HandOver handOver;
  private final Accession accession;
  private final Semaphore ends = new Semaphore(0);

  /**
   * The end of a duty.
   *
   * @param drained whether a switch-over has made the server read-only
   */
  private record End(String reason, boolean drained) {}

  SourceDuty(Site site, LeaseSettings settings) {
    this.site = site;
    this.handOver = new HandOver(site);
    KillCommand kill = new KillCommand(site.properties().killServer(), Duration.ofSeconds(2));
    this.fence = new Fence(site, settings, kill);
    this.accession = new Accession(site, this.fence);
  }

  private Duty duty() {
    return this.site.state().duty();
  }

  private void set(Duty duty) {
    this.site.change((before) -> before.with(duty));
  }

  private boolean isOpen() {
    return OPEN.equals(this.site.state().status());
  }

  /**
   * Hands over to another server once it has caught up. Until then, no client can write.
   *
   * @return a description of the outcome; completes exceptionally if no hand-over took place
   */
  CompletableFuture<String> switchOver(String target) {
    return this.handOver.request(target, isOpen());
  }

  void end() {
    this.ends.release();
  }

  /**
   * Promotes the server, and returns when the server is read-only again. Returns at once if this
   * node does not lead, or if its agent has begun to stop.
   */
  @LeaderOnly
  public void serve() {
    Leadership leadership = this.site.election().leadership().orElse(null);
    if (leadership == null || this.ends.tryAcquire()) {
      return;
    }
    boolean drained = false;
    this.handOver.refuse(); // a request that came when the last duty ended
    this.site.show(new Status(Role.PROMOTING, "it is applying the received transactions", 0));
    try {
      long began = this.site.now();
      Promotion promotion = this.accession.promote(leadership.term());
      this.site.show(OPEN);
      set(new Duty("", null, this.site.now()));
      log.info(
          "{} is the source in term {}, {} ms after it was elected",
          this.site.name(),
          promotion.term(),
          (this.site.now() - began) / 1_000_000);
      End end = hold(promotion);
      drained = end.drained();
      log.info("{} is no longer the source: {}", this.site.name(), end.reason());
    } catch (Exception ex) {
      set(duty().with(Refusals.text(ex)));
      log.error("{} gives up the leadership", this.site.name(), ex);
    } finally {
      this.site.show(
          new Status(Role.WAITING, "it is no longer the source and becomes read-only", 0));
      this.handOver.refuse();
      if (!drained) {
        this.fence.run();
      }
      this.site.server().close(); // the next connection has the usual patience
      set(duty().end());
      this.site.standing().stand(null);
      if (this.site.election().isLeader()) {
        this.site.election().lostLeader();
      }
    }
  }

  /** Waits until this server must stop being the source, and returns the reason. */
  private End hold(Promotion promoted) throws Exception {
    this.site.server().answerWithin(LOOK);
    Promotion promotion = promoted;
    long looked = this.site.now();
    try (Probe probe = new Probe(this.site.server().another(Probe.PATIENCE), this.site.clock())) {
      while (!this.ends.tryAcquire(INTERVAL_NANOS / 10, TimeUnit.NANOSECONDS)) {
        if (!this.fence.leads(promotion.electionTerm())) {
          return new End("its agent no longer leads, or could not renew its lease in time", false);
        }
        HandOver.Request request = this.handOver.requested();
        if (request != null) {
          try {
            this.handOver.execute(request);
            return new End("it was handed over to " + request.target(), true);
          } catch (Exception ex) {
            stay(promotion, request, ex);
          } finally {
            this.handOver.refuse();
          }
        }
        if (this.site.now() - looked >= INTERVAL_NANOS || mayGuardActSoon()) {
          int before = duty().acknowledging();
          try {
            if (!inspect(promotion)) {
              return new End("its read-only setting was changed by someone else", false);
            }
            looked = this.site.now();
          } catch (SQLException ex) {
            // Tries again at once, unless the server no longer listens.
            if (Refusals.isGone(ex) || this.site.now() - looked >= INTERVAL_NANOS + SILENCE_NANOS) {
              throw ex;
            }
          }
          promotion = announce(promotion);
          if (!isOpen() || duty().acknowledging() < promotion.acknowledging()) {
            probe.forget();
          }
          require(
              probe.look(duty().acknowledging() > before),
              "it has committed nothing for %s s: its disk may be full, or hang"
                  .formatted(Probe.PATIENCE.toSeconds()));
        }
      }
    }
    return new End("its agent is stopping", false);
  }

  /**
   * Publishes what the source has, and records servers that have announced themselves, so that they
   * may join.
   */
  private Promotion announce(Promotion promotion) throws Exception {
    ServerState server = duty().server();
    if (server == null || !this.fence.canWait()) {
      return promotion; // the fence must not wait for etcd
    }
    Snapshot read;
    try {
      read = this.site.registry().read();
      this.site.see(read);
      this.site.announcer().announce(server, Position.MAY_RECEIVE, read);
      this.site.standing().rehearse(read, this.site.election().members());
    } catch (LeaseStoreException ex) {
      return promotion; // without etcd, the lease ends the duty
    }
    Promotion grown = promotion.with(
        promotion.membersAmong(this.site.properties(), read.positions(), server.uuid()));
    if (grown.equals(promotion)) {
      return promotion;
    }
    require(this.site.registry().record(grown), "another agent leads");
    log.info("The members of the set are now {}", grown.members());
    return grown;
  }

  /** Returns whether the guard may act soon, because the lease could not be renewed for a while. */
  private boolean mayGuardActSoon() {
    return isOpen()
        && this.site.server().guardActsBy() - this.site.now()
            < this.fence.silence().toNanos() / 2;
  }

  /** Lets clients write again after a failed switch-over, and reports the failure. */
  private void stay(Promotion promotion, HandOver.Request request, Exception failure)
      throws Exception {
    boolean open = isOpen();
    String outcome = open
        ? "is still the source and accepts writes again"
        : "is still the source but does not accept writes yet: see GET /check";
    try {
      // The position may be final already.
      ServerState server = this.site.server().state();
      this.site
          .announcer()
          .announce(server, Position.MAY_RECEIVE, this.site.registry().read());
      if (open && server.readOnly()) {
        this.accession.open(promotion);
      }
    } catch (Exception ex) {
      outcome =
          "cannot be opened for writes again and gives up the leadership: " + Refusals.text(ex);
      throw ex;
    } finally {
      request.refuse("%s. %s %s".formatted(Refusals.text(failure), this.site.name(), outcome));
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
    boolean open = isOpen();
    ServerState server = open
        ? this.site.server().stateAndServe(this.fence.guardMustActBy())
        : this.site.server().state();
    require(
        !open || !this.site.server().guardStandsStill(),
        "its guard does not count: event_scheduler was off, the guard was killed, or the wall clock was set back");
    int needed = promotion.acknowledging();
    require(server.otherAgent().isEmpty(), server.otherAgent());
    String broken =
        open ? server.settings().brokenBy(needed) : server.settings().unfit();
    require(broken.isEmpty(), "what its promise rests on was changed: " + broken);
    Set<String> strangers = new TreeSet<>(server.acknowledgers());
    strangers.removeAll(promotion.members().values());
    if (!strangers.isEmpty()) {
      log.warn(
          "Servers that are not in the record of the set acknowledge, and are disconnected: {}. Stop their MySQL servers",
          strangers);
      this.site.server().endReplicas(strangers);
    }
    long now = this.site.now();
    int acknowledging = server.acknowledging() - strangers.size();
    boolean enough =
        acknowledging >= needed || !this.site.state().seen().paused().isEmpty();
    long acknowledgedAt = enough ? now : duty().acknowledgedAt();
    if (open && now - acknowledgedAt > UNACKNOWLEDGED_NANOS) {
      this.site.server().closeForWrites();
      server = this.site.server().state();
      open = false;
    } else if (!open && enough) {
      this.accession.open(promotion);
      server = this.site.server().stateAndServe(this.fence.guardMustActBy());
      open = true;
    }
    this.site.show(
        open
            ? OPEN
            : new Status(
                Role.WAITING,
                "it is the source, and %s replicas must acknowledge before it accepts writes; %s do"
                    .formatted(needed, acknowledging),
                0));
    set(new Duty(duty().failure(), server, acknowledgedAt));
    return open != server.readOnly();
  }
}
