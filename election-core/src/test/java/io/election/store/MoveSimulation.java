package io.election.store;

import io.election.AuditNote;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipEvent;
import io.election.lease.Elector;
import io.election.lease.LeaderWork;
import io.election.lease.LeaseElectionService;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One schedule of nodes that move from store A to store B and back while everything fails, drawn
 * from a seed and judged every few milliseconds. Time is a number, and passes within the calls to
 * the stores, while the other nodes go on. The nodes are production electors.
 */
final class MoveSimulation {

  /** What goes wrong besides lost answers, pauses, kills, cut-offs, commands and designations. */
  enum Trouble {
    DELETED_ROWS,
    HAND_EDITS,
    UNEQUAL_LEASES,
    LATE_REQUESTS,
    SILENT_PARTS
  }

  private static final long MILLI = 1_000_000;

  private static final String JOBS = "jobs";

  static final Duration LEASE = Duration.ofSeconds(5);

  /** The longest lease of any node. */
  static final Duration LONGEST = LEASE.multipliedBy(3);

  private record Late(long at, Runnable request) implements Comparable<Late> {

    @Override
    public int compareTo(Late other) {
      return Long.compare(this.at, other.at);
    }
  }

  final SplittableRandom random;

  private final Set<Trouble> troubles;

  private final JointMutant lists;

  private final List<String> violations = new ArrayList<>();

  final List<String> story = new ArrayList<>();

  final List<Node> nodes = new ArrayList<>();

  final SimulatedDatabase[] databases = new SimulatedDatabase[2];

  private final long[] silentUntil = new long[2];

  private final PriorityQueue<Late> late = new PriorityQueue<>();

  /** Whether calls may fail. */
  boolean faulty;

  /** Whether work is always covered to its end, because nothing has failed. */
  boolean orderly;

  long now;

  private long highestTerm;

  private int lives;

  int acquired;

  /** How many leaderships were by a list. */
  int acquiredByLists;

  MoveSimulation(long seed, Set<Trouble> troubles, JointMutant lists) {
    this.random = new SplittableRandom(seed * 0x9E3779B97F4A7C15L + 1);
    this.troubles = troubles;
    this.lists = lists;
    for (int i = 0; i < 2; i++) {
      this.databases[i] = new SimulatedDatabase(() -> this.now / 1_000);
    }
  }

  /** A schedule without troubles. */
  MoveSimulation(long seed, JointMutant lists) {
    this(seed, EnumSet.noneOf(Trouble.class), lists);
  }

  private boolean draws(Trouble trouble, int oneOf) {
    return this.troubles.contains(trouble) && this.random.nextInt(oneOf) == 0;
  }

  List<String> violations() {
    return this.violations;
  }

  void violation(String text) {
    if (this.violations.size() < 5) {
      this.violations.add("%.3f s: %s".formatted(this.now / 1e9, text));
      note("VIOLATION: " + text);
    }
  }

  private void note(String text) {
    this.story.add("%.3f %s".formatted(this.now / 1e9, text));
  }

  /** Lets time pass, in which the nodes that do not wait for a call go on. */
  void pass(long nanos) {
    long end = this.now + nanos;
    while (this.now < end) {
      long next = this.late.isEmpty() ? end : Math.min(end, this.late.peek().at());
      for (Node node : this.nodes) {
        next = Math.min(next, node.nextStep());
      }
      this.now = Math.max(this.now, next);
      while (!this.late.isEmpty() && this.late.peek().at() <= this.now) {
        this.late.remove().request().run();
      }
      for (Node node : List.copyOf(this.nodes)) {
        node.stepIfDue();
      }
    }
  }

  /** Only a step makes a node lead, and all nodes are judged after each. */
  private void judge() {
    List<String> leaders = new ArrayList<>();
    for (Node node : this.nodes) {
      if (node.service.isLeader()) {
        leaders.add(node.toString());
      } else if (node.isWorking() && node.coversWork()) {
        leaders.add("work of " + node);
      }
    }
    if (leaders.size() > 1) {
      violation("two leaders: " + leaders);
    }
  }

  /** The connection of one node to one store. */
  private final class Link implements LeaseStore {

