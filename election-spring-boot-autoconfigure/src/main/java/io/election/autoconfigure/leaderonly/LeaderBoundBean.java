package io.election.autoconfigure.leaderonly;

import io.election.LeadershipEvent;
import io.election.LeadershipLostEvent;
import io.election.autoconfigure.leaderonly.LeaderOnlyCalls.Gate;
import io.election.autoconfigure.leaderonly.Permits.Binding;
import io.election.autoconfigure.leaderonly.Permits.Continuation;
import io.election.autoconfigure.leaderonly.Permits.Permit;
import io.election.store.Ticker;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.BeanWrapper;
import org.springframework.beans.PropertyAccessorFactory;
import org.springframework.context.Lifecycle;
import org.springframework.context.SmartLifecycle;

/**
 * A bean that runs while this node leads. From before its start until its stop has ended it is work
 * under a permit, for whose end a leader that steps down waits. Its start and its stop are called
 * one after the other, on threads of its own.
 */
final class LeaderBoundBean {

  private static final Logger log = LoggerFactory.getLogger(LeaderBoundBean.class);

  private static final long MINUTE = Duration.ofMinutes(1).toNanos();

  /** Instead of a term. */
  private static final long NONE = -1;

  private final String name;

  private final Gate gate;

  private final Lifecycle work;

  private final Shared shared;

  /** When a problem was logged last. */
  private final Map<String, Long> loggedAt = new HashMap<>();

  private State state = State.STOPPED;

  /** When the state was entered, by the monotonic and by the wall clock. */
  private long entered;

  private Instant since;

  private volatile boolean open;

  /** The run that has begun and has not ended. */
  private @Nullable Continuation run;

  /** The term of the run; {@link #NONE} if that is known to be over. */
  private long term = NONE;

  /** Whether the run has failed. */
  private boolean failed;

  /** Why it did not run last. */
  private @Nullable String failure;

  /** Whether it has failed since it ran for as long as a start may take. */
  private boolean failing;

  /** Its failures since then, or since this node leads. */
  private int failures;

  /** Since when this node leads and the bean has not run for as long as a start may take. */
  private @Nullable Long wanted;

  LeaderBoundBean(String name, Gate gate, Lifecycle work, Shared shared) {
    this.name = name;
    this.gate = gate;
    this.work = work;
    this.shared = shared;
    this.since = shared.clock().instant();
    gate.onChange(this::changed);
  }

