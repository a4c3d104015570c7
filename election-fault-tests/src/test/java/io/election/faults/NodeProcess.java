package io.election.faults;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A {@link Node} in a JVM of its own. */
final class NodeProcess {

  private static final int SIGTERM_EXIT = 128 + 15;

  private final Node node;

  private final Process process;

  private final ClaimFile claims;

  private final Path log;

  private NodeProcess(Node node, Process process, ClaimFile claims, Path log) {
    this.node = node;
    this.process = process;
    this.claims = claims;
    this.log = log;
  }

  /** Starts a node; its files go into the folder. */
  static NodeProcess start(Node node, Path folder, List<String> arguments) {
    Path claims = folder.resolve(node.name() + ".claims");
    Path log = folder.resolve(node.name() + ".log");
    List<String> command = new ArrayList<>(node.prefix());
    command.add(ProcessHandle.current().info().command().orElse("java"));
    command.addAll(
        List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx96m", "-Dfile.encoding=UTF-8"));
    command.addAll(node.jvmOptions());
    command.addAll(List.of("-cp", classPath(), node.program().getName()));
    command.add("--test.claims=" + claims);
    command.addAll(arguments);
    try {
      ClaimFile file = ClaimFile.open(claims);
      ProcessBuilder builder = new ProcessBuilder(command)
          .redirectErrorStream(true)
          .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()));
      builder.environment().putAll(node.environment());
      Process process = builder.start();
      Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
      return new NodeProcess(node, process, file, log);
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  private static String classPath() {
    return System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
  }

  String name() {
    return this.node.name();
  }

  /** What was started. */
  Node node() {
    return this.node;
  }

  long pid() {
    return this.process.pid();
  }

  boolean isUp() {
    if (!this.process.isAlive() && !this.claims.isSampling()) {
      throw new IllegalStateException("Node " + name() + " did not start:\n" + log());
    }
    return this.claims.isSampling();
  }

  boolean isAlive() {
    return this.process.isAlive();
  }

  /** Whether the node said that it leads when it was last asked, which is not long ago. */
  boolean leads() {
    return this.process.isAlive()
        && this.claims.isLeading()
        && System.nanoTime() - this.claims.sampledAt() < TimeUnit.MILLISECONDS.toNanos(500);
  }

  List<Claim> claims() {
    return this.claims.claims(name());
  }

  /** The latest claim of a node that has led. */
  Claim lastClaim() {
    List<Claim> claims = claims();
    return claims.get(claims.size() - 1);
  }

  /** What the node published, in its order. */
  List<Announcement> announcements() {
    try (Stream<String> lines = this.log().lines()) {
      return lines.flatMap((line) -> Announcement.parse(name(), line).stream()).toList();
    }
  }

  /** Whether the node was asked to end, and did, with all that belongs to it. */
  boolean endedCleanly() {
    return !this.process.isAlive()
        && this.process.exitValue() == SIGTERM_EXIT
        && logLines("a listener of leadership events still runs").isEmpty();
  }

  String log() {
    try {
      return Files.readString(this.log);
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  List<String> logLines(String part) {
    try (Stream<String> lines = this.log().lines()) {
      return lines.filter((line) -> line.contains(part)).toList();
    }
  }

  void kill() {
    signal("KILL");
    awaitEnd();
  }

  /** Asks for a clean stop and waits for it. */
  void stop() {
    signal("TERM");
    awaitEnd();
  }

  /** Asks for a clean stop, and kills the process if it does not end in time; whether it did. */
  boolean stopWithin(Duration grace) throws InterruptedException {
    signal("TERM");
    boolean ended = this.process.waitFor(grace.toMillis(), TimeUnit.MILLISECONDS);
    if (!ended) {
      kill();
    }
    return ended;
  }

  /** Asks for a clean stop; gives how long that took. */
  Duration timeToStop() {
    long asked = System.nanoTime();
    stop();
    return Duration.ofNanos(System.nanoTime() - asked);
  }

  void pause() {
    signal("STOP");
  }

  void resume() {
    signal("CONT");
  }

  void destroy() {
    if (this.process.isAlive()) {
      this.process.destroyForcibly();
      awaitEnd();
    }
  }

  private void signal(String name) {
    try {
      int exit = new ProcessBuilder("kill", "-" + name, Long.toString(this.process.pid()))
          .inheritIO()
          .start()
          .waitFor();
      if (exit != 0) {
        throw new IllegalStateException("kill -" + name + " ended with " + exit);
      }
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(ex);
    }
  }

  private void awaitEnd() {
    try {
      if (!this.process.waitFor(60, TimeUnit.SECONDS)) {
        throw new IllegalStateException("Node " + name() + " does not end:\n" + log());
      }
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(ex);
    }
  }

  @Override
  public String toString() {
    return name();
  }
}
