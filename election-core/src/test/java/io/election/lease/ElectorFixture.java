package io.election.lease;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.election.LeadershipEvent;
import io.election.store.LeaseSettings;
import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;
import io.election.store.SimulatedDatabase;
import io.election.store.StoreHealth;
import io.election.store.Ticker;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.slf4j.LoggerFactory;

/** Nodes over one simulated database, with a ticked clock. */
abstract class ElectorFixture {

  static final Duration LEASE = Duration.ofSeconds(10);

  static final LeaseSettings SETTINGS = settings(Duration.ofSeconds(5), true);

  final AtomicLong clock = new AtomicLong();

  volatile Ticker ticker = this.clock::get;

  /** How far the wall clock is ahead of the ticker, as after a machine slept. */
  final AtomicLong wallAhead = new AtomicLong();

  /** The wall clock, unless it is set: nanoseconds since the epoch. */
  LongSupplier wall = this.clock::get;

  final SimulatedDatabase database = new SimulatedDatabase(() -> this.clock.get() / 1_000);

  final ListAppender<ILoggingEvent> logged = new ListAppender<>();

  final List<Node> nodes = new ArrayList<>();

  /** What other tests have left; a mutant may have made it impossible to end. */
  private final Set<Thread> earlierThreads = Thread.getAllStackTraces().keySet();

  private final List<Gate> gates = new ArrayList<>();

  /** Who goes first among the nodes that are created next. */
  Precedence precedence = Precedence.NONE;

  long stepMillis = 50;

  @BeforeEach
  void listen() {
    this.logged.start();
    logger().addAppender(this.logged);
    logger().setLevel(Level.INFO);
  }

  @AfterEach
  void tidyUp() {
    this.gates.forEach(Gate::open);
    for (Node node : this.nodes) {
      node.store.before((name) -> {});
      node.working = false;
      node.elector.wakeUp();
      node.elector.stop();
    }
    logger().setLevel(Level.OFF);
    logger().detachAppender(this.logged);
  }

  class Node {

    final String id;

    final SimulatedDatabase.Store store;

    final List<LeadershipEvent> events = new CopyOnWriteArrayList<>();

    final List<Long> uncovered = new CopyOnWriteArrayList<>();

    final Elector elector;

    final List<LeaseElectionService> services;

    final LeaseElectionService service;

    volatile Consumer<LeadershipEvent> listener = this.events::add;

    volatile boolean working;

    volatile List<String> work = List.of();

    volatile BooleanSupplier isWorking = () -> this.working;

    volatile Runnable onLeaseOver = () -> {};

    Node(String id) {
      this(id, SETTINGS);
    }

    Node(String id, LeaseSettings settings) {
      this(id, settings, ElectorFixture.this.database.new Store(), "jobs");
    }

    Node(String id, LeaseSettings settings, SimulatedDatabase.Store store, String... serviceIds) {
      this(id, settings, store, store, serviceIds);
    }

    /** A node whose store is, or is a list with, a simulated one. */
    Node(
        String id,
        LeaseSettings settings,
        LeaseStore whole,
        SimulatedDatabase.Store store,
        String... serviceIds) {
      this.id = id;
      this.store = store;
      LeaderWork work = new LeaderWork() {
        @Override
        public boolean isRunning(String serviceId) {
          return Node.this.isWorking.getAsBoolean();
        }

        @Override
        public List<String> describe(String serviceId) {
          return Node.this.work;
        }

        @Override
        public void onLeaseOver(String serviceId, long term) {
          Node.this.uncovered.add(term);
          Node.this.store.calls.add("uncovered");
          Node.this.onLeaseOver.run();
        }
      };
      this.elector = new Elector(
          whole,
          settings,
          () -> id,
          work,
          (event) -> this.listener.accept(event),
          () -> ElectorFixture.this.ticker.read(),
          () -> Instant.EPOCH.plusNanos(
              ElectorFixture.this.wall.getAsLong() + ElectorFixture.this.wallAhead.get()),
          ElectorFixture.this.precedence);
      this.services = Stream.of(serviceIds)
          .map((serviceId) -> new LeaseElectionService(serviceId, this.elector))
          .toList();
      this.service = this.services.get(0);
      ElectorFixture.this.nodes.add(this);
    }

