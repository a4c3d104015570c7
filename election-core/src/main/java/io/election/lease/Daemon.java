package io.election.lease;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** A daemon thread that repeats one action. Whatever the action throws is logged and survived. */
final class Daemon {

  /** What is repeated. */
  @FunctionalInterface
  interface Action {

    /**
     * Acts once.
     *
     * @return whether to go on
     */
    boolean run() throws InterruptedException;
  }

  private Daemon() {}

  static Thread start(String name, Runnable task) {
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  /**
   * Repeats an action on the calling thread until it wants to end.
   *
   * @param pause how long to pause after a failure
   */
  static void repeat(Action action, Duration pause, ElectionLog log) {
    boolean goesOn = true;
    while (goesOn) {
      try {
        goesOn = action.run();
      } catch (InterruptedException ex) {
        // Nobody ends the thread so: a listener may have interrupted it.
      } catch (Throwable ex) {
        survive(ex, pause, log);
      }
    }
  }

  /** Logs a failure, if there is memory for that, and pauses. */
  static void survive(Throwable failure, Duration pause, ElectionLog log) {
    try {
      log.failedUnexpectedly(failure);
    } catch (Throwable ex) {
      // Without memory nothing can be said.
    }
    LockSupport.parkNanos(pause.toNanos());
  }
}
