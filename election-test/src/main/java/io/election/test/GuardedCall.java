package io.election.test;

import io.election.LeaderOnlyAssert;

/**
 * Lets a unit test call a method that {@linkplain LeaderOnlyAssert asserts} that it runs in a
 * guarded call: without Spring nothing guards it.
 *
 * <pre>{@code
 * @AutoClose
 * private final GuardedCall call = GuardedCall.begin();
 * }</pre>
 */
public final class GuardedCall implements AutoCloseable {

  private final LeaderOnlyAssert.Guard guard;

  private GuardedCall(Thread thread) {
    this.guard = (serviceId) -> Thread.currentThread() == thread;
  }

  /**
   * Lets all assertions of this thread hold, for any election.
   *
   * @return what ends it
   */
  public static GuardedCall begin() {
    GuardedCall call = new GuardedCall(Thread.currentThread());
    LeaderOnlyAssert.add(call.guard);
    return call;
  }

  @Override
  public void close() {
    LeaderOnlyAssert.remove(this.guard);
  }
}
