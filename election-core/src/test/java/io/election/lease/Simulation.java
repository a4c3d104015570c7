package io.election.lease;

import io.election.store.LeaseSettings;
import io.election.store.LeaseStore;
import io.election.store.SimulatedDatabase;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One schedule of an election whose nodes, clocks, network and operators fail. It is drawn from a
 * seed and judged at every instant of true time. It uses no threads and does not sleep: time is a
 * number.
 *
 * <p>In half of the schedules each request is sent, executed and answered at separate instants, and
 * anything may happen between them, in any order. In the other half {@link Elector#step} runs
 * unchanged: while it waits for its store, or is paused right after it read a clock, the rest of
 * the simulation continues inside that call.
 *
 * <p>A subclass lets the processes elect on another store than the database.
 */
@SuppressWarnings("this-escape")
public class Simulation {

  private record Event(long at, long order, Runnable action) implements Comparable<Event> {

    @Override
    public int compareTo(Event other) {
      int byTime = Long.compare(this.at, other.at);
      return byTime != 0 ? byTime : Long.compare(this.order, other.order);
    }
  }

  static final long MILLI = 1_000_000;

  static final long SECOND = 1_000 * MILLI;

  static final List<String> IDS = List.of("a", "b", "c", "d");

  static final List<String> OLDER_IDS = List.of("x", "y");

  /** How long a row must be unchanged before a node of the older tool takes it. */
  static final Duration OLDER_INTERVAL = Duration.ofSeconds(5);

  /** The start of summer time, in microseconds of the database's clock. */
  static final long SUMMER_TIME =
      Instant.parse("2026-03-29T01:00:00Z").getEpochSecond() * 1_000_000;

  protected final SplittableRandom random;

  final Rules rules;

  final Set<Fault> without;

  final Drive drive;

  final OlderTool company;

  final boolean tracing;

  public final StringBuilder story = new StringBuilder();

  final Tally tally = new Tally();

  final SimulatedDatabase database = new SimulatedDatabase(this::databaseMicros);

  final PriorityQueue<Event> events = new PriorityQueue<>();

  final Judge judge = new Judge(this);

  final SimulatedServer server = new SimulatedServer(this);

  final Disturbances disturbances = new Disturbances(this);

  final List<SimulatedProcess> processes = new ArrayList<>();

  final List<OlderNode> olderNodes = new ArrayList<>();

  final List<String> ids;

  final Map<String, LeaseSettings> settings = new HashMap<>();

  final Map<String, Double> rates = new HashMap<>();

  final long longestLease;

  protected final boolean mixed;

  final boolean suspends;

  /** Whether processes are copied while they run, which excludes some manual edits. */
  final boolean copies;

  final long lag;

  final double loss;

  final double slow;

  final double late;

  /** Who goes first; by default all nodes stand at once. */
  Precedence precedence = Precedence.NONE;

  protected long now;

  long order;

  protected boolean faulty = true;

  /** The instant at which the last fault so far ends. */
  long quietAt;

  long databaseBackAt;

  /** Renewals before this instant find the row locked and do not wait. */
  long rowFreeAt;

  final long databaseOrigin;

  final double databaseRate;

  long databaseStep;

  /** No process starts before this instant. */
  long startsFrom;

  int emptied;

  boolean termEdited;

  int lives;

  /** Whether a process found another row than it tried to take or create, since the last fault. */
  protected boolean raceLost;

  /** A promise that was broken where an exception would be caught. */
  @Nullable
  AssertionError broken;

  Simulation(
      long seed, Rules rules, Set<Fault> without, Drive drive, OlderTool company, boolean tracing) {
    this.random = new SplittableRandom(seed * 0x9E3779B97F4A7C15L + 1);
    this.rules = rules;
    this.without = without;
    this.drive = drive;
    this.company = company;
    this.tracing = tracing;
    this.ids = IDS.subList(0, 2 + this.random.nextInt(3));
    this.mixed = this.random.nextInt(3) == 0;
    boolean extreme = this.random.nextBoolean();
    long longest = 0;
    for (String id : this.ids) {
      List<Long> leases = this.company == OlderTool.OLDER_TOOL
          ? List.of(3_000L, 4_000L, 5_000L, 5_000L)
          : List.of(6_000L, 10_000L, 15_000L, 25_000L);
      long common = this.company == OlderTool.OLDER_TOOL ? 5_000L : 10_000L;
      long lease = this.mixed ? leases.get(draw(4)) : common;
      longest = Math.max(longest, lease);
      boolean eligible = this.ids.indexOf(id) < 2 || draw(6) > 0;
      this.settings.put(
          id,
          new LeaseSettings(
              Duration.ofMillis(lease),
              Duration.ofMillis(lease / (3 + draw(4))),
              Duration.ofMillis(lease / 10),
              Duration.ofMillis(List.of(0L, 2_000L, 12_000L).get(draw(3))),
              eligible));
      double error = extreme ? (draw(2) == 0 ? 0.01 : -0.01) : this.random.nextDouble(-0.01, 0.01);
      this.rates.put(id, 1 + error);
    }
    this.longestLease = longest * MILLI;
    this.databaseRate = 1 + (extreme ? 0.01 : this.random.nextDouble(-0.01, 0.01));
    this.databaseOrigin = SUMMER_TIME - draw(100) * 1_000_000L;
    this.suspends = this.random.nextBoolean();
    this.copies = draw(6) == 0;
    this.lag = draw(4) == 0 ? (1 + draw(20)) * SECOND : 0;
    this.loss = draw(3) == 0 ? 0 : this.random.nextDouble(0.3);
    this.slow = draw(3) == 0 ? 0 : this.random.nextDouble(0.3);
    this.late = draw(2) == 0 ? 0 : this.random.nextDouble(0.2);
  }

  /** Creates a schedule of the elector's own loop, without nodes of an older tool. */
  protected Simulation(long seed, boolean tracing) {
    this(seed, Rules.PRODUCTION, Set.of(), Drive.ELECTOR, OlderTool.NONE, tracing);
  }

  // ---- what the processes elect on

  /** Returns the elections, first that on which all faults happen. */
  protected List<String> elections() {
    return List.of(Sent.SERVICE);
  }

  /**
   * Connects a process.
   *
   * @param original the process whose copy it is; {@code null} if it is none
   */
  protected LeaseStore connect(SimulatedProcess process, @Nullable SimulatedProcess original) {
    return new RemoteStore(this, process);
  }

  /** Returns the faults that may happen. */
  protected List<Fault> faults() {
    return this.drive.faults();
  }

  /** Lets a fault happen to the record or its server, and returns whether it could. */
  protected boolean befall(Fault fault) {
    return this.disturbances.befallDatabase(fault);
  }

  /** Lets terms that were used come again, since the store has lost them. */
  protected final void forgetTerms() {
    this.judge.forgetTerms();
    this.emptied++;
  }

  /** Returns the record as an operator sees it. */
  protected @Nullable Object record() {
    return this.database.row(Sent.SERVICE);
  }

  /**
   * Runs a schedule. One that fails is run again, and the failure tells its story.
   *
   * @param schedule creates it, with its story or without
   * @param tracing whether to print the story
   * @param name names it
   * @param replay the arguments of Maven that run it alone
   */
  public static Tally run(
      Function<Boolean, Simulation> schedule, boolean tracing, String name, String replay) {
    Simulation simulation = schedule.apply(tracing);
    try {
      Tally tally = simulation.run();
      if (tracing) {
        System.out.println(simulation.story);
      }
      return tally;
    } catch (AssertionError violation) {
      if (!tracing) {
        return run(schedule, true, name, replay);
      }
      throw new AssertionError(
          "%s%nin %s. Replay it with:%n  mvn %s%n%n%s"
              .formatted(violation.getMessage(), name, replay, simulation.story),
          violation);
    }
  }

  /** Runs the schedule, and fails if a promise was broken. */
  public final Tally run() {
    this.tally.schedules = 1;
    for (String id : this.ids) {
      if (draw(4) > 0) {
        startProcess(id);
      } else {
        after(draw(3) * SECOND, () -> startProcess(id));
      }
    }
    if (this.company != OlderTool.NONE) {
      for (String id : OLDER_IDS) {
        this.olderNodes.add(new OlderNode(this, id));
      }
    }
    long end = this.longestLease * (4 + draw(12));
    this.disturbances.disturbLater(draw(2) == 0 ? this.longestLease / 4 : this.longestLease);
    runUntil(end);
    this.faulty = false;
    tell("no new faults; those there are run out");
    while (this.now < this.quietAt) {
      runUntil(this.quietAt);
    }
    recover();
    succeed();
    return this.tally;
  }

  /** Ends the faults and waits for a leader, which must then stay. */
  void recover() {
    this.olderNodes.forEach(OlderNode::end);
    tell("the last fault is over");
    for (String id : this.ids) {
      boolean runs = this.processes.stream()
          .anyMatch((process) -> process.alive && !process.stopping && process.id.equals(id));
      if (!runs && (id.equals("a") || draw(2) == 0)) {
        startProcess(id);
      }
    }
    for (SimulatedProcess process : this.processes) {
      if (process.isPaused() && (process.id.equals("a") || draw(2) == 0)) {
        process.suffer(Fault.RESUMED_BY_OPERATOR, 0);
      }
    }
    long healed = this.now;
    this.raceLost = false;
    long soon = standingAgain() + gap();
    long bound = soon;
    long leaderless = healed;
    while (runUntilNext(bound)) {
      if (leader() == null) {
        leaderless = this.now;
      }
      // A node that lost a race polls again after at most an interval and a sixteenth.
      bound = this.raceLost ? soon + longestInterval() * 17 / 16 * 101 / 100 : soon;
    }
    runUntil(bound);
    SimulatedProcess leader = leader();
    if (leader == null) {
      throw violation("No leader %s after the last fault; the row: %s"
          .formatted(time(bound - healed), record()));
    }
    this.tally.longestGap = (double) (leaderless - healed) / this.longestLease;
    tell(leader, "leads, elected after the last fault by", time(leaderless - healed));
    runUntil(bound + 2 * this.longestLease);
    if (leader() != leader) {
      throw violation("%s was replaced by %s without a fault".formatted(leader, leader()));
    }
  }

  /**
   * A node that was told to step down stands aside for a lease. If no other node can lead, or a
   * node with its id is about to, the wait starts at its return.
   */
  long standingAgain() {
    long first = Long.MAX_VALUE;
    long last = this.now;
    for (SimulatedProcess process : this.processes) {
      if (process.mayStand()) {
        long stands = process.standsAgain();
        first = Math.min(first, stands);
        boolean twin = this.processes.stream()
            .anyMatch(
                (other) -> other != process && other.mayStand() && other.id.equals(process.id));
        if (twin) {
          last = Math.max(last, stands);
        }
      }
    }
    return Math.max(first, last);
  }

  /** The longest time without a leader: a lease, a poll and two calls, on slow clocks. */
  protected long gap() {
    return (this.longestLease + longestInterval() + this.longestLease / 5) * 101 / 100;
  }

  long longestInterval() {
    return this.settings.values().stream()
        .mapToLong((settings) -> settings.renewInterval().toNanos())
        .max()
        .orElseThrow();
  }

  /** Stops the leader cleanly, and expects another as soon as followers poll. */
  void succeed() {
    SimulatedProcess leader = leader();
    List<SimulatedProcess> successors = this.processes.stream()
        .filter((process) -> process != leader && process.isCandidate())
        .toList();
    if (leader == null || successors.isEmpty()) {
      return;
    }
    leader.suffer(Fault.STOP, 0);
    long stopped = this.now;
    long interval = successors.stream()
        .mapToLong((process) -> process.settings.renewInterval().toNanos())
        .max()
        .orElseThrow();
    long bound = stopped + succession(interval);
    while (leader() == null && runUntilNext(bound)) {
      tell("nobody leads yet");
    }
    if (leader() == null) {
      throw violation("Nobody leads %s after a clean stop; the row: %s"
          .formatted(time(bound - stopped), record()));
    }
    this.tally.longestSuccession = (double) (this.now - stopped) / interval;
    tell(leader(), "succeeds", time(this.now - stopped), "after a clean stop");
  }

  /** The longest time without a leader after one has handed back. */
  protected long succession(long interval) {
    // A follower polls at least every one and a half intervals.
    return interval * 8 / 5 + SECOND;
  }

  // ---- time

  long databaseMicros() {
    return this.databaseOrigin + this.databaseStep + (long) (this.now * this.databaseRate) / 1_000;
  }

  void at(long time, Runnable action) {
    this.events.add(new Event(Math.max(time, this.now), this.order++, action));
  }

  protected final void after(long delay, Runnable action) {
    at(this.now + delay, action);
  }

  void runUntil(long time) {
    for (Event next = this.events.peek();
        next != null && next.at() <= time;
        next = this.events.peek()) {
      this.events.remove();
      advance(next.at());
      next.action().run();
    }
    advance(time);
  }

  private boolean runUntilNext(long bound) {
    Event next = this.events.peek();
    if (next == null || next.at() > bound) {
      return false;
    }
    runUntil(next.at());
    return true;
  }

  /** Judges all that has changed at an instant before the next one begins. */
  void advance(long time) {
    this.judge.judge();
    this.now = Math.max(this.now, time);
  }

  @Nullable
  SimulatedProcess leader() {
    return this.processes.stream().filter(SimulatedProcess::leads).findFirst().orElse(null);
  }

  /** Lets a precedence answer anything, and fail, until the faults are over. */
  Simulation withWrongAnswers(long seed) {
    SplittableRandom answers = new SplittableRandom(seed);
    this.precedence = (opening) -> {
      Precedence.Turn wrong = switch (answers.nextInt(4)) {
        case 0 -> Precedence.Turn.holdBack(Duration.ofMillis(answers.nextInt(-5_000, 30_000)));
        case 1 -> Precedence.Turn.standAside("at random");
        case 2 -> throw new IllegalStateException("at random");
        default -> Precedence.Turn.atOnce();
      };
      return this.now < this.quietAt || this.faulty ? wrong : Precedence.Turn.atOnce();
    };
    return this;
  }

  AssertionError violation(String what) {
    tell(what);
    return new AssertionError(what);
  }

  void lasts(long until) {
    this.quietAt = Math.max(this.quietAt, until);
  }

  void startProcess(String id) {
    startProcess(new SimulatedProcess(this, id, ++this.lives, null, false));
  }

  void startProcess(SimulatedProcess process) {
    this.processes.add(process);
    tell(process, "starts; lease", process.settings.leaseDuration(), "rate", process.rate);
    process.begin();
  }

  /** Returns the instant whose data a read shows that any server may answer. */
  protected final long asOf() {
    return this.lag > 0 && this.faulty && draw(3) > 0
        ? this.now - this.random.nextLong(this.lag)
        : this.now;
  }

  /** Returns a name that an operator may write into the record. */
  protected final String someId() {
    // A node of an older tool is never designated: it would believe at once that it leads.
    return switch (draw(8)) {
      case 0 -> "";
      case 1 -> "nobody";
      default -> pick(this.ids);
    };
  }

  /** Returns a lease that nobody should write by hand; never 0, which is a release. */
  protected final @Nullable Long someLease() {
    return switch (draw(this.mixed ? 2 : 3)) {
      case 0 -> null;
      case 1 -> -5L;
      default -> 1L + draw(5_000);
    };
  }

  protected final int draw(int bound) {
    return this.random.nextInt(bound);
  }

  protected final <T> T pick(List<T> from) {
    return from.get(draw(from.size()));
  }

  protected final void tell(@Nullable Object... what) {
    if (this.tracing) {
      this.story.append("%12s ".formatted(time(this.now)));
      for (Object part : what) {
        this.story.append(' ').append(part instanceof Supplier<?> supplied ? supplied.get() : part);
      }
      this.story.append(System.lineSeparator());
    }
  }

  static String time(long nanos) {
    return String.format(Locale.ROOT, "%.3f s", nanos / 1e9);
  }
}