    private final Node node;

    private final int store;

    private final SimulatedDatabase database;

    private final Duration timeout;

    private String token;

    private boolean cutOff;

    Link(Node node, int store, Duration timeout) {
      this.node = node;
      this.store = store;
      this.database = MoveSimulation.this.databases[store];
      this.timeout = timeout;
      this.token = token();
    }

    private String token() {
      return "store " + MoveSimulation.this.lives++;
    }

    private interface Call<R> {

      R make() throws LeaseStoreException;
    }

    private <R> R call(Call<R> call) throws LeaseStoreException {
      MoveSimulation world = MoveSimulation.this;
      SplittableRandom random = world.random;
      long timeout = this.timeout.toNanos();
      if (world.faulty && draws(Trouble.LATE_REQUESTS, 15)) {
        long delay = timeout + random.nextLong(2 * LONGEST.toNanos());
        later(world.now + delay, call);
        pass(random.nextBoolean() ? timeout : random.nextLong(timeout));
        throw failed("a request that is late");
      }
      if (world.now < world.silentUntil[this.store]) {
        if (random.nextBoolean()) {
          later(world.silentUntil[this.store], call);
        }
        pass(timeout);
        throw failed("silent");
      }
      if (this.cutOff) {
        pass(timeout);
        throw failed("cut off");
      }
      pass(random.nextInt(5) * MILLI);
      boolean lost = world.faulty && random.nextInt(20) == 0;
      if (lost && random.nextBoolean()) {
        throw failed("not sent");
      }
      R answer = call.make();
      if (lost) {
        pass(random.nextLong(timeout));
        throw failed("no answer");
      }
      pass(random.nextInt(5) * MILLI);
      this.node.awaken();
      return answer;
    }

    private LeaseStoreException failed(String why) {
      this.node.awaken();
      return new LeaseStoreException(why);
    }

    private <R> void later(long at, Call<R> call) {
      MoveSimulation.this.late.add(new Late(at, () -> {
        try {
          call.make();
        } catch (LeaseStoreException ex) {
          throw new IllegalStateException(ex);
        }
      }));
    }

    @Override
    public String name() {
      return this.store == 0 ? "a" : "b";
    }

    @Override
    public Map<String, Reading> read(Set<String> serviceIds) throws LeaseStoreException {
      return call(() -> this.database.read(serviceIds, this.token));
    }

    @Override
    public Renewals renew(String nodeId, Map<String, Long> terms) throws LeaseStoreException {
      String token = this.token;
      return call(() -> this.database.renew(nodeId, terms, token));
    }

    @Override
    public Optional<LeaseRow> create(String serviceId, Claim claim) throws LeaseStoreException {
      return call(() -> this.database.create(serviceId, claim));
    }

    @Override
    public Optional<LeaseRow> touch(String serviceId, LeaseRow seen) throws LeaseStoreException {
      return call(() -> this.database.touch(serviceId, seen));
    }

    @Override
    public OptionalLong acquire(String serviceId, LeaseRow seen, Claim claim)
        throws LeaseStoreException {
      String token = this.token;
      return call(() -> this.database.acquire(serviceId, seen, claim, token));
    }

    @Override
    public boolean release(
        String serviceId, String nodeId, long term, @Nullable String successor, TermEnd ending)
        throws LeaseStoreException {
      String token = this.token;
      return call(() -> this.database.release(serviceId, nodeId, term, successor, ending, token));
    }

    @Override
    public boolean designate(
        String serviceId, String leaderId, @Nullable LeaseRow seen, @Nullable AuditNote auditNote)
        throws LeaseStoreException {
      return call(() -> this.database.designate(serviceId, leaderId, seen, auditNote));
    }

    @Override
    public void close() {
      this.token = token();
    }
  }

  /** A process: on one store or on a list of both. */
  final class Node {

    final String id;

    final String kind;

    private final int life;

    private final double rate;

    private final List<Link> links = new ArrayList<>();

    final LeaseElectionService service;

    private final Elector elector;

    private long dueAt;

    private boolean busy;

    /** Until when leader work runs. */
    private long worksUntil;

    long pausedUntil;

    private boolean killed;

