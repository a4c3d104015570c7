package io.election.lease;

import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipEvent;
import io.election.lease.State.Draining;
import io.election.lease.State.Leader;
import io.election.lease.Step.Acquire;
import io.election.lease.Step.Renew;
import io.election.lease.Step.Wait;
import io.election.store.LeaseSettings;
import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** A process of a node, with its clocks. */
public final class SimulatedProcess implements Claimant {

  /** After this time it is looked whether a process that is still runs again. */
  private static final long STILL = 20 * Simulation.MILLI;

  private final Simulation world;

  public final String id;

  final int life;

  public final LeaseSettings settings;

  final double rate;

  final long origin;

  final long wallOrigin;

  final Elector elector;

  /** Its service of each election. */
  private final List<LeaseElectionService> services;

  /** That of the first election, on which all faults happen. */
  final LeaseElectionService service;

  /** Shared by all processes that are restored from the state before this process started. */
  final String checkpoint;

  /** The token by which the server knows it. */
  final String token;

  /** What it knows of each election as the copy of a process; empty if it is not a copy. */
  private final List<Candidacy> known;

  final Rules.Access access;

  /** The server, as it serves this process. */
  final LeaseStore server;

  boolean alive = true;

  boolean stopping;

  boolean requestsCut;

  boolean answersCut;

  /** Whether a request is under way, or the elector is in its step. */
  private boolean busy;

  /** Whether the elector's own loop body runs now, rather than waiting for its store. */
  private boolean stepping;

  /** Whether it was stopped in the middle of a step, possibly while it held a lock. */
  private boolean frozen;

  private long pausedUntil;

  private long suspendedAt = -1;

  private long suspended;

  private long wallStep;

  /** How far the wall clock was ahead at each instant since the call under way was prepared. */
  private final Set<Long> usedSkews = new HashSet<>();

  private @Nullable Tenure seenToBeOver;

  private long workUntil;

  private long wakes;

  private long watched;

  private @Nullable Runnable ambush;

  private @Nullable LeadershipEvent lastEvent;

  private @Nullable Object heard;

  /**
   * Creates a process, or the copy of one: with all that the original knows, or with what there was
   * before it started.
   */
  SimulatedProcess(
      Simulation world, String id, int life, @Nullable SimulatedProcess original, boolean running) {
    this.world = world;
    this.id = id;
    this.life = life;
    this.checkpoint = original != null ? original.checkpoint : toString();
    this.settings = this.world.settings.get(id);
    if (original != null && running) {
      this.token = original.token;
      this.known = original.services.stream()
          .map((service) -> service.candidate().candidacy())
          .toList();
      this.rate = original.rate;
      this.origin = original.origin;
      this.suspended = original.suspended;
      this.wallOrigin = original.wallOrigin;
      this.wallStep = original.wallStep;
    } else {
      this.token = this.world.rules.token(this.checkpoint, toString());
      this.known = List.of();
      // Twins run on separate machines.
      this.rate = this.world.draw(3) == 0 ? 2 - this.world.rates.get(id) : this.world.rates.get(id);
      this.origin = this.world.draw(2) == 0
          ? Long.MAX_VALUE - 30 * Simulation.SECOND
          : -5 * Simulation.SECOND;
      this.wallOrigin = this.world.draw(1_000_000) * 1_000_000L;
    }
    this.access = Rules.Access.of(this.world.database, this.token);
    this.server = this.access.store();
    this.elector = new Elector(
        this.world.connect(this, running ? original : null),
        this.settings,
        () -> id,
        (serviceId) -> isWorking(),
        this::deliver,
        this::tick,
        () -> Instant.ofEpochMilli(wall()),
        world.precedence);
    this.services = this.world.elections().stream()
        .map((serviceId) -> new LeaseElectionService(serviceId, this.elector))
        .toList();
    this.service = this.services.get(0);
  }

  void begin() {
    this.elector.join(this.services);
    for (int i = 0; i < this.known.size(); i++) {
      Candidacy known = this.known.get(i);
      this.services.get(i).candidate().change((fresh) -> known);
    }
    wake(0);
  }

