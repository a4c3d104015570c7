package io.election.lease;

import io.election.HistoryEntry;
import io.election.Instruction;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipEvent;
import io.election.lease.LeaseStore.Reading;
import io.election.lease.MemoryLeaseStore.Term;
import io.election.lease.SimulatedDatabase.Snapshot;
import io.election.lease.Standing.Leading;
import io.election.lease.Standing.SteppingDown;
import io.election.lease.Step.Await;
import io.election.lease.Step.Lead;
import io.election.lease.Step.Renew;
import io.election.lease.Step.Take;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * One schedule of an election whose nodes, clocks, network and operators fail, drawn from a seed and
 * judged at every instant of true time. No threads, no sleeping: time is a number.
 *
 * <p>In half of the schedules each request is sent, executed and answered at instants of its own, and
 * anything may happen between, in any order. In the others {@link Elector#step} runs as it is: while
 * it waits for its store, or is paused right after it read a clock, the rest of the world goes on
 * inside that call.
 */
final class Simulation {

  /** How the production code is driven. */
  enum Drive {
    /** Requests and answers apart, the decisions called one by one. */
    CALL_BY_CALL(EnumSet.of(Fault.ROW_LOCKED)),
    /** The elector's own loop body over a store that lets time pass. */
    ELECTOR(EnumSet.noneOf(Fault.class));

    private final List<Fault> faults;

    Drive(EnumSet<Fault> without) {
      this.faults = List.copyOf(EnumSet.complementOf(without));
    }

    /** What may happen: only the elector is told that a lease could not be renewed for now. */
    List<Fault> faults() {
      return this.faults;
    }
  }

  /** Who else works on the row. */
  enum Company {
    NONE,
    /** Nodes of an older tool, whose interval is no shorter than our leases. */
    OLDER_TOOL,
    /** Nodes of an older tool, whose interval is shorter than our leases. */
    HASTY_OLDER_TOOL
  }

  /** What a schedule showed. */
  static final class Tally {
    long schedules;
    long calls;
    long instants;
    long late;
    final Map<LeadershipAcquiredEvent.Reason, Long> leaderships =
        new EnumMap<>(LeadershipAcquiredEvent.Reason.class);
    final Map<Fault, Long> faults = new EnumMap<>(Fault.class);
    /** How often a node of an older tool began to lead. */
    long olderLeaderships;
    /** The longest that an election was without leader after the last fault, in leases. */
    double longestGap;
    /** The longest that it was without leader after a clean stop, in renew intervals. */
    double longestSuccession;

    void add(Tally other) {
      this.schedules += other.schedules;
      this.calls += other.calls;
      this.instants += other.instants;
      this.late += other.late;
      other.leaderships.forEach((reason, n) -> this.leaderships.merge(reason, n, Long::sum));
      other.faults.forEach((fault, n) -> this.faults.merge(fault, n, Long::sum));
      this.olderLeaderships += other.olderLeaderships;
      this.longestGap = Math.max(this.longestGap, other.longestGap);
      this.longestSuccession = Math.max(this.longestSuccession, other.longestSuccession);
    }
  }

  /** What goes wrong, or is done on purpose. */
  enum Fault {
    CRASH,
    RESTART,
    TWIN,
    /** Another process is restored from the checkpoint from which one was. */
    RESTORED_AGAIN,
    /** A process that follows is copied, with all that it knows. */
    COPIED,
    PAUSE,
    SUSPEND,
    CUT_OFF,
    DATABASE_STALLS,
    DATABASE_CLOCK_STEPS,
    FAILOVER,
    WALL_CLOCK_STEPS,
    DESIGNATED_BY_SQL,
    DESIGNATED_AND_BACK,
    REPLACED,
    DELETED,
    TABLES_EMPTIED,
    LEASE_EDITED,
    TERM_LOWERED,
    RESIGN,
    HAND_OVER,
    CAMPAIGN,
    SIGNAL,
    PAUSED_BY_OPERATOR,
    RESUMED_BY_OPERATOR,
    STOP,
    WORK,
    ROW_LOCKED
  }

  /** A promise that was broken. */
  static final class Violation extends AssertionError {
    private static final long serialVersionUID = 1L;

    Violation(String message) {
      super(message);
    }
  }

  /** The process that runs died. */
  private static final class Died extends Error {
    private static final long serialVersionUID = 1L;

    Died() {
      super("died", null, false, false);
    }
  }

  private record Event(long at, long order, Runnable action) implements Comparable<Event> {

    @Override
    public int compareTo(Event other) {
      int byTime = Long.compare(this.at, other.at);
      return byTime != 0 ? byTime : Long.compare(this.order, other.order);
    }
  }

  /** Who may believe to lead. */
  private interface Claimant {
    boolean leads();

    String claim();
  }

  /**
   * A time in which one process led.
   *
   * @param epoch how often the tables had been emptied when the term was granted: after that terms
   *     may begin anew
   */
  private record Tenure(Process process, long term, int epoch) {}

  private record Dated(long at, Snapshot snapshot) {}

  /** What a process asks of the server. */
  private record Wish(Process process, Supplier<String> what, boolean toRead) {

    @Override
    public String toString() {
      return this.process + " asks " + this.what.get();
    }
  }

  /** Something done on the server. */
  @FunctionalInterface
  private interface Statement {
    Object execute() throws LeaseStoreException;
  }

  /** A request, from before it is sent. */
  private static final class Request {
    boolean executed;
    boolean over;

    @Nullable
    Object outcome;

    boolean answerLost;
    long answerAt;
    long giveUpAt;
  }

  private static final long MILLI = 1_000_000;

  private static final long SECOND = 1_000 * MILLI;

  private static final Object LOCKED = "the row is locked";

  private static final Set<Fault> LASTING =
      Set.of(Fault.PAUSE, Fault.SUSPEND, Fault.CUT_OFF, Fault.WORK);

  private static final Set<Fault> EDITS = Set.of(
      Fault.DESIGNATED_BY_SQL,
      Fault.REPLACED,
      Fault.DELETED,
      Fault.TABLES_EMPTIED,
      Fault.TERM_LOWERED);

  /** What an older tool does not survive by itself. */
  private static final Set<Fault> NOT_BESIDE_AN_OLDER_TOOL = Set.of(
      Fault.DATABASE_STALLS,
      Fault.DATABASE_CLOCK_STEPS,
      Fault.FAILOVER,
      Fault.DESIGNATED_AND_BACK,
      Fault.REPLACED,
      Fault.DELETED,
      Fault.TABLES_EMPTIED,
      Fault.LEASE_EDITED,
      Fault.TERM_LOWERED);

  /** What brings a term back, of which copies cannot tell whose it was. */
  private static final Set<Fault> NOT_BESIDE_COPIES =
      Set.of(Fault.TABLES_EMPTIED, Fault.TERM_LOWERED);

  private static final List<String> IDS = List.of("a", "b", "c", "d");

  private static final List<String> OLDER_IDS = List.of("x", "y");

  /** For how long a row has to rest until a node of the older tool takes it. */
  private static final Duration OLDER_INTERVAL = Duration.ofSeconds(5);

  /** When clocks are put forward for the summer, in microseconds of the database's clock. */
  static final long SUMMER_TIME =
      Instant.parse("2026-03-29T01:00:00Z").getEpochSecond() * 1_000_000;

  private final SplittableRandom random;

  private final Rules rules;

  private final Set<Fault> without;

  private final Drive drive;

  private final Company company;

  private final boolean tracing;

  private final StringBuilder story = new StringBuilder();

  private final Tally tally = new Tally();

  private final SimulatedDatabase database = new SimulatedDatabase(this::databaseMicros);

  private final PriorityQueue<Event> events = new PriorityQueue<>();

  private final List<Process> processes = new ArrayList<>();

  private final List<OlderNode> olderNodes = new ArrayList<>();

  private final List<String> ids;

  private final Map<String, LeaseSettings> settings = new HashMap<>();

  private final Map<String, Double> rates = new HashMap<>();

  private final Deque<Dated> past = new ArrayDeque<>();

  private final long longestLease;

  private final boolean mixed;

  private final boolean suspends;

  /** Whether processes are copied while they run, which not all edits by hand leave room for. */
  private final boolean copies;

  private final long lag;

  private final double loss;

  private final double slow;

  private final double late;

  /** True time, in nanoseconds. */
  private long now;

  private long order;

  private boolean faulty = true;

  /** When the last fault so far will have run out. */
  private long quietAt;

  private long databaseBackAt;

  /** Renewals before this instant find the row locked, and do not wait. */
  private long rowFreeAt;

  private final long databaseOrigin;

  private final double databaseRate;

  private long databaseStep;

  /** No process starts before. */
  private long startsFrom;

  private int emptied;

  /** By term, how often the tables had been emptied when it was granted last. */
  private final Map<Long, Integer> epochs = new HashMap<>();

  private boolean termEdited;

  private @Nullable Tenure tenure;

  /** The highest term that the server granted since the tables were last emptied. */
  private long granted;

  private int lives;

  /** Whether somebody found another row than it tried to take or create since the last fault. */
  private boolean raceLost;

  private @Nullable Violation broken;

  Simulation(
      long seed, Rules rules, Set<Fault> without, Drive drive, Company company, boolean tracing) {
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
      List<Long> leases = this.company == Company.OLDER_TOOL
          ? List.of(3_000L, 4_000L, 5_000L, 5_000L)
          : List.of(6_000L, 10_000L, 15_000L, 25_000L);
      long common = this.company == Company.OLDER_TOOL ? 5_000L : 10_000L;
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

  /**
   * Runs the schedule.
   *
   * @throws Violation if a promise was broken
   */
  Tally run() {
    this.tally.schedules = 1;
    for (String id : this.ids) {
      if (draw(4) > 0) {
        startProcess(id);
      } else {
        after(draw(3) * SECOND, () -> startProcess(id));
      }
    }
    if (this.company != Company.NONE) {
      for (String id : OLDER_IDS) {
        this.olderNodes.add(new OlderNode(id));
      }
    }
    long end = this.longestLease * (4 + draw(12));
    disturbLater(draw(2) == 0 ? this.longestLease / 4 : this.longestLease);
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

  String story() {
    return this.story.toString();
  }

  /** Ends the faults and waits for a leader, who then has to stay. */
  private void recover() {
    this.olderNodes.forEach(OlderNode::end);
    tell("the last fault is over");
    for (String id : this.ids) {
      boolean runs = this.processes.stream()
          .anyMatch((process) -> process.alive && !process.stopping && process.id.equals(id));
      if (!runs && (id.equals("a") || draw(2) == 0)) {
        startProcess(id);
      }
    }
    for (Process process : this.processes) {
      if (process.isPaused() && (process.id.equals("a") || draw(2) == 0)) {
        process.suffer(Fault.RESUMED_BY_OPERATOR, 0);
      }
    }
    long healed = this.now;
    this.raceLost = false;
    long soon = standingAgain() + gap();
    long bound = soon;
    long leaderless = healed;
    for (Event next = this.events.peek();
        next != null && next.at() <= bound;
        next = this.events.peek()) {
      runUntil(next.at());
      if (leader() == null) {
        leaderless = this.now;
      }
      // A node that lost one polls again after up to an interval and a sixteenth.
      bound = this.raceLost ? soon + longestInterval() * 17 / 16 * 101 / 100 : soon;
    }
    runUntil(bound);
    Process leader = leader();
    if (leader == null) {
      throw violation("No leader %s after the last fault; the row: %s"
          .formatted(Story.time(bound - healed), Story.row(this.database.row(Sent.SERVICE))));
    }
    this.tally.longestGap = (double) (leaderless - healed) / this.longestLease;
    tell("%s leads, who was elected %s after the last fault at the latest"
        .formatted(leader, Story.time(leaderless - healed)));
    runUntil(bound + 2 * this.longestLease);
    if (leader() != leader) {
      throw violation("%s was replaced by %s without a fault".formatted(leader, leader()));
    }
  }

  /**
   * Who was told to step down stands aside for a lease. If nobody else can lead, or one with its id
   * is about to, all begins with its return.
   */
  private long standingAgain() {
    long first = Long.MAX_VALUE;
    long last = this.now;
    for (Process process : this.processes) {
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

  /** How long nobody may lead once all is well: a lease, a look and two calls, on slow clocks. */
  private long gap() {
    return (this.longestLease + longestInterval() + this.longestLease / 5) * 101 / 100;
  }

  private long longestInterval() {
    return this.settings.values().stream()
        .mapToLong((settings) -> settings.renewInterval().toNanos())
        .max()
        .orElseThrow();
  }

  /** Stops the leader cleanly, and expects another as soon as followers look. */
  private void succeed() {
    Process leader = leader();
    List<Process> successors = this.processes.stream()
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
    // A follower looks at least every one and a half intervals.
    long bound = stopped + interval * 8 / 5 + SECOND;
    for (Event next = this.events.peek();
        leader() == null && next != null && next.at() <= bound;
        next = this.events.peek()) {
      runUntil(next.at());
    }
    if (leader() == null) {
      throw violation("Nobody leads %s after a clean stop; the row: %s"
          .formatted(Story.time(bound - stopped), Story.row(this.database.row(Sent.SERVICE))));
    }
    this.tally.longestSuccession = (double) (this.now - stopped) / interval;
    tell("%s succeeds %s after a clean stop".formatted(leader(), Story.time(this.now - stopped)));
  }

  // ---- time

  private long databaseMicros() {
    return this.databaseOrigin + this.databaseStep + (long) (this.now * this.databaseRate) / 1_000;
  }

  private void at(long time, Runnable action) {
    this.events.add(new Event(Math.max(time, this.now), this.order++, action));
  }

  private void after(long delay, Runnable action) {
    at(this.now + delay, action);
  }

  private void runUntil(long time) {
    for (Event next = this.events.peek();
        next != null && next.at() <= time;
        next = this.events.peek()) {
      this.events.remove();
      advance(next.at());
      next.action().run();
    }
    advance(time);
  }

  /** All that has changed at an instant is judged before the next begins. */
  private void advance(long time) {
    judge();
    this.now = Math.max(this.now, time);
  }

  // ---- judges

  private void judge() {
    this.tally.instants++;
    if (this.broken != null) {
      throw this.broken;
    }
    Claimant leader = null;
    for (Process process : this.processes) {
      leader = alone(leader, process);
      if (leader == process && process.isPaused()) {
        throw violation("%s leads although it was paused".formatted(process.claim()));
      }
    }
    for (OlderNode node : this.olderNodes) {
      leader = alone(leader, node);
    }
    if (leader instanceof Process process
        && process.service.candidate().candidacy().standing() instanceof Leading leading) {
      judgeTenure(process, leading.term());
    }
  }

  private @Nullable Claimant alone(@Nullable Claimant leader, Claimant other) {
    if (!other.leads()) {
      return leader;
    }
    if (leader != null) {
      throw violation("Two leaders: %s and %s".formatted(leader.claim(), other.claim()));
    }
    return other;
  }

  private void judgeTenure(Process process, long term) {
    Tenure last = this.tenure;
    if (last != null && last.process() == process && last.term() == term) {
      return;
    }
    int epoch = this.epochs.getOrDefault(term, this.emptied);
    if (last != null && last.epoch() == epoch && term <= last.term()) {
      throw violation("%s leads in term %d after %s led in term %d"
          .formatted(process, term, last.process(), last.term()));
    }
    this.tenure = new Tenure(process, term, epoch);
  }

  /** All work of such a leader would be refused by what is fenced by the history. */
  private void judgeRenewal(String nodeId, long term) {
    Term held = this.database.history(Sent.SERVICE).get(term);
    if (held != null && held.ended() && !this.termEdited) {
      throw violation(
          "Term %d of %s was renewed, which the history has ended".formatted(term, nodeId));
    }
  }

  private @Nullable Process leader() {
    return this.processes.stream().filter(Process::leads).findFirst().orElse(null);
  }

  private void grant(String nodeId, long term) {
    if (term <= this.granted) {
      throw violation(
          "Term %d was granted to %s after term %d".formatted(term, nodeId, this.granted));
    }
    this.granted = term;
    this.epochs.put(term, this.emptied);
  }

  private Violation violation(String what) {
    tell(what);
    return new Violation(what);
  }

  // ---- the server

  private Object serve(Statement statement, Wish wish) throws LeaseStoreException {
    this.tally.calls++;
    Object outcome = statement.execute();
    this.raceLost |= outcome instanceof OptionalLong term && term.isEmpty();
    remember();
    if (this.tracing && !wish.toRead()) {
      tell("    the server does it: %s -> %s".formatted(wish, Story.outcome(outcome)));
    }
    return outcome;
  }

  private void remember() {
    this.past.addLast(new Dated(this.now, this.database.snapshot(Sent.SERVICE)));
    long kept = Math.max(2 * this.lag, 2 * this.longestLease);
    while (this.past.size() > 1 && this.past.getFirst().at() < this.now - kept) {
      this.past.removeFirst();
    }
  }

  /** What a read shows, perhaps on a replica that lags. */
  private Optional<Reading> look(Process process) throws LeaseStoreException {
    if (this.lag > 0 && this.faulty && draw(3) > 0) {
      LeaseRow row = this.database.row(Sent.SERVICE, process.token);
      long then = this.now - this.random.nextLong(this.lag);
      for (Dated dated : this.past) {
        if (dated.at() > then) {
          break;
        }
        row = dated.snapshot().row(process.token);
      }
      return Optional.ofNullable(row).map((found) -> new Reading(found, this.database.age(found)));
    }
    return Optional.ofNullable(process.server.read(Set.of(Sent.SERVICE)).get(Sent.SERVICE));
  }

  /** Sends a request whose fate is drawn here. */
  private Request send(Process process, Statement statement, Wish wish) {
    Request request = new Request();
    request.giveUpAt = process.trueTime(
        process.monotonic() + process.settings.operationTimeout().toNanos());
    long there = this.now + latency(process);
    boolean sent = true;
    if (this.faulty) {
      double fate = this.random.nextDouble();
      if (process.requestsCut || fate < this.loss / 2) {
        sent = false;
      } else if (process.answersCut || fate < this.loss) {
        request.answerLost = true;
      }
      if (this.random.nextDouble() < this.late && there < request.giveUpAt) {
        there = request.giveUpAt + this.random.nextLong(3 * this.longestLease);
        lasts(there);
        this.tally.late++;
      }
      if (request.answerLost && draw(2) == 0) {
        // A connection that breaks is noticed sooner than one that is silent.
        request.giveUpAt = this.now + this.random.nextLong(request.giveUpAt - this.now);
      }
    }
    request.answerAt = there + latency(process);
    if (sent) {
      at(there, () -> arrive(request, statement, wish));
    }
    return request;
  }

  private void arrive(Request request, Statement statement, Wish wish) {
    if (this.now < this.databaseBackAt) {
      long resumed = this.databaseBackAt + draw(3) * MILLI;
      lasts(resumed);
      at(resumed, () -> arrive(request, statement, wish));
      return;
    }
    try {
      request.outcome = serve(statement, wish);
      request.executed = true;
    } catch (LeaseStoreException ex) {
      throw new IllegalStateException(ex);
    }
  }

  private void lasts(long until) {
    this.quietAt = Math.max(this.quietAt, until);
  }

  private long latency(Process process) {
    if (this.faulty && this.random.nextDouble() < this.slow) {
      return this.random.nextLong(process.settings.operationTimeout().toNanos() * 6 / 10);
    }
    return draw(4) == 0 ? 0 : this.random.nextLong(3 * MILLI);
  }

  // ---- faults

  private void disturbLater(long mean) {
    long pause = (long) (-Math.log(1 - this.random.nextDouble()) * mean);
    after(pause, () -> {
      if (this.faulty) {
        disturb();
        disturbLater(mean);
      }
    });
  }

  private void disturb() {
    List<Process> alive =
        this.processes.stream().filter((process) -> process.alive).toList();
    Fault fault = pick(this.drive.faults());
    if (this.without.contains(fault)
        || (this.company != Company.NONE && NOT_BESIDE_AN_OLDER_TOOL.contains(fault))
        || (this.copies ? NOT_BESIDE_COPIES.contains(fault) : fault == Fault.COPIED)
        || (fault == Fault.TABLES_EMPTIED && !mayBeEmptied(alive))) {
      return;
    }
    String id = pick(this.ids);
    Process process = alive.isEmpty() ? null : pick(alive);
    // Faults are the worse for what they hit: a leader, who waits to be one, a request under way.
    Process prominent = draw(2) == 0 ? leader() : warming();
    if (prominent != null && draw(3) > 0) {
      process = prominent;
    }
    long more = this.random.nextLong(3 * this.longestLease);
    if (process != null && LASTING.contains(fault)) {
      lasts(this.now + more);
    }
    LeaseRow row = this.database.row(Sent.SERVICE);
    boolean done = switch (fault) {
      case RESTART, TWIN -> start(id, fault == Fault.TWIN, alive);
      case RESTORED_AGAIN, COPIED -> process != null && copy(process, fault == Fault.COPIED, alive);
      case DATABASE_STALLS -> stall(more);
      case ROW_LOCKED -> {
        this.rowFreeAt = this.now + more;
        lasts(this.rowFreeAt);
        tell("somebody locks the row until " + Story.time(this.rowFreeAt));
        yield true;
      }
      case DATABASE_CLOCK_STEPS -> {
        this.databaseStep +=
            (draw(2) == 0 ? 1 : -1) * (draw(20_000) + draw(2) * 3_600_000L) * 1_000;
        yield true;
      }
      case FAILOVER -> row != null && failOver(row);
      case DESIGNATED_BY_SQL ->
        isHeldByAnOlderTool(row)
            ? false
            : edit(fault, row, (old) -> copy(old, someId(), old.term(), old.leaseMillis()));
      case DESIGNATED_AND_BACK ->
        edit(fault, row, (old) -> {
          after(
              this.random.nextLong(SECOND),
              () -> edit(
                  fault,
                  this.database.row(Sent.SERVICE),
                  (later) -> copy(later, old.leaderId(), later.term(), later.leaseMillis())));
          return copy(old, someId(), old.term(), old.leaseMillis());
        });
      case LEASE_EDITED -> {
        // What was handed back has a lease again, and a late renewal finds it.
        this.termEdited |= row != null && row.isReleased();
        yield edit(fault, row, (old) -> copy(old, old.leaderId(), old.term(), someLease()));
      }
      case TERM_LOWERED -> {
        this.termEdited = true;
        yield edit(fault, row, draw(2) == 0 ? this::undone : this::lowered);
      }
      case REPLACED ->
        change(
            draw(2) == 0
                ? () -> this.database.replace(Sent.SERVICE, someId())
                : this::replaceWordForWord);
      case DELETED -> change(() -> this.database.deleteRow(Sent.SERVICE));
      case TABLES_EMPTIED ->
        change(() -> {
          this.database.emptyTables();
          this.granted = 0;
          this.emptied++;
          if (this.mixed) {
            this.startsFrom = this.now + 2 * this.longestLease;
            lasts(this.startsFrom);
          }
        });
      default ->
        process != null
            && (draw(2) == 0 ? process.suffer(fault, more) : process.ambush(fault, more));
    };
    Process unaware = leader();
    if (done && EDITS.contains(fault) && unaware != null && draw(2) == 0) {
      lasts(this.now + more);
      unaware.suffer(draw(2) == 0 ? Fault.PAUSE : Fault.CUT_OFF, more);
      if (fault == Fault.DELETED && draw(2) == 0 && this.now >= this.startsFrom) {
        redeploy(unaware);
      }
    }
    if (done) {
      this.tally.faults.merge(fault, 1L, Long::sum);
      String edit = Story.edit(fault);
      if (edit != null) {
        tell("%s: %s".formatted(edit, Story.row(this.database.row(Sent.SERVICE))));
      }
    }
  }

  /**
   * Once both tables are empty, only who has seen the row knows what a leader of a longer lease was
   * promised.
   */
  private boolean mayBeEmptied(List<Process> alive) {
    if (!this.mixed) {
      return true;
    }
    LeaseRow row = this.database.row(Sent.SERVICE);
    Long lease = row != null ? row.leaseMillis() : null;
    return this.now > 3 * SECOND
        && this.lag == 0
        && this.late == 0
        && lease != null
        && lease > 0
        && alive.stream()
            .allMatch((process) ->
                process.service.candidate().candidacy().memory().promisedMillis() >= lease);
  }

  /** What nobody should write by hand, but for a release, which means what it says. */
  private @Nullable Long someLease() {
    return switch (draw(this.mixed ? 2 : 3)) {
      case 0 -> null;
      case 1 -> -5L;
      default -> 1L + draw(5_000);
    };
  }

  private @Nullable Process warming() {
    return this.processes.stream()
        .filter((process) -> process.alive
            && process.service.candidate().candidacy().standing() instanceof Standing.Warming)
        .findFirst()
        .orElse(null);
  }

  private boolean start(String id, boolean twin, List<Process> alive) {
    long running = alive.stream().filter((process) -> process.id.equals(id)).count();
    if (running > (twin ? 1 : 0) || this.now < this.startsFrom) {
      return false;
    }
    startProcess(id);
    return true;
  }

  /** Starts another process of the same name, from what there was of one before its start, or is now. */
  private boolean copy(Process original, boolean running, List<Process> alive) {
    long twins =
        alive.stream().filter((process) -> process.id.equals(original.id)).count();
    if (twins > 1
        || this.now < this.startsFrom
        || running && (original.isStill() || original.stopping || original.holds())) {
      return false;
    }
    startProcess(new Process(original, ++this.lives, running));
    return true;
  }

  /** To a server that has missed renewals, and nothing else: more is not promised to be survived. */
  private boolean failOver(LeaseRow row) {
    List<Snapshot> behind = this.past.stream()
        .map(Dated::snapshot)
        .filter((old) -> old.row() != null
            && old.row().leaderId().equals(row.leaderId())
            && old.row().term() == row.term()
            && Objects.equals(old.row().leaseMillis(), row.leaseMillis()))
        .toList();
    return !behind.isEmpty()
        && change(() ->
            this.database.failOver(Sent.SERVICE, draw(2) == 0 ? behind.get(0) : pick(behind)));
  }

  /** All but one begin anew, so that they have seen nothing. */
  private void redeploy(Process spared) {
    for (String id : this.ids) {
      this.processes.stream()
          .filter((process) -> process.alive && process != spared && process.id.equals(id))
          .toList()
          .forEach(Process::die);
      if (!id.equals(spared.id)) {
        startProcess(id);
      }
    }
  }

  private boolean stall(long duration) {
    this.databaseBackAt = this.now + duration;
    lasts(this.databaseBackAt);
    tell("the database hangs until " + Story.time(this.databaseBackAt));
    return true;
  }

  private boolean edit(Fault fault, @Nullable LeaseRow row, UnaryOperator<LeaseRow> edit) {
    if (row == null || !this.faulty) {
      return false;
    }
    return change(() -> this.database.edit(Sent.SERVICE, edit));
  }

  private boolean change(Runnable change) {
    change.run();
    remember();
    return true;
  }

  private String someId() {
    // Of nodes of an older tool none is designated: it would believe to lead at once.
    return switch (draw(8)) {
      case 0 -> "";
      case 1 -> "nobody";
      default -> pick(this.ids);
    };
  }

  /**
   * The same statement each time, with the time in it, unless both tables have been emptied since: then
   * nothing tells the row from the one before, and operators are told not to write it again.
   */
  private void replaceWordForWord() {
    Long lease = this.mixed || draw(2) == 0 ? null : Long.valueOf(5_000);
    this.database.replace(Sent.SERVICE, someId(), lease, this.emptied);
  }

  private LeaseRow lowered(LeaseRow row) {
    return copy(
        row,
        draw(2) == 0 ? someId() : row.leaderId(),
        Math.max(0, row.term() - 1 - draw(3)),
        row.leaseMillis());
  }

  /** As it was before the last take-over. */
  private LeaseRow undone(LeaseRow row) {
    Map.Entry<Long, Term> last = this.database.history(Sent.SERVICE).lowerEntry(row.term());
    return last == null
        ? lowered(row)
        : copy(row, last.getValue().leaderId(), last.getKey(), row.leaseMillis());
  }

  /** A node of an older tool takes a row that was handed back, and leaves it so. */
  private boolean isHeldByAnOlderTool(@Nullable LeaseRow row) {
    return this.company != Company.NONE && row != null && row.isReleased();
  }

  private static LeaseRow copy(
      LeaseRow row, String leaderId, long term, @Nullable Long leaseMillis) {
    return new LeaseRow(
        leaderId,
        term,
        row.version(),
        leaseMillis,
        row.lastTermLeaseMillis(),
        row.lastActiveTime(),
        row.source());
  }

  private void startProcess(String id) {
    startProcess(new Process(id, ++this.lives));
  }

  private void startProcess(Process process) {
    this.processes.add(process);
    tell("%s starts; lease %s, its clock runs at %+.2f %%"
        .formatted(process, process.settings.leaseDuration(), (process.rate - 1) * 100));
    process.begin();
  }

  private int draw(int bound) {
    return this.random.nextInt(bound);
  }

  private <T> T pick(List<T> from) {
    return from.get(draw(from.size()));
  }

  private void tell(String what) {
    if (this.tracing) {
      this.story.append("%12s  %s%n".formatted(Story.time(this.now), what));
    }
  }

  /** A process of a node, with its clocks. */
  private final class Process implements Claimant {

    final String id;

    final int life;

    final LeaseSettings settings;

    final double rate;

    final long origin;

    final long wallOrigin;

    final Elector elector;

    final LeaseElectionService service;

    /** What it has in common with all that are restored from what it was before its start. */
    final String checkpoint;

    /** What the server knows it by. */
    final String token;

    /** What it knows as the copy of a process; {@code null} if it starts by itself. */
    private final @Nullable Candidacy known;

    /** The server, as it serves this process. */
    final LeaseStore server;

    boolean alive = true;

    boolean stopping;

    boolean requestsCut;

    boolean answersCut;

    /** Whether a request is under way, or the elector is in its step. */
    private boolean busy;

    /** Whether the elector's own loop body runs at this instant, rather than waiting for its store. */
    private boolean stepping;

    /** Whether it was stopped in the middle of a step, perhaps with a lock in its hands. */
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

    Process(String id, int life) {
      this(id, life, null, false);
    }

    /**
     * A copy.
     *
     * @param running whether it has all that the original knows, and not just what there was before the
     *     original started
     */
    Process(Process original, int life, boolean running) {
      this(original.id, life, original, running);
    }

    private Process(String id, int life, @Nullable Process original, boolean running) {
      this.id = id;
      this.life = life;
      this.checkpoint = original != null ? original.checkpoint : toString();
      this.settings = Simulation.this.settings.get(id);
      if (original != null && running) {
        this.token = original.token;
        this.known = original.service.candidate().candidacy();
        this.rate = original.rate;
        this.origin = original.origin;
        this.suspended = original.suspended;
        this.wallOrigin = original.wallOrigin;
        this.wallStep = original.wallStep;
      } else {
        this.token = Simulation.this.rules.token(this.checkpoint, toString());
        this.known = null;
        // Twins run on machines of their own.
        this.rate =
            draw(3) == 0 ? 2 - Simulation.this.rates.get(id) : Simulation.this.rates.get(id);
        this.origin = draw(2) == 0 ? Long.MAX_VALUE - 30 * SECOND : -5 * SECOND;
        this.wallOrigin = draw(1_000_000) * 1_000_000L;
      }
      this.server = Simulation.this.rules.store(Simulation.this.database, this.token);
      this.elector = new Elector(
          new RemoteStore(this),
          this.settings,
          () -> id,
          (serviceId) -> isWorking(),
          this::deliver,
          this::tick,
          () -> Instant.ofEpochMilli(wall()));
      this.service = new LeaseElectionService(Sent.SERVICE, this.elector) {};
    }

    void begin() {
      this.elector.join(List.of(this.service));
      Candidacy known = this.known;
      if (known != null) {
        this.service.candidate().change((fresh) -> known);
      }
      wake(0);
    }

    /** Whether it leads, or its lease covers work, or it has to hand a lease back. */
    boolean holds() {
      Standing standing = this.service.candidate().candidacy().standing();
      return standing instanceof Leading || standing instanceof SteppingDown;
    }

    // -- clocks

    private long active() {
      return (this.suspendedAt >= 0 ? this.suspendedAt : Simulation.this.now) - this.suspended;
    }

    long monotonic() {
      return this.origin + (long) (active() * this.rate);
    }

    long wall() {
      return this.wallOrigin + this.wallStep + (long) (Simulation.this.now * this.rate) / MILLI;
    }

    /** The monotonic clock as the production code reads it: the process may be paused thereafter. */
    private long tick() {
      long reading = monotonic();
      if (this.stepping && Simulation.this.faulty && draw(1_000) == 0) {
        long pause = Simulation.this.random.nextLong(2 * Simulation.this.longestLease);
        tell("%s is paused for %s in the middle of its step".formatted(this, Story.time(pause)));
        lasts(Simulation.this.now + pause);
        this.stepping = false;
        this.frozen = true;
        runUntil(Simulation.this.now + pause);
        this.frozen = false;
        awaken();
        this.stepping = true;
      }
      return reading;
    }

    long trueTime(long monotonic) {
      long ahead = monotonic - monotonic();
      return Simulation.this.now + (ahead <= 0 ? 0 : (long) Math.ceil(ahead / this.rate) + 1);
    }

    // -- what it claims

    @Override
    public boolean leads() {
      if (!this.alive) {
        return false;
      }
      boolean stepping = this.stepping;
      this.stepping = false;
      boolean leads = Simulation.this.rules.leads(this.service);
      this.stepping = stepping;
      return leads;
    }

    /** Whether it may take a row, now or after a while. */
    boolean mayStand() {
      return this.alive && !this.stopping && !isPaused() && this.settings.eligible();
    }

    /** Whether an operator told it to stand aside until further notice. */
    boolean isPaused() {
      return this.alive && this.service.candidate().candidacy().memory().paused() != null;
    }

    /** Whether it may take a row that is handed back. */
    boolean isCandidate() {
      return mayStand() && standsAgain() <= Simulation.this.now;
    }

    /** When it does not stand aside any more. */
    long standsAgain() {
      Long until = this.service.candidate().candidacy().memory().asideUntil();
      return until == null ? Simulation.this.now : trueTime(until);
    }

    private void grant(long term) {
      Simulation.this.grant(this.id, term);
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
      tell("%s %s".formatted(this, Story.event(event)));
      boolean acquired = event instanceof LeadershipAcquiredEvent;
      LeadershipEvent last = this.lastEvent;
      boolean alternates = last == null
          ? acquired
          : acquired
              ? !(last instanceof LeadershipAcquiredEvent) && event.term() > last.term()
              : last instanceof LeadershipAcquiredEvent && event.term() == last.term();
      if (!alternates) {
        // The elector survives what its listeners throw.
        Simulation.this.broken = violation("%s was told '%s' after '%s'"
            .formatted(this, Story.event(event), last == null ? "nothing" : Story.event(last)));
      }
      this.lastEvent = event;
      if (event instanceof LeadershipAcquiredEvent won) {
        Simulation.this.tally.leaderships.merge(won.reason(), 1L, Long::sum);
      }
    }

    // -- its life

    private boolean isWorking() {
      return Simulation.this.now < this.workUntil;
    }

    private boolean isStill() {
      return this.frozen || this.suspendedAt >= 0 || Simulation.this.now < this.pausedUntil;
    }

    /** Does something as soon as the process runs, if it still lives. */
    private void later(long time, Runnable action) {
      at(time, () -> {
        if (!this.alive) {
          return;
        }
        if (isStill()) {
          later(Math.max(this.pausedUntil, Simulation.this.now + 20 * MILLI), action);
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
      later(Simulation.this.now + delay, () -> {
        if (wake == this.wakes && !this.busy) {
          work();
        }
      });
    }

    /** Events reach their listener, and the deadline is watched. */
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
      if (Simulation.this.drive == Drive.ELECTOR) {
        this.busy = true;
        this.stepping = true;
        try {
          long pause = this.elector.step();
          this.busy = false;
          this.stepping = false;
          wake(trueTime(monotonic() + pause) - Simulation.this.now + lateness());
        } catch (Died dead) {
          return;
        }
      } else {
        Candidacy candidacy = this.service.candidate().update();
        Step step = Simulation.this.rules.next(candidacy, monotonic(), isWorking());
        if (step instanceof Await await) {
          long pause = Math.min(
              await.until() - monotonic(), this.settings.renewInterval().toNanos());
          wake(trueTime(monotonic() + Math.max(pause, 0)) - Simulation.this.now + lateness());
        } else {
          this.busy = true;
          later(Simulation.this.now + lateness(), () -> ask(step));
        }
      }
      if (this.stopping
          && !(this.service.candidate().candidacy().standing() instanceof SteppingDown)) {
        die();
      }
    }

    private long lateness() {
      return draw(3) == 0 ? 0 : Simulation.this.random.nextLong(2 * MILLI);
    }

    private void ask(Step step) {
      Sent call = Sent.by(this.service.candidate().candidacy(), step, monotonic(), wall());
      Request request = send(
          this, () -> executed(call), new Wish(this, step::toString, step instanceof Step.Read));
      spring(request);
      later(request.answerAt, () -> {
        if (request.executed && !request.answerLost && request.answerAt <= request.giveUpAt) {
          request.over = true;
          Timing timing = call.answered(monotonic(), wall());
          this.service
              .candidate()
              .change((current) ->
                  Simulation.this.rules.answered(current, step, request.outcome, timing));
          hear(request.outcome);
          goOn();
        }
      });
      later(request.giveUpAt, () -> {
        if (!request.over) {
          tell("%s gets no answer to what it asked: %s".formatted(this, step));
          long now = monotonic();
          this.service
              .candidate()
              .change((current) -> Simulation.this.rules.failed(current, step, now));
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
        return look(this);
      }
      Object outcome = call.execute(this.server);
      if (call.step() instanceof Step.Create && ((Optional<?>) outcome).isEmpty()) {
        Simulation.this.raceLost = true;
      }
      if (call.step() instanceof Take && ((OptionalLong) outcome).isPresent()) {
        grant(((OptionalLong) outcome).getAsLong());
      } else if (call.step() instanceof Lead lead && (boolean) outcome) {
        grant(lead.row().term());
      } else if (call.step() instanceof Renew renew && (boolean) outcome) {
        judgeRenewal(this.id, renew.term());
      }
      return outcome;
    }

    /** Of what is read only the news are told. */
    private void hear(Object outcome) {
      if (!Simulation.this.tracing) {
        return;
      }
      String heard = Story.outcome(outcome);
      boolean read =
          outcome instanceof Optional<?> found && !(found.orElse(null) instanceof LeaseRow);
      if (!read) {
        tell("%s has the answer: %s".formatted(this, heard));
      } else if (!heard.equals(this.seen)) {
        this.seen = heard;
        tell("%s sees %s".formatted(this, heard));
      }
    }

    private Object await(Statement statement, Step step) throws LeaseStoreException {
      return await(statement, step::toString, step instanceof Step.Read);
    }

    /** For the elector's own loop: comes back when the answer does. */
    private Object await(Statement statement, Supplier<String> what, boolean toRead)
        throws LeaseStoreException {
      this.stepping = false;
      Request request = send(this, statement, new Wish(this, what, toRead));
      spring(request);
      if (request.answerAt <= request.giveUpAt) {
        runUntil(request.answerAt);
        awaken();
      }
      this.stepping = true;
      Object outcome = request.outcome;
      if (outcome != null && !request.answerLost && request.answerAt <= request.giveUpAt) {
        hear(outcome);
        return outcome;
      }
      this.stepping = false;
      runUntil(Math.max(Simulation.this.now, request.giveUpAt));
      awaken();
      this.stepping = true;
      tell("%s gets no answer to what it asked: %s".formatted(this, what.get()));
      throw new LeaseStoreException("no answer");
    }

    /** Sleeps on if it was paused meanwhile. */
    private void awaken() {
      while (this.alive && isStill()) {
        runUntil(Math.max(this.pausedUntil, Simulation.this.now + 20 * MILLI));
      }
      if (!this.alive) {
        throw new Died();
      }
    }

    /** Lets it happen while the next request is under way. */
    boolean ambush(Fault fault, long duration) {
      this.ambush = () -> {
        if (Simulation.this.faulty) {
          suffer(fault, duration);
          lasts(Simulation.this.now + duration);
        }
      };
      return true;
    }

    private void spring(Request request) {
      Runnable ambush = this.ambush;
      if (ambush != null) {
        this.ambush = null;
        long end = Math.min(request.answerAt, request.giveUpAt);
        long now = Simulation.this.now;
        later(now + (end > now ? Simulation.this.random.nextLong(end - now) : 0), ambush);
      }
    }

    boolean suffer(Fault fault, long duration) {
      if (isStill() && fault != Fault.CRASH && fault != Fault.WALL_CLOCK_STEPS
          || fault == Fault.RESUMED_BY_OPERATOR && !isPaused()) {
        return false;
      }
      tell("%s %s".formatted(this, Story.fault(fault, duration)));
      switch (fault) {
        case CRASH -> die();
        case PAUSE -> this.pausedUntil = Simulation.this.now + duration;
        case SUSPEND -> {
          if (!Simulation.this.suspends) {
            return false;
          }
          this.suspendedAt = Simulation.this.now;
          at(Simulation.this.now + duration, this::resume);
        }
        case WALL_CLOCK_STEPS -> {
          if (Simulation.this.suspends) {
            return false;
          }
          this.wallStep += (draw(2) == 0 ? 1 : -1) * (draw(20_000) + draw(2) * 3_600_000L);
        }
        case CUT_OFF -> {
          int direction = draw(3);
          this.requestsCut = direction != 1;
          this.answersCut = direction != 0;
          after(duration, () -> {
            this.requestsCut = false;
            this.answersCut = false;
          });
        }
        case RESIGN -> command((current) -> Simulation.this.rules.resigned(current, monotonic()));
        case PAUSED_BY_OPERATOR -> {
          command((current) -> Simulation.this.rules.paused(current, monotonic()));
          // A schedule whose nodes all stand aside shows little.
          later(Simulation.this.now + duration, () -> {
            // A node that comes back later than the last fault is one: it may have the name of
            // another.
            if (Simulation.this.faulty) {
              suffer(Fault.RESUMED_BY_OPERATOR, 0);
            }
          });
        }
        case RESUMED_BY_OPERATOR -> command((current) -> current.resume(monotonic()));
        case CAMPAIGN -> command((current) -> current.campaign(monotonic()));
        case SIGNAL -> command((current) -> current.look(monotonic()));
        case HAND_OVER ->
          handOver(
              Simulation.this.company != Company.NONE && draw(2) == 0
                  ? pick(OLDER_IDS)
                  : pick(Simulation.this.ids));
        case STOP -> {
          this.stopping = true;
          if (Simulation.this.rules == Rules.PRODUCTION) {
            this.elector.leave();
          } else {
            command((current) -> Simulation.this.rules.stopped(current, monotonic()));
          }
        }
        case WORK -> this.workUntil = Simulation.this.now + duration;
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
        this.suspended += Simulation.this.now - this.suspendedAt;
        this.suspendedAt = -1;
        tell("%s wakes".formatted(this));
      }
    }

    private void die() {
      tell("%s ends".formatted(this));
      this.alive = false;
    }

    @Override
    public String toString() {
      return "%s (life %d)".formatted(this.id, this.life);
    }
  }

  /** A node of an older tool, which comes and goes but neither pauses nor loses its database. */
  private final class OlderNode implements Claimant {

    private final String id;

    private boolean runs;

    private int life;

    private boolean believes;

    OlderNode(String id) {
      this.id = id;
      if (draw(3) > 0) {
        start();
      }
      comeOrGo();
    }

    private void comeOrGo() {
      after(Simulation.this.random.nextLong(6 * Simulation.this.longestLease), () -> {
        if (Simulation.this.faulty) {
          if (this.runs) {
            end();
          } else {
            start();
          }
          comeOrGo();
        }
      });
    }

    private void start() {
      tell("%s, of an older tool, starts".formatted(this.id));
      this.runs = true;
      ask(++this.life);
    }

    void end() {
      if (!this.runs) {
        return;
      }
      tell("%s, of an older tool, ends".formatted(this.id));
      this.runs = false;
      this.believes = false;
    }

    private void ask(int life) {
      after(latency(), () -> {
        LeaseRow before = Simulation.this.database.row(Sent.SERVICE);
        boolean changed = Simulation.this.database.contend(Sent.SERVICE, this.id, OLDER_INTERVAL);
        remember();
        if (changed && (before == null || !before.leaderId().equals(this.id))) {
          tell("    the server does it: %s, of an older tool, has the row: %s"
              .formatted(this.id, Story.row(Simulation.this.database.row(Sent.SERVICE))));
        }
        after(latency(), () -> answered(life, changed));
      });
    }

    private void answered(int life, boolean changed) {
      if (!this.runs || life != this.life) {
        return;
      }
      if (changed != this.believes) {
        this.believes = changed;
        tell("%s, of an older tool, %s"
            .formatted(
                this.id, changed ? "believes that it leads" : "no longer believes it leads"));
        if (changed) {
          Simulation.this.tally.olderLeaderships++;
        }
      }
      after(SECOND, () -> {
        if (this.runs && life == this.life) {
          ask(life);
        }
      });
    }

    private long latency() {
      return Simulation.this.random.nextLong(draw(4) == 0 ? 300 * MILLI : 3 * MILLI);
    }

    @Override
    public boolean leads() {
      return this.believes;
    }

    @Override
    public String claim() {
      return this.id + " of an older tool";
    }
  }

  /** A node's way to the server, on which time passes. */
  private final class RemoteStore implements LeaseStore {

    private final Process process;

    RemoteStore(Process process) {
      this.process = process;
    }

    @Override
    public String name() {
      return "simulation";
    }

    @Override
    public Map<String, Reading> read(Set<String> serviceIds) throws LeaseStoreException {
      Optional<?> found =
          (Optional<?>) this.process.await(() -> look(this.process), new Step.Read());
      return found.isPresent() ? Map.of(Sent.SERVICE, (Reading) found.get()) : Map.of();
    }

    @Override
    @SuppressWarnings("unchecked")
    public Set<String> renew(String nodeId, Map<String, Long> terms) throws LeaseStoreException {
      Object outcome = this.process.await(
          () -> {
            if (Simulation.this.now < Simulation.this.rowFreeAt) {
              return LOCKED;
            }
            Set<String> renewed = this.process.server.renew(nodeId, terms);
            renewed.forEach((serviceId) -> judgeRenewal(nodeId, terms.get(serviceId)));
            return renewed;
          },
          new Renew(terms.get(Sent.SERVICE)));
      if (outcome == LOCKED) {
        throw new PartialRenewalException("locked", Set.of(), terms.keySet());
      }
      return (Set<String>) outcome;
    }

    @Override
    @SuppressWarnings("unchecked")
    public Optional<LeaseRow> create(
        String serviceId, String nodeId, long leaseMillis, long aboveTerm)
        throws LeaseStoreException {
      return (Optional<LeaseRow>) this.process.await(
          () -> {
            Optional<LeaseRow> created =
                this.process.server.create(serviceId, nodeId, leaseMillis, aboveTerm);
            Simulation.this.raceLost |= created.isEmpty();
            return created;
          },
          new Step.Create(leaseMillis));
    }

    @Override
    @SuppressWarnings("unchecked")
    public Optional<LeaseRow> keepWarm(String serviceId, LeaseRow seen) throws LeaseStoreException {
      return (Optional<LeaseRow>) this.process.await(
          () -> this.process.server.keepWarm(serviceId, seen), new Step.KeepWarm(seen, 0));
    }

    @Override
    public boolean lead(String serviceId, LeaseRow seen, long leaseMillis)
        throws LeaseStoreException {
      return (boolean) this.process.await(
          () -> {
            boolean led = this.process.server.lead(serviceId, seen, leaseMillis);
            if (led) {
              this.process.grant(seen.term());
            }
            return led;
          },
          new Lead(seen));
    }

    @Override
    public OptionalLong take(
        String serviceId,
        LeaseRow seen,
        String nodeId,
        long leaseMillis,
        long aboveTerm,
        String reason)
        throws LeaseStoreException {
      return (OptionalLong) this.process.await(
          () -> {
            OptionalLong term =
                this.process.server.take(serviceId, seen, nodeId, leaseMillis, aboveTerm, reason);
            term.ifPresent((won) -> this.process.grant(won));
            return term;
          },
          new Take(seen, LeadershipAcquiredEvent.Reason.valueOf(reason)));
    }

    @Override
    public boolean release(
        String serviceId, String nodeId, long term, String successor, Ending ending)
        throws LeaseStoreException {
      return (boolean) this.process.await(
          () -> this.process.server.release(serviceId, nodeId, term, successor, ending),
          new Step.Release(term, successor, ending));
    }

    @Override
    public boolean giveWay(String serviceId, String nodeId, long term, Ending ending)
        throws LeaseStoreException {
      return (boolean) this.process.await(
          () -> this.process.server.giveWay(serviceId, nodeId, term, ending),
          new Step.GiveWay(term, ending));
    }

    @Override
    public boolean designate(String serviceId, String leaderId, @Nullable Instruction instruction)
        throws LeaseStoreException {
      return (boolean) this.process.await(
          () -> this.process.server.designate(serviceId, leaderId, instruction),
          () -> "to designate " + leaderId,
          false);
    }

    @Override
    @SuppressWarnings("unchecked")
    public Map<String, List<HistoryEntry>> history(Set<String> serviceIds)
        throws LeaseStoreException {
      return (Map<String, List<HistoryEntry>>) this.process.await(
          () -> this.process.server.history(serviceIds), () -> "for the history", true);
    }

    @Override
    public void prune(Map<String, Long> belowTerms, Duration retention) throws LeaseStoreException {
      this.process.await(
          () -> {
            // At once, so that what is decided without the old terms is judged.
            this.process.server.prune(belowTerms, Duration.ZERO);
            return true;
          },
          () -> "to prune the history",
          false);
    }

    @Override
    public void close() {}
  }
}
