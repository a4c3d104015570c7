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
    try {
      ProcessBuilder builder = new ProcessBuilder(command).inheritIO();
      builder
          .environment()
          .putAll(Map.of(
              "AS_FAILOVER_SERVER", this.properties.server(),
              "AS_FAILOVER_ADDRESS", this.properties.address(),
              "AS_FAILOVER_TERM", Long.toString(term)));
      Process process = builder.start();
      if (!process.waitFor(this.properties.hookTimeout().toMillis(), TimeUnit.MILLISECONDS)) {
        process.destroyForcibly();
        log.error("{} took longer than {} and was ended", name, this.properties.hookTimeout());
      } else if (process.exitValue() != 0) {
        log.error("{} has failed with exit code {}", name, process.exitValue());
      } else {
        return true;
      }
    } catch (IOException ex) {
      log.error("{} cannot be run", name, ex);
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
    }
    return false;
  }
}
