package io.election.mysql.failover.agent;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The operator's command that kills the server.
 *
 * @param command the program and its arguments; empty if there is none
 * @param limit how long it may take before it is killed itself
 */
record KillCommand(List<String> command, Duration limit) {

  private static final Logger log = LoggerFactory.getLogger(KillCommand.class);

  /** Returns whether the command ended with exit code 0 in time. */
  boolean run() {
    if (this.command.isEmpty()) {
      return false;
    }
    try {
      Process process = new ProcessBuilder(this.command).inheritIO().start();
      try {
        if (process.waitFor(this.limit.toNanos(), TimeUnit.NANOSECONDS)
            && process.exitValue() == 0) {
          return true;
        }
        log.error(
            "as.failover.kill-server has not ended with exit code 0 within {}: {}",
            this.limit,
            this.command);
      } finally {
        // A shell continues with its next command if only its current child process is killed.
        List<ProcessHandle> started = process.descendants().toList();
        process.destroyForcibly();
        started.forEach(ProcessHandle::destroyForcibly);
      }
    } catch (IOException ex) {
      log.error("as.failover.kill-server cannot be run: {}", ex.getMessage());
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
    }
    return false;
  }
}
