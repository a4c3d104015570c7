package io.election.autoconfigure.leaderonly;

import io.election.autoconfigure.ElectionBackend;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationListener;
import org.springframework.context.Lifecycle;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.event.ApplicationContextEvent;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.event.ContextRefreshedEvent;
import org.springframework.context.event.ContextStartedEvent;
import org.springframework.core.annotation.Order;

/**
 * The beans of an application context that run while this node leads. They may start once the
 * context is refreshed, and stop before anything else of it does, while this node keeps its lease.
 */
@Order(Integer.MIN_VALUE)
public final class LeaderBoundBeans
    implements SmartLifecycle, ApplicationListener<ApplicationContextEvent> {

  static final String STOP = "leaderBoundStop";

  private final ApplicationContext context;

  private final Supplier<List<LeaderBoundBean>> finder;

  private final ThreadFactory threads;

  private final Duration drainTimeout;

  private volatile List<LeaderBoundBean> beans = List.of();

  /** Has two threads for each bean, while the context is open. */
  private @Nullable ScheduledExecutorService pool;

  /**
   * Creates the beans of a context.
   *
   * @param finder finds them, before any other life cycle starts
   * @param threads creates the threads that run and check them
   * @param drainTimeout for how long a shutdown waits for their ends before it goes on
   */
  LeaderBoundBeans(
      ApplicationContext context,
      Supplier<List<LeaderBoundBean>> finder,
      ThreadFactory threads,
      Duration drainTimeout) {
    this.context = context;
    this.finder = finder;
    this.threads = threads;
    this.drainTimeout = drainTimeout;
  }

  /**
   * Describes the beans of an election.
   *
   * @param serviceId the name of the election
   * @return what they do, in the order in which they were found
   */
  public List<LeaderBoundStatus> of(String serviceId) {
    return all().filter((bean) -> bean.serviceId().equals(serviceId)).toList();
  }

  private Stream<LeaderBoundStatus> all() {
    return this.beans.stream().map(LeaderBoundBean::status);
  }

  /**
   * Returns why a bean does not run although this node leads.
   *
   * @return the problem; empty if nothing has failed
   */
  public Optional<String> problem() {
    return all().flatMap((bean) -> Stream.ofNullable(bean.problem())).findFirst();
  }

  /** Finds the beans, and refuses those that cannot be bound. */
  @Override
  public void start() {
    this.beans = this.finder.get();
  }

  /** Called without an event if the context fails after its refresh, and before it if it stops. */
  @Override
  public void stop() {
    close();
  }

  @Override
  public boolean isRunning() {
    return !this.beans.isEmpty();
  }

  /**
   * Stops the beans before what they are made of. Is no SmartLifecycle: Spring would no longer wait
   * for the others of a phase, since it counts the stop of what depends on one of them.
   */
  record Stop(LeaderBoundBeans beans) implements Lifecycle {

    @Override
    public void start() {}

    @Override
    public void stop() {
      this.beans.stop();
    }

    @Override
    public boolean isRunning() {
      return this.beans.isRunning();
    }
  }

  /** Before any other life cycle starts. */
  @Override
  public int getPhase() {
    return Integer.MIN_VALUE;
  }

  @Override
  public void onApplicationEvent(ApplicationContextEvent event) {
    if (event.getApplicationContext() != this.context || this.beans.isEmpty()) {
      return;
    }
    boolean begins = event instanceof ContextRefreshedEvent || event instanceof ContextStartedEvent;
    if (event instanceof ContextClosedEvent) {
      close();
    } else if (begins && this.pool == null) {
      this.pool = open();
    }
  }

  private ScheduledExecutorService open() {
    ScheduledThreadPoolExecutor pool =
        new ScheduledThreadPoolExecutor(2 * this.beans.size(), this.threads);
    // A bean that does not stop is told of until it does.
    pool.setContinueExistingPeriodicTasksAfterShutdownPolicy(true);
    pool.setRemoveOnCancelPolicy(true);
    for (LeaderBoundBean bean : this.beans) {
      bean.open();
      Future<?> checks = pool.scheduleWithFixedDelay(bean::check, 1, 1, TimeUnit.SECONDS);
      pool.execute(() -> {
        bean.run();
        checks.cancel(false);
      });
    }
    return pool;
  }

  /** Lets the election wait for the stops, so that one that hangs is waited for once. */
  private void close() {
    ScheduledExecutorService pool = this.pool;
    if (pool != null) {
      this.pool = null;
      long deadline = System.nanoTime() + this.drainTimeout.toNanos();
      this.beans.forEach(LeaderBoundBean::close);
      pool.shutdown();
      if (this.context.containsLocalBean(ElectionBackend.LIFECYCLE)) {
        this.context.getBean(ElectionBackend.LIFECYCLE, Lifecycle.class).stop();
      }
      try {
        var unused = pool.awaitTermination(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
      } catch (InterruptedException ex) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
