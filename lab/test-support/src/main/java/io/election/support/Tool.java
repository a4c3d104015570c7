package io.election.support;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;

/** A program that some tests need. They are skipped where it is missing, or does not start. */
public enum Tool {
  /** The browser. */
  CHROMIUM("chromium", "--version"),
  /** The client of the commands in the docs. */
  CURL("curl", "--version"),
  /** The server of etcd. */
  ETCD("etcd", "--version"),
  /** The load balancer. */
  HAPROXY("haproxy", "-v"),
  /** The pooler of PostgreSQL. */
  PGBOUNCER("pgbouncer", "--version"),
  /** The tester of Prometheus' rules. */
  PROMTOOL("promtool", "--version"),
  /** What unpacks the programs of PostgreSQL. */
  XZ("xz", "--version");

  private static final Map<Tool, Optional<String>> PROBLEMS = new ConcurrentHashMap<>();

  private final String program;

  private final String version;

  Tool(String program, String version) {
    this.program = program;
    this.version = version;
  }

  /** Skips the test with the reason unless the program starts and says its version. */
  public void assumeWorks() {
    Optional<String> problem = PROBLEMS.computeIfAbsent(this, (tool) -> tool.problem());
    Assumptions.assumeTrue(problem.isEmpty(), () -> problem.orElse(""));
  }

  private Optional<String> problem() {
    return path()
        .map((path) -> problem(20, path.toString(), this.version))
        .orElseGet(() -> Optional.of(this.program + " is not on the path"));
  }

  /** Returns where the program is, if it is on the path. */
  public Optional<Path> path() {
    return Stream.of(System.getenv("PATH").split(File.pathSeparator))
        .map((folder) -> Path.of(folder, this.program))
        .filter(Files::isExecutable)
        .findFirst();
  }

  /** Runs a program and returns why it does not work; empty if it ends with 0 in time. */
  static Optional<String> problem(int seconds, String... command) {
    String problem = String.join(" ", command) + " does not work here: it ";
    try {
      Process process = new ProcessBuilder(command)
          .redirectErrorStream(true)
          .redirectOutput(ProcessBuilder.Redirect.DISCARD)
          .start();
      if (!process.waitFor(seconds, TimeUnit.SECONDS)) {
        process.destroyForcibly();
        return Optional.of(problem + "has not ended after " + seconds + " s");
      }
      return process.exitValue() == 0
          ? Optional.empty()
          : Optional.of(problem + "ended with " + process.exitValue());
    } catch (IOException ex) {
      return Optional.of(problem + "did not start: " + ex.getMessage());
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
      throw new UncheckedIOException(new IOException(ex));
    }
  }
}
