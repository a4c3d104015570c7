package io.election.support.process;

import io.election.support.Signal;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/** A {@link Node} that runs in its own JVM. */
public final class NodeProcess {

  /** The beginning of the command line of each process, for a start that takes little. */
  public static final List<String> JVM = List.of(
      ProcessHandle.current().info().command().orElse("java"),
      "-XX:TieredStopAtLevel=1",
      "-XX:CompileThresholdScaling=3",
      "-XX:+UseSerialGC",
      "-Xms64m",
      "-Xmx96m",
      "-Xmn40m",
      "-XX:+IgnoreUnrecognizedVMOptions", // the next one, where the system has no such pages
      "-XX:+UseTransparentHugePages",
      "-Dfile.encoding=UTF-8");

  private static final int SIGTERM_EXIT = 128 + 15;

  private static final long FRESH = TimeUnit.MILLISECONDS.toNanos(500);

  private final Node node;
  private final List<String> command;
  private final LeadershipLog claims;
  private final Path log;
  private long startedAt;
  private long rememberedFrom = Long.MIN_VALUE;
  private int rememberedLog;
  private Process process;

  private NodeProcess(Node node, List<String> command, LeadershipLog claims, Path log) {
    this.node = node;
    this.command = command;
    this.claims = claims;
    this.log = log;
    this.startedAt = System.nanoTime();
    this.process = launch();
  }

  /** Starts a process with its files in a folder, and properties in place of those of the node. */
  public static NodeProcess start(Node node, Path folder, List<String> properties) {
    Path claims = folder.resolve(node.name() + ".claims");
    List<String> command = new ArrayList<>(node.prefix());
    command.addAll(JVM);
    command.addAll(List.of("-cp", classPath()));
    command.addAll(node.jvmOptions());
    command.addAll(program(node.program().getName()));
    command.add("--test.claims=" + claims);
    properties.forEach((property) -> command.add("--" + property));
    return new NodeProcess(
        node, command, LeadershipLog.open(claims), folder.resolve(node.name() + ".log"));
  }

