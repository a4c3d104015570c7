package io.election.lease;

import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipEvent;
import io.election.lease.Standing.Leading;
import io.election.lease.Standing.SteppingDown;
import io.election.lease.Step.Await;
import io.election.lease.Step.Lead;
import io.election.lease.Step.Renew;
import io.election.lease.Step.Take;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** A process of a node, with its clocks. */
final class SimulatedProcess implements Claimant {

  private final Simulation simulation;

  final String id;

  final int life;

  final LeaseSettings settings;

  final double rate;

  final long origin;

  final long wallOrigin;

  final Elector elector;

  final LeaseElectionService service;

  /** Shared by all processes that are restored from the state before this process started. */
  final String checkpoint;

  /** The token by which the server knows it. */
  final String token;

  /** The state that it has as the copy of a process; {@code null} if it is not a copy. */
  private final @Nullable Candidacy known;

  /** The server, as it serves this process. */
  final LeaseStore server;

  boolean alive = true;

  boolean stopping;

  boolean requestsCut;

  boolean answersCut;

  /** Whether a request is under way, or the elector is in its step. */
  private boolean busy;

  /**
   * Whether the elector's own loop body runs at this instant, rather than waiting for its store.
   */
  private boolean stepping;

  /** Whether it was stopped in the middle of a step, possibly while it held a lock. */
  private boolean frozen;

  private long pausedUntil;

  private long suspendedAt = -1;

  private long suspended;

  private long wallStep;

  private long workUntil;

  private long wakes;

  private long watched;

  private @Nullable Runnable ambush;

  private @Nullable LeadershipEvent lastEvent;

  private @Nullable String seen;

  SimulatedProcess(Simulation simulation, String id, int life) {
    this(simulation, id, life, null, false);
  }

  /**
   * Creates a copy.
   *
   * @param running whether the copy has all that the original knows, rather than only what there
   *     was before the original started
   */
  SimulatedProcess(SimulatedProcess original, int life, boolean running) {
    this(original.simulation, original.id, life, original, running);
  }

  private SimulatedProcess(
      Simulation simulation,
      String id,
      int life,
      @Nullable SimulatedProcess original,
      boolean running) {
    this.simulation = simulation;
    this.id = id;
    this.life = life;
    this.checkpoint = original != null ? original.checkpoint : toString();
    this.settings = this.simulation.settings.get(id);
    if (original != null && running) {
      this.token = original.token;
      this.known = original.service.candidate().candidacy();
      this.rate = original.rate;
      this.origin = original.origin;
      this.suspended = original.suspended;
      this.wallOrigin = original.wallOrigin;
      this.wallStep = original.wallStep;
    } else {
      this.token = this.simulation.rules.token(this.checkpoint, toString());
      this.known = null;
      // Twins run on separate machines.
      this.rate = this.simulation.draw(3) == 0
          ? 2 - this.simulation.rates.get(id)
          : this.simulation.rates.get(id);
      this.origin = this.simulation.draw(2) == 0
          ? Long.MAX_VALUE - 30 * Simulation.SECOND
          : -5 * Simulation.SECOND;
      this.wallOrigin = this.simulation.draw(1_000_000) * 1_000_000L;
    }
    this.server = this.simulation.rules.store(this.simulation.database, this.token);
    this.elector = new Elector(
        new RemoteStore(this.simulation, this),
        this.settings,
        () -> id,
        (serviceId) -> isWorking(),
        this::deliver,
        this::tick,
        () -> Instant.ofEpochMilli(wall()));
    this.service = new LeaseElectionService(Sent.SERVICE, this.elector);
  }

  void begin() {
    this.elector.join(List.of(this.service));
    Candidacy known = this.known;
    if (known != null) {
      this.service.candidate().change((fresh) -> known);
    }
    wake(0);
  }

  /** Whether it leads, its lease still covers work, or it must hand a lease back. */
  boolean holds() {
    Standing standing = this.service.candidate().candidacy().standing();
    return standing instanceof Leading || standing instanceof SteppingDown;
  }

  // -- clocks

  private long active() {
    return (this.suspendedAt >= 0 ? this.suspendedAt : this.simulation.now) - this.suspended;
  }

  long monotonic() {
    return this.origin + (long) (active() * this.rate);
  }

