package io.election.mysql.failover.agent;

import java.sql.SQLException;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Creates the threads of the agent. */
final class VitalThread {

  private static final Logger log = LoggerFactory.getLogger(VitalThread.class);

  /** The exit code of an agent that has failed. */
  static final int FAILED = 70;

  private VitalThread() {}

  /**
   * Creates the thread without which the agent must not live. If it fails, the process ends at once
   * and hands no lease back, so that the server's guard acts before the lease ends. Otherwise the
   * agent would go on to stand for elections and to renew its lease, but nobody would manage its
   * server.
   */
  static Thread vital(String name, Runnable task) {
    Thread thread = new Thread(task, name);
    thread.setUncaughtExceptionHandler((failed, ex) -> {
      try {
        log.error("{} has failed", name, ex);
      } finally {
        Runtime.getRuntime().halt(FAILED);
      }
    });
    return thread;
  }

  /** Starts a task on a thread of its own, which does not keep the JVM alive. */
  static <T> Future<T> start(String name, Callable<T> task) {
    FutureTask<T> started = new FutureTask<>(task);
    Thread thread = new Thread(started, name);
    thread.setDaemon(true);
    thread.start();
    return started;
  }

  /** Waits for a task, and returns whether it is done. */
  static boolean isDone(Future<?> task, long millis) throws SQLException {
    try {
      task.get(millis, TimeUnit.MILLISECONDS);
      return true;
    } catch (TimeoutException ex) {
      return false;
    } catch (ExecutionException ex) {
      throw ex.getCause() instanceof SQLException failure
          ? failure
          : new SQLException(ex.getCause());
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
      throw new SQLException(ex);
    }
  }
}