    Node join() {
      this.elector.join(this.services);
      return this;
    }

    Node start() {
      this.elector.start(this.services);
      return this;
    }

    void works(String work) {
      this.working = true;
      this.work = List.of(work);
    }

    void worksNoMore() {
      this.working = false;
      this.work = List.of();
      this.elector.wakeUp();
    }

    /** Lets calls of some names fail; without names, all calls. */
    void fail(String message, String... calls) {
      this.store.before((name) -> {
        if (calls.length == 0 || List.of(calls).contains(name)) {
          throw new LeaseStoreException(message);
        }
      });
    }

    /** Lets calls hang until the gate is opened. */
    Gate hang() {
      Gate gate = new Gate();
      this.store.before((name) -> gate.pass());
      return gate;
    }

    void heal() {
      this.store.before((name) -> {});
    }

    long calls(String name) {
      return this.store.calls.stream().filter(name::equals).count();
    }
  }

  /** A place where threads wait until the test goes on; they ignore interruptions. */
  final class Gate {

    private final Semaphore reached = new Semaphore(0);

    private final Semaphore opened = new Semaphore(0);

    Gate() {
      ElectorFixture.this.gates.add(this);
    }

    void pass() {
      this.reached.release();
      this.opened.acquireUninterruptibly();
      this.opened.release();
      // Forgets interruptions, like a driver that does not support them.
      Thread.interrupted();
    }

    boolean isReached() {
      return this.reached.availablePermits() > 0;
    }

    void open() {
      this.opened.release();
    }
  }

  static LeaseSettings settings(Duration drainTimeout, boolean eligible) {
    return new LeaseSettings(
        LEASE, Duration.ofSeconds(2), Duration.ofSeconds(1), drainTimeout, eligible);
  }

  void tick(Duration duration) {
    this.clock.addAndGet(duration.toNanos());
  }

  /** Each node does what is due, and then a little time passes. */
  void step(Node... nodes) {
    for (Node node : nodes) {
      node.elector.step();
    }
    tick(Duration.ofMillis(this.stepMillis));
  }

  void run(Duration duration, Node... nodes) {
    long end = this.clock.get() + duration.toNanos();
    while (this.clock.get() < end) {
      step(nodes);
    }
  }

  /** Lets time pass and wakes the nodes until a condition holds. */
  void advanceUntil(BooleanSupplier condition) {
    await().until(() -> {
      tick(Duration.ofMillis(250));
      this.nodes.forEach((node) -> node.elector.wakeUp());
      return condition.getAsBoolean();
    });
  }

  static ConditionFactory await() {
    return Awaitility.await()
        .atMost(Duration.ofSeconds(Integer.getInteger("await.seconds", 10)))
        .pollDelay(Duration.ZERO)
        .pollInterval(Duration.ofMillis(2));
  }

  List<String> lines() {
    synchronized (this.logged) {
      return this.logged.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
    }
  }

  List<String> linesWith(String part) {
    return lines().stream().filter((line) -> line.contains(part)).toList();
  }

  /** As an operator does who writes another name into the record. */
  void nameInRecord(String leaderId) {
    this.database.edit("jobs", (row) -> SimulatedDatabase.named(row, leaderId));
  }

  static StoreHealth health(Node node) {
    return node.elector.storeHealth().orElseThrow();
  }

  /** The number of threads of this test's electors whose names begin like this. */
  long threads(String prefix, Thread.State... states) {
    return Thread.getAllStackTraces().keySet().stream()
        .filter((thread) ->
            thread.getName().startsWith(prefix) && !this.earlierThreads.contains(thread))
        .filter((thread) -> states.length == 0 || List.of(states).contains(thread.getState()))
        .count();
  }

  static Logger logger() {
    return (Logger) LoggerFactory.getLogger(Elector.class);
  }
}