    Node(String id, String kind) {
      this(id, kind, lease());
    }

    Node(String id, String kind, Duration lease) {
      MoveSimulation world = MoveSimulation.this;
      this.id = id;
      this.kind = kind;
      this.life = world.lives++;
      this.rate = 0.99 + world.random.nextInt(3) * 0.01;
      LeaseSettings settings = new LeaseSettings(
          lease, lease.dividedBy(5), lease.dividedBy(10), Duration.ofSeconds(3), true);
      LeaderWork work = new LeaderWork() {
        @Override
        public boolean isRunning(String serviceId) {
          return isWorking();
        }

        @Override
        public void onLeaseOver(String serviceId, long term) {
          if (isWorking() && MoveSimulation.this.orderly) {
            violation("the work of " + Node.this + " is not covered to its end");
          }
          Node.this.worksUntil = MoveSimulation.this.now;
        }
      };
      List<JointPart> parts = new ArrayList<>();
      for (char store : kind.toCharArray()) {
        Link link =
            new Link(this, store - 'a', settings.operationTimeout().dividedBy(kind.length()));
        this.links.add(link);
        parts.add(new JointPart.Leases(world.lists.name(link.name(), this.life), link));
      }
      LeaseStore store = parts.size() == 1
          ? this.links.get(0)
          : world.lists.list(new StoreList(parts, settings, this::tick, Runnable::run), () -> id);
      this.elector = new Elector(
          store,
          settings,
          () -> id,
          work,
          this::on,
          this::tick,
          () -> Instant.EPOCH.plusNanos(tick()));
      this.service = new LeaseElectionService(JOBS, this.elector);
      note(this + " starts; lease " + lease.toMillis() + " ms");
      this.elector.join(List.of(this.service));
      this.dueAt = world.now;
      world.nodes.add(this);
    }

    private long tick() {
      return (long) (MoveSimulation.this.now * this.rate);
    }

    private void on(LeadershipEvent event) {
      MoveSimulation world = MoveSimulation.this;
      note(this + ": " + event);
      if (event instanceof LeadershipAcquiredEvent acquired) {
        world.acquired++;
        world.acquiredByLists += this.links.size() - 1;
        if (acquired.term() <= world.highestTerm) {
          violation("%s leads in term %d after term %d"
              .formatted(this, acquired.term(), world.highestTerm));
        }
        world.highestTerm = Math.max(world.highestTerm, acquired.term());
      }
    }

    /**
     * Returns whether the lease covers work that outlasts the leadership. Work is told when it ends,
     * by a thread that a node without threads does not have.
     */
    boolean coversWork() {
      return this.service.leaseRemaining().isPresent();
    }

    boolean isWorking() {
      return !this.killed && MoveSimulation.this.now < this.worksUntil;
    }

    void work(Duration duration) {
      this.worksUntil = MoveSimulation.this.now + duration.toNanos();
    }

    void cutOff(int link, boolean off) {
      this.links.get(link).cutOff = off;
    }

    private boolean isStill() {
      return MoveSimulation.this.now < this.pausedUntil;
    }

    /** Continues to sleep if it was paused during a call. */
    private void awaken() {
      while (!this.killed && isStill()) {
        pass(this.pausedUntil - MoveSimulation.this.now);
      }
      if (this.killed) {
        throw new Died();
      }
    }

    /** Returns when it does something next; never while it waits for a call. */
    long nextStep() {
      return this.busy ? Long.MAX_VALUE : Math.max(this.dueAt, this.pausedUntil);
    }

    void stepIfDue() {
      MoveSimulation world = MoveSimulation.this;
      if (this.killed || world.now < nextStep()) {
        return;
      }
      this.busy = true;
      try {
        if (this.service.isLeader() && !isWorking() && world.random.nextInt(10) == 0) {
          this.worksUntil = world.now + world.random.nextInt(2_000) * MILLI;
        }
        long pause = this.elector.step();
        this.dueAt = world.now + Math.max((long) (pause / this.rate), MILLI);
      } catch (Died ex) {
        // It was killed during a call.
      } finally {
        this.busy = false;
      }
      judge();
    }

