package io.election.benchmarks.scale;

import io.election.benchmarks.scale.NodeFile.Counter;
import io.election.test.process.Signal;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A process of many nodes, seen from outside. */
final class NodesProcess implements AutoCloseable {

  private final Process process;

  private final NodeFile file;

  private boolean killed;

  private NodesProcess(Process process, NodeFile file) {
    this.process = process;
    this.file = file;
  }

  static NodesProcess start(Fleet fleet, Path folder) {
    Path path = folder.resolve("nodes-" + fleet.first());
    NodeFile file = NodeFile.open(path);
    List<String> command =
        new ArrayList<>(List.of(ProcessHandle.current().info().command().orElse("java")));
    command.addAll(List.of(
        "-XX:+UseSerialGC",
        "-Xss256k",
        "-Xmx" + (128 + 3 * fleet.size() + fleet.size() * fleet.elections() / 100) + "m",
        "-Dlogback.configurationFile=benchmarks-quiet.xml",
        "-cp",
        System.getProperty("java.class.path"),
        ScaleNodes.class.getName()));
    command.addAll(fleet.arguments());
    command.add("file=" + path);
    try {
      Process process = new ProcessBuilder(command)
          .redirectErrorStream(true)
          .redirectOutput(folder.resolve("nodes-" + fleet.first() + ".log").toFile())
          .start();
      Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
      return new NodesProcess(process, file);
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  NodeFile file() {
    return this.file;
  }

  boolean isKilled() {
    return this.killed;
  }

  /** Whether all nodes are made, and wait for the start. */
  boolean isReady() {
    if (!this.killed && !this.process.isAlive()) {
      throw new IllegalStateException("A process of nodes has ended by itself");
    }
    return this.file.get(Counter.SWEPT_AT) != 0;
  }

  /** The leaderships that last, as far as is known. */
  List<Tenure> leaderships() {
    long now = System.nanoTime();
    // Who has said "no" since has a deadline in the past.
    return this.killed
        ? List.of()
        : this.file.tenures().stream()
            .filter((tenure) -> tenure.deadline() - now > 0)
            .toList();
  }

  void kill() throws InterruptedException {
    this.killed = true;
    Signal.KILL.send(this.process.toHandle());
    if (!this.process.waitFor(60, TimeUnit.SECONDS)) {
      throw new IllegalStateException("A process does not end");
    }
  }

  @Override
  public void close() {
    this.process.destroyForcibly();
    try {
      this.process.waitFor(30, TimeUnit.SECONDS);
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
    }
  }
}
