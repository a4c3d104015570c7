package io.election.benchmarks.sidebyside;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Describes the machine of the measurement. */
final class Machine {

  private Machine() {}

  static void describe(Results results, String servers, String... arguments) throws IOException {
    results.about("date", LocalDate.now(ZoneOffset.UTC).toString());
    results.about("arguments", String.join(" ", arguments));
    results.about(
        "machine",
        Runtime.getRuntime().availableProcessors() + " cores, " + processor() + ", "
            + System.getProperty("os.name") + " " + System.getProperty("os.arch"));
    results.about("java", System.getProperty("java.vm.version"));
    results.about("servers", servers);
    results.about("libraries", libraries());
    results.about("load at the begin", load());
  }

  /** Describes what has changed by the end. */
  static void describeEnd(Results results) {
    results.about("load at the end", load());
  }

  private static String load() {
    return Double.toString(ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage());
  }

  private static String processor() throws IOException {
    Path file = Path.of("/proc/cpuinfo");
    try (Stream<String> lines = Files.isReadable(file) ? Files.lines(file) : Stream.empty()) {
      return lines
          .filter((line) -> line.startsWith("model name"))
          .map((line) -> line.substring(line.indexOf(':') + 1).trim())
          .findFirst()
          .orElse("unknown processor");
    }
  }

  /** Returns the jars that are measured. */
  private static String libraries() throws IOException {
    Path folder = Path.of(System.getProperty("java.class.path")).resolveSibling("lib");
    try (Stream<Path> files = Files.isDirectory(folder) ? Files.list(folder) : Stream.empty()) {
      return files
          .map((file) -> String.valueOf(file.getFileName()).replaceFirst("\\.jar$", ""))
          .filter((name) -> name.matches(
              "(spring-integration-jdbc|shedlock-core|curator-recipes|jetcd-core|mysql-connector-j|postgresql"
                  + "|spring-boot|election-jdbc)-[0-9].*"))
          .sorted()
          .collect(Collectors.joining(", "));
    }
  }
}