  /** Returns whether it is certain that it holds no lease. */
  boolean holdsNothing() {
    return this.services.stream()
        .allMatch(
            (service) -> service.candidate().candidacy().state().heldTerm().isEmpty());
  }

  Candidacy candidacy() {
    return this.service.candidate().candidacy();
  }

  // -- clocks

  private long active() {
    return (this.suspendedAt >= 0 ? this.suspendedAt : this.world.now) - this.suspended;
  }

  public long monotonic() {
    return this.origin + (long) (active() * this.rate);
  }

  public long wall() {
    return this.wallOrigin + this.wallStep + (long) (this.world.now * this.rate) / Simulation.MILLI;
  }

  /** The monotonic clock as production reads it: the process may be paused after the reading. */
  private long tick() {
    long reading = monotonic();
    if (this.stepping && this.world.faulty && this.world.draw(1_000) == 0) {
      long pause = this.world.random.nextLong(2 * this.world.longestLease);
      this.world.tell(this, "is paused in the middle of its step for", Simulation.time(pause));
      this.world.lasts(this.world.now + pause);
      this.stepping = false;
      this.frozen = true;
      this.world.runUntil(this.world.now + pause);
      this.frozen = false;
      awaken();
      this.stepping = true;
    }
    return reading;
  }

  long trueTime(long monotonic) {
    long ahead = monotonic - monotonic();
    return this.world.now + (ahead <= 0 ? 0 : (long) Math.ceil(ahead / this.rate) + 1);
  }

  // -- what it claims

  @Override
  public boolean leads() {
    if (!this.alive) {
      return false;
    }
    if (this.suspendedAt >= 0) {
      // None of its threads runs, and it is judged when it wakes.
      return false;
    }
    boolean stepping = this.stepping;
    this.stepping = false;
    boolean leads = this.world.rules.leads(this);
    this.stepping = stepping;
    if (!isStill() && candidacy().state() instanceof Leader leader) {
      if (!leads) {
        this.seenToBeOver = leader.tenure();
      } else if (leader.tenure() == this.seenToBeOver) {
        throw this.world.violation("%s leads after it was seen to be over".formatted(claim()));
      }
    }
    return leads;
  }

  /** Whether it leads one of the other elections. */
  boolean leadsAlso(int election) {
    Candidacy candidacy = this.services.get(election).candidate().candidacy();
    return this.alive
        && this.suspendedAt < 0
        && this.world.rules.leads(candidacy, monotonic(), wall());
  }

  /** Whether it may take a row, now or later. */
  boolean mayStand() {
    return this.alive && !this.stopping && !isPaused() && this.settings.eligible();
  }

  boolean isPaused() {
    return this.alive && candidacy().participation().pausedBy() != null;
  }

  /** Whether it may take a row that is handed back. */
  boolean isCandidate() {
    return mayStand() && standsAgain() <= this.world.now;
  }

  /** The instant from which it no longer stands aside. */
  long standsAgain() {
    Long until = candidacy().participation() instanceof Participation.Aside aside
        ? Long.valueOf(aside.until())
        : null;
    return until == null ? this.world.now : trueTime(until);
  }

  void grant(long term) {
    this.world.judge.grant(this.id, term);
  }

  @Override
  public String claim() {
    return "%s (term %s)".formatted(this, candidacy().state().heldTerm().orElse(-1));
  }

  private void deliver(LeadershipEvent event) {
    this.world.tell(this, "is told:", event);
    if (!event.serviceId().equals(this.service.serviceId())) {
      return;
    }
    LeadershipEvent last = this.lastEvent;
    boolean led = last instanceof LeadershipAcquiredEvent;
    boolean alternates = event instanceof LeadershipAcquiredEvent
        ? !led && (last == null || event.term() > last.term())
        : led && last != null && event.term() == last.term();
    if (!alternates) {
      // The elector catches exceptions of listeners, so the violation is stored here.
      this.world.broken =
          this.world.violation("%s was told %s after %s".formatted(this, event, last));
    }
    this.lastEvent = event;
    if (event instanceof LeadershipAcquiredEvent acquired) {
      this.world.tally.leaderships.merge(acquired.reason(), 1L, Long::sum);
    }
  }

