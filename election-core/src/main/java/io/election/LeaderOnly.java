package io.election;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Restricts a bean's method, or all methods of a bean, to the leader. On a class, or on an
 * interface that the class implements, the annotation applies to all methods of the class that a
 * proxy can override, public or not. On the interface of a bean without a class of its own, such as
 * a repository, it applies to the methods of the interface.
 *
 * <p>Leadership is checked when the call begins. On a node that does not lead, the call is skipped:
 * it returns {@code null}, an empty {@link java.util.Optional}, an empty collection, map, stream or
 * array, or a completed future; a reactive publisher checks again at each subscription. (A Kotlin
 * function with a non-null return type must not be skipped: make the return type nullable, or
 * throw.) A call that a follower skips is not passed on to the leader. A call from within the same
 * bean bypasses the check, as with every Spring proxy; a method that must not run like that asserts
 * it with {@link LeaderOnlyAssert}.
 *
 * <p>Start-up fails, and names the method or the bean, if a call cannot be guarded: {@code final},
 * {@code private} and {@code static} methods, methods that return a primitive type (a skipped call
 * has no value to return), suspending functions of Kotlin, callbacks such as
 * {@code @PostConstruct}, beans that are created before they can be proxied, and unknown elections.
 * So do methods that are called when a node starts or stops, such as those of a {@code
 * CommandLineRunner}, a {@code SmartLifecycle} or a listener of {@code ApplicationReadyEvent}: no
 * node leads then, so listen to {@link LeadershipAcquiredEvent} instead, or use {@link LeaderBound}.
 * The same applies to message consumers, batch steps and the like that would be skipped, because
 * their input would count as processed.
 *
 * <p>A leader that steps down waits for running calls: until the method returns; until a
 * {@link java.util.concurrent.CompletionStage} that it returned completes, provided that the caller
 * does not cancel that stage; until a reactive publisher terminates. It does not wait for a plain
 * {@link java.util.concurrent.Future}.
 *
 * <p>The check runs before transactions and caches. Advice that Spring places before all other
 * advice also runs before the check: {@code @Async}, {@code @Retryable} and
 * {@code @ConcurrencyLimit}. To prevent retries on a follower, write
 * {@code @Retryable(excludes = NotLeaderException.class)}.
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE})
public @interface LeaderOnly {

  /**
   * The election; empty for the default one. Placeholders ({@code ${…}}) are resolved.
   *
   * @return the {@linkplain ElectionService#serviceId() name of the election}
   */
  String value() default "";

  /**
   * The handling of a call on a node that does not lead.
   *
   * @return whether to skip the call or throw an exception
   */
  OnFollower onFollower() default OnFollower.SKIP;

  /**
   * Whether the thread that runs a call is interrupted when leadership no longer covers the call,
   * that is, when another node may lead:
   *
   * <ul>
   *   <li>The lease {@linkplain LeadershipLostEvent.Reason#EXPIRED expired}, even if the store does
   *       not respond, or the node was {@linkplain LeadershipLostEvent.Reason#DISPLACED displaced}:
   *       at once.
   *   <li>Resignation or hand-over: when the drain timeout is over, just before the lease is handed
   *       back. Until then the node no longer leads but continues to renew, so that running calls
   *       can end and no other node leads. If the lease is lost during that time: at once.
   *   <li>Stop: when the drain timeout is over. The lease is kept until the call has ended.
   *   <li>No lease ({@linkplain ManualAllocationElectionService manual allocation}, election
   *       disabled): at once after {@link ElectionService#lostLeader()}. A stop waits for the drain
   *       timeout under manual allocation, and interrupts nothing if the election is disabled.
   *   <li>An application's own {@link ElectionService}: when it publishes a {@link
   *       LeadershipLostEvent} as an application event, with its service id and the term of its
   *       leadership.
   * </ul>
   *
   * <p>A call is interrupted at most once, by {@link Thread#interrupt()}: waiting, sleeping and
   * most locks end with an exception, computing code must poll {@link Thread#isInterrupted()}, and
   * a JDBC call continues until its own timeout. On a virtual thread the JDBC call ends at once
   * instead: the interruption closes its socket, and the transaction fails with the connection. The
   * exception that the call then throws reaches its caller.
   *
   * <p>The thread is never interrupted after the call. The interrupt flag is cleared when the call
   * ends, so that a pooled thread begins its next task without it, unless other code had set the
   * flag before. A later interrupt by other code during the same call cannot be distinguished from
   * this one. If guarded calls are nested, each is interrupted by the loss of its own leadership,
   * whichever of them the thread is in; the flag survives the inner call if an outer call was
   * interrupted too.
   *
   * <p>Only the thread that runs the method is interrupted, and only while it runs the method. Work
   * that a returned future represents is not interrupted. A method that returns a reactive
   * publisher has no such thread: start-up fails and names the method.
   *
   * @return whether running calls are interrupted
   */
  boolean interruptOnLoss() default false;

  /** The handling of a call on a node that does not lead. */
  enum OnFollower {
    /** Skip the method and return an empty result. */
    SKIP,
    /** Throw {@link NotLeaderException}. */
    THROW
  }
}
