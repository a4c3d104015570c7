package io.election.autoconfigure.leaderonly;

import io.election.LeadershipEvent;
import io.election.LeadershipLostEvent;
import io.election.autoconfigure.leaderonly.LeaderOnlyCalls.Gate;
import io.election.autoconfigure.leaderonly.Permits.Binding;
import io.election.autoconfigure.leaderonly.Permits.Continuation;
import io.election.autoconfigure.leaderonly.Permits.Permit;
import io.election.lease.LeaseElectionService;
import io.election.store.Ticker;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.BeanWrapper;
import org.springframework.beans.PropertyAccessorFactory;
import org.springframework.context.Lifecycle;
import org.springframework.context.SmartLifecycle;

/**
 * A bean that runs while this node leads. From before its start until its stop has ended it is work
 * under a permit, for whose end a leader that steps down waits. One thread starts and stops it;
 * another one checks that this thread does not hang.
 */
final class LeaderBoundBean {

  private static final Logger log = LoggerFactory.getLogger(LeaderBoundBean.class);

  private static final long MINUTE = TimeUnit.MINUTES.toMillis(1);

  /** Instead of a term. */
  private static final long NONE = -1;

  private final String name;

  private final Gate gate;

  private final Lifecycle work;

  private final Shared shared;

  /** What the ticker read at first; it may overflow later. */
  private final long origin;

  /** Held by the thread that starts and stops the bean. */
  private final Object turn = new Object();

  /** Wakes that thread. */
  private final Semaphore news = new Semaphore(0);

  /** When a problem was logged last. */
  private final Map<String, Long> logged = new ConcurrentHashMap<>();

  private volatile boolean open;

  /** The term of the run; {@link #NONE} if that is known to be over. */
  private final AtomicLong term = new AtomicLong(NONE);

  private State state = State.STOPPED;

  /** When the state was entered, by the monotonic and by the wall clock. */
  private long entered;

  private Instant since;

  /** Why it did not run last. */
  private @Nullable String failure;

  /** How often it has failed since it was well. */
  private int failures;

  /** When this node did not lead, or the bean had run for as long as a start may take. */
  private long wellAt;

  /** Stops a start that hangs, on a thread of its own. */
  private Future<?> rescue = CompletableFuture.completedFuture(null);

  LeaderBoundBean(String name, Gate gate, Lifecycle work, Shared shared) {
    this.name = name;
    this.gate = gate;
    this.work = work;
    this.shared = shared;
    this.origin = shared.ticker().read();
    this.since = shared.clock().instant();
  }

  /**
   * What all beans of an application use.
   *
   * @param startTimeout after which a leader whose bean does not run hands the leadership on
   * @param threads runs tasks, each on a thread of its own
   * @param pause waits for news, for a second at most
   */
  record Shared(
      LeaderOnlyCalls calls,
      Duration startTimeout,
      Executor threads,
      Consumer<Semaphore> pause,
      Ticker ticker,
      InstantSource clock) {}

  private enum State {
    STOPPED,
    STARTING,
    RUNNING,
    STOPPING
  }

  synchronized LeaderBoundStatus status() {
    return new LeaderBoundStatus(
        this.gate.serviceId(),
        this.name,
        this.state.name().toLowerCase(Locale.ROOT),
        this.since,
        this.failure,
        this.failures > 0 && this.state != State.RUNNING
            ? "Leader-bound " + this + " does not run: " + this.failure + "."
            : null);
  }

  @Override
  public String toString() {
    return "bean '" + this.name + "' of election '" + this.gate.serviceId() + "'";
  }

  /** Lets {@link #run()} run the bean. */
  synchronized void open() {
    this.wellAt = now();
    this.open = true;
  }

  /** Lets {@link #run()} end. */
  void close() {
    this.open = false;
    this.news.release();
    check();
  }

