package io.election.lease;

import static java.util.concurrent.TimeUnit.NANOSECONDS;

import io.election.Instruction;
import io.election.LeadershipEvent;
import io.election.Names;
import io.election.lease.Candidacy.Timing;
import io.election.lease.LeaseStore.Reading;
import io.election.lease.Step.Await;
import io.election.lease.Step.Read;
import io.election.lease.Step.Renew;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiConsumer;
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

  /** Calls to the store before the loop looks at requests, and at whether it is to end. */
  private static final int MAX_CALLS = 16;

  private static final long REMINDER_NANOS = Duration.ofMinutes(1).toNanos();

  /** Instead of a pause: there is nothing left to do. */
  private static final long END = -1;

  private final LeaseStore store;

  private final LeaseSettings settings;

  private final Supplier<String> nodeId;

  private final RunningWork work;

  private final EventDelivery events;

  private final Clocks clocks;

  private final ElectionLog log;

  private final Inbox inbox = new Inbox();

  private volatile List<Candidate> candidates = List.of();

  /** Whether the elector has no threads of its own. */
  private volatile boolean stepped = true;

  private @Nullable Thread electorThread;

  private volatile Life life;

  /** Held by the one thread that may call the store, from its first call until it has closed it. */
  private final ReentrantLock storeUse = new ReentrantLock();

  private @Nullable HandBackListener handBacks;

  private volatile boolean running;

  private volatile RenewalListener renewalListener = (serviceId, outcome, duration) -> {};

  private volatile long answeredAt;

  private volatile OpenFailures openFailures = new OpenFailures();

  private volatile Histories histories = new Histories();

  private volatile Members members;

  /** After a failure nothing but renewals is tried before this instant. */
  private long restsUntil;

  /** The first of the candidates whose turn it is to have a call of its own. */
  private int turn;

  private final Looks looks;

  /** How many calls have failed, one after the other. */
  private int failures;

  /** Whether nobody waits for this node, which has led nothing last. */
  private boolean patient;

  /** Since when a stopping elector has had no leader work to wait for; its own thread's. */
  private @Nullable Long idleSince;

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
    this.store = store;
    this.settings = settings;
    this.looks = new Looks(settings.renewInterval());
    this.nodeId = nodeId;
    this.clocks = new Clocks(ticker, clock);
    this.log = new ElectionLog(store.name());
    this.work = new RunningWork(work, this.clocks, this.log);
    this.events = new EventDelivery(
        listener, this::wakeDeadlines, settings.renewInterval().dividedBy(4), this.log);
    this.life = new Life(new Candidacy.Node("", settings), List.of(), deadlines(List.of()));
    this.members = new Members(store, settings, this.log);
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
    if (this.running) {
      throw new IllegalStateException("The elector runs already");
    }
    Life life = enter(services, false);
    try {
      this.events.start();
      life.deadlines.start();
      this.electorThread = Daemon.start("election-elector", () -> run(life));
      this.handBacks = this.settings.eligible()
          ? this.store.handBackSignal().map(this::listen).orElse(null)
          : null;
    } catch (Throwable ex) {
      leave();
      dismiss();
      throw ex;
    }
  }

  private HandBackListener listen(HandBackSignal signal) {
    HandBackListener listener = new HandBackListener(signal, this, this.log);
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
    if (this.running || this.storeUse.isLocked()) {
      throw new IllegalStateException("The elector runs already");
    }
    if (isKept()) {
      throw new IllegalStateException(
          "Leader work of the time before the stop still runs: step the elector until it has ended");
    }
    enter(services, true);
  }

  private Life enter(Collection<? extends LeaseElectionService> services, boolean stepped) {
    List<Candidate> candidates =
        services.stream().map(LeaseElectionService::candidate).toList();
    Candidacy.Node node =
        new Candidacy.Node(Names.requireUsable("node id", this.nodeId.get()), this.settings);
    Life life = new Life(node, candidates, deadlines(candidates));
    // Before it runs: whoever finds it running asks its thread, if it has one.
    this.stepped = stepped;
    this.life = life;
    if (this.storeUse.isLocked() || life.isHeldUp(this.store.name())) {
      for (Candidate candidate : candidates) {
        // A pause ends with the life in which it was ordered.
        candidate.change((candidacy) -> candidacy.resume(now()));
        this.log.waits(
            candidate.serviceId(), node.id(), kept(candidate).map(Candidate::runningWork));
      }
    } else {
      begin(life);
    }
    this.running = true;
    return life;
  }

  /** Stands for the elections of a life, unless it has been left before. */
  private void begin(Life life) {
    synchronized (life) {
      if (life.left || life.begun) {
        return;
      }
      this.candidates = life.candidates;
      // Where each begins elsewhere, they do not all try for the same row first.
      this.turn = Math.floorMod(life.node.id().hashCode(), Math.max(1, life.candidates.size()));
      this.histories = new Histories();
      this.members = new Members(this.store, this.settings, this.log);
      this.answeredAt = now();
      this.restsUntil = now();
      this.failures = 0;
      this.patient = true;
      this.openFailures = new OpenFailures();
      for (Candidate candidate : life.candidates) {
        candidate.change((candidacy) -> {
          Candidacy first = Candidacy.start(life.node, now());
          Instruction paused = this.running ? candidacy.memory().paused() : null;
          return paused != null ? first.pause(paused, now()) : first;
        });
        this.log.joined(candidate.serviceId(), life.node);
      }
      life.begun = true;
    }
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
    if (!this.running) {
      return;
    }
    leave();
    HandBackListener handBacks = this.handBacks;
    if (handBacks != null) {
      handBacks.dismiss();
      this.handBacks = null;
    }
    Thread elector = this.electorThread;
    if (this.stepped || elector == null) {
      step();
      return;
    }
    wakeUp();
    Life life = this.life;
    try {
      if (life.begun) {
        elector.join(this.settings.drainTimeout().toMillis() + 1);
        if (!isKept()) {
          elector.join(this.settings.operationTimeout().multipliedBy(5).toMillis());
        }
      }
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
    }
    if (goOnUnattended(life)) {
      this.events.end();
      wakeUp();
    } else {
      dismiss();
      elector.interrupt();
    }
    try {
      this.events.awaitEnd(this.settings.operationTimeout());
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
    }
  }

  /** Whether work still runs, for which leases are kept when nobody waits any more. */
  private boolean goOnUnattended(Life life) {
    synchronized (life) {
      if (life.ended || !life.begun || !isKept()) {
        return false;
      }
      life.unattended = true;
      for (Candidate candidate : this.candidates) {
        if (candidate.keepsLeaseAfterStop()) {
          EarlierLives.keep(this.store.name(), candidate);
        }
      }
      return true;
    }
  }

  private boolean isKept() {
    return this.candidates.stream()
        .anyMatch((candidate) ->
            candidate.keepsLeaseAfterStop() && this.work.mayBeRunning(candidate.serviceId()));
  }

  /** The election as it is kept after a stop, by this elector or by an earlier one of this process. */
  Optional<Candidate> kept(Candidate candidate) {
    if (candidate.keepsLeaseAfterStop()) {
      return Optional.of(candidate);
    }
    Life life = this.life;
    return life.begun
        ? Optional.empty()
        : EarlierLives.find(this.store.name(), candidate.serviceId(), life.node.id());
  }

  /** A new part in an election, which begins with the next start. */
  Candidate candidate(String serviceId) {
    return new Candidate(
        serviceId, this.nodeId, this.settings, this.clocks, this.work, this.events);
  }

  private DeadlineWatch deadlines(List<Candidate> candidates) {
    return new DeadlineWatch(
        candidates, this.clocks, this.settings.renewInterval().dividedBy(4), this.log);
  }

  private void wakeDeadlines() {
    this.life.deadlines.wakeUp();
  }

  /** Tells the threads of this start to end, as soon as they can. */
  private void dismiss() {
    this.life.dismissed = true;
    this.life.deadlines.dismiss();
    this.events.end();
  }

  /** Leaves the elections, without waiting: {@link #step()} hands back what is held. */
  void leave() {
    Life life = this.life;
    synchronized (life) {
      if (life.begun) {
        this.candidates.forEach(
            (candidate) -> candidate.change((candidacy) -> candidacy.stop(now())));
      }
      // Not before: the thread ends when this is set and there is nothing to hand back.
      life.left = true;
    }
    this.running = false;
    this.inbox.refuseAll();
  }

  /** Makes the elector look at once whether there is something to do. */
  public void wakeUp() {
    this.inbox.wakeUp();
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
    if (!this.running) {
      return Optional.empty();
    }
    // The failure first: an answer in between makes the silence short.
    OpenFailures.Problem problem = this.openFailures.problem();
    long now = now();
    return Optional.of(new StoreContact(
        Duration.ofNanos(now - this.answeredAt),
        problem != null ? problem.age(now) : Duration.ZERO,
        problem != null ? problem.text() : null));
  }

  LeaseSettings settings() {
    return this.settings;
  }

  long now() {
    return this.clocks.now();
  }

  long wall() {
    return this.clocks.wall();
  }

  LeaseStore store() {
    return this.store;
  }

  ElectionLog log() {
    return this.log;
  }

  EventDelivery events() {
    return this.events;
  }

  Members members() {
    return this.members;
  }

  /** The elections for which this node stands. */
  List<Candidate> candidates() {
    return this.candidates;
  }

  boolean isRunning() {
    return this.running;
  }

  /** Whether it was started, and does not stand yet. */
  boolean waitsToBegin() {
    return this.running && !this.life.begun;
  }

  void requireRunning(Candidate candidate) {
    if (!this.running) {
      throw Inbox.notRunning(candidate);
    }
  }

  /** From one start to the end of what follows the next stop. */
  private static final class Life {

    final Candidacy.Node node;

    final List<Candidate> candidates;

    /** Whether its threads are to end as soon as they can. */
    volatile boolean dismissed;

    /** Whether it stands for its elections, rather than waiting for the end of an earlier one. */
    volatile boolean begun;

    final DeadlineWatch deadlines;

    /** Whether it was stopped: it hands back what it holds, and takes nothing any more. */
    volatile boolean left;

    /** Whether nobody waits for it any more, though work runs. */
    volatile boolean unattended;

    /** Whether its thread has ended; under the lock of this. */
    boolean ended;

    /** When the work was named last; its thread's. */
    @Nullable
    Long namedAt;

    Life(Candidacy.Node node, List<Candidate> candidates, DeadlineWatch deadlines) {
      this.deadlines = deadlines;
      this.node = node;
      this.candidates = candidates;
    }

    boolean isHeldUp(String store) {
      return this.candidates.stream()
          .anyMatch((candidate) ->
              EarlierLives.find(store, candidate.serviceId(), this.node.id()).isPresent());
    }

    void awaitEarlierLives(String store) throws InterruptedException {
      EarlierLives.awaitEnd(
          store, this.candidates.stream().map(Candidate::serviceId).toList(), this.node.id());
    }
  }

  /** Has the elector's thread do something. */
  CompletableFuture<@Nullable Void> submit(Candidate candidate, Inbox.Task task) {
    Life life = this.life;
    // A stop in between is found by whoever serves the request.
    requireRunning(candidate);
    return this.inbox.add(life, candidate, task);
  }

  /** Has the elector's thread do something, and waits until that and what follows is done. */
  void ask(Candidate candidate, Inbox.Task task) throws Exception {
    CompletableFuture<@Nullable Void> outcome = submit(candidate, task);
    if (this.stepped) {
      step();
    }
    try {
      outcome.get(this.settings.operationTimeout().toNanos(), NANOSECONDS);
    } catch (ExecutionException ex) {
      throw ex.getCause() instanceof Exception cause ? cause : ex;
    } catch (TimeoutException ex) {
      TimeoutException timeout =
          new TimeoutException("The %s store gave no answer within %s; the node goes on trying"
              .formatted(this.store.name(), this.settings.operationTimeout()));
      timeout.initCause(ex);
      throw timeout;
    }
  }

  private void run(Life life) {
    if (!awaitTurn(life)) {
      return;
    }
    try {
      this.idleSince = null;
      long pause = 0;
      while (!life.dismissed && pause != END) {
        pause = waitAndStep(pause, life);
      }
    } finally {
      try {
        closeStore(life);
      } finally {
        end(life);
        this.storeUse.unlock();
      }
    }
  }

  private void end(Life life) {
    synchronized (life) {
      life.ended = true;
      life.dismissed = true;
    }
    life.deadlines.dismiss();
    if (life.unattended) {
      nameWork(
          life, (candidate, work) -> this.log.givenUp(candidate.serviceId(), life.node.id(), work));
      EarlierLives.end(this.store.name(), life.candidates);
    }
  }

  private void nameWork(Life life, BiConsumer<Candidate, List<String>> log) {
    for (Candidate candidate : life.candidates) {
      List<String> work = candidate.runningWork();
      if (!work.isEmpty()) {
        log.accept(candidate, work);
      }
    }
  }

  /** Names the work for which leases are kept, once a minute. */
  private void remind(Life life) {
    long now = now();
    Long namedAt = life.namedAt;
    if (namedAt == null || now - namedAt >= REMINDER_NANOS) {
      life.namedAt = now;
      nameWork(life, (candidate, work) -> {
        if (candidate.keepsLeaseAfterStop()) {
          this.log.keeps(candidate.serviceId(), life.node.id(), work);
        }
      });
    }
  }

  /** A thread of an earlier life may be in the store still, or keep a lease for work that runs. */
  private boolean awaitTurn(Life life) {
    while (!life.dismissed) {
      try {
        this.storeUse.lockInterruptibly();
        boolean begun = false;
        try {
          life.awaitEarlierLives(this.store.name());
          begin(life);
          begun = !life.dismissed;
        } finally {
          if (!begun) {
            this.storeUse.unlock();
          }
        }
        if (begun) {
          return true;
        }
      } catch (InterruptedException ex) {
        // Of stop(), and then it shows; or of somebody who has no business with this thread.
      }
    }
    return false;
  }

  private boolean goesOn(Life life) {
    if (!life.left) {
      return true;
    }
    if (!isHandingBack()) {
      return false;
    }
    if (isHopeless()) {
      this.log.notHandedBack();
      return false;
    }
    return true;
  }

  /** Whatever goes wrong here, without memory even the waiting, must not end the loop. */
  private long waitAndStep(long pause, Life life) {
    try {
      if (life.unattended) {
        remind(life);
      }
      if (!goesOn(life)) {
        return END;
      }
      this.inbox.await(pause);
      return performDue(life);
    } catch (InterruptedException ex) {
      // Of stop(), and then it shows; or of somebody who has no business with this thread.
      return 0;
    } catch (Throwable ex) {
      Daemon.survive(ex, this.settings.renewInterval().dividedBy(4), this.log);
      return 0;
    }
  }

  /** A store that is dead need not hold up the end of the process once leader work has ended. */
  private boolean isHopeless() {
    if (this.candidates.stream()
        .anyMatch((candidate) -> this.work.isRunning(candidate.serviceId()))) {
      this.idleSince = null;
      return false;
    }
    long now = now();
    if (this.idleSince == null) {
      this.idleSince = now;
    }
    return now - this.idleSince
        > this.settings.operationTimeout().multipliedBy(2).toNanos();
  }

  private boolean isHandingBack() {
    return this.candidates.stream().anyMatch((candidate) -> candidate.isSteppingDown());
  }

  /**
   * Does what is due, and delivers the events, on the calling thread. Goes on after {@link #stop()} as
   * long as something is to be handed back.
   *
   * @return in how many nanoseconds something is due next, unless there is a wake-up before
   * @throws IllegalStateException if the elector has threads of its own
   */
  public synchronized long step() {
    if (!this.stepped) {
      throw new IllegalStateException("The elector was started: its own threads step it");
    }
    Life life = this.life;
    long pause = performDue(life);
    // However many elections there are; but no election for ever.
    for (int i = 0; !this.inbox.isEmpty() || (pause == 0 && i < this.candidates.size()); i++) {
      pause = performDue(life);
    }
    this.events.deliverNow();
    if (!this.running && !isHandingBack()) {
      closeStore(life);
    }
    return pause;
  }

  /** Deletes this node's entry in the register first, unless the store fails or the stop has given up. */
  private void closeStore(Life life) {
    try {
      if (!life.dismissed && !rests()) {
        this.members.withdraw();
      }
    } finally {
      this.store.close();
    }
  }

  /**
   * Does what is due, call by call. Before each call renewals come first, so that at most one call is
   * ahead of them, however many elections there are and whatever is done about them.
   *
   * @return in how many nanoseconds something is due next; 0 also if there may be more to do at once
   */
  private long performDue(Life life) {
    if (!this.inbox.isEmpty()) {
      renewDue();
    }
    Inbox.Request request = serve(life);
    Map<Candidate, Throwable> failed = new LinkedHashMap<>();
    long pause = 0;
    for (int calls = 0; calls < MAX_CALLS && !life.dismissed; calls++) {
      Map<Candidate, Step.Call<?>> due = new LinkedHashMap<>();
      Map<Candidate, Step.Call<?>> early = new LinkedHashMap<>();
      pause = collect(due, early);
      if (due.isEmpty()) {
        break;
      }
      failed.putAll(perform(oneCall(due, early, request)));
      pause = 0;
      if (rests()) {
        break;
      }
    }
    if (request != null) {
      Throwable failure = failed.get(request.candidate());
      if (failure != null) {
        request.outcome().completeExceptionally(failure);
      } else {
        request.outcome().complete(null);
      }
    }
    boolean idle = pause > 0 && !life.left && !rests();
    boolean tended = idle && (lookAfterHistories() || this.members.tend(this.candidates, now()));
    return this.inbox.isEmpty() && !tended ? pause : 0;
  }

  /** What nothing waits for, with one call; whether there was something to do. */
  private boolean lookAfterHistories() {
    if (this.histories.isToBePruned()) {
      try {
        this.histories.prune(this.store, this.settings.historyRetention());
      } catch (LeaseStoreException | RuntimeException ex) {
        this.log.notPruned(ex);
      }
      return true;
    }
    long settleNanos = this.settings.renewInterval().toNanos() / 2;
    long spreadNanos =
        Math.min(64 * this.looks.take(), this.settings.leaseDuration().toNanos());
    List<Candidate> due = this.histories.due(this.candidates, now(), settleNanos, spreadNanos);
    if (due.isEmpty()) {
      return false;
    }
    try {
      this.histories.read(this.store, due);
    } catch (LeaseStoreException | RuntimeException ex) {
      this.log.historyUnknown(ex, this.histories.failedAgain(now(), settleNanos), now());
    }
    return true;
  }

  private void renewDue() {
    Map<Candidate, Step.Call<?>> due = new LinkedHashMap<>();
    Map<Candidate, Step.Call<?>> early = new LinkedHashMap<>();
    collect(due, early);
    if (due.values().stream().anyMatch(Renew.class::isInstance)) {
      perform(oneCall(due, early, null));
    }
  }

  private boolean rests() {
    return now() - this.restsUntil < 0;
  }

  /** Does what somebody has asked for; what follows from it is due at once. */
  private Inbox.@Nullable Request serve(Life life) {
    Inbox.Request request = this.inbox.runNext(life);
    if (request != null) {
      this.restsUntil = now();
    }
    return request;
  }

  private long collect(Map<Candidate, Step.Call<?>> due, Map<Candidate, Step.Call<?>> early) {
    long now = now();
    long pause = this.settings.renewInterval().toNanos();
    for (Candidate candidate : this.candidates) {
      boolean working = this.work.isRunning(candidate.serviceId());
      Candidacy candidacy = candidate.update();
      Step step = candidacy.next(now, working);
      if (step instanceof Await await) {
        pause = Math.min(pause, Math.max(await.until() - now, 0));
        Step.Call<?> ahead = candidacy.early(now, working);
        if (ahead != null) {
          early.put(candidate, ahead);
        }
      } else if (step instanceof Step.Call<?> call && (step instanceof Renew || !rests())) {
        due.put(candidate, call);
      } else {
        pause = Math.min(pause, Math.max(this.restsUntil - now, 0));
      }
    }
    return pause;
  }

  /** The most urgent of what is due, as much as one call to the store can do. */
  private Map<Candidate, Step.Call<?>> oneCall(
      Map<Candidate, Step.Call<?>> due,
      Map<Candidate, Step.Call<?>> early,
      Inbox.@Nullable Request request) {
    for (Class<? extends Step.Call<?>> together : List.of(Renew.class, Read.class)) {
      if (due.values().stream().anyMatch(together::isInstance)) {
        Map<Candidate, Step.Call<?>> all = new LinkedHashMap<>();
        // In their order, not in that in which they fall due.
        for (Candidate candidate : this.candidates) {
          Step.Call<?> step = due.getOrDefault(candidate, early.get(candidate));
          if (together.isInstance(step)) {
            all.put(candidate, step);
          }
        }
        return all;
      }
    }
    Candidate next = request != null && due.containsKey(request.candidate())
        ? request.candidate()
        : takeTurn(due);
    return Map.of(next, due.get(next));
  }

  /** One that fails again and again does not keep the others from theirs. */
  private Candidate takeTurn(Map<Candidate, Step.Call<?>> due) {
    Candidate next;
    do {
      next = this.candidates.get(this.turn % this.candidates.size());
      this.turn = (this.turn + 1) % this.candidates.size();
    } while (!due.containsKey(next));
    return next;
  }

  /**
   * Performs steps that are one call.
   *
   * @return the failures of those whose outcome is unknown
   */
  private Map<Candidate, Throwable> perform(Map<Candidate, Step.Call<?>> steps) {
    Map<Candidate, Throwable> failed = new LinkedHashMap<>();
    try {
      Map.Entry<Candidate, Step.Call<?>> first = steps.entrySet().iterator().next();
      if (first.getValue() instanceof Renew) {
        renew(steps, failed);
      } else if (first.getValue() instanceof Read) {
        read(steps.keySet());
      } else {
        call(first.getKey(), first.getValue());
      }
      this.answeredAt = now();
      this.failures = 0;
      this.patient = this.candidates.stream().noneMatch((s) -> s.candidacy().ledLast());
      steps.forEach((candidate, step) -> {
        if (!failed.containsKey(candidate)) {
          this.openFailures.answered(candidate, step, candidate.candidacy(), this.answeredAt);
        }
      });
      this.openFailures
          .settle()
          .ifPresent((worksAgain) -> this.log.storeAnswered(worksAgain, this.answeredAt));
    } catch (Throwable ex) {
      long now = now();
      steps.forEach((candidate, step) -> {
        candidate.change((candidacy) -> candidacy.onFailure(step, now));
        this.openFailures.failed(candidate, step, ElectionLog.text(ex), now);
        failed.put(candidate, ex);
      });
      this.restsUntil = now + rest();
      this.log.storeFailed(ex, this.candidates, now);
      if (ex instanceof Error error) {
        throw error;
      }
    }
    return failed;
  }

  /**
   * At first as long as those wait that have failed. Then followers let a server come to itself that
   * hundreds of them have overloaded: each for another time, of a renew interval at most.
   */
  private long rest() {
    long quarter = this.settings.renewInterval().toNanos() / 4;
    long more = this.patient ? quarter * Math.min(this.failures, 3) : 0;
    this.failures++;
    return quarter + this.candidates.get(0).candidacy().node().spread(more);
  }

  private void renew(Map<Candidate, Step.Call<?>> steps, Map<Candidate, Throwable> failed)
      throws LeaseStoreException {
    Map<Candidate, Renew> renewals = new LinkedHashMap<>();
    Map<String, Renew> byElection = new LinkedHashMap<>();
    steps.forEach((candidate, step) -> {
      if (step instanceof Renew renew) {
        renewals.put(candidate, renew);
        byElection.put(candidate.serviceId(), renew);
      }
    });
    String node = renewals.keySet().iterator().next().nodeId();
    long wallSent = wall();
    long sent = now();
    Set<String> renewed;
    PartialRenewalException partial = null;
    try {
      renewed = Renew.executeAll(this.store, node, byElection);
    } catch (PartialRenewalException ex) {
      renewed = ex.renewed();
      partial = ex;
    } catch (LeaseStoreException | RuntimeException ex) {
      byElection.keySet().forEach((id) -> tell(id, RenewalListener.Outcome.UNKNOWN, sent));
      throw ex;
    }
    Timing timing = new Timing(sent, wallSent, now(), wall());
    for (Map.Entry<Candidate, Renew> renewal : renewals.entrySet()) {
      Candidate candidate = renewal.getKey();
      Renew step = renewal.getValue();
      if (partial != null && partial.undecided().contains(candidate.serviceId())) {
        candidate.change((candidacy) -> candidacy.onFailure(step, timing.now()));
        failed.put(candidate, partial);
      } else {
        boolean confirmed = renewed.contains(candidate.serviceId());
        candidate.change((candidacy) -> step.after(candidacy, confirmed, timing));
      }
    }
    if (partial != null) {
      this.log.renewedInPart(partial, failed.keySet(), timing.now());
    } else {
      this.log.renewedAll(timing.now());
    }
    for (Map.Entry<Candidate, Renew> renewal : renewals.entrySet()) {
      String id = renewal.getKey().serviceId();
      RenewalListener.Outcome decided = renewed.contains(id)
          ? RenewalListener.Outcome.CONFIRMED
          : RenewalListener.Outcome.REFUSED;
      tell(
          id,
          failed.containsKey(renewal.getKey()) ? RenewalListener.Outcome.UNKNOWN : decided,
          sent);
    }
  }

  private void tell(String serviceId, RenewalListener.Outcome outcome, long sent) {
    try {
      this.renewalListener.onRenewal(serviceId, outcome, Duration.ofNanos(now() - sent));
    } catch (RuntimeException ex) {
      this.log.renewalListenerFailed(ex);
    }
  }

  /** Who reads together looks again together, at the time that suits the first of them. */
  private void read(Collection<Candidate> readers) throws LeaseStoreException {
    Set<String> ids = new LinkedHashSet<>();
    readers.forEach((candidate) -> ids.add(candidate.serviceId()));
    long wallSent = wall();
    long sent = now();
    Map<String, Reading> readings = this.store.read(ids);
    Timing timing = new Timing(sent, wallSent, now(), wall());
    long now = timing.now();
    this.looks.took(now - sent);
    Candidate first = readers.iterator().next();
    Reading ofFirst = readings.get(first.serviceId());
    Duration age = ofFirst != null ? ofFirst.age() : Duration.ZERO;
    long nextLook = this.looks.next(first.candidacy().node(), now, age);
    for (Candidate candidate : readers) {
      Optional<Reading> reading = Optional.ofNullable(readings.get(candidate.serviceId()));
      Candidacy before = candidate.candidacy();
      Candidacy after = candidate.change(
          (candidacy) -> new Read().after(candidacy, reading, timing).nextLookAt(nextLook));
      this.log.observed(candidate.serviceId(), before, after, now);
    }
  }

  private <R> void call(Candidate candidate, Step.Call<R> step) throws LeaseStoreException {
    Step.Caller caller = Step.Caller.of(candidate.serviceId(), candidate.candidacy());
    long wallSent = wall();
    long sent = now();
    R answer = step.execute(this.store, caller);
    Timing timing = new Timing(sent, wallSent, now(), wall());
    this.log.answered(caller, step, answer);
    candidate.change((candidacy) -> step.after(candidacy, answer, timing));
    if (step.isRace() && !step.isDone(answer)) {
      lookWhatIsLeft(timing.now());
    }
  }

  private void lookWhatIsLeft(long now) {
    this.candidates.forEach(
        (candidate) -> candidate.change((candidacy) -> candidacy.onRaceLost(now)));
  }
}
