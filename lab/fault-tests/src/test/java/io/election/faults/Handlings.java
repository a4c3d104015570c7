package io.election.faults;

import io.election.ElectionService;
import io.election.support.process.Claim;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.SmartLifecycle;

/**
 * What the listeners of all nodes do with messages: each appends a line to a file when it begins and
 * one when it ends. The file survives its nodes.
 *
 * <p>A bean that a listener needs, which Spring stops with the first when a context closes.
 */
final class Handlings implements SmartLifecycle {

  private final Path file;

  private final ElectionService election;

  private volatile boolean running;

  Handlings(@Value("${test.handlings}") Path file, ElectionService election) {
    this.file = file;
    this.election = election;
  }

  /** What a node has handled, in the term that it saw at the beginning. */
  record Handling(int message, Claim claim) {

    private static Handling parse(String line) {
      String[] parts = line.split(" ", -1);
      return new Handling(
          Integer.parseInt(parts[1]),
          new Claim(
              parts[2],
              Long.parseLong(parts[3]),
              Long.parseLong(parts[4]),
              Long.parseLong(parts[5])));
    }
  }

  /** Writes a message that takes its listener some time. */
  static String message(int number, long millis) {
    return number + " " + millis;
  }

  void handle(String message) {
    String[] parts = message.split(" ", 2);
    long begin = System.nanoTime();
    String handling = "%s %s %d %d"
        .formatted(
            parts[0], this.election.nodeId(), this.election.term().orElse(Claim.NO_TERM), begin);
    append("begin " + handling);
    long end = begin + Long.parseLong(parts[1]) * 1_000_000;
    while (System.nanoTime() - end < 0) {
      LockSupport.parkNanos(end - System.nanoTime());
    }
    append((this.running ? "end " : "late ") + handling + " " + System.nanoTime());
  }

  @Override
  public void start() {
    this.running = true;
  }

  @Override
  public void stop() {
    this.running = false;
  }

  @Override
  public boolean isRunning() {
    return this.running;
  }

  private void append(String line) {
    try {
      Files.writeString(
          this.file, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  static boolean hasBegun(Path file, int message) {
    return lines(file).stream().anyMatch((line) -> line.startsWith("begin " + message + " "));
  }

  /** The handlings that have ended after Spring had stopped what they need. */
  static List<String> late(Path file) {
    return lines(file).stream().filter((line) -> line.startsWith("late ")).toList();
  }

  /** The handlings that have ended, the oldest first. */
  static List<Handling> ended(Path file) {
    return lines(file).stream()
        .filter((line) -> line.startsWith("end "))
        .map(Handling::parse)
        .toList();
  }

  /** Returns the lines that are complete: the last one may be read while it is written. */
  private static List<String> lines(Path file) {
    try {
      String text = Files.exists(file) ? Files.readString(file) : "";
      return text.substring(0, text.lastIndexOf('\n') + 1).lines().toList();
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }
}