    /** Commands this node, as an operator does. */
    private void command() {
      try {
        switch (MoveSimulation.this.random.nextInt(3)) {
          case 0 -> this.service.lostLeader();
          case 1 -> this.service.forceElection();
          default -> this.service.designate(MoveSimulation.this.random.nextBoolean() ? "y" : "z");
        }
      } catch (Exception ex) {
        // It may have no record, or no answer.
      }
    }

    /** Stops as a SIGTERM does, and runs until everything is handed back. */
    void stop() {
      note(this + " stops");
      this.elector.stop();
      this.dueAt = MoveSimulation.this.now;
      pass(Duration.ofSeconds(5).toNanos());
      kill();
    }

    void kill() {
      note(this + " ends");
      this.killed = true;
      MoveSimulation.this.nodes.remove(this);
    }

    @Override
    public String toString() {
      return "%s[%s]#%d".formatted(this.id, this.kind, this.life);
    }
  }

  private Duration lease() {
    return this.troubles.contains(Trouble.UNEQUAL_LEASES)
        ? List.of(LEASE.dividedBy(2), LEASE, LEASE.multipliedBy(2), LONGEST)
            .get(this.random.nextInt(4))
        : LEASE;
  }

  /** Runs all nodes for some time, with a fault a second if they are switched on. */
  void run(Duration duration) {
    long end = this.now + duration.toNanos();
    while (this.now < end) {
      long left = end - this.now;
      pass(this.faulty ? Math.min(left, (1 + this.random.nextInt(2_000)) * MILLI) : left);
      if (this.faulty) {
        disturb();
        judge();
      }
    }
  }

  /** Runs all nodes until a condition is met, for a minute at most. */
  void runUntil(BooleanSupplier condition) {
    long end = this.now + Duration.ofMinutes(1).toNanos();
    while (this.now < end && !condition.getAsBoolean()) {
      pass(5 * MILLI);
    }
  }

  private void disturb() {
    Node node = this.nodes.get(this.random.nextInt(this.nodes.size()));
    // A fault does most harm if it hits the leader.
    if (this.random.nextBoolean()) {
      node = this.nodes.stream()
          .filter((each) -> each.service.isLeader())
          .findFirst()
          .orElse(node);
    }
    int link = this.random.nextInt(node.links.size());
    switch (this.random.nextInt(12)) {
      case 0 -> pause(node);
      case 1 -> node.cutOff(link, true);
      case 2, 3 -> node.cutOff(link, false);
      case 4 -> {
        node.kill();
        new Node(node.id, node.kind);
      }
      case 5 -> {
        if (!node.busy) {
          node.busy = true;
          try {
            node.command();
          } catch (Died ex) {
            // It was killed during the command.
          } finally {
            node.busy = false;
          }
        }
      }
      case 6 -> designate(this.random.nextInt(2), node);
      case 7 -> {
        if (this.nodes.size() < 5 && this.random.nextInt(4) == 0) {
          new Node(node.id, node.kind); // a twin
        }
      }
      case 8 -> {
        if (this.troubles.contains(Trouble.DELETED_ROWS)) {
          int store = this.random.nextInt(2);
          note("the row in %s is deleted".formatted(store));
          this.databases[store].deleteRow(JOBS);
          unaware(node);
        }
      }
      case 9, 10 -> {
        if (this.troubles.contains(Trouble.HAND_EDITS)) {
          edit(this.random.nextInt(2), node);
          unaware(node);
        }
      }
      default -> {
        if (this.troubles.contains(Trouble.SILENT_PARTS)) {
          int store = this.random.nextInt(2);
          this.silentUntil[store] = this.now + this.random.nextInt(10_000) * MILLI;
          note("%s is silent until %.3f".formatted(store, this.silentUntil[store] / 1e9));
        }
      }
    }
  }

  private void pause(Node node) {
    node.pausedUntil = this.now + this.random.nextInt(8_000) * MILLI;
    note("%s is paused until %.3f".formatted(node, node.pausedUntil / 1e9));
  }

  /** An edit does most harm if the leader does not see it. */
  private void unaware(Node node) {
    if (this.random.nextBoolean()) {
      pause(node);
    }
  }

