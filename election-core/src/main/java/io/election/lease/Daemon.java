package io.election.lease;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/**
 * Starts daemon threads and repeats an action. Whatever the action throws is logged, and the
 * repetition continues.
 */
final class Daemon {

  /** An action to repeat. */
  @FunctionalInterface
  interface Action {

    /**
     * Runs the action once.
     *
     * @return whether to continue
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
   * Repeats an action on the calling thread until the action ends the repetition.
   *
   * @param pause how long to pause after a failure
   */
  static void repeat(Action action, Duration pause, ElectionLog log) {
    boolean continues = true;
    while (continues) {
      try {
        continues = action.run();
      } catch (InterruptedException ex) {
        // An interrupt does not end the thread: it may come from a listener.
      } catch (Throwable ex) {
        logAndPause(ex, pause, log);
      }
    }
  }

  /** Logs a failure if there is enough remembered, and pauses. */
  static void logAndPause(Throwable failure, Duration pause, ElectionLog log) {
    try {
      log.failedUnexpectedly(failure);
    } catch (Throwable ex) {
      // Out of memory: logging is not possible.
    }
    LockSupport.parkNanos(pause.toNanos());
  }
}
