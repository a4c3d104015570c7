package io.election.joint;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.NANOSECONDS;

import io.election.ElectionService;
import io.election.LeadershipEvent;
import io.election.lease.Elector;
import io.election.lease.LeaderWork;
import io.election.lease.LeaseElectionService;
import io.election.lease.LeaseSettings;
import io.election.lease.LeaseStore;
import io.election.lease.Precedence;
import io.election.lease.RenewalListener;
import io.election.lease.StoreHealth;
import io.election.lease.Ticker;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Runs a node's part in elections by a list of parts, all of which a leader must hold. A part is a
 * lease in a store, which an {@link Elector} of its own runs, or an {@link ElectionService} that is
 * called.
 *
 * <p>While the nodes of a service move from store A to store B one after the other, those on
 * {@code A}, on the list {@code A, B} and on {@code B} share a part with each neighbour, so that no
 * two of them lead at the same time. Nodes on {@code A} and on {@code B} alone share none: they
 * must never run at the same time.
 *
 * <p>Thread-safe. Can be restarted after a stop.
 */
public final class JointElector {

  /** Separates the names of the parts where members and log lines show them. */
  static final String SEPARATOR = ", ";

  /** How often parts without a lease are called. */
  private static final Duration ASKED_EVERY = Duration.ofMillis(10);

  private final List<PartSource> sources;

  private final List<String> names;

  /** The names as members and log lines show them. */
  private final String list;

  private final Map<PartSource, Elector> electors = new LinkedHashMap<>();

  private final LeaseSettings settings;

  private final Ticker ticker;

  private final Consumer<LeadershipEvent> listener;

  private final JointElection.Context context;

  private final Map<String, JointElection> elections = new ConcurrentHashMap<>();

  private final Semaphore signal = new Semaphore(0);

  private volatile List<JointElection> running = List.of();

  private volatile @Nullable Thread thread;

  private volatile @Nullable ExecutorService delivery;

  /** Whether the thread ends once nothing is held. */
  private volatile boolean leaving;

  /**
   * Creates an elector that is not running.
   *
   * @param sources the parts, in the order in which a node takes them; at least one
   * @param settings how this node holds its leases
   * @param nodeId supplies the id of this node; called at each start
   * @param work the leader work that must end before a part is handed back
   * @param listener receives all events, one at a time; its exceptions are logged
   * @param ticker the monotonic clock; {@code System::nanoTime} in production
   * @param clock the wall clock; {@code InstantSource.system()} in production
   * @param precedence who goes first in the election of the first part; {@link Precedence#NONE} if
   *     all nodes stand at once
   */
  public JointElector(
      List<PartSource> sources,
      LeaseSettings settings,
      Supplier<String> nodeId,
      LeaderWork work,
      Consumer<LeadershipEvent> listener,
      Ticker ticker,
      InstantSource clock,
      Precedence precedence) {
    this(
        new JointRules(settings),
        sources,
        settings,
        nodeId,
        work,
        listener,
        ticker,
        clock,
        precedence);
  }

  JointElector(
      JointRules rules,
      List<PartSource> sources,
      LeaseSettings settings,
      Supplier<String> nodeId,
      LeaderWork work,
      Consumer<LeadershipEvent> listener,
      Ticker ticker,
      InstantSource clock,
      Precedence precedence) {
    this.sources = List.copyOf(sources);
    this.names = this.sources.stream().map(PartSource::name).toList();
    this.list = String.join(SEPARATOR, this.names);
    this.settings = settings;
    this.ticker = ticker;
    this.listener = listener;
    this.context = new JointElection.Context(
        settings, nodeId, work, rules, new JointLog(this.list), ticker, clock, this::deliver);
    for (int i = 0; i < this.sources.size(); i++) {
      PartSource source = this.sources.get(i);
      LeaseStore store = source.store();
      if (store != null) {
        Elector elector = new Elector(
            store,
            settings,
            nodeId,
            new PartWork(i, this.list, this.elections::get, work, this::wakeUp),
            (event) -> wakeUp(),
            ticker,
            clock,
            new PartCondition(i, this.list, this.elections::get, precedence));
        this.electors.put(source, elector);
      }
    }
  }