  long wall() {
    return this.wallOrigin
        + this.wallStep
        + (long) (this.simulation.now * this.rate) / Simulation.MILLI;
  }

  /**
   * The monotonic clock as the production code reads it: the process may be paused after the
   * reading.
   */
  private long tick() {
    long reading = monotonic();
    if (this.stepping && this.simulation.faulty && this.simulation.draw(1_000) == 0) {
      long pause = this.simulation.random.nextLong(2 * this.simulation.longestLease);
      this.simulation.tell(
          "%s is paused for %s in the middle of its step".formatted(this, Story.time(pause)));
      this.simulation.lasts(this.simulation.now + pause);
      this.stepping = false;
      this.frozen = true;
      this.simulation.runUntil(this.simulation.now + pause);
      this.frozen = false;
      awaken();
      this.stepping = true;
    }
    return reading;
  }

  long trueTime(long monotonic) {
    long ahead = monotonic - monotonic();
    return this.simulation.now + (ahead <= 0 ? 0 : (long) Math.ceil(ahead / this.rate) + 1);
  }

  // -- what it claims

  @Override
  public boolean leads() {
    if (!this.alive) {
      return false;
    }
    boolean stepping = this.stepping;
    this.stepping = false;
    boolean leads = this.simulation.rules.leads(this.service);
    this.stepping = stepping;
    return leads;
  }

  /** Whether it may take a row, now or later. */
  boolean mayStand() {
    return this.alive && !this.stopping && !isPaused() && this.settings.eligible();
  }

  /** Whether an operator told it to stand aside until further notice. */
  boolean isPaused() {
    return this.alive && this.service.candidate().candidacy().memory().paused() != null;
  }

  /** Whether it may take a row that is handed back. */
  boolean isCandidate() {
    return mayStand() && standsAgain() <= this.simulation.now;
  }

  /** The instant from which it no longer stands aside. */
  long standsAgain() {
    Long until = this.service.candidate().candidacy().memory().asideUntil();
    return until == null ? this.simulation.now : trueTime(until);
  }

  void grant(long term) {
    this.simulation.judge.grant(this.id, term);
  }

  @Override
  public String claim() {
    return "%s (term %s)"
        .formatted(
            this,
            this.service.candidate().candidacy().standing() instanceof Leading leading
                ? leading.term()
                : "?");
  }

  private void deliver(LeadershipEvent event) {
    this.simulation.tell("%s %s".formatted(this, Story.event(event)));
    boolean acquired = event instanceof LeadershipAcquiredEvent;
    LeadershipEvent last = this.lastEvent;
    boolean alternates = last == null
        ? acquired
        : acquired
            ? !(last instanceof LeadershipAcquiredEvent) && event.term() > last.term()
            : last instanceof LeadershipAcquiredEvent && event.term() == last.term();
    if (!alternates) {
      // The elector catches exceptions of listeners, so the violation is stored here.
      this.simulation.broken = this.simulation.violation("%s was told '%s' after '%s'"
          .formatted(this, Story.event(event), last == null ? "nothing" : Story.event(last)));
    }
    this.lastEvent = event;
    if (event instanceof LeadershipAcquiredEvent won) {
      this.simulation.tally.leaderships.merge(won.reason(), 1L, Long::sum);
    }
  }

  // -- its life

  private boolean isWorking() {
    return this.simulation.now < this.workUntil;
  }

  boolean isStill() {
    return this.frozen || this.suspendedAt >= 0 || this.simulation.now < this.pausedUntil;
  }

