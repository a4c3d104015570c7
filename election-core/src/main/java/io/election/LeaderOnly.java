package io.election;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Lets a bean's method, or all methods of a bean, run on the leader alone. On a class, or on an interface
 * that it implements, it stands for all methods of the class that a proxy can override, public or not. On
 * the interface of a bean without a class of its own, such as a repository, it stands for those of the
 * interface.
 *
 * <p>Leadership is checked when the call begins. Elsewhere the call is skipped: it returns {@code
 * null}, an empty {@link java.util.Optional}, an empty collection, map, stream or array, or a completed
 * future; a reactive publisher asks anew at each subscription. (A Kotlin function with a non-null return
 * type must not be skipped: let it return a nullable type, or throw.) What a follower skips is not handed
 * on to the leader. A call from within the same bean passes by the check, as with every Spring proxy.
 *
 * <p>What cannot be guarded is refused at start-up, by name: {@code final}, {@code private} and {@code
 * static} methods, methods that return a primitive type (a call that is skipped has no value for it),
 * suspending functions of Kotlin, callbacks such as {@code @PostConstruct}, beans that are made before
 * their proxies can be, unknown elections; and consumers of messages, steps of batches and their like that
 * would be skipped, since what they are given would count as done.
 *
 * <p>A leader that steps down waits for the calls that run: until the method returns; until a {@link
 * java.util.concurrent.CompletionStage} that it returned completes, if the caller does not cancel that
 * stage; until a reactive publisher ends. A plain {@link java.util.concurrent.Future} is not waited for.
 *
 * <p>The check stands before transactions and caches. What Spring puts before other advice stands before
 * the check: {@code @Async}, {@code @Retryable} and {@code @ConcurrencyLimit}. To keep a follower from
 * trying again, write {@code @Retryable(excludes = NotLeaderException.class)}.
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
   * What becomes of a call on a node that does not lead.
   *
   * @return what to do
   */
  OnFollower onFollower() default OnFollower.SKIP;

  /**
   * Whether the thread that runs a call is interrupted when leadership no longer covers the call, that
   * is, when another node may lead:
   *
   * <ul>
   *   <li>at once when the lease has {@linkplain LeadershipLostEvent.Reason#EXPIRED expired}, also
   *       while the store hangs, or the node has been {@linkplain LeadershipLostEvent.Reason#DISPLACED
   *       displaced};
   *   <li>after a resignation or a hand-over when the drain time-out is over, just before the lease is
   *       handed back. Until then the node does not lead any more but goes on renewing, so that calls
   *       can end and nobody else leads. Should the lease be lost meanwhile, at once;
   *   <li>after a stop when the drain time-out is over. The lease is kept until the call has ended;
   *   <li>where there is no lease ({@linkplain ManualAllocationElectionService manual allocation},
   *       election disabled) at once after {@link ElectionService#lostLeader()}. A stop gives the
   *       drain time-out under manual allocation, and interrupts nothing where the election is
   *       disabled;
   *   <li>an application's own {@link ElectionService} has to publish a {@link LeadershipLostEvent} as
   *       an event of the application, with its service id and the term of its leadership.
   * </ul>
   *
   * <p>A call is interrupted at most once, in the sense of {@link Thread#interrupt()}: waiting, sleeping
   * and most locks end with an exception, code that computes has to look at {@link
   * Thread#isInterrupted()}, and a JDBC call goes on until its own time-out. On a virtual thread the JDBC
   * call ends at once instead: the interruption closes its socket, and the transaction fails with the
   * connection. What the call throws then reaches its caller.
   *
   * <p>Never is a thread interrupted after the call, and the flag is cleared when the call ends with it,
   * so that a thread of a pool begins its next task without it. (Unless somebody else had set it
   * before. Who interrupts the thread later in the same call is not told apart from this.) Of guarded
   * calls within each other each is interrupted by the loss of its own leadership, wherever the thread
   * is; the flag outlives the inner call if an outer one was interrupted as well.
   *
   * <p>Only the thread that runs the method is interrupted, while it is within: not what a future that
   * it returned waits for. A method that returns a reactive publisher has no such thread, and is refused
   * at start-up, by name.
   *
   * @return whether running calls are interrupted
   */
  boolean interruptOnLoss() default false;

  /** What becomes of a call on a node that does not lead. */
  enum OnFollower {
    /** Do not run the method, and return nothing. */
    SKIP,
    /** Throw {@link NotLeaderException}. */
    THROW
  }
}
