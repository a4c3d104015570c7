package io.election.mysql.failover.agent;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Runs the operator's commands at changes of role. A failure is logged and has no other effect. */
final class Hooks {

  private static final Logger log = LoggerFactory.getLogger(Hooks.class);

  private final AgentProperties properties;

  Hooks(AgentProperties properties) {
    this.properties = properties;
  }

  /** A running command. */
  static final class Run {

    private final Thread thread;

    private Run(Thread thread) {
      this.thread = thread;
    }

    /** Kills the command if it is still running, and waits for its end. */
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

  /** Starts a command, subject to the time limit, without waiting for it. */
  Run start(String name, List<String> command, long term) {
    Thread thread = new Thread(() -> run(name, command, term), name);
    thread.setDaemon(true);
    thread.start();
    return new Run(thread);
  }

  /**
   * Runs a command, and waits until it ends or exceeds its time limit.
   *
   * @param name the name of the command in the log
   * @param command the program and its arguments; empty if there is none
   * @return whether the command ended with exit code 0 in time
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
              "AS_FAILOVER_ADDRESS", this.properties.address(this.properties.server()),
              "AS_FAILOVER_TERM", Long.toString(term)));
      process = builder.start();
    } catch (IOException ex) {
      log.error("{} cannot be run: {}", name, ex.getMessage());
      return false;
    }
    try {
      if (!process.waitFor(this.properties.hookTimeout().toMillis(), TimeUnit.MILLISECONDS)) {
        log.error(
            "{} took longer than as.failover.hook-timeout, {}, and was killed: {}",
            name,
            this.properties.hookTimeout(),
            command);
      } else if (process.exitValue() != 0) {
        log.error("{} has failed with exit code {}: {}", name, process.exitValue(), command);
      } else {
        return true;
      }
    } catch (InterruptedException ex) {
      log.error("{} was killed before it finished: {}", name, command);
      Thread.currentThread().interrupt();
    } finally {
      // A shell continues with its next command if only its current child process is killed.
      List<ProcessHandle> started = process.descendants().toList();
      process.destroyForcibly();
      started.forEach(ProcessHandle::destroyForcibly);
    }
    return false;
  }
}
