package io.election.mysql.failover.agent;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The operator's own commands at a change of roles. A failure is logged, and changes nothing. */
final class Hooks {

  private static final Logger log = LoggerFactory.getLogger(Hooks.class);

  private final AgentProperties properties;

  Hooks(AgentProperties properties) {
    this.properties = properties;
  }

  /** A command that runs. */
  static final class Run {

    private final Thread thread;

    private Run(Thread thread) {
      this.thread = thread;
    }

    /** Ends the command, if it still runs. */
    void end() {
      this.thread.interrupt();
      boolean interrupted = false;
      while (this.thread.isAlive()) {
        try {
          this.thread.join();
        } catch (InterruptedException ex) {
          interrupted = true;
        }
      }
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Begins to run a command, which has its time limit, and does not wait for it. */
  Run start(String name, List<String> command, long term) {
    Thread thread = new Thread(() -> run(name, command, term), name);
    thread.setDaemon(true);
    thread.start();
    return new Run(thread);
  }

  /**
   * Runs a command, and waits until it ends or its time limit has passed.
   *
   * @param name its name in the log
   * @param command the program and its arguments; empty if there is none
   * @return whether it has ended with exit code 0 in time
   */
  boolean run(String name, List<String> command, long term) {
    if (command.isEmpty()) {
      return false;
    }
    Process process;
    try {
      ProcessBuilder builder = new ProcessBuilder(command).inheritIO();
      builder
          .environment()
          .putAll(Map.of(
              "AS_FAILOVER_SERVER", this.properties.server(),
              "AS_FAILOVER_ADDRESS", this.properties.address(),
              "AS_FAILOVER_TERM", Long.toString(term)));
      process = builder.start();
    } catch (IOException ex) {
      log.error("{} cannot be run: {}", name, ex.getMessage());
      return false;
    }
    try {
      if (!process.waitFor(this.properties.hookTimeout().toMillis(), TimeUnit.MILLISECONDS)) {
        log.error(
            "{} took longer than as.failover.hook-timeout, {}, and was ended: {}",
            name,
            this.properties.hookTimeout(),
            command);
      } else if (process.exitValue() != 0) {
        log.error("{} has failed with exit code {}: {}", name, process.exitValue(), command);
      } else {
        return true;
      }
    } catch (InterruptedException ex) {
      log.error("{} was ended before it was done: {}", name, command);
      Thread.currentThread().interrupt();
    } finally {
      // A shell goes on with its next command when the one that it waits for is killed.
      List<ProcessHandle> started = process.descendants().toList();
      process.destroyForcibly();
      started.forEach(ProcessHandle::destroyForcibly);
    }
    return false;
  }
}
