package io.election.faults;

import io.election.support.process.NodeProcess;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;

/** A processor quota for processes: a cgroup of version 1 or 2. */
record CpuQuota(Path group) implements AutoCloseable {

  private static final int PERIOD_MICROS = 100_000;

  /** Creates a group, or skips the test if that is not allowed. */
  static CpuQuota ofPercent(int percent) {
    int quota = PERIOD_MICROS / 100 * percent;
    String name = "election-test-" + ProcessHandle.current().pid();
    for (Path parent : parents()) {
      Path group = parent.resolve(name);
      try {
        Files.createDirectory(group);
        try {
          if (Files.exists(group.resolve("cpu.cfs_quota_us"))) {
            Files.writeString(group.resolve("cpu.cfs_period_us"), Integer.toString(PERIOD_MICROS));
            Files.writeString(group.resolve("cpu.cfs_quota_us"), Integer.toString(quota));
          } else {
            Files.writeString(group.resolve("cpu.max"), quota + " " + PERIOD_MICROS);
          }
          return new CpuQuota(group);
        } catch (IOException ex) {
          Files.delete(group);
        }
      } catch (IOException ex) {
        // Try the next place.
      }
    }
    return Assumptions.abort("no CPU cgroup can be made here");
  }

  private static List<Path> parents() {
    return Stream.of("cpu", "cpu,cpuacct", "")
        .map((controller) -> Path.of("/sys/fs/cgroup", controller))
        .filter(Files::isDirectory)
        .toList();
  }

  void add(NodeProcess node) throws IOException {
    Files.writeString(this.group.resolve("cgroup.procs"), Long.toString(node.pid()));
  }

  void lift() throws IOException {
    for (String pid : Files.readAllLines(this.group.resolve("cgroup.procs"))) {
      Files.writeString(this.group.resolveSibling("cgroup.procs"), pid);
    }
  }

  @Override
  public void close() throws IOException {
    lift();
    Files.delete(this.group);
  }
}