  private void changed(LeadershipEvent event) {
    if (event instanceof LeadershipLostEvent) {
      this.term.updateAndGet((term) -> event.term() >= term ? NONE : term);
    }
    this.news.release();
  }

  /** Starts and stops the bean, until it is closed and has stopped. */
  void run() {
    Consumer<LeadershipEvent> listener = this::changed;
    synchronized (this.turn) {
      this.gate.listeners().add(listener);
      while (this.open) {
        try {
          long leads = leads();
          if (leads == NONE && isRunning()) {
            warn("was started although this node does not lead", null);
            stop();
          }
          if (leads == NONE || now() - this.entered < pause() || !runOnce()) {
            awaitNews();
          }
        } catch (Throwable ex) {
          warn("could not be run", ex);
          awaitNews();
        }
      }
      // An election of a parent context goes on.
      this.gate.listeners().remove(listener);
    }
  }

  /** Runs the bean until it has stopped. Returns whether it was allowed to. */
  private boolean runOnce() {
    Permit permit = this.shared.calls().enter(this.gate, this.name, Binding.INTERRUPTIBLE);
    if (permit == null) {
      return false;
    }
    Continuation run = permit.goesOn();
    try (permit) {
      permit.succeed();
      this.term.set(permit.term());
      enter(State.STARTING);
      this.work.start();
      enter(State.RUNNING);
      log.info("started leader-bound {} in term {}", this, permit.term());
    } catch (Throwable ex) {
      if (isCovered(leads())) {
        failed("its start failed", ex);
      }
    } finally {
      boolean failed = this.state != State.RUNNING;
      while (!failed && isCovered(leads())) {
        // Its thread may need a moment before it says that it runs.
        if (isRunning() || now() - this.entered < 1000) {
          awaitNews();
        } else {
          failed = true;
          failed("it has ended by itself", null);
        }
      }
      long began = now();
      stop();
      run.end(failed);
      log.info("stopped leader-bound {} in {} ms", this, now() - began);
    }
    return true;
  }

  private void stop() {
    var unused = Thread.interrupted(); // a start has left it
    enter(State.STOPPING);
    while (!this.rescue.isDone()) {
      awaitNews();
    }
    AtomicBoolean stopped = new AtomicBoolean();
    while (!stopped.get()) {
      try {
        if (this.work instanceof SmartLifecycle smart) {
          smart.stop(() -> {
            stopped.set(true);
            this.news.release();
          });
          // Spring's container of JMS never calls back if none of its threads has seen the start.
          while (!stopped.get() && consumers() != 0) {
            awaitNews();
          }
        } else {
          this.work.stop();
        }
        // A container that had stopped by itself calls back although a consumer still handles.
        while (isActive()) {
          awaitNews();
        }
        stopped.set(true);
      } catch (Throwable ex) {
        synchronized (this) {
          this.failure = "its stop failed, as the log says";
        }
        warn("could not be stopped", ex);
        stopped.set(!isRunning());
        if (!stopped.get()) {
          awaitNews();
        }
      }
    }
    unused = Thread.interrupted();
    enter(State.STOPPED);
  }

  /** The number of consumers of a JMS or Rabbit container; -1 if that is unknown. */
  private int consumers() {
    return property(this.work, "activeConsumerCount") instanceof Integer count ? count : -1;
  }

  private boolean isActive() {
    return consumers() > 0 || Boolean.TRUE.equals(property(this.work, "childRunning"));
  }

  /** Reads a property of a class that need not be on the class path. */
  static @Nullable Object property(Object bean, String name) {
    BeanWrapper properties = PropertyAccessorFactory.forBeanPropertyAccess(bean);
    return properties.isReadableProperty(name) ? properties.getPropertyValue(name) : null;
  }

  private void awaitNews() {
    this.shared.pause().accept(this.news);
  }

  /** Waits for news, for a second at most. */
  static void pause(Semaphore news) {
    try {
      if (news.tryAcquire(1, TimeUnit.SECONDS)) {
        news.drainPermits();
      }
    } catch (InterruptedException ex) {
      // a start has left it
    }
  }