  /** Edits a row as an operator does: version and time change only if the edit changes them. */
  private void edit(int store, Node node) {
    SimulatedDatabase database = this.databases[store];
    LeaseRow row = database.row(JOBS);
    if (row == null) {
      return;
    }
    switch (this.random.nextInt(4)) {
      case 0 -> database.edit(JOBS, (old) -> SimulatedDatabase.named(old, node.id));
      case 1 -> database.replace(JOBS, node.id);
      case 2 -> undo(store);
      default ->
        database.edit(
            JOBS,
            (old) -> SimulatedDatabase.edited(
                old, old.leaderId(), old.term(), this.random.nextBoolean() ? null : -5L));
    }
    note("%s is edited: %s to %s".formatted(store, row, database.row(JOBS)));
  }

  /** Writes a row back as it was before the last take-over, as far as it shows that. */
  void undo(int store) {
    SimulatedDatabase database = this.databases[store];
    database.edit(JOBS, (row) -> {
      Map.Entry<Long, MemoryTerm> last = database.history(JOBS).lowerEntry(row.term());
      return last == null
          ? row
          : SimulatedDatabase.edited(
              row, last.getValue().leaderId(), last.getKey(), row.leaseMillis());
    });
  }

  /** Writes a node into the record of a store, as an operator does. */
  void designate(int store, Node node) {
    this.databases[store].designate(JOBS, node.id, null, null);
    note("%s is designated in %s".formatted(node, store));
  }

  @Nullable
  LeaseRow row(int store) {
    return this.databases[store].row(JOBS);
  }

  void heal() {
    this.faulty = false;
    for (int i = 0; i < 2; i++) {
      this.silentUntil[i] = this.now;
    }
    this.nodes.forEach((node) -> {
      node.pausedUntil = this.now;
      node.links.forEach((link) -> link.cutOff = false);
    });
    note("healed");
  }

  /** Notes a violation if no node whose id begins with a prefix leads. */
  MoveSimulation expectLeader(String prefix) {
    if (this.nodes.stream()
        .noneMatch((node) -> node.id.startsWith(prefix) && node.service.isLeader())) {
      violation("nobody leads of %s; the rows: %s, %s".formatted(this.nodes, row(0), row(1)));
    }
    return this;
  }

  /** Replaces a node by one of another kind, as a rolling release does. */
  void release(Node node, String kind) {
    node.stop();
    if (this.nodes.stream().filter((each) -> each.id.equals(node.id)).findAny().isEmpty()) {
      new Node(node.id, kind);
    }
  }

  /** The list in one order or the other. */
  String inAnyOrder(String kind) {
    return kind.length() > 1 && this.random.nextInt(3) == 0
        ? new StringBuilder(kind).reverse().toString()
        : kind;
  }

  private static final class Died extends Error {
    private static final long serialVersionUID = 1L;

    Died() {
      super("died", null, false, false);
    }
  }

  /** Moves three nodes from A to B and back by way of the list, while everything fails. */
  MoveSimulation moved() {
    for (String id : List.of("x", "y", "z")) {
      new Node(id, "a");
    }
    for (String kind : List.of("ab", "b", "ab", "a")) {
      for (Node node : List.copyOf(this.nodes)) {
        this.faulty = true;
        run(Duration.ofSeconds(this.random.nextInt(15)));
        heal();
        if (this.nodes.contains(node)) {
          release(node, inAnyOrder(kind));
        }
      }
      for (Node left = other(kind); left != null; left = other(kind)) {
        release(left, inAnyOrder(kind));
      }
      // What is late may still come, and nodes that were told to may stand aside.
      while (!this.late.isEmpty()) {
        run(Duration.ofSeconds(1));
      }
      Duration longest = this.troubles.contains(Trouble.UNEQUAL_LEASES) ? LONGEST : LEASE;
      run(longest.multipliedBy(4));
      expectLeader("");
    }
    return this;
  }

  /** Returns a node that is of another kind, whatever the order of its list. */
  private @Nullable Node other(String kind) {
    return this.nodes.stream()
        .filter((node) -> node.kind.chars().sum() != kind.chars().sum())
        .findFirst()
        .orElse(null);
  }
}
