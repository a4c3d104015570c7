package io.election.lease;

import io.election.LeadershipEvent;
import io.election.Names;
import io.election.store.ElectionDirectory;
import io.election.store.LeadershipCondition;
import io.election.store.LeaseSettings;
import io.election.store.LeaseStore;
import io.election.store.StoreHealth;
import io.election.store.Ticker;
import java.time.InstantSource;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Runs a node's part in all its elections over one {@link LeaseStore}.
 *
 * <p>One thread talks to the store. Another watches deadlines, so that a leadership ends at its
 * deadline for leader work too, even while a call to the store hangs. A third delivers events, so
 * that a slow listener delays only later events. All are daemon threads. An elector that was
 * {@linkplain #join joined} instead of {@linkplain #start started} has none of them: its owner
 * calls {@link #step()}.
 *
 * <p>Thread-safe. Can be restarted after a stop.
 */
public final class Elector {

  private final ElectorContext context;

  private final Supplier<String> nodeId;

  private final EventDelivery events;

  private volatile RenewalListener renewalListener = (serviceId, outcome, duration) -> {};

  /** The last run that was started. */
  private volatile ElectionRun run;

  /** The thread of the last run; {@code null} if that run is stepped. */
  private volatile @Nullable Thread thread;

  private LeaseStore.@Nullable Watch watch;

  /**
   * Creates an elector that is not running.
   *
   * @param store the store of the leases
   * @param settings how this node holds its leases
   * @param nodeId supplies the id of this node; called at each start, when the port of a web server
   *     is known
   * @param work the leader work that must end before a lease is handed back, and that is notified
   *     when the lease ends
   * @param listener receives all events, one at a time; its exceptions are logged
   * @param ticker the monotonic clock; {@code System::nanoTime} in production
   * @param clock the wall clock; {@code InstantSource.system()} in production
   */
  public Elector(
      LeaseStore store,
      LeaseSettings settings,
      Supplier<String> nodeId,
      LeaderWork work,
      Consumer<LeadershipEvent> listener,
      Ticker ticker,
      InstantSource clock) {
    this(store, settings, nodeId, work, listener, ticker, clock, Precedence.NONE);
  }

  /**
   * Creates an elector that is not running, and that lets other nodes go first.
   *
   * @param precedence who goes first; the other parameters are those of the other constructor
   */
  public Elector(
      LeaseStore store,
      LeaseSettings settings,
      Supplier<String> nodeId,
      LeaderWork work,
      Consumer<LeadershipEvent> listener,
      Ticker ticker,
      InstantSource clock,
      Precedence precedence) {
    Clocks clocks = new Clocks(ticker, clock);
    ElectionLog log = new ElectionLog(store.name());
    this.nodeId = nodeId;
    this.context = new ElectorContext(
        store,
        settings,
        clocks,
        new RunningWork(work, clocks, log),
        log,
        new ReentrantLock(),
        new Inbox(),
        (id, outcome, duration) -> this.renewalListener.onRenewal(id, outcome, duration),
        store instanceof LeadershipCondition condition && condition.isConditional()
            ? condition
            : null,
        precedence);
    this.events = new EventDelivery(
        listener, () -> this.run.deadlines().wakeUp(), this.context.pauseAfterFailure(), log);
    this.run = new ElectionRun(this.context, Node.unnamed(settings), List.of(), true);
  }

  /**
   * Begins to stand for elections. Returns at once; the calls to the store follow on the elector's
   * thread. If this elector, or another one of this process under the same node id, was stopped
   * while leader work ran, they follow once that work has ended and the lease is handed back.
   *
   * @param services the elections
   * @throws IllegalArgumentException if the node id cannot be used
   * @throws IllegalStateException if the elector is already running
   */
  public synchronized void start(Collection<? extends Part> services) {
    if (isRunning()) {
      throw new IllegalStateException("The elector runs already");
    }
    ElectionRun run = enter(services, false);
    boolean delivers = false;
    try {
      this.events.start();
      delivers = true;
      run.deadlines().start();
      this.thread = Daemon.start("election-elector", run::run);
      this.watch = settings().eligible() ? store().watch(run.nodeId(), run.wake()) : null;
    } catch (Throwable ex) {
      leave();
      run.dismiss();
      if (delivers) {
        this.events.end();
      }
      throw ex;
    }
  }

  /**
   * Begins to stand for elections without threads, for callers with a loop and a clock of their
   * own: everything happens in {@link #step()}.
   *
   * @param services the elections
   * @throws IllegalArgumentException if the node id cannot be used
   * @throws IllegalStateException if the elector is already running, its threads have not ended
   *     yet, or leader work from before the last stop still runs
   */
  public synchronized void join(Collection<? extends Part> services) {
    if (isRunning() || this.context.storeUse().isLocked()) {
      throw new IllegalStateException("The elector runs already");
    }
    if (this.run.acting().keepsLeases()) {
      throw new IllegalStateException(
          "Leader work from before the stop still runs: step the elector until it has ended");
    }
    enter(services, true);
  }

  private ElectionRun enter(Collection<? extends Part> services, boolean stepped) {
    List<Candidate> candidates = services.stream().map(Part::candidate).toList();
    Node node = new Node(Names.requireNodeId("node id", this.nodeId.get()), settings());
    ElectionRun run = new ElectionRun(this.context, node, candidates, stepped);
    ElectionRun last = this.run;
    this.run = run;
    run.start(last);
    return run;
  }

  /**
   * Stops standing for the elections. When this method returns, the node no longer leads.
   *
   * <p>The elector waits for running leader work to end, while it continues to renew, and hands the
   * leases back. This method waits for that for at most the drain timeout and some operation
   * timeouts, or until the calling thread is interrupted; it then leaves the interrupt flag set. If
   * leader work still runs after that, a daemon thread continues to renew its leases until the work
   * has ended, and logs its names once a minute. Other leases that have not been handed back by
   * then expire.
   *
   * <p>Without threads, this method calls {@link #step()} once and does not wait. Does nothing if
   * the elector is not running.
   */
  public synchronized void stop() {
    ElectionRun run = this.run;
    if (!run.isRunning()) {
      return;
    }
    leave();
    LeaseStore.Watch watch = this.watch;
    this.watch = null;
    try {
      if (watch != null) {
        watch.close();
      }
    } finally {
      awaitEnd(run);
    }
  }

  private void awaitEnd(ElectionRun run) {
    Thread thread = this.thread;
    if (run.isStepped() || thread == null) {
      step();
      return;
    }
    try {
      if (run.isLeaving()) {
        thread.join(settings().drainTimeout().toMillis() + 1);
        if (!run.keepsLeases()) {
          thread.join(settings().operationTimeout().multipliedBy(5).toMillis());
        }
      }
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
    }
    if (run.goOnUnattended()) {
      this.events.end();
      wakeUp();
    } else {
      run.dismiss();
      this.events.end();
      thread.interrupt();
    }
    try {
      this.events.awaitEnd(settings().operationTimeout());
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
    }
  }

  /** Leaves the elections without waiting: {@link #step()} hands the leases back. */
  void leave() {
    this.run.leave();
    this.context.inbox().refuseAll();
    wakeUp();
  }

  /**
   * Does everything that is due and delivers the events, on the calling thread. After
   * {@link #stop()}, call this method until every lease is handed back.
   *
   * @return in how many nanoseconds something is due next, unless {@link #wakeUp()} is called
   *     before
   * @throws IllegalStateException if the elector has threads of its own
   */
  public synchronized long step() {
    ElectionRun run = this.run;
    if (!run.isStepped()) {
      throw new IllegalStateException("The elector was started: its own threads step it");
    }
    long pause = run.step();
    this.events.deliverNow();
    return pause;
  }

  /** Makes the elector check at once whether something is due. Never blocks. */
  public void wakeUp() {
    this.context.inbox().wakeUp();
  }

  /** Announces a new {@linkplain Precedence#position position} at once. Never blocks. */
  public void announcePosition() {
    members().announceSoon();
    wakeUp();
  }

  /**
   * Sets the listener that is notified of renewals from now on. There is none initially.
   *
   * @param listener the listener, which replaces the previous one
   */
  public void onRenewal(RenewalListener listener) {
    this.renewalListener = listener;
  }

  /**
   * Returns the health of the elector's store. Local.
   *
   * @return the health; empty while the elector is not running
   */
  public Optional<StoreHealth> storeHealth() {
    return isRunning() ? Optional.of(this.run.acting().loop().calls().health()) : Optional.empty();
  }

  /** Creates the part in an election, which begins with the next start. */
  Candidate candidate(String serviceId) {
    return new Candidate(
        serviceId,
        this.nodeId,
        settings(),
        this.context.clocks(),
        this.context.work(),
        this.events,
        this.context.condition(),
        this::wakeUp);
  }

  /** Returns the elections for which this node stands. */
  List<Candidate> candidates() {
    return this.run.acting().candidates();
  }

  Members members() {
    return this.run.acting().loop().members();
  }

  boolean isRunning() {
    return this.run.isRunning();
  }

  /** Returns whether the elector was started, but does not stand yet. */
  boolean waitsToBegin() {
    return this.run.isWaiting();
  }

  void requireRunning(Candidate candidate) {
    if (!isRunning()) {
      throw Inbox.notRunning(candidate);
    }
  }

  /** Submits a task to the elector's thread. */
  CompletableFuture<@Nullable Void> submit(Candidate candidate, Inbox.Task task) {
    ElectionRun run = this.run;
    // If the elector is stopped in between, the request is refused when its turn comes.
    requireRunning(candidate);
    return this.context.inbox().add(run.loop(), candidate, task);
  }

  boolean isStepped() {
    return this.run.isStepped();
  }

  LeaseStore store() {
    return this.context.store();
  }

  @Nullable
  ElectionDirectory directory() {
    return this.context.directory();
  }

  LeaseSettings settings() {
    return this.context.settings();
  }

  ElectionLog log() {
    return this.context.log();
  }

  EventDelivery events() {
    return this.events;
  }

  long now() {
    return this.context.now();
  }

  /** This node's part in one election. */
  public abstract static class Part {

    private final Candidate candidate;

    Part(Candidate candidate) {
      this.candidate = candidate;
    }

    Candidate candidate() {
      return this.candidate;
    }
  }
}