  // -- its life

  private boolean isWorking() {
    return this.world.now < this.workUntil;
  }

  boolean isStill() {
    return this.frozen || this.suspendedAt >= 0 || this.world.now < this.pausedUntil;
  }

  /** Runs an action as soon as the process runs, if it is still alive. */
  private void later(long time, Runnable action) {
    this.world.at(time, () -> {
      if (!this.alive) {
        return;
      }
      if (isStill()) {
        later(Math.max(this.pausedUntil, this.world.now + STILL), action);
        return;
      }
      action.run();
      if (this.alive) {
        settle();
      }
    });
  }

  void wake(long delay) {
    long wake = ++this.wakes;
    later(this.world.now + delay, () -> {
      if (wake == this.wakes && !this.busy) {
        work();
      }
    });
  }

  private void settle() {
    if (!isStill()) {
      this.elector.events().deliverNow();
    }
    if (candidacy().state() instanceof Leader leader && leader.deadline().at() != this.watched) {
      this.watched = leader.deadline().at();
      later(trueTime(this.watched), () -> this.service.candidate().update());
    }
  }

  private void work() {
    this.usedSkews.clear();
    this.usedSkews.add(skew());
    if (this.world.drive == Drive.ELECTOR) {
      this.busy = true;
      this.stepping = true;
      try {
        long pause = this.elector.step();
        this.busy = false;
        this.stepping = false;
        wake(trueTime(monotonic() + pause) - this.world.now + lateness());
      } catch (Died dead) {
        return;
      }
    } else {
      Candidacy candidacy = this.service.candidate().update();
      Step step = this.world.rules.next(candidacy, monotonic(), isWorking());
      if (step instanceof Wait await) {
        long pause =
            Math.min(await.until() - monotonic(), this.settings.renewInterval().toNanos());
        wake(trueTime(monotonic() + Math.max(pause, 0)) - this.world.now + lateness());
      } else {
        this.busy = true;
        later(this.world.now + lateness(), () -> ask(step));
      }
    }
    if (this.stopping && !(candidacy().state() instanceof Draining)) {
      die();
    }
  }

  private long lateness() {
    return this.world.draw(3) == 0 ? 0 : this.world.random.nextLong(2 * Simulation.MILLI);
  }

  private void ask(Step step) {
    Sent call = Sent.by(candidacy(), step, monotonic(), wall());
    SimulatedServer.Request request = this.world.server.send(
        this,
        () -> executed(call),
        new SimulatedServer.Wish(this, step::toString, step instanceof Step.Read));
    spring(request);
    later(request.answerAt, () -> {
      Object answer = request.answer();
      if (answer != null) {
        request.over = true;
        Timing timing = call.answered(monotonic(), wall());
        command((current) -> this.world.rules.answered(current, step, answer, timing));
        hear(answer);
        goOn();
      }
    });
    later(request.giveUpAt, () -> {
      if (!request.over) {
        this.world.tell(this, "gets no answer to what it asked:", step);
        long now = monotonic();
        command((current) -> this.world.rules.failed(current, step, now));
        goOn();
      }
    });
  }

  private void goOn() {
    this.busy = false;
    wake(0);
  }

  private Object executed(Sent call) throws LeaseStoreException {
    if (call.step() instanceof Step.Read) {
      return this.world.server.inspect(this);
    }
    Object outcome = this.world.rules.execute(call, this.access);
    if (call.step() instanceof Step.Create && ((Optional<?>) outcome).isEmpty()) {
      this.world.raceLost = true;
    }
    if (call.step() instanceof Acquire && ((OptionalLong) outcome).isPresent()) {
      grant(((OptionalLong) outcome).getAsLong());
    } else if (call.step() instanceof Renew renew && renewed(outcome)) {
      this.world.judge.judgeRenewal(this.id, renew.term());
    }
    return outcome;
  }

