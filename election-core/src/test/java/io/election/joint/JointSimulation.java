package io.election.joint;

import io.election.AuditNote;
import io.election.ElectionService;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipEvent;
import io.election.Member;
import io.election.PastTerm;
import io.election.lease.ElectionDirectory;
import io.election.lease.Elector;
import io.election.lease.LeaderWork;
import io.election.lease.LeaseElectionService;
import io.election.lease.LeaseRow;
import io.election.lease.LeaseSettings;
import io.election.lease.LeaseStore;
import io.election.lease.LeaseStoreException;
import io.election.lease.MemoryLeaseStore;
import io.election.lease.Precedence;
import io.election.lease.TermEnd;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * One schedule of nodes that move from store A to store B and back while everything fails, drawn
 * from a seed and judged every few milliseconds. Time is a number, and passes within the calls to the
 * stores. The nodes are production electors.
 */
final class JointSimulation {

  static final LeaseSettings SETTINGS = new LeaseSettings(
      Duration.ofSeconds(5),
      Duration.ofSeconds(1),
      Duration.ofMillis(500),
      Duration.ofSeconds(3),
      true);

  private static final long MILLI = 1_000_000;

  private static final long STEP_MILLIS = 5;

  private static final String JOBS = "jobs";

  final SplittableRandom random;

  private final JointRules rules;

  private final List<StringBuilder> violations = new ArrayList<>();

  final List<String> story = new ArrayList<>();

  final List<Node> nodes = new ArrayList<>();

  private final MemoryLeaseStore[] stores = new MemoryLeaseStore[2];

  /** Whether calls may fail. */
  boolean faulty;

  /** Whether work is always covered to its end, because nothing has failed. */
  boolean orderly;

  long now;

  private long highestTerm;

  private int lives;

  int acquired;

  JointSimulation(long seed, JointRules rules) {
    this.random = new SplittableRandom(seed);
    this.rules = rules;
    for (int i = 0; i < 2; i++) {
      this.stores[i] = new MemoryLeaseStore(this::wall);
    }
  }

  private Instant wall() {
    return Instant.EPOCH.plusNanos(this.now);
  }

  List<String> violations() {
    return this.violations.stream().map(StringBuilder::toString).toList();
  }

  private void violation(String text) {
    if (this.violations.size() < 5) {
      this.violations.add(new StringBuilder("%.3f s: ".formatted(this.now / 1e9)).append(text));
    }
  }

