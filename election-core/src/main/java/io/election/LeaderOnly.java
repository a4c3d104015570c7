package io.election;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Lets a bean's method, or all public methods of a bean, run on the leader alone.
 *
 * <p>Leadership is checked when the call begins. Elsewhere the call is skipped: it returns {@code
 * null}, an empty {@link java.util.Optional}, or a completed future; a reactive publisher asks anew
 * at each subscription. A call from within the same bean passes by the check, as with every Spring
 * proxy. {@code final}, {@code private} and {@code static} methods, methods that return a
 * primitive type (a call that is skipped has no value for it), and unknown elections are refused at
 * start-up, by name.
 */
@Documented
@Inherited
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE})
public @interface LeaderOnly {

  /**
   * The election; empty for the default one.
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

  /** What becomes of a call on a node that does not lead. */
  enum OnFollower {
    /** Do not run the method, and return nothing. */
    SKIP,
    /** Throw {@link NotLeaderException}. */
    THROW
  }
}
