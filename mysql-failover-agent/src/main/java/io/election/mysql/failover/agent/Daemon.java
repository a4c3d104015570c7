package io.election.mysql.failover.agent;

import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;

/** Runs tasks beside the agent's thread. */
final class Daemon {

  private Daemon() {}

  /** Starts a task on a thread of its own, which does not keep the JVM alive. */
  static <T> Future<T> start(String name, Callable<T> task) {
    FutureTask<T> started = new FutureTask<>(task);
    Thread thread = new Thread(started, name);
    thread.setDaemon(true);
    thread.start();
    return started;
  }
}
