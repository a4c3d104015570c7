package io.election.test.process;

import io.election.test.Signal;
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
public final class NodeProcess {

  private static final int SIGTERM_EXIT = 128 + 15;

  private static final long FRESH = TimeUnit.MILLISECONDS.toNanos(500);

  private final Node node;

  private final List<String> command;

  private final LeadershipLog claims;

  private final Path log;

  private long startedAt;

  private Process process;

  private NodeProcess(Node node, List<String> command, LeadershipLog claims, Path log) {
    this.node = node;
    this.command = command;
    this.claims = claims;
    this.log = log;
    this.startedAt = System.nanoTime();
    this.process = launch();
  }

  /**
   * Starts a process.
   *
   * @param node the process
   * @param folder where its files go
   * @param properties what it is told, in place of the node's own properties
   * @return the process, which may not be up yet
   */
  public static NodeProcess start(Node node, Path folder, List<String> properties) {
    Path claims = folder.resolve(node.name() + ".claims");
    List<String> command = new ArrayList<>(node.prefix());
    command.add(ProcessHandle.current().info().command().orElse("java"));
    command.addAll(
        List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx96m", "-Dfile.encoding=UTF-8"));
    command.addAll(node.jvmOptions());
    command.addAll(List.of("-cp", classPath(), node.program().getName()));
    command.add("--test.claims=" + claims);
    properties.forEach((property) -> command.add("--" + property));
    return new NodeProcess(
        node, command, LeadershipLog.open(claims), folder.resolve(node.name() + ".log"));
  }

  private static String classPath() {
    return System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
  }

  private Process launch() {
    try {
      ProcessBuilder builder = new ProcessBuilder(this.command)
          .redirectErrorStream(true)
          .redirectOutput(ProcessBuilder.Redirect.appendTo(this.log.toFile()));
      builder.environment().putAll(this.node.environment());
      Process launched = builder.start();
      Runtime.getRuntime().addShutdownHook(new Thread(launched::destroyForcibly));
      return launched;
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  /** Starts the process again after it has ended; its files go on. */
  public void restart() {
    this.startedAt = System.nanoTime();
    this.process = launch();
  }

  /** The name of the process. */
  public String name() {
    return this.node.name();
  }

  /** What was started. */
  public Node node() {
    return this.node;
  }

  /** The process as the operating system knows it. */
  public long pid() {
    return this.process.pid();
  }

  /**
   * Whether the process has been asked since it was started.
   *
   * @return whether it is up
   * @throws IllegalStateException if it has ended instead
   */
  public boolean isUp() {
    boolean sampled = this.claims.sampledAt() != 0 && this.claims.sampledAt() - this.startedAt > 0;
    if (!this.process.isAlive() && !sampled) {
      throw new IllegalStateException("Node " + name() + " did not start:\n" + log());
    }
    return sampled;
  }

  /** Whether the process runs, if only in a pause. */
  public boolean isAlive() {
    return this.process.isAlive();
  }

  /** Whether the process said that it leads when it was last asked, which is not long ago. */
  public boolean leads() {
    return this.process.isAlive()
        && this.claims.isLeading()
        && this.claims.sampledAt() - this.startedAt > 0
        && System.nanoTime() - this.claims.sampledAt() < FRESH;
  }

  /** What the process writes down. */
  public LeadershipLog leadershipLog() {
    return this.claims;
  }

  /** When the process led. */
  public List<Claim> claims() {
    return this.claims.claims(name());
  }

  /**
   * When the process led of late.
   *
   * @param since claims that ended before this instant are left out
   * @return its claims in their order
   */
  public List<Claim> claims(long since) {
    return this.claims.claims(name(), since);
  }

  /** The latest claim of a process that has led. */
  public Claim lastClaim() {
    List<Claim> all = claims();
    return all.get(all.size() - 1);
  }

  /**
   * What the process has published.
   *
   * @param serviceId the election that counts
   * @return the events in their order
   */
  public List<Announcement> announcements(String serviceId) {
    try (Stream<String> lines = log().lines()) {
      return lines
          .flatMap((line) -> Announcement.parse(name(), serviceId, line).stream())
          .toList();
    }
  }

  /** Whether the process was asked to end, and did, with all that belongs to it. */
  public boolean endedCleanly() {
    return !this.process.isAlive()
        && this.process.exitValue() == SIGTERM_EXIT
        && logLines("a listener of leadership events still runs").isEmpty();
  }

  /** What the process has printed. */
  public String log() {
    try {
      return Files.readString(this.log);
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  /**
   * What the process has printed of something.
   *
   * @param part a part of the lines
   * @return the lines
   */
  public List<String> logLines(String part) {
    try (Stream<String> lines = log().lines()) {
      return lines.filter((line) -> line.contains(part)).toList();
    }
  }

  /** Kills the process and waits until it is gone. */
  public void kill() {
    signal(Signal.KILL);
    awaitEnd();
  }

  /** Asks for a clean stop and waits for it. */
  public void stop() {
    signal(Signal.TERM);
    awaitEnd();
  }

  /**
   * Asks for a clean stop, and kills the process if it does not end in time.
   *
   * @param grace the time
   * @return whether it ended in time
   * @throws InterruptedException if the thread is interrupted
   */
  public boolean stopWithin(Duration grace) throws InterruptedException {
    signal(Signal.TERM);
    boolean ended = this.process.waitFor(grace.toMillis(), TimeUnit.MILLISECONDS);
    if (!ended) {
      kill();
    }
    return ended;
  }

  /** Asks for a clean stop. */
  public Duration timeToStop() {
    long asked = System.nanoTime();
    stop();
    return Duration.ofNanos(System.nanoTime() - asked);
  }

  /** Freezes the process. */
  public void pause() {
    signal(Signal.STOP);
  }

  /** Lets a frozen process go on. */
  public void resume() {
    signal(Signal.CONT);
  }

  /** Ends the process, whatever it does. */
  public void destroy() {
    if (this.process.isAlive()) {
      this.process.destroyForcibly();
      awaitEnd();
    }
  }

  /** Sends a signal. */
  public void signal(Signal signal) {
    signal.send(this.process.toHandle());
  }

  /** Waits until the process has ended. */
  public void awaitEnd() {
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
