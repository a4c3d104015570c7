package io.election.autoconfigure.leaderonly;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationContextAware;
import org.springframework.context.ApplicationListener;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.event.ApplicationContextEvent;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.event.ContextRefreshedEvent;
import org.springframework.context.event.ContextStartedEvent;
import org.springframework.context.event.ContextStoppedEvent;

/**
 * The beans of an application context that run while this node leads. They may start once the
 * context is refreshed, and stop before anything else of it does, while this node still leads.
 */
public final class LeaderBoundBeans
    implements SmartLifecycle,
        ApplicationListener<ApplicationContextEvent>,
        ApplicationContextAware {

  private final Supplier<List<LeaderBoundBean>> finder;

  private final Duration drainTimeout;

  private @Nullable ApplicationContext context;

  private volatile List<LeaderBoundBean> beans = List.of();

  private volatile boolean running;

  /**
   * Creates the beans of a context.
   *
   * @param finder finds them, before any other life cycle starts
   * @param drainTimeout for how long a shutdown waits for their ends before it goes on
   */
  LeaderBoundBeans(Supplier<List<LeaderBoundBean>> finder, Duration drainTimeout) {
    this.finder = finder;
    this.drainTimeout = drainTimeout;
  }

  /**
   * Describes the beans.
   *
   * @return what they do, in the order in which they were found
   */
  public List<LeaderBoundStatus> all() {
    return this.beans.stream().map(LeaderBoundBean::status).toList();
  }

  /**
   * Describes the beans of an election.
   *
   * @param serviceId the name of the election
   * @return what they do, in the order in which they were found
   */
  public List<LeaderBoundStatus> of(String serviceId) {
    return all().stream().filter((bean) -> bean.serviceId().equals(serviceId)).toList();
  }

  /**
   * Returns why a bean does not run although this node leads.
   *
   * @return the problem; empty if nothing has failed
   */
  public Optional<String> problem() {
    return all().stream()
        .filter(LeaderBoundStatus::missing)
        .map((bean) -> "Leader-bound bean '%s' of election '%s' does not run: %s."
            .formatted(bean.bean(), bean.serviceId(), bean.failure()))
        .findFirst();
  }

  @Override
  public void setApplicationContext(ApplicationContext context) {
    this.context = context;
  }

  /** Finds the beans, and refuses those that cannot be bound. */
  @Override
  public void start() {
    if (!this.running) {
      this.running = true;
      this.beans = this.beans.isEmpty() ? this.finder.get() : this.beans;
    }
  }

  /** Stops nothing: the beans stop with the leadership. */
  @Override
  public void stop() {
    this.running = false;
  }

  @Override
  public boolean isRunning() {
    return this.running;
  }

  /** Before any other life cycle starts. */
  @Override
  public int getPhase() {
    return Integer.MIN_VALUE;
  }

  @Override
  public void onApplicationEvent(ApplicationContextEvent event) {
    if (event.getApplicationContext() != this.context) {
      return;
    }
    if (event instanceof ContextRefreshedEvent || event instanceof ContextStartedEvent) {
      this.beans.forEach(LeaderBoundBean::open);
    } else if (event instanceof ContextStoppedEvent || event instanceof ContextClosedEvent) {
      this.beans.forEach(LeaderBoundBean::close);
      awaitStop();
    }
  }

  private void awaitStop() {
    long deadline = System.nanoTime() + this.drainTimeout.toNanos();
    try {
      for (LeaderBoundBean bean : this.beans) {
        bean.awaitStop(deadline - System.nanoTime());
      }
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
    }
  }
}