  /**
   * Creates this node's part in an election, which begins with the next start.
   *
   * @param serviceId the name of the election; 1 to 128 characters
   * @return its service
   * @throws IllegalArgumentException if the name cannot be used
   */
  public JointElectionService create(String serviceId) {
    List<Part> parts = new ArrayList<>();
    for (PartSource source : this.sources) {
      Elector elector = this.electors.get(source);
      parts.add(
          elector != null
              ? new LeasePart(
                  new LeaseElectionService(serviceId, elector), elector, source.name(), this.list)
              : new ServicePart(
                  source.name(), source.services().apply(serviceId), this.settings, this.ticker));
    }
    JointElection election = new JointElection(serviceId, parts, this.context);
    this.elections.put(serviceId, election);
    return new JointElectionService(election, this);
  }

  /**
   * Begins to stand for elections. Returns at once.
   *
   * @param services the elections, which this elector created
   * @throws IllegalArgumentException if the node id cannot be used
   * @throws IllegalStateException if the elector is already running
   */
  public synchronized void start(Collection<JointElectionService> services) {
    requireStopped();
    ThreadPoolExecutor delivery = delivery();
    Thread thread = daemons("election-joint").newThread(this::run);
    this.delivery = delivery;
    this.thread = thread;
    enter(services, () -> {
      // Now, so that no event is lost because a thread cannot be created.
      delivery.prestartCoreThread();
      thread.start();
      this.electors.forEach((source, elector) -> elector.start(leases(source)));
      for (JointElection election : this.running) {
        for (Part part : election.parts()) {
          if (part instanceof ServicePart asked) {
            daemons("election-part-" + part.name())
                .newThread(() -> call(asked, thread))
                .start();
          }
        }
      }
    });
  }

  /** Creates a pool of one thread that delivers events. After its end, their threads do so. */
  private static ThreadPoolExecutor delivery() {
    return new ThreadPoolExecutor(
        1,
        1,
        0,
        MILLISECONDS,
        new LinkedBlockingQueue<>(),
        daemons("election-joint-events"),
        (task, pool) -> task.run());
  }

  /**
   * Begins to stand for elections without threads: everything happens in {@link #step()}.
   *
   * @param services the elections, which this elector created
   */
  public synchronized void join(Collection<JointElectionService> services) {
    requireStopped();
    enter(services, () -> this.electors.forEach((source, elector) -> elector.join(leases(source))));
  }

  private void requireStopped() {
    if (!this.running.isEmpty() && !this.leaving) {
      throw new IllegalStateException("The elector runs already");
    }
  }

  /** Stands for all parts, or for none if that fails. */
  private void enter(Collection<JointElectionService> services, Runnable begin) {
    this.running = services.stream().map(JointElectionService::election).toList();
    this.leaving = false;
    try {
      for (JointElection election : this.running) {
        election.start();
        this.context.log().joined(election.serviceId(), election.nodeId());
      }
      begin.run();
    } catch (Throwable ex) {
      stop();
      throw ex;
    }
  }

  private List<LeaseElectionService> leases(PartSource source) {
    int part = this.sources.indexOf(source);
    return this.running.stream()
        .map((election) -> ((LeasePart) election.parts().get(part)).service())
        .toList();
  }

  /**
   * Stops standing for the elections. When this method returns, the node no longer leads. Waits as
   * {@link Elector#stop()} does, and hands the parts back from the last to the first. A part is kept
   * while leader work or a later part needs it, even after this method has returned.
   */
  public synchronized void stop() {
    if (this.running.isEmpty() || this.leaving) {
      return;
    }
    this.leaving = true;
    this.running.forEach(JointElection::stop);
    this.running.forEach((election) -> this.context.attempt(election::step));
    List<Elector> electors = new ArrayList<>(this.electors.values());
    Collections.reverse(electors);
    Thread thread = this.thread;
    ExecutorService delivery = this.delivery;
    if (thread == null || delivery == null) {
      electors.forEach((elector) -> this.context.attempt(elector::stop));
      step();
      return;
    }
    List<Thread> stops = new ArrayList<>();
    for (Elector elector : electors) {
      Thread stop =
          daemons("election-joint-stop").newThread(() -> this.context.attempt(elector::stop));
      if (this.context.attempt(stop::start)) {
        stops.add(stop);
      } else {
        this.context.attempt(elector::stop);
      }
    }
    wakeUp();
    try {
      for (Thread stop : stops) {
        stop.join();
      }
      if (this.electors.isEmpty()) {
        thread.join(this.settings.drainTimeout().toMillis() + 1);
      }
      thread.join(this.settings.operationTimeout().toMillis());
      delivery.shutdown();
      delivery.awaitTermination(this.settings.operationTimeout().toMillis(), MILLISECONDS);
    } catch (InterruptedException ex) {
      stops.forEach(Thread::interrupt);
      Thread.currentThread().interrupt();
    } finally {
      delivery.shutdown();
    }
  }