  /** The term in which this node leads; {@link #NONE} without one, or if that is unknown. */
  private long leads() {
    try {
      return this.open ? this.gate.term().orElse(NONE) : NONE;
    } catch (Throwable ex) {
      warn("does not know whether this node leads", ex);
      return NONE;
    }
  }

  private boolean isCovered(long leads) {
    return leads != NONE && leads == this.term.get();
  }

  /** If that is unknown, it has not changed by itself. */
  private boolean isRunning() {
    try {
      return this.work.isRunning();
    } catch (Throwable ex) {
      warn("does not know whether it runs", ex);
      return this.state != State.STOPPED;
    }
  }

  private synchronized void enter(State state) {
    this.state = state;
    this.entered = now();
    this.since = this.shared.clock().instant();
  }

  private synchronized void failed(String failure, @Nullable Throwable cause) {
    this.failures++;
    this.failure = failure;
    this.failure += cause != null ? ": " + cause : "";
    log.warn(
        "leader-bound {} does not run: {}. Next start in {} ms",
        this,
        this.failure,
        pause(),
        cause);
  }

  /** The pause after the last failure, in milliseconds. */
  private synchronized long pause() {
    return this.failures == 0 ? 0 : Math.min(500L << Math.min(this.failures, 6), 30_000);
  }

  /** Milliseconds of the monotonic clock, since this was created. */
  private long now() {
    return TimeUnit.NANOSECONDS.toMillis(this.shared.ticker().read() - this.origin);
  }

  /** Looks, each second, whether the bean has not run for too long, or hangs. */
  void check() {
    try {
      if (isLate(leads()) && this.gate.election().leaderLease().isPresent()) {
        log.warn(
            "leader-bound {} has not run steadily for {}: this node hands the leadership on",
            this,
            this.shared.startTimeout());
        this.gate.election().lostLeader();
      }
    } catch (Throwable ex) {
      warn("could not be checked", ex);
    }
  }

  /** Whether it has not been well for as long as a start may take. Begins the next such time. */
  private synchronized boolean isLate(long leads) {
    boolean starts = this.state == State.STARTING;
    boolean runs = this.state == State.RUNNING;
    boolean covered = isCovered(leads);
    long age = now() - this.entered;
    String step = starts ? "start" : "stop";
    if ((starts || this.state == State.STOPPING) && age >= MINUTE && isNew(step + covered)) {
      log.warn("the {} of leader-bound {} has not ended for {} s", step, this, age / 1000);
    }
    boolean overruns = age >= MINUTE || (age >= 1000 && !isProtected());
    if (starts && !covered && overruns && this.rescue.isDone() && isNew("from " + this.since)) {
      // A loop in start() that ignores its interruption would go on beside the next leader's.
      this.rescue = CompletableFuture.runAsync(this.work::stop, this.shared.threads());
    }
    long limit = this.shared.startTimeout().toMillis();
    if (leads == NONE || (runs && age >= limit)) {
      this.wellAt = now();
      this.failures = 0;
    } else if (!runs && now() - this.wellAt >= limit) {
      this.wellAt = now();
      if (this.failures++ == 0) {
        this.failure = "it has not started within " + this.shared.startTimeout();
      }
      return true;
    }
    return false;
  }

  /** Whether no other node leads while the work goes on. */
  private boolean isProtected() {
    return this.gate.election() instanceof LeaseElectionService lease
        && lease.leaseRemaining().isPresent();
  }

  private void warn(String problem, @Nullable Throwable ex) {
    if (isNew(problem)) {
      log.warn("leader-bound {} {}", this, problem, ex);
    }
  }

  /** Whether a problem was not logged within the last minute. */
  private boolean isNew(String problem) {
    this.logged.values().removeIf((at) -> now() - at >= MINUTE);
    return this.logged.putIfAbsent(problem, now()) == null;
  }
}