  static boolean renewed(Object outcome) {
    return outcome == RenewalListener.Outcome.CONFIRMED;
  }

  /** Traces an answer, unless it is the same as the last one. */
  private void hear(Object outcome) {
    Object found = outcome instanceof Optional<?> optional ? optional.orElse(null) : outcome;
    Object answer = found instanceof LeaseStore.Reading reading ? reading.row() : found;
    if (!Objects.equals(answer, this.heard)) {
      this.heard = answer;
      this.world.tell(this, "has the answer:", answer);
    }
  }

  <T> T await(SimulatedServer.Statement statement, Step step) throws LeaseStoreException {
    return await(statement, step::toString, step instanceof Step.Read);
  }

  /** For the elector's own loop: returns when the answer arrives. */
  @SuppressWarnings("unchecked")
  public <T> T await(SimulatedServer.Statement statement, Supplier<String> what, boolean toRead)
      throws LeaseStoreException {
    SimulatedServer.Request request =
        this.world.server.send(this, statement, new SimulatedServer.Wish(this, what, toRead));
    spring(request);
    if (request.answerAt <= request.giveUpAt) {
      waitUntil(request.answerAt);
    }
    Object answer = request.answer();
    if (answer != null) {
      hear(answer);
      return (T) answer;
    }
    waitUntil(request.giveUpAt);
    this.world.tell(this, "gets no answer to what it asked:", what);
    throw new LeaseStoreException("no answer");
  }

  private void waitUntil(long time) {
    this.stepping = false;
    this.world.runUntil(Math.max(this.world.now, time));
    awaken();
    this.stepping = true;
  }

  /** Continues to sleep if it was paused meanwhile. */
  private void awaken() {
    while (this.alive && isStill()) {
      this.world.runUntil(Math.max(this.pausedUntil, this.world.now + STILL));
    }
    if (!this.alive) {
      throw new Died();
    }
  }

  /** Lets the fault happen while the next request is under way. */
  boolean ambush(Fault fault, long duration) {
    this.ambush = () -> {
      if (this.world.faulty) {
        suffer(fault, duration);
        this.world.lasts(this.world.now + duration);
      }
    };
    return true;
  }

  private void spring(SimulatedServer.Request request) {
    Runnable ambush = this.ambush;
    if (ambush != null) {
      this.ambush = null;
      long end = Math.min(request.answerAt, request.giveUpAt);
      long now = this.world.now;
      later(now + (end > now ? this.world.random.nextLong(end - now) : 0), ambush);
    }
  }

  boolean suffer(Fault fault, long duration) {
    if (isStill() && fault != Fault.CRASH && fault != Fault.WALL_CLOCK_STEPS
        || fault == Fault.RESUMED_BY_OPERATOR && !isPaused()) {
      return false;
    }
    this.world.tell(this, "suffers", fault, "for", Simulation.time(duration));
    switch (fault) {
      case CRASH -> die();
      case PAUSE -> this.pausedUntil = this.world.now + duration;
      case SUSPEND -> {
        if (!this.world.suspends) {
          return false;
        }
        this.suspendedAt = this.world.now;
        this.world.at(this.world.now + duration, this::resume);
      }
      case WALL_CLOCK_STEPS -> {
        setWallClock((this.world.draw(2) == 0 ? 1 : -1)
            * (this.world.draw(20_000) + this.world.draw(2) * 3_600_000L));
      }
      case CUT_OFF -> {
        int direction = this.world.draw(3);
        this.requestsCut = direction != 1;
        this.answersCut = direction != 0;
        this.world.after(duration, () -> {
          this.requestsCut = false;
          this.answersCut = false;
        });
      }
      case RESIGN -> command((current) -> this.world.rules.resigned(current, monotonic()));
      case PAUSED_BY_OPERATOR -> {
        command((current) -> this.world.rules.paused(current, monotonic()));
        // A schedule in which all nodes stand aside shows little.
        later(this.world.now + duration, () -> {
          // A node that returns after the last fault is a fault itself: its name may be in use by
          // another.
          if (this.world.faulty) {
            suffer(Fault.RESUMED_BY_OPERATOR, 0);
          }
        });
      }
      case RESUMED_BY_OPERATOR -> command((current) -> current.resume(monotonic()));
      case CAMPAIGN -> command((current) -> current.campaign(monotonic()));
      case SIGNAL -> command((current) -> current.readAgainAt(monotonic()));
      case HAND_OVER ->
        handOver(
            this.world.company != OlderTool.NONE && this.world.draw(2) == 0
                ? this.world.pick(Simulation.OLDER_IDS)
                : this.world.pick(this.world.ids));
      case STOP -> {
        this.stopping = true;
        if (this.world.rules == Rules.PRODUCTION) {
          this.elector.leave();
        } else {
          command((current) -> this.world.rules.stopped(current, monotonic()));
        }
      }
      case WORK -> this.workUntil = this.world.now + duration;
      default -> throw new IllegalArgumentException(fault.name());
    }
    if (this.alive) {
      settle();
      wake(0);
    }
    return true;
  }

