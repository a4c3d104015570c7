package io.election;

import java.util.Set;
import java.util.concurrent.CopyOnWriteArraySet;
import org.jspecify.annotations.Nullable;

/**
 * Lets a method assert that it runs in a {@link LeaderOnly} call. A call from within the same bean
 * bypasses the check of leadership, and such a method then fails instead of running on any node.
 *
 * <p>An assertion holds on the thread of the call, from the beginning of the method to its return.
 * It does not hold in work that continues elsewhere or later: that of a returned future, of another
 * thread, or the operators of a reactive publisher. It tells where the call began, and not whether
 * this node still leads: ask {@link ElectionService#isLeader()}.
 */
public final class LeaderOnlyAssert {

  private static final Set<Guard> GUARDS = new CopyOnWriteArraySet<>();

  private LeaderOnlyAssert() {}

  /**
   * Asserts that this thread runs in a guarded call of any election.
   *
   * @throws IllegalStateException if it does not
   */
  public static void assertGuarded() {
    if (GUARDS.stream().noneMatch((guard) -> guard.isPassed(null))) {
      throw bypassed("a @LeaderOnly call");
    }
  }

  /**
   * Asserts that this thread runs in a guarded call of one election.
   *
   * @param serviceId the {@linkplain ElectionService#serviceId() name of the election}
   * @throws IllegalStateException if it does not
   */
  public static void assertGuarded(String serviceId) {
    if (GUARDS.stream().noneMatch((guard) -> guard.isPassed(serviceId))) {
      throw bypassed("a @LeaderOnly call of election '" + serviceId + "'");
    }
  }

  private static IllegalStateException bypassed(String call) {
    return new IllegalStateException("This thread does not run in " + call
        + ", so nothing has checked that this node leads. Call the method through its bean: a call"
        + " from within the same bean bypasses the check.");
  }

  /**
   * Adds a guard. Used by what checks {@link LeaderOnly}, and by tests.
   *
   * @param guard the guard, until it is {@linkplain #remove removed}
   */
  public static void add(Guard guard) {
    GUARDS.add(guard);
  }

  /**
   * Removes a guard.
   *
   * @param guard the guard
   */
  public static void remove(Guard guard) {
    GUARDS.remove(guard);
  }

  /** Knows the guarded calls of this thread. */
  @FunctionalInterface
  public interface Guard {

    /**
     * Returns whether this thread runs in a guarded call. Called by any thread.
     *
     * @param serviceId the name of the election; {@code null} for any
     * @return whether it does
     */
    boolean isPassed(@Nullable String serviceId);
  }
}