  /**
   * What all beans of an application use.
   *
   * @param startTimeout after which a leader whose bean does not run hands the leadership on
   * @param threads runs tasks, each on a thread of its own
   */
  record Shared(
      LeaderOnlyCalls calls,
      Duration startTimeout,
      Executor threads,
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
        this.failing && this.wanted != null && this.state != State.RUNNING);
  }

  @Override
  public String toString() {
    return "bean '" + this.name + "' of election '" + this.gate.serviceId() + "'";
  }

  /** Lets the bean run from now on. */
  void open() {
    this.open = true;
    reconcile();
  }

  /** Stops the bean until it is opened again. */
  void close() {
    this.open = false;
    reconcile();
  }

  /** Waits until the bean has stopped, until a reading of the system's clock at most. */
  synchronized void awaitStop(long deadline) throws InterruptedException {
    while (this.state != State.STOPPED && deadline - System.nanoTime() > 0) {
      TimeUnit.NANOSECONDS.timedWait(this, deadline - System.nanoTime());
    }
  }

  private void changed(LeadershipEvent event) {
    synchronized (this) {
      if (event instanceof LeadershipLostEvent && event.term() >= this.term) {
        this.term = NONE;
      }
    }
    reconcile();
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

  /** Begins to start or to stop the bean if that is due. */
  private void reconcile() {
    long leads = leads();
    synchronized (this) {
      boolean due = this.open && leads != NONE;
      if (!due) {
        this.wanted = null;
        this.failures = 0;
      } else if (this.wanted == null && this.state != State.RUNNING) {
        this.wanted = now();
      }
      boolean paused = this.failures > 0 && now() - this.entered < pause().toNanos();
      if (due && this.state == State.STOPPED && !paused) {
        enter(State.STARTING, this::start);
      } else if (this.state == State.RUNNING && !(due && leads == this.term)) {
        stopSoon();
      }
    }
  }

  private void start() {
    Throwable failure = null;
    long term = NONE;
    try (Permit permit = this.shared.calls().enter(this.gate, this.name, Binding.INTERRUPTIBLE)) {
      if (permit != null) {
        term = permit.term();
        synchronized (this) {
          this.term = term;
          this.run = permit.goesOn();
        }
        permit.succeed();
        this.work.start();
      }
    } catch (Throwable ex) {
      failure = ex;
    }
    boolean leads = leads() == term;
    Continuation run;
    synchronized (this) {
      run = this.run;
      this.failed = failure != null;
      if (failure != null && leads) {
        failed("its start failed: " + failure, failure);
      }
      if (run == null) {
        enter(State.STOPPED);
      } else if (failure != null) {
        enter(State.STOPPING);
      } else {
        enter(State.RUNNING);
        log.info("started leader-bound {} in term {}", this, term);
      }
    }
    if (run != null && failure != null) {
      stop(run);
    }
    reconcile();
  }

  private void stopSoon() {
    Continuation run = this.run;
    enter(State.STOPPING, () -> stop(run));
  }

  private void stop(@Nullable Continuation run) {
    try {
      if (this.work instanceof SmartLifecycle smart) {
        smart.stop(() -> stopped(run));
        // Spring's container of JMS never calls back if none of its threads has seen the start.
        if (Integer.valueOf(0).equals(property(this.work, "activeConsumerCount"))) {
          stopped(run);
        }
      } else {
        this.work.stop();
        stopped(run);
      }
    } catch (Throwable ex) {
      warn("could not be stopped", ex);
      if (isRunning(true)) {
        synchronized (this) {
          this.state = State.RUNNING; // the next check stops it again
        }
      } else {
        stopped(run);
      }
    }
  }

  /** Reads a property of a class that need not be on the class path. */
  static @Nullable Object property(Object bean, String name) {
    BeanWrapper properties = PropertyAccessorFactory.forBeanPropertyAccess(bean);
    return properties.isReadableProperty(name) ? properties.getPropertyValue(name) : null;
  }

  private void stopped(@Nullable Continuation run) {
    synchronized (this) {
      if (this.state != State.STOPPING || this.run != run) {
        return; // it has called back before
      }
      if (run != null) {
        log.info(
            "stopped leader-bound {} in {} ms",
            this,
            Duration.ofNanos(now() - this.entered).toMillis());
      }
      this.run = null;
      enter(State.STOPPED);
    }
    if (run != null) {
      run.end(this.failed);
    }
    reconcile();
  }

  private void enter(State state) {
    this.state = state;
    this.entered = now();
    this.since = this.shared.clock().instant();
    notifyAll();
  }

  /** Enters a state and begins its work, unless there is no thread: the next check tries again. */
  private void enter(State state, Runnable work) {
    try {
      this.shared.threads().execute(work);
      enter(state);
    } catch (Throwable ex) {
      warn("gets no thread", ex);
    }
  }

  private long now() {
    return this.shared.ticker().read();
  }

  private void failed(String failure, @Nullable Throwable cause) {
    this.failed = true;
    this.failing = true;
    this.failure = failure;
    this.failures++;
    log.warn(
        "leader-bound {} does not run: {}. Next start in {} ms",
        this,
        failure,
        pause().toMillis(),
        cause);
  }

  /** The pause after the last failure. */
  private Duration pause() {
    return Duration.ofMillis(Math.min(500L << Math.min(this.failures, 6), 30_000));
  }

  /** Looks, each second, for what nobody reports: that the bean has ended, hangs, or runs alone. */
  void check() {
    try {
      look();
      reconcile();
    } catch (Throwable ex) {
      warn("could not be checked", ex);
    }
  }

  private void look() {
    long leads = leads();
    State before;
    Continuation seen;
    synchronized (this) {
      before = this.state;
      seen = this.run;
    }
    boolean ran = before == State.RUNNING;
    boolean runs = (ran || before == State.STOPPED) && isRunning(ran);
    boolean late;
    synchronized (this) {
      boolean covered = leads != NONE && leads == this.term;
      boolean same = this.state == before && this.run == seen;
      if (same && ran && !runs && covered) {
        failed("it has ended by itself", null);
        stopSoon();
      } else if (same && !ran && runs && leads == NONE) {
        warn("was started although this node does not lead", null);
        stopSoon();
      }
      late = leads != NONE && isLate();
      remind();
      boolean loops = this.state == State.STARTING && now() - this.entered >= MINUTE;
      if (loops && !covered && isNew("loops on")) {
        // A loop in start() that ignores its interruption would go on beside the next leader's.
        this.shared.threads().execute(this.work::stop);
      }
    }
    if (late && this.gate.election().leaderLease().isPresent()) {
      log.warn(
          "leader-bound {} has not run steadily for {}: this node hands the leadership on",
          this,
          this.shared.startTimeout());
      this.gate.election().lostLeader();
    }
  }

  private boolean isRunning(boolean ifUnknown) {
    try {
      return this.work.isRunning();
    } catch (Throwable ex) {
      warn("does not know whether it runs", ex);
      return ifUnknown;
    }
  }

  /** Whether the bean has not run for as long as a start may take. Begins the next such time. */
  private boolean isLate() {
    long limit = this.shared.startTimeout().toNanos();
    if (this.state == State.RUNNING && now() - this.entered >= limit) {
      this.wanted = null;
      this.failing = false;
      this.failures = 0;
    }
    if (this.state == State.RUNNING || this.wanted == null || now() - this.wanted < limit) {
      return false;
    }
    this.wanted = now();
    if (!this.failing) {
      this.failing = true;
      this.failure = "it has not started within " + this.shared.startTimeout();
    }
    return true;
  }

  /** Logs a start or a stop that does not end. */
  private void remind() {
    boolean starts = this.state == State.STARTING;
    boolean hangs = starts || this.state == State.STOPPING;
    if (hangs && now() - this.entered >= MINUTE && isNew(this.state.name())) {
      log.warn(
          "the {} of leader-bound {} has not ended for {} s",
          starts ? "start" : "stop",
          this,
          Duration.ofNanos(now() - this.entered).toSeconds());
    }
  }

  private synchronized void warn(String problem, @Nullable Throwable ex) {
    if (isNew(problem + (ex != null ? ex.getClass() : ""))) {
      log.warn("leader-bound {} {}", this, problem, ex);
    }
  }

  /** Whether a problem was not logged within the last minute. */
  private boolean isNew(String problem) {
    Long last = this.loggedAt.get(problem);
    boolean fresh = last == null || now() - last >= MINUTE;
    if (fresh) {
      this.loggedAt.put(problem, now());
    }
    return fresh;
  }
}