  private void command(UnaryOperator<Candidacy> command) {
    this.service.candidate().change(command);
  }

  private void handOver(String successor) {
    if (!this.service.isLeader() || successor.equals(this.id)) {
      return;
    }
    try {
      this.service.designate(successor);
    } catch (Exception ex) {
      throw new IllegalStateException(ex);
    }
  }

  /** Its wall clock may be set before any thread runs, or set right a little later. */
  private void resume() {
    if (this.suspendedAt >= 0) {
      long slept = this.world.now - this.suspendedAt;
      this.suspended += slept;
      this.suspendedAt = -1;
      this.world.tell(this, "wakes");
      long back = (long) -(slept * this.rate) / Simulation.MILLI;
      int clock = this.world.draw(4);
      setWallClock(clock == 0 ? back - this.world.draw(20_000) : 0);
      if (clock == 1) {
        long delay = this.world.random.nextLong(2 * Simulation.SECOND);
        this.world.lasts(this.world.now + delay);
        this.world.after(delay, () -> {
          if (this.suspendedAt < 0) {
            setWallClock(back);
          }
        });
      }
    }
  }

  /**
   * Sets the wall clock. No program can see a suspension if the clock is set back by the very time
   * that it took, before any thread looks: then it is set by a little more.
   */
  private void setWallClock(long millis) {
    this.wallStep += millis;
    while (hidesASuspension()) {
      this.wallStep -= this.settings.leaseDuration().toMillis() / 10;
    }
    this.usedSkews.add(skew());
    if (millis != 0) {
      this.world.tell(this, "has its wall clock set by", millis, "ms");
    }
  }

  private boolean hidesASuspension() {
    if (this.suspended == 0) {
      return false;
    }
    long near = this.settings.leaseDuration().toMillis() / 20;
    boolean leads = candidacy().state() instanceof Leader leader
        && leader.tenure() != this.seenToBeOver
        && Math.abs(wall()
                - leader.deadline().wallAt()
                - (monotonic() - leader.deadline().at()) / Simulation.MILLI)
            < near;
    return leads
        || (this.busy
            && this.usedSkews.stream().anyMatch((used) -> Math.abs(used - skew()) < near));
  }

  /** How much further the wall clock has advanced than the monotonic one, in milliseconds. */
  private long skew() {
    return this.wallStep + (long) (this.suspended * this.rate) / Simulation.MILLI;
  }

  void die() {
    this.world.tell(this, "ends");
    this.alive = false;
  }

  @Override
  public String toString() {
    return this.id + " (life " + this.life + ")";
  }

  private static final class Died extends Error {
    private static final long serialVersionUID = 1L;

    Died() {
      super("died", null, false, false);
    }
  }
}