  /** Runs an action as soon as the process runs, if it is still alive. */
  private void later(long time, Runnable action) {
    this.simulation.at(time, () -> {
      if (!this.alive) {
        return;
      }
      if (isStill()) {
        later(Math.max(this.pausedUntil, this.simulation.now + 20 * Simulation.MILLI), action);
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
    later(this.simulation.now + delay, () -> {
      if (wake == this.wakes && !this.busy) {
        work();
      }
    });
  }

  /** Delivers events to the listener and checks the deadline. */
  private void settle() {
    if (!isStill()) {
      this.elector.events().deliverNow();
    }
    if (this.service.candidate().candidacy().standing() instanceof Leading leading
        && leading.deadline() != this.watched) {
      this.watched = leading.deadline();
      later(trueTime(leading.deadline()), () -> this.service.candidate().update());
    }
  }

  private void work() {
    if (this.simulation.drive == Drive.ELECTOR) {
      this.busy = true;
      this.stepping = true;
      try {
        long pause = this.elector.step();
        this.busy = false;
        this.stepping = false;
        wake(trueTime(monotonic() + pause) - this.simulation.now + lateness());
      } catch (Died dead) {
        return;
      }
    } else {
      Candidacy candidacy = this.service.candidate().update();
      Step step = this.simulation.rules.next(candidacy, monotonic(), isWorking());
      if (step instanceof Await await) {
        long pause =
            Math.min(await.until() - monotonic(), this.settings.renewInterval().toNanos());
        wake(trueTime(monotonic() + Math.max(pause, 0)) - this.simulation.now + lateness());
      } else {
        this.busy = true;
        later(this.simulation.now + lateness(), () -> ask(step));
      }
    }
    if (this.stopping
        && !(this.service.candidate().candidacy().standing() instanceof SteppingDown)) {
      die();
    }
  }

  private long lateness() {
    return this.simulation.draw(3) == 0 ? 0 : this.simulation.random.nextLong(2 * Simulation.MILLI);
  }

  private void ask(Step step) {
    Sent call = Sent.by(this.service.candidate().candidacy(), step, monotonic(), wall());
    SimulatedServer.Request request = this.simulation.server.send(
        this,
        () -> executed(call),
        new SimulatedServer.Wish(this, step::toString, step instanceof Step.Read));
    spring(request);
    later(request.answerAt, () -> {
      if (request.executed && !request.answerLost && request.answerAt <= request.giveUpAt) {
        request.over = true;
        Timing timing = call.answered(monotonic(), wall());
        this.service
            .candidate()
            .change((current) ->
                this.simulation.rules.answered(current, step, request.outcome, timing));
        hear(request.outcome);
        goOn();
      }
    });
    later(request.giveUpAt, () -> {
      if (!request.over) {
        this.simulation.tell("%s gets no answer to what it asked: %s".formatted(this, step));
        long now = monotonic();
        this.service
            .candidate()
            .change((current) -> this.simulation.rules.failed(current, step, now));
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
      return this.simulation.server.look(this);
    }
    Object outcome = call.execute(this.server);
    if (call.step() instanceof Step.Create && ((Optional<?>) outcome).isEmpty()) {
      this.simulation.raceLost = true;
    }
    if (call.step() instanceof Take && ((OptionalLong) outcome).isPresent()) {
      grant(((OptionalLong) outcome).getAsLong());
    } else if (call.step() instanceof Lead lead && (boolean) outcome) {
      grant(lead.row().term());
    } else if (call.step() instanceof Renew renew && (boolean) outcome) {
      this.simulation.judge.judgeRenewal(this.id, renew.term());
    }
    return outcome;
  }

  /** Traces an answer; a read is traced only if it differs from the last one. */
  private void hear(Object outcome) {
    if (!this.simulation.tracing) {
      return;
    }
    String heard = Story.outcome(outcome);
    boolean read =
        outcome instanceof Optional<?> found && !(found.orElse(null) instanceof LeaseRow);
    if (!read) {
      this.simulation.tell("%s has the answer: %s".formatted(this, heard));
    } else if (!heard.equals(this.seen)) {
      this.seen = heard;
      this.simulation.tell("%s sees %s".formatted(this, heard));
    }
  }

  Object await(SimulatedServer.Statement statement, Step step) throws LeaseStoreException {
    return await(statement, step::toString, step instanceof Step.Read);
  }

  /** For the elector's own loop: returns when the answer arrives. */
  Object await(SimulatedServer.Statement statement, Supplier<String> what, boolean toRead)
      throws LeaseStoreException {
    this.stepping = false;
    SimulatedServer.Request request =
        this.simulation.server.send(this, statement, new SimulatedServer.Wish(this, what, toRead));
    spring(request);
    if (request.answerAt <= request.giveUpAt) {
      this.simulation.runUntil(request.answerAt);
      awaken();
    }
    this.stepping = true;
    Object outcome = request.outcome;
    if (outcome != null && !request.answerLost && request.answerAt <= request.giveUpAt) {
      hear(outcome);
      return outcome;
    }
    this.stepping = false;
    this.simulation.runUntil(Math.max(this.simulation.now, request.giveUpAt));
    awaken();
    this.stepping = true;
    this.simulation.tell("%s gets no answer to what it asked: %s".formatted(this, what.get()));
    throw new LeaseStoreException("no answer");
  }

  /** Continues to sleep if it was paused meanwhile. */
  private void awaken() {
    while (this.alive && isStill()) {
      this.simulation.runUntil(
          Math.max(this.pausedUntil, this.simulation.now + 20 * Simulation.MILLI));
    }
    if (!this.alive) {
      throw new Died();
    }
  }

  /** Lets the fault happen while the next request is under way. */
  boolean ambush(Fault fault, long duration) {
    this.ambush = () -> {
      if (this.simulation.faulty) {
        suffer(fault, duration);
        this.simulation.lasts(this.simulation.now + duration);
      }
    };
    return true;
  }

  private void spring(SimulatedServer.Request request) {
    Runnable ambush = this.ambush;
    if (ambush != null) {
      this.ambush = null;
      long end = Math.min(request.answerAt, request.giveUpAt);
      long now = this.simulation.now;
      later(now + (end > now ? this.simulation.random.nextLong(end - now) : 0), ambush);
    }
  }

  boolean suffer(Fault fault, long duration) {
    if (isStill() && fault != Fault.CRASH && fault != Fault.WALL_CLOCK_STEPS
        || fault == Fault.RESUMED_BY_OPERATOR && !isPaused()) {
      return false;
    }
    this.simulation.tell("%s %s".formatted(this, Story.fault(fault, duration)));
    switch (fault) {
      case CRASH -> die();
      case PAUSE -> this.pausedUntil = this.simulation.now + duration;
      case SUSPEND -> {
        if (!this.simulation.suspends) {
          return false;
        }
        this.suspendedAt = this.simulation.now;
        this.simulation.at(this.simulation.now + duration, this::resume);
      }
      case WALL_CLOCK_STEPS -> {
        if (this.simulation.suspends) {
          return false;
        }
        this.wallStep += (this.simulation.draw(2) == 0 ? 1 : -1)
            * (this.simulation.draw(20_000) + this.simulation.draw(2) * 3_600_000L);
      }
      case CUT_OFF -> {
        int direction = this.simulation.draw(3);
        this.requestsCut = direction != 1;
        this.answersCut = direction != 0;
        this.simulation.after(duration, () -> {
          this.requestsCut = false;
          this.answersCut = false;
        });
      }
      case RESIGN -> command((current) -> this.simulation.rules.resigned(current, monotonic()));
      case PAUSED_BY_OPERATOR -> {
        command((current) -> this.simulation.rules.paused(current, monotonic()));
        // A schedule in which all nodes stand aside shows little.
        later(this.simulation.now + duration, () -> {
          // A node that returns after the last fault is a fault itself: its name may be in use by
          // another.
          if (this.simulation.faulty) {
            suffer(Fault.RESUMED_BY_OPERATOR, 0);
          }
        });
      }
      case RESUMED_BY_OPERATOR -> command((current) -> current.resume(monotonic()));
      case CAMPAIGN -> command((current) -> current.campaign(monotonic()));
      case SIGNAL -> command((current) -> current.look(monotonic()));
      case HAND_OVER ->
        handOver(
            this.simulation.company != Company.NONE && this.simulation.draw(2) == 0
                ? this.simulation.pick(Simulation.OLDER_IDS)
                : this.simulation.pick(this.simulation.ids));
      case STOP -> {
        this.stopping = true;
        if (this.simulation.rules == Rules.PRODUCTION) {
          this.elector.leave();
        } else {
          command((current) -> this.simulation.rules.stopped(current, monotonic()));
        }
      }
      case WORK -> this.workUntil = this.simulation.now + duration;
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

  private void resume() {
    if (this.suspendedAt >= 0) {
      this.suspended += this.simulation.now - this.suspendedAt;
      this.suspendedAt = -1;
      this.simulation.tell("%s wakes".formatted(this));
    }
  }

  void die() {
    this.simulation.tell("%s ends".formatted(this));
    this.alive = false;
  }

  @Override
  public String toString() {
    return "%s (life %d)".formatted(this.id, this.life);
  }

  /** Thrown to end the code of a process that died. */
  private static final class Died extends Error {
    private static final long serialVersionUID = 1L;

    Died() {
      super("died", null, false, false);
    }
  }
}