  /**
   * Prepares a program whose output is appended to a log. Its options {@code --…password=} become
   * environment variables, because every user of the machine sees the arguments of a process.
   */
  public static ProcessBuilder builder(List<String> command, Path log) {
    ProcessBuilder builder = new ProcessBuilder()
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()));
    for (String argument : command) {
      String[] pair = argument.split("=", 2);
      if (pair[0].startsWith("--") && pair[0].endsWith("password")) {
        builder.environment().put(variable(pair[0].substring(2)), pair[1]);
      } else {
        builder.command().add(argument);
      }
    }
    return builder;
  }

  /** Returns the environment variable that Spring reads for a property. */
  public static String variable(String property) {
    return property.replace('.', '_').replace("-", "").toUpperCase(Locale.ROOT);
  }

  /** Returns the class path of this JVM, also in a test. */
  public static String classPath() {
    return System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
  }

  /** In a jar that Spring Boot has repackaged, its launcher starts the program. */
  private static List<String> program(String name) {
    boolean repackaged = NodeProcess.class
        .getProtectionDomain()
        .getCodeSource()
        .getLocation()
        .toString()
        .startsWith("jar:nested:");
    return repackaged
        ? List.of(
            "-Dloader.main=" + name, "org.springframework.boot.loader.launch.PropertiesLauncher")
        : List.of(name);
  }

  private Process launch() {
    try {
      Process launched = builder(this.command, this.log).start();
      Runtime.getRuntime().addShutdownHook(new Thread(launched::destroyForcibly));
      return launched;
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  public void restart() {
    this.startedAt = System.nanoTime();
    this.process = launch();
  }

  public String name() {
    return this.node.name();
  }

  public Node node() {
    return this.node;
  }

  public long pid() {
    return this.process.pid();
  }

  /** Whether the process has recorded a sample since it was started; fails if it has ended. */
  public boolean isUp() {
    boolean sampled = this.claims.sampledAt() != 0 && this.claims.sampledAt() - this.startedAt > 0;
    if (!this.process.isAlive() && !sampled) {
      throw new IllegalStateException("Node " + name() + " did not start:\n" + log());
    }
    return sampled;
  }

  /** Whether the process runs or is paused. */
  public boolean isAlive() {
    return this.process.isAlive();
  }

  /** Whether the process led at its last sample, which must be recent. */
  public boolean leads() {
    return this.process.isAlive()
        && this.claims.isLeading()
        && this.claims.sampledAt() - this.startedAt > 0
        && System.nanoTime() - this.claims.sampledAt() < FRESH;
  }

  public LeadershipLog leadershipLog() {
    return this.claims;
  }

  /** Leaves out of {@link #claims()} the claims that have ended. */
  public void forgetClaims() {
    // The last sample of a leader may be old if the machine is busy.
    boolean leading = isAlive() && this.claims.isLeading();
    this.rememberedFrom = leading ? lastClaim().to() : System.nanoTime();
  }

  /** Does the same, and leaves out of {@link #logLines} all lines so far. */
  public void forget() {
    forgetClaims();
    this.rememberedLog = log().length();
  }

  /** The claims of the process to lead, since {@link #forgetClaims()}. */
  public List<Claim> claims() {
    return claims(this.rememberedFrom);
  }

  /** The claims of the process to lead, except those that ended before an instant. */
  public List<Claim> claims(long since) {
    return this.claims.claims(name(), since);
  }

  public Claim lastClaim() {
    List<Claim> all = claims();
    return all.get(all.size() - 1);
  }

  public List<Announcement> announcements(String serviceId) {
    return log()
        .lines()
        .flatMap((line) -> Announcement.parse(name(), serviceId, line).stream())
        .toList();
  }

  /** Whether the process ended on request, with no event listener still running. */
  public boolean endedCleanly() {
    return !this.process.isAlive()
        && this.process.exitValue() == SIGTERM_EXIT
        && logLines("a listener of leadership events still runs").isEmpty();
  }

  /** The file to which the process writes its output. */
  public Path logFile() {
    return this.log;
  }

  public String log() {
    try {
      return Files.readString(this.log);
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  /** The lines of the output that contain a text, since {@link #forget()}. */
  public List<String> logLines(String part) {
    return log()
        .substring(this.rememberedLog)
        .lines()
        .filter((line) -> line.contains(part))
        .toList();
  }

  public void kill() {
    signal(Signal.KILL);
    awaitEnd();
  }

  public void stop() {
    signal(Signal.TERM);
    awaitEnd();
  }

  /** Requests a clean stop, kills the process after a time, and returns whether it ended before. */
  public boolean stopWithin(Duration grace) {
    signal(Signal.TERM);
    boolean ended = endsWithin(grace);
    if (!ended) {
      kill();
    }
    return ended;
  }

  /** Stops the process cleanly and measures how long that takes. */
  public Duration timeToStop() {
    long asked = System.nanoTime();
    stop();
    return Duration.ofNanos(System.nanoTime() - asked);
  }

  public void pause() {
    signal(Signal.STOP);
  }

  public void resume() {
    signal(Signal.CONT);
  }

  /** Writes a line that the program reads from its standard input. */
  public void tell(String line) {
    try {
      Writer input = this.process.outputWriter();
      input.write(line + "\n");
      input.flush();
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  public void destroy() {
    if (this.process.isAlive()) {
      this.process.destroyForcibly();
      awaitEnd();
    }
  }

  public void signal(Signal signal) {
    signal.send(this.process.toHandle());
  }

  public void awaitEnd() {
    if (!endsWithin(Duration.ofSeconds(60))) {
      throw new IllegalStateException("Node " + name() + " does not end:\n" + log());
    }
  }

  private boolean endsWithin(Duration patience) {
    try {
      return this.process.waitFor(patience.toMillis(), TimeUnit.MILLISECONDS);
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
