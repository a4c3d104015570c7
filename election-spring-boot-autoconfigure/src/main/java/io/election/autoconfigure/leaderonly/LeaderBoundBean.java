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
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.BeanWrapper;
import org.springframework.beans.PropertyAccessorFactory;
import org.springframework.context.Lifecycle;
import org.springframework.context.SmartLifecycle;
import org.springframework.util.backoff.BackOffExecution;
import org.springframework.util.backoff.ExponentialBackOff;

/**
 * A bean that runs while this node leads. From before its start until its stop has ended it is work
 * under a permit, for whose end a leader that steps down waits. Its start and its stop are called
 * one after the other, each on a thread of its own.
 */
final class LeaderBoundBean {

  private static final Logger log = LoggerFactory.getLogger(LeaderBoundBean.class);

  private static final Duration CHECK = Duration.ofSeconds(1);

  private static final Duration REMINDER = Duration.ofMinutes(1);

  private static final ExponentialBackOff PAUSES = new ExponentialBackOff(1000, 2);

  static {
    PAUSES.setMaxInterval(30_000);
  }

  private final String name;

  private final Gate gate;

  private final Lifecycle work;

  private final Shared shared;

  private State state = State.STOPPED;

  /** When the state was entered, by the monotonic and by the wall clock. */
  private long entered;

  private Instant since;

  private boolean open;

  private boolean checking;

  /** The run that has begun and has not ended. */
  private @Nullable Continuation run;

  /** The term of the run; until it is known, later than any. */
  private long term;

  /** The last term that has ended since the run began. */
  private long lost;

  private boolean failed;

  /** Since when this node leads and the bean has not run for as long as a start may take. */
  private @Nullable Long wanted;

  private BackOffExecution pauses = PAUSES.start();

  /** The end of the pause after a failure. */
  private @Nullable Long pausedUntil;

  private @Nullable String failure;

  private long reminded;

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
   */
  record Shared(
      LeaderOnlyCalls calls,
      Duration startTimeout,
      Later later,
      Ticker ticker,
      InstantSource clock) {}

  /** Runs tasks, each on a thread of its own. */
  @FunctionalInterface
  interface Later {

    /** Runs a task after a while. */
    void run(Duration delay, Runnable task);