  /** Lets time pass and looks at all nodes every few milliseconds, at the last one in any case. */
  private void pass(long millis) {
    for (long left = millis; left > 0; left -= STEP_MILLIS) {
      this.now += Math.min(left, STEP_MILLIS) * MILLI;
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
  }

  /** The connection of one node to one store. */
  private final class Link implements LeaseStore, ElectionDirectory {

    private final MemoryLeaseStore store;

    private final String name;

    private boolean cutOff;

    Link(int store) {
      this.store = JointSimulation.this.stores[store];
      this.name = store == 0 ? "a" : "b";
    }

    private interface Call<R> {

      R make() throws LeaseStoreException;
    }

    private <R> R call(Call<R> call) throws LeaseStoreException {
      JointSimulation simulation = JointSimulation.this;
      if (this.cutOff) {
        pass(SETTINGS.operationTimeout().toMillis());
        throw new LeaseStoreException("cut off");
      }
      pass(simulation.random.nextInt(5));
      boolean lost = simulation.faulty && simulation.random.nextInt(20) == 0;
      if (lost && simulation.random.nextBoolean()) {
        throw new LeaseStoreException("not sent");
      }
      R answer = call.make();
      if (lost) {
        pass(simulation.random.nextInt((int) SETTINGS.operationTimeout().toMillis()));
        throw new LeaseStoreException("no answer");
      }
      pass(simulation.random.nextInt(5));
      return answer;
    }

    @Override
    public String name() {
      return this.name;
    }

    @Override
    public Map<String, Reading> read(Set<String> serviceIds) throws LeaseStoreException {
      return call(() -> this.store.read(serviceIds));
    }

    @Override
    public Renewals renew(String nodeId, Map<String, Long> terms) throws LeaseStoreException {
      return call(() -> this.store.renew(nodeId, terms));
    }

    @Override
    public Optional<LeaseRow> create(String serviceId, Claim claim) throws LeaseStoreException {
      return call(() -> this.store.create(serviceId, claim));
    }

    @Override
    public Optional<LeaseRow> touch(String serviceId, LeaseRow seen) throws LeaseStoreException {
      return call(() -> this.store.touch(serviceId, seen));
    }

    @Override
    public OptionalLong acquire(String serviceId, LeaseRow seen, Claim claim)
        throws LeaseStoreException {
      return call(() -> this.store.acquire(serviceId, seen, claim));
    }

    @Override
    public boolean release(
        String serviceId, String nodeId, long term, @Nullable String successor, TermEnd ending)
        throws LeaseStoreException {
      return call(() -> this.store.release(serviceId, nodeId, term, successor, ending));
    }

    @Override
    public boolean designate(
        String serviceId, String leaderId, @Nullable LeaseRow seen, @Nullable AuditNote note)
        throws LeaseStoreException {
      return call(() -> this.store.designate(serviceId, leaderId, seen, note));
    }

    @Override
    public void close() {}

    @Override
    public void announce(Announcement self) throws LeaseStoreException {
      this.store.announce(self);
    }

    @Override
    public Map<String, List<Member>> members(Set<String> serviceIds) throws LeaseStoreException {
      return this.store.members(serviceIds);
    }

    @Override
    public Map<String, List<PastTerm>> history(Set<String> serviceIds) throws LeaseStoreException {
      return this.store.history(serviceIds);
    }

    @Override
    public void prune(Map<String, Long> belowTerms, Duration retention) {}
  }

  /** A process: on one store or on a list of both. */
  final class Node {

    final String id;

    final String kind;

    private final List<Link> links = new ArrayList<>();

    final ElectionService service;

    private final Runnable step;

    private final Runnable stop;

    /** Until when leader work runs. */
    private long worksUntil;

    long pausedUntil;

    private boolean killed;

    Node(String id, String kind) {
      this(id, kind, SETTINGS);
    }

    Node(String id, String kind, LeaseSettings settings) {
      this.id = id + JointSimulation.this.lives++;
      this.kind = kind;
      LeaderWork work = new LeaderWork() {
        @Override
        public boolean isRunning(String serviceId) {
          return isWorking();
        }

        @Override
        public void onLeaseOver(String serviceId, long term) {
          if (isWorking() && JointSimulation.this.orderly) {
            violation("the work of " + Node.this + " is not covered to its end");
          }
          Node.this.worksUntil = JointSimulation.this.now;
        }
      };
      for (char store : kind.toCharArray()) {
        this.links.add(new Link(store - 'a'));
      }
      if (this.links.size() == 1) {
        Elector elector = new Elector(
            this.links.get(0),
            settings,
            () -> this.id,
            work,
            this::on,
            () -> JointSimulation.this.now,
            JointSimulation.this::wall);
        LeaseElectionService lease = new LeaseElectionService(JOBS, elector);
        this.service = lease;
        elector.join(List.of(lease));
        this.step = elector::step;
        this.stop = elector::stop;
      } else {
        JointElector elector = new JointElector(
            JointSimulation.this.rules,
            this.links.stream().map(PartSource::of).toList(),
            settings,
            () -> this.id,
            work,
            this::on,
            () -> JointSimulation.this.now,
            JointSimulation.this::wall,
            Precedence.NONE);
        JointElectionService joint = elector.create(JOBS);
        this.service = joint;
        elector.join(List.of(joint));
        this.step = elector::step;
        this.stop = elector::stop;
      }
      JointSimulation.this.nodes.add(this);
      note(this + " starts");
    }

    private void on(LeadershipEvent event) {
      note(this + ": " + event);
      if (event instanceof LeadershipAcquiredEvent acquired) {
        JointSimulation.this.acquired++;
        if (acquired.term() <= JointSimulation.this.highestTerm) {
          violation("%s leads in term %d after term %d"
              .formatted(this, acquired.term(), JointSimulation.this.highestTerm));
        }
        JointSimulation.this.highestTerm = acquired.term();
      }
    }

    /**
     * Returns whether all leases of this node last. Work is told when one ends, by a thread that a
     * node without threads does not have.
     */
    boolean coversWork() {
      return this.service instanceof LeaseElectionService lease
          ? lease.standing().holdsLease()
          : ((JointElectionService) this.service)
              .election().leases().stream()
                  .allMatch((part) -> part.service().standing().holdsLease());
    }

    boolean isWorking() {
      return !this.killed && JointSimulation.this.now < this.worksUntil;
    }

    void work(Duration duration) {
      this.worksUntil = JointSimulation.this.now + duration.toNanos();
    }

    void cutOff(int link, boolean off) {
      this.links.get(link).cutOff = off;
    }

    void step() {
      JointSimulation simulation = JointSimulation.this;
      if (simulation.now < this.pausedUntil) {
        return;
      }
      if (this.service.isLeader() && !isWorking() && simulation.random.nextInt(20) == 0) {
        this.worksUntil = simulation.now + simulation.random.nextInt(2_000) * MILLI;
      }
      this.step.run();
    }

    /** Stops as a SIGTERM does, and runs until everything is handed back. */
    void stop() {
      note(this + " stops");
      this.stop.run();
      for (int i = 0; i < 100; i++) {
        this.step.run();
        pass(20);
        JointSimulation.this.nodes.stream().filter((node) -> node != this).forEach(Node::step);
      }
      kill();
    }

    void kill() {
      note(this + " ends");
      this.killed = true;
      JointSimulation.this.nodes.remove(this);
    }

    @Override
    public String toString() {
      return this.id + "[" + this.kind + "]";
    }
  }

  private void note(String text) {
    this.story.add("%.3f %s".formatted(this.now / 1e9, text));
  }

  /** Runs all nodes for some time, with faults if they are switched on. */
  void run(Duration duration) {
    long end = this.now + duration.toNanos();
    while (this.now - end < 0) {
      if (this.faulty && this.random.nextInt(150) == 0) {
        disturb();
      }
      List.copyOf(this.nodes).forEach(Node::step);
      pass(1 + this.random.nextInt(20));
    }
  }

  private void disturb() {
    Node node = this.nodes.get(this.random.nextInt(this.nodes.size()));
    int link = this.random.nextInt(node.links.size());
    switch (this.random.nextInt(7)) {
      case 0 -> node.pausedUntil = this.now + this.random.nextInt(8_000) * MILLI;
      case 1 -> node.cutOff(link, true);
      case 2, 3 -> node.cutOff(link, false);
      case 4 -> {
        node.kill();
        new Node(node.id.substring(0, 1), node.kind);
      }
      case 5 -> node.service.lostLeader();
      default -> designate(this.random.nextInt(2), node);
    }
  }

  /** Writes a node into the record of a store, as an operator does. */
  void designate(int store, Node node) {
    this.stores[store].designate(JOBS, node.id, null, null);
  }

  void heal() {
    this.faulty = false;
    this.nodes.forEach((node) -> {
      node.pausedUntil = this.now;
      node.links.forEach((link) -> link.cutOff = false);
    });
  }

  /** Notes a violation if no node whose id begins with a prefix leads. */
  JointSimulation expectLeader(String prefix) {
    if (this.nodes.stream()
        .noneMatch((node) -> node.id.startsWith(prefix) && node.service.isLeader())) {
      violation("nobody leads of " + this.nodes);
    }
    return this;
  }

  /** Replaces a node by one of another kind, as a rolling release does. */
  void release(Node node, String kind) {
    node.stop();
    new Node(node.id.substring(0, 1), kind);
  }
}
