package io.election.benchmarks.sidebyside;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Locale;

/** Describes the machine of the measurement. */
public final class Machine {

  private Machine() {}

  /**
   * Describes the machine at the start.
   *
   * @param results the results that receive the description
   * @param servers names and versions of the servers
   * @param arguments the program's arguments
   * @throws IOException if the machine cannot be described
   */
  public static void describe(Results results, String servers, String... arguments)
      throws IOException {
    results.about("date", LocalDate.now(ZoneOffset.UTC).toString());
    results.about("arguments", String.join(" ", arguments));
    results.about(
        "machine",
        Runtime.getRuntime().availableProcessors() + " cores, " + processor() + ", "
            + System.getProperty("os.name") + " " + System.getProperty("os.arch"));
    results.about("java", System.getProperty("java.vm.version"));
    results.about("servers", servers);
    results.about("libraries", String.join(", ", libraries()));
    results.about("load at the begin", load());
  }

  /** Describes what has changed by the end. */
  public static void describeEnd(Results results) {
    results.about("load at the end", load());
  }

  private static String load() {
    return String.format(
        Locale.ROOT, "%.1f", ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage());
  }

  private static String processor() throws IOException {
    Path file = Path.of("/proc/cpuinfo");
    if (!Files.isReadable(file)) {
      return "unknown processor";
    }
    return Files.readAllLines(file).stream()
        .filter((line) -> line.startsWith("model name"))
        .map((line) -> line.substring(line.indexOf(':') + 1).trim())
        .findFirst()
        .orElse("unknown processor");
  }

  /** Returns the jars that are measured. */
  private static List<String> libraries() throws IOException {
    Path jar = Path.of(System.getProperty("java.class.path")).toAbsolutePath().getParent();
    Path folder = jar == null ? Path.of("lib") : jar.resolve("lib");
    if (!Files.isDirectory(folder)) {
      return List.of("unknown");
    }
    try (var files = Files.list(folder)) {
      return files
          .map((file) -> String.valueOf(file.getFileName()).replaceFirst("\\.jar$", ""))
          .filter((name) -> name.matches(
              "(spring-integration-jdbc|shedlock-core|curator-recipes|jetcd-core|mysql-connector-j"
                  + "|spring-boot|election-mysql)-[0-9].*"))
          .sorted()
          .toList();
    }
  }
}