  /**
   * Does everything that is due, on the calling thread, for an elector that was {@linkplain #join
   * joined}.
   *
   * @return in how many nanoseconds something is due next
   */
  public long step() {
    long pause = this.settings.renewInterval().toNanos() / 4;
    for (JointElection election : this.running) {
      for (Part part : election.parts()) {
        if (part instanceof ServicePart asked) {
          asked.call();
        }
      }
      election.step();
    }
    for (Elector elector : this.electors.values()) {
      pause = Math.min(pause, elector.step());
    }
    this.running.forEach(JointElection::step);
    return pause;
  }

  /** Makes the elector check at once whether something is due. Never blocks. */
  public void wakeUp() {
    this.electors.values().forEach(Elector::wakeUp);
    this.signal.release();
  }

  /**
   * Sets the listener that is notified of the renewals of all parts from now on.
   *
   * @param listener the listener, which replaces the previous one
   */
  public void onRenewal(RenewalListener listener) {
    this.electors.values().forEach((elector) -> elector.onRenewal(listener));
  }

  /**
   * Returns the health of all parts, by their names. Local.
   *
   * @return the health in the order of the parts; empty while the elector is not running
   */
  public Map<String, StoreHealth> storeHealth() {
    Map<String, StoreHealth> health = new LinkedHashMap<>();
    for (int i = 0; i < this.sources.size(); i++) {
      Elector elector = this.electors.get(this.sources.get(i));
      Optional<StoreHealth> each = elector != null ? elector.storeHealth() : healthOfAsked(i);
      if (each.isPresent()) {
        health.put(this.names.get(i), each.get());
      }
    }
    return health;
  }

  /** Returns the health of a part without a lease: that of the election where it is silent longest. */
  private Optional<StoreHealth> healthOfAsked(int part) {
    return this.leaving
        ? Optional.empty()
        : this.running.stream()
            .map((election) -> ((ServicePart) election.parts().get(part)).health())
            .max(Comparator.comparing(StoreHealth::silence));
  }

  /**
   * Returns the names of the parts.
   *
   * @return the names, in the order in which a node takes the parts
   */
  public List<String> names() {
    return this.names;
  }

  LeaseSettings settings() {
    return this.settings;
  }

  /** Runs on a thread of its own until the node has left and holds nothing. */
  private void run() {
    long pause = this.settings.renewInterval().toNanos() / 4;
    if (this.electors.size() < this.sources.size()) {
      pause = Math.min(pause, ASKED_EVERY.toNanos());
    }
    boolean over = false;
    while (!over) {
      try {
        this.signal.tryAcquire(pause, NANOSECONDS);
        this.signal.drainPermits();
        boolean stepped = true;
        for (JointElection election : this.running) {
          stepped &= this.context.attempt(election::step);
        }
        over = isOver();
        if (!stepped) {
          pauseAfterFailure();
        }
      } catch (InterruptedException ex) {
        // No code should interrupt this thread: it ends by itself.
      } catch (Throwable ex) {
        this.context.log().failedUnexpectedly(ex);
        pauseAfterFailure();
      }
    }
  }

  private void pauseAfterFailure() {
    LockSupport.parkNanos(this.settings.renewInterval().toNanos() / 4);
  }

  private boolean isOver() {
    return this.thread != Thread.currentThread()
        || (this.leaving && this.running.stream().noneMatch(JointElection::holdsAny));
  }

  /** Calls a part without a lease, as long as the elector's thread runs. */
  private void call(ServicePart part, Thread elector) {
    boolean led = false;
    while (elector.isAlive()) {
      try {
        part.call();
        boolean leads = part.glance().leads();
        if (leads != led) {
          led = leads;
          this.signal.release();
        }
        elector.join(ASKED_EVERY.toMillis());
      } catch (InterruptedException ex) {
        // As in the elector's thread.
      } catch (Throwable ex) {
        this.context.log().failedUnexpectedly(ex);
        pauseAfterFailure();
      }
    }
  }

  private void deliver(LeadershipEvent event) {
    ExecutorService delivery = this.delivery;
    if (delivery == null) {
      notify(event);
    } else {
      delivery.execute(() -> notify(event));
    }
  }

  private void notify(LeadershipEvent event) {
    try {
      this.listener.accept(event);
    } catch (Throwable ex) {
      this.context.log().listenerFailed(ex);
    }
  }

  private static ThreadFactory daemons(String name) {
    return (task) -> {
      Thread thread = new Thread(task, name);
      thread.setDaemon(true);
      return thread;
    };
  }
}
