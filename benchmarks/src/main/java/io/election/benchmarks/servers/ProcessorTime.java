package io.election.benchmarks.servers;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalDouble;

/** The processor time of a server in a container, if the container runs on this machine. */
final class ProcessorTime {

  /** The value of {@code sysconf(_SC_CLK_TCK)} on every current Linux. */
  private static final double TICKS_A_SECOND = 100;

  private static final int USER_TICKS = 11;

  private final Path stat;

  private ProcessorTime(Path stat) {
    this.stat = stat;
  }

  /** Finds the first process of the container that listens on a port of this machine. */
  static ProcessorTime ofContainer(int port) {
    String id = output("docker", "ps", "-q", "--filter", "publish=" + port);
    String pid = id.isEmpty() ? "" : output("docker", "inspect", "-f", "{{.State.Pid}}", id);
    return new ProcessorTime(Path.of("/proc", pid.isEmpty() ? "none" : pid, "stat"));
  }

  private static String output(String... command) {
    try {
      Process process = new ProcessBuilder(command).start();
      try (InputStream output = process.getInputStream()) {
        return new String(output.readAllBytes(), StandardCharsets.UTF_8).strip();
      }
    } catch (IOException ex) {
      return "";
    }
  }

  /** Returns the time since the start of the process. */
  OptionalDouble seconds() {
    if (!Files.isReadable(this.stat)) {
      return OptionalDouble.empty();
    }
    try {
      String line = Files.readString(this.stat);
      // The name, in brackets, may contain blanks.
      String[] cells = line.substring(line.lastIndexOf(')') + 2).split(" ");
      return OptionalDouble.of(
          (Long.parseLong(cells[USER_TICKS]) + Long.parseLong(cells[USER_TICKS + 1]))
              / TICKS_A_SECOND);
    } catch (IOException ex) {
      return OptionalDouble.empty();
    }
  }
}
