package io.election.benchmarks.sidebyside;

import io.election.benchmarks.candidates.CandidateNode;
import io.election.benchmarks.candidates.CandidateSettings;
import io.election.benchmarks.candidates.Claim;
import io.election.benchmarks.candidates.ClaimFile;
import io.election.benchmarks.candidates.CrowdNode;
import io.election.benchmarks.servers.Link;
import io.election.benchmarks.servers.Signal;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A process that takes part, and its link to the server. */
final class Node {

  private static final long FRESH = TimeUnit.MILLISECONDS.toNanos(500);

  private final CandidateSettings settings;

  private final Link link;

  private final Path folder;

  private final ClaimFile file;

  private final boolean question;

  private final int crowd;

  private Process process;

  private long startedAt;

  private Node(CandidateSettings settings, Link link, Path folder, boolean question, int crowd) {
    this.settings = settings;
    this.link = link;
    this.folder = folder;
    this.question = question;
    this.crowd = crowd;
    this.file = ClaimFile.open(folder.resolve(settings.node() + ".claims"));
    this.startedAt = System.nanoTime();
    this.process = launch();
  }

  static Node start(CandidateSettings settings, Link link, Path folder) {
    return new Node(settings, link, folder, false, 0);
  }

  /** Starts a node that measures what a question costs as soon as it leads. */
  static Node startWithQuestion(CandidateSettings settings, Link link, Path folder) {
    return new Node(settings, link, folder, true, 0);
  }

  /** Starts a process that is so many nodes. */
  static Node startCrowd(CandidateSettings settings, Link link, Path folder, int size) {
    return new Node(settings, link, folder, false, size);
  }

  private Process launch() {
    List<String> command =
        new ArrayList<>(List.of(ProcessHandle.current().info().command().orElse("java")));
    command.addAll(List.of("-XX:+UseSerialGC", "-Xss512k", "-Dfile.encoding=UTF-8"));
    command.add(this.crowd > 0 ? "-Xmx1g" : "-Xmx192m");
    if (!this.question) {
      command.add("-XX:TieredStopAtLevel=1");
    }
    command.add("-Dlogging.config=classpath:benchmarks-quiet.xml");
    command.add("-Dlogback.configurationFile=benchmarks-quiet.xml");
    Class<?> program = this.crowd > 0 ? CrowdNode.class : CandidateNode.class;
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), program.getName()));
    command.addAll(this.settings.arguments());
    command.add("claims=" + this.folder.resolve(name() + ".claims"));
    command.add("question=" + this.question);
    command.add("crowd=" + this.crowd);
    try {
      Process launched = new ProcessBuilder(command)
          .redirectErrorStream(true)
          .redirectOutput(ProcessBuilder.Redirect.appendTo(
              this.folder.resolve(name() + ".log").toFile()))
          .start();
      Runtime.getRuntime().addShutdownHook(new Thread(launched::destroyForcibly));
      return launched;
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  String name() {
    return this.settings.node();
  }

  Link link() {
    return this.link;
  }

  ClaimFile file() {
    return this.file;
  }

  boolean isAlive() {
    return this.process.isAlive();
  }

  /** Whether the process runs and has been asked since it was started. */
  boolean isUp() {
    return isAlive() && this.file.sampledAt() - this.startedAt > 0;
  }

  /** Whether the process says that it leads, now. */
  boolean leads() {
    return isUp() && this.file.isLeading() && System.nanoTime() - this.file.sampledAt() < FRESH;
  }

  List<Claim> claims(long since) {
    return this.file.claims(name(), since);
  }

  void signal(Signal signal) {
    signal.send(this.process);
  }

  void restart() {
    this.startedAt = System.nanoTime();
    this.process = launch();
  }

  void awaitEnd() throws InterruptedException {
    if (!this.process.waitFor(60, TimeUnit.SECONDS)) {
      throw new IllegalStateException(name() + " does not end");
    }
  }

  void destroy() {
    this.process.destroyForcibly();
    try {
      this.process.waitFor(30, TimeUnit.SECONDS);
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
    }
    this.link.close();
  }
}
