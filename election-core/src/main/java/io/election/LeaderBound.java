package io.election;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Binds the life cycle of a bean to the leadership: it is started when this node has become the
 * leader, and stopped when it no longer is. For consumers, pollers and other work that is no single
 * call; {@link LeaderOnly} guards calls.
 *
 * <p>The bean is a Spring {@code Lifecycle} or {@code SmartLifecycle}, whose {@code isAutoStartup()}
 * must return {@code false}, or a {@link LeaderTask}. The annotation is on its class, even if a
 * post-processor has put a proxy before it, or on its {@code @Bean} method.
 *
 * <p>The bean is leader work from before its start until its stop has ended: a node that steps down
 * renews its lease meanwhile, and the next node leads after that. A command to it (designate, force,
 * pause) waits for at most the drain time-out; a shutdown keeps the lease until the bean has
 * stopped. Only when the lease is lost, also by an edit of the record, or when the drain time-out is
 * over, may another node lead while the stop runs; a start that still runs is interrupted then.
 *
 * <p>{@code SmartLifecycle.stop(Runnable)} has ended when it calls back, other stops when they
 * return. Start and stop are called one after the other, on a thread of the bean's own; those of
 * several beans at the same time, without regard to phases. Only a start that goes on for two
 * seconds after the lease is over, or for a minute after the leadership, such as a loop, is stopped
 * while it runs; and a life cycle that says that it runs when a shutdown has lasted for the drain
 * time-out is stopped by Spring too.
 *
 * <p>A bean whose start fails, or that stops running by itself, is started again with a growing
 * pause. If it does not run for {@code as.election.leader-bound.start-timeout}, the node hands the
 * leadership on.
 *
 * <p>Spring itself starts every life cycle of a context that is stopped and started again without a
 * close: the bean then runs for up to a second on a node that does not lead.
 *
 * <p>Start-up fails, and names the bean, if it is none of these types, is started by Spring, or is
 * no singleton.
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE})
public @interface LeaderBound {

  /**
   * The election; empty for the default one. Placeholders ({@code ${…}}) are resolved.
   *
   * @return the {@linkplain ElectionService#serviceId() name of the election}
   */
  String value() default "";
}