    /** Runs tasks by an executor. What it cannot run, for lack of memory, is tried again. */
    static Later on(Executor executor) {
      Executor patient = (task) -> {
        try {
          executor.execute(task);
        } catch (Throwable ex) {
          log.warn("no thread can be started for a leader-bound bean", ex);
          on(executor).run(CHECK, task);
        }
      };
      return (delay, task) -> CompletableFuture.delayedExecutor(
              delay.toNanos(), TimeUnit.NANOSECONDS, patient)
          .execute(task);
    }
  }

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
        this.failure != null && this.wanted != null && this.state != State.RUNNING);
  }

  /** Lets the bean run from now on. */
  void open() {
    boolean first;
    synchronized (this) {
      first = !this.checking;
      this.open = true;
      this.checking = true;
    }
    reconcile();
    if (first) {
      checkAfter(Duration.ZERO);
    }
  }

  /** Stops the bean until it is opened again. */
  void close() {
    synchronized (this) {
      this.open = false;
    }
    end(Long.MAX_VALUE);
  }

  /** Waits until the bean has stopped, for at most a while. */
  synchronized void awaitStop(long nanos) throws InterruptedException {
    long deadline = System.nanoTime() + nanos;
    for (long left = nanos; this.state != State.STOPPED && left > 0; ) {
      TimeUnit.NANOSECONDS.timedWait(this, left);
      left = deadline - System.nanoTime();
    }
  }

  private void changed(LeadershipEvent event) {
    if (event instanceof LeadershipLostEvent) {
      end(event.term());
    } else {
      reconcile();
    }
  }

  /** Ends the run of this term and of earlier ones. */
  private void end(long term) {
    synchronized (this) {
      this.wanted = null;
      this.pausedUntil = null;
      this.pauses = PAUSES.start();
      this.lost = Math.max(this.lost, term);
    }
    reconcile();
  }

  private boolean isOver() {
    return this.term <= this.lost;
  }

  /** Begins to start or to stop the bean if that is due. */
  private void reconcile() {
    boolean leads = this.gate.election().isLeader();
    synchronized (this) {
      boolean paused = this.pausedUntil != null && this.pausedUntil - now() > 0;
      if (leads && this.open && this.state != State.RUNNING && this.wanted == null) {
        this.wanted = now();
      }
      if (leads && this.open && this.state == State.STOPPED && !paused) {
        this.term = Long.MAX_VALUE;
        this.lost = -1;
        this.failed = false;
        enter(State.STARTING);
        this.shared.later().run(Duration.ZERO, this::start);
      } else if (isOver() && this.state == State.RUNNING && !paused) {
        stopSoon();
      }
    }
  }

  private void start() {
    Throwable failure = null;
    try (Permit permit = this.shared.calls().enter(this.gate, this.name, Binding.INTERRUPTIBLE)) {
      if (permit != null) {
        synchronized (this) {
          this.term = permit.term();
          this.run = permit.goesOn();
        }
        permit.succeed();
        this.work.start();
      }
    } catch (Throwable ex) {
      failure = ex;
    }
    synchronized (this) {
      if (failure != null) {
        failed("its start failed: " + failure, failure);
      }
      if (this.run == null) {
        enter(State.STOPPED);
      } else if (failure != null) {
        stopSoon();
      } else {
        enter(State.RUNNING);
        log.info(
            "started leader-bound bean '{}' in term {} of election '{}'",
            this.name,
            this.term,
            this.gate.serviceId());
      }
    }
    reconcile();
  }

  private void stopSoon() {
    enter(State.STOPPING);
    Continuation run = this.run;
    this.shared.later().run(Duration.ZERO, () -> stop(run));
  }

  private void stop(@Nullable Continuation run) {
    try {
      if (this.work instanceof SmartLifecycle smart) {
        smart.stop(() -> stopped(run));
        if (hasNoConsumer()) {
          stopped(run);
        }
      } else {
        this.work.stop();
        stopped(run);
      }
    } catch (Throwable ex) {
      log.warn("the stop of leader-bound bean '{}' failed", this.name, ex);
      if (this.work.isRunning()) {
        synchronized (this) {
          this.state = State.RUNNING; // it is stopped again after a pause
          pause();
        }
      } else {
        stopped(run);
      }
    }
  }

  /**
   * Whether this is a listener container without a consumer. Spring's container of JMS never calls
   * back if it is stopped before one of its threads has seen the start.
   */
  private boolean hasNoConsumer() {
    String count = "activeConsumerCount";
    BeanWrapper properties = PropertyAccessorFactory.forBeanPropertyAccess(this.work);
    return properties.isReadableProperty(count)
        && Integer.valueOf(0).equals(properties.getPropertyValue(count));
  }

  private void stopped(@Nullable Continuation run) {
    synchronized (this) {
      if (this.state != State.STOPPING || this.run != run) {
        return; // it has called back before
      }
      log.info(
          "stopped leader-bound bean '{}' of election '{}' in {} ms",
          this.name,
          this.gate.serviceId(),
          Duration.ofNanos(now() - this.entered).toMillis());
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
    this.reminded = this.entered;
    this.since = this.shared.clock().instant();
    notifyAll();
  }

  private long now() {
    return this.shared.ticker().read();
  }

  /** Notes a failure, unless it may follow from the end of the leadership. */
  private void failed(String failure, @Nullable Throwable cause) {
    this.failed = true;
    if (!isOver()) {
      this.failure = failure;
      log.warn(
          "leader-bound bean '{}' does not run: {}. It is started again in {} ms",
          this.name,
          failure,
          pause(),
          cause);
    }
  }

  /** Begins a pause, and returns its length in milliseconds. */
  private long pause() {
    long pause = this.pauses.nextBackOff();
    this.pausedUntil = now() + Duration.ofMillis(pause).toNanos();
    return pause;
  }

  private void checkAfter(Duration pause) {
    this.shared.later().run(pause, () -> {
      try {
        check();
      } catch (Throwable ex) {
        log.warn("leader-bound bean '{}' could not be checked", this.name, ex);
      }
      if (checksOn()) {
        checkAfter(CHECK);
      }
    });
  }

  private synchronized boolean checksOn() {
    this.checking = this.open;
    return this.checking;
  }

  /** Looks for what nobody reports: that the bean has ended, hangs, or runs without leadership. */
  private void check() {
    boolean leads = this.gate.election().isLeader();
    State before;
    Continuation seen;
    synchronized (this) {
      before = this.state;
      seen = this.run;
    }
    boolean runs = (before == State.RUNNING || before == State.STOPPED) && this.work.isRunning();
    boolean late;
    synchronized (this) {
      if (!leads) {
        this.wanted = null;
        this.lost = Math.max(this.lost, this.state == State.RUNNING ? this.term : -1);
      }
      boolean same = this.state == before && this.run == seen;
      if (same && before == State.RUNNING && !runs && !isOver()) {
        failed("it has ended by itself", null);
        stopSoon();
      } else if (same && before == State.STOPPED && runs && !leads) {
        log.warn("leader-bound bean '{}' was started although this node does not lead", this.name);
        this.lost = Long.MAX_VALUE;
        stopSoon();
      }
      late = isLate();
      if (remind() && this.state == State.STARTING && isOver()) {
        // A loop in start() that ignores its interruption would go on beside the next leader's.
        this.shared.later().run(Duration.ZERO, this.work::stop);
      }
    }
    if (late && this.gate.election().leaderLease().isPresent()) {
      log.warn(
          "leader-bound bean '{}' has not run for {}: this node hands the leadership of election '{}' on",
          this.name,
          this.shared.startTimeout(),
          this.gate.serviceId());
      this.gate.election().lostLeader();
    }
    reconcile();
  }

  /** Whether the bean has not run for as long as a start may take. Begins the next such time. */
  private boolean isLate() {
    long limit = this.shared.startTimeout().toNanos();
    if (this.state == State.RUNNING && now() - this.entered >= limit) {
      this.wanted = null;
      this.pauses = PAUSES.start();
    }
    if (this.state == State.RUNNING || this.wanted == null || now() - this.wanted < limit) {
      return false;
    }
    this.wanted = now();
    if (this.failure == null) {
      this.failure = "it has not started within " + this.shared.startTimeout();
    }
    return true;
  }

  /** Logs a start or a stop that does not end. Returns whether it did. */
  private boolean remind() {
    boolean starts = this.state == State.STARTING;
    boolean hangs = starts || this.state == State.STOPPING;
    if (!hangs || now() - this.reminded < REMINDER.toNanos()) {
      return false;
    }
    this.reminded = now();
    log.warn(
        "the {} of leader-bound bean '{}' has not ended for {} s",
        starts ? "start" : "stop",
        this.name,
        Duration.ofNanos(now() - this.entered).toSeconds());
    return true;
  }
}
