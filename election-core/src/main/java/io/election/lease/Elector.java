package io.election.lease;

import static java.util.concurrent.TimeUnit.NANOSECONDS;

import io.election.LeadershipEvent;
import io.election.Names;
import java.time.InstantSource;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Drives a node's part in its elections, however many, over one {@link LeaseStore}.
 *
 * <p>One thread talks to the store. Another watches deadlines, so that a leadership ends at its deadline
 * for leader work too, even while a call to the store hangs. A third delivers events, so that a slow
 * listener delays nothing but later events. A fourth, if the store has a {@link HandBackSignal}, waits
 * for that. All are daemons. An elector that was {@linkplain #join
 * joined} rather than {@linkplain #start started} has none of them: who joined it calls {@link #step()}.
 *
 * <p>Safe for use by any thread. Can be started again after a stop.
 */
public final class Elector {

  private final ElectorContext context;

  private final Supplier<String> nodeId;

  private final EventDelivery events;

  private volatile RenewalListener renewalListener = (serviceId, outcome, duration) -> {};

  /** The last run that was started. */
  private volatile ElectionRun run;

  /** Of the last run; {@code null} if that is stepped. */
  private volatile @Nullable Thread thread;

  private @Nullable HandBackListener handBacks;

  /**
   * Creates an elector that is not running.
   *
   * @param store where the leases are
   * @param settings how this node holds its leases
   * @param nodeId gives the id of this node; asked at each start, when the port of a web server is
   *     known
   * @param work what a leader lets end before it hands its lease back, and what ends with the lease
   * @param listener is given all events, one after the other
   * @param ticker the monotonic clock; {@code System::nanoTime}
   * @param clock the wall clock; {@code InstantSource.system()}
   */
  public Elector(
      LeaseStore store,
      LeaseSettings settings,
      Supplier<String> nodeId,
      LeaderWork work,
      Consumer<LeadershipEvent> listener,
      Ticker ticker,
      InstantSource clock) {
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
        (id, outcome, duration) -> this.renewalListener.onRenewal(id, outcome, duration));
    this.events = new EventDelivery(
        listener, () -> this.run.deadlines().wakeUp(), this.context.pauseAfterFailure(), log);
    this.run = new ElectionRun(this.context, new Candidacy.Node("", settings), List.of(), true);
  }

  /**
   * Begins to stand for elections. Returns at once; the first calls to the store follow. They follow
   * later if this elector, or another one of this process under the same node id, was stopped while
   * leader work ran: as soon as that work has ended and the lease is handed back.
   *
   * @param services the elections
   * @throws IllegalStateException if the elector runs already
   */
  public synchronized void start(Collection<? extends LeaseElectionService> services) {
    if (isRunning()) {
      throw new IllegalStateException("The elector runs already");
    }
    ElectionRun run = enter(services, false);
    try {
      this.events.start();
      run.deadlines().start();
      this.thread = Daemon.start("election-elector", run::run);
      this.handBacks =
          settings().eligible() ? store().handBackSignal().map(this::listen).orElse(null) : null;
    } catch (Throwable ex) {
      leave();
      dismiss(run);
      throw ex;
    }
  }

  private HandBackListener listen(HandBackSignal signal) {
    HandBackListener listener = new HandBackListener(signal, this, log());
    Daemon.start("election-signal", listener::run);
    return listener;
  }

  /**
   * Begins to stand for elections without threads, for those who drive the elector by a loop and a clock
   * of their own: nothing happens but in {@link #step()}.
   *
   * @param services the elections
   * @throws IllegalStateException if the elector runs already, or its threads have not ended yet
   */
  public synchronized void join(Collection<? extends LeaseElectionService> services) {
    if (isRunning() || this.context.storeUse().isLocked()) {
      throw new IllegalStateException("The elector runs already");
    }
    if (this.run.standing().keepsLeases()) {
      throw new IllegalStateException(
          "Leader work of the time before the stop still runs: step the elector until it has ended");
    }
    enter(services, true);
  }

  private ElectionRun enter(Collection<? extends LeaseElectionService> services, boolean stepped) {
    List<Candidate> candidates =
        services.stream().map(LeaseElectionService::candidate).toList();
    Candidacy.Node node =
        new Candidacy.Node(Names.requireUsable("node id", this.nodeId.get()), settings());
    ElectionRun run = new ElectionRun(this.context, node, candidates, stepped);
    ElectionRun last = this.run;
    this.run = run;
    run.start(last);
    return run;
  }

  /**
   * Ends this node's part: it leads no more when this returns. Lets running leader work end, renewing
   * all the while, and hands the leases back. Waits for that at most the drain time-out and some
   * operation time-outs, or until the calling thread is interrupted. If leader work still runs then, a
   * daemon thread goes on renewing its leases until it has ended, and names it once a minute; other
   * leases that are not handed back by then end by themselves. Without threads it makes one {@link
   * #step()} and waits for nothing. Does nothing if the elector does not run.
   */
  public synchronized void stop() {
    ElectionRun run = this.run;
    if (!run.isRunning()) {
      return;
    }
    leave();
    HandBackListener handBacks = this.handBacks;
    if (handBacks != null) {
      handBacks.dismiss();
      this.handBacks = null;
    }
    Thread thread = this.thread;
    if (run.isStepped() || thread == null) {
      step();
      return;
    }
    wakeUp();
    try {
      if (run.hasBegun()) {
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
      dismiss(run);
      thread.interrupt();
    }
    try {
      this.events.awaitEnd(settings().operationTimeout());
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
    }
  }

  /** Tells the threads of a run to end, as soon as they can. */
  private void dismiss(ElectionRun run) {
    run.dismiss();
    this.events.end();
  }

  /** Leaves the elections, without waiting: {@link #step()} hands back what is held. */
  void leave() {
    this.run.leave();
    this.context.inbox().refuseAll();
  }

  /**
   * Does what is due, and delivers the events, on the calling thread. Goes on after {@link #stop()} as
   * long as something is to be handed back.
   *
   * @return in how many nanoseconds something is due next, unless there is a wake-up before
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

  /** Makes the elector look at once whether there is something to do. */
  public void wakeUp() {
    this.context.inbox().wakeUp();
  }

  /**
   * Sets who hears of renewals from now on; at first nobody does.
   *
   * @param listener replaces the one before
   */
  public void onRenewal(RenewalListener listener) {
    this.renewalListener = listener;
  }

  /**
   * Tells how the elector and its store get on. Local.
   *
   * @return the contact; empty while the elector does not run
   */
  public Optional<StoreContact> storeContact() {
    if (!isRunning()) {
      return Optional.empty();
    }
    return Optional.of(this.run.standing().loop().calls().contact());
  }

  /** A new part in an election, which begins with the next start. */
  Candidate candidate(String serviceId) {
    return new Candidate(
        serviceId,
        this.nodeId,
        settings(),
        this.context.clocks(),
        this.context.work(),
        this.events);
  }

  /** The elections for which this node stands. */
  List<Candidate> candidates() {
    return this.run.standing().candidates();
  }

  /** The election as it is kept after a stop, by this elector or by an earlier one of this process. */
  Optional<Candidate> kept(Candidate candidate) {
    return this.run.kept(candidate);
  }

  Members members() {
    return this.run.standing().loop().members();
  }

  boolean isRunning() {
    return this.run.isRunning();
  }

  /** Whether it was started, and does not stand yet. */
  boolean waitsToBegin() {
    ElectionRun run = this.run;
    return run.isRunning() && !run.hasBegun();
  }

  void requireRunning(Candidate candidate) {
    if (!isRunning()) {
      throw Inbox.notRunning(candidate);
    }
  }

  /** Has the elector's thread do something. */
  CompletableFuture<@Nullable Void> submit(Candidate candidate, Inbox.Task task) {
    ElectionRun run = this.run;
    // A stop in between is found by whoever serves the request.
    requireRunning(candidate);
    return this.context.inbox().add(run.loop(), candidate, task);
  }

  /** Has the elector's thread do something, and waits until that and what follows is done. */
  void ask(Candidate candidate, Inbox.Task task) throws Exception {
    CompletableFuture<@Nullable Void> outcome = submit(candidate, task);
    if (this.run.isStepped()) {
      step();
    }
    try {
      outcome.get(settings().operationTimeout().toNanos(), NANOSECONDS);
    } catch (ExecutionException ex) {
      throw ex.getCause() instanceof Exception cause ? cause : ex;
    } catch (TimeoutException ex) {
      TimeoutException timeout =
          new TimeoutException("The %s store gave no answer within %s; the node goes on trying"
              .formatted(store().name(), settings().operationTimeout()));
      timeout.initCause(ex);
      throw timeout;
    }
  }

  LeaseStore store() {
    return this.context.store();
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
}
