package io.election.benchmarks;

import io.election.benchmarks.sidebyside.SideBySide;
import io.election.benchmarks.sidebyside.Storm;
import io.election.support.TestDatabase;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.core.env.SimpleCommandLinePropertySource;

/**
 * Runs all benchmarks one after the other, each in its own process.
 *
 * <pre>
 * java -cp lab/benchmarks/target/benchmarks.jar io.election.benchmarks.Benchmarks [--quick] [--results=folder]
 * </pre>
 *
 * <p>The results folder has one folder or file for each benchmark. {@code --quick} skips the
 * longest measurements and shortens the others.
 */
public final class Benchmarks {

  private final Path results;

  private final List<String> failed = new ArrayList<>();

  /** In the environment of programs, since every user of this machine sees their arguments. */
  private @Nullable String password;

  private Benchmarks(Path results) {
    this.results = results;
  }

  /** Exits with 1 if one of the programs does not exit with 0. */
  public static void main(String[] arguments) throws Exception {
    var options = new SimpleCommandLinePropertySource(arguments);
    boolean quick = options.containsProperty("quick");
    String folder = options.getProperty("results");
    String home = quick ? "lab/benchmarks/target/quick" : "lab/benchmarks/target/results";
    Path results = Path.of(folder != null ? folder : home);
    Files.createDirectories(results);
    Benchmarks benchmarks = new Benchmarks(results);
    if (quick) {
      benchmarks.runQuickly();
    } else {
      benchmarks.run();
    }
    System.out.println(
        benchmarks.failed.isEmpty()
            ? "Results: " + results
            : "Failed: " + String.join(", ", benchmarks.failed));
    System.exit(benchmarks.failed.isEmpty() ? 0 : 1);
  }

  private void runQuickly() throws IOException, InterruptedException {
    String[] shortly = {"-f", "0", "-wi", "0", "-i", "1", "-r", "100ms"}; // in one process
    microbenchmark("LeadershipBenchmark", shortly);
    runToEnd(Storm.class.getName(), "--quick", "--results=" + path("storm"));
    runToEnd(
        SideBySide.class.getName(),
        "--quick",
        "--backends=mysql,zookeeper,etcd,pgbouncer",
        "--scenarios=kill",
        "--loads=",
        "--results=" + path("side-by-side"));
  }

  private void run() throws IOException, InterruptedException {
    microbenchmark("LeadershipBenchmark");
    TestDatabase commits = TestDatabase.newDatabase();
    this.password = commits.password();
    microbenchmark(
        "CommitBenchmark|ShedLockBenchmark",
        "-p",
        "url=" + commits.jdbcUrl("mysql", ""),
        "-p",
        "username=" + commits.username());
    TestDatabase starts = TestDatabase.newDatabase();
    runToEnd(
        StartUp.class.getName(),
        "--results=" + path("start-up.txt"),
        "--spring.datasource.url=" + starts.jdbcUrl("mysql", ""),
        // Creates databases.
        "--spring.datasource.username=root");
    this.password = null;
    runToEnd(
        SideBySide.class.getName(),
        "--results=" + path("side-by-side"),
        "--pictures=" + path("pictures"));
    runToEnd(
        SideBySide.class.getName(),
        "--backends=postgresql,pgbouncer",
        "--default-rounds=0",
        "--crowd=0",
        "--results=" + path("postgresql"));
    runToEnd(Storm.class.getName(), "--results=" + path("storm"));
  }

  private Path path(String name) {
    return this.results.resolve(name);
  }

  private void microbenchmark(String pattern, String... options)
      throws IOException, InterruptedException {
    String csv = path(pattern.replaceAll("Benchmark.*", "") + ".csv").toString();
    runToEnd(
        "org.openjdk.jmh.Main",
        Stream.concat(
                Stream.of(pattern, "-foe", "true", "-rf", "csv", "-rff", csv), Stream.of(options))
            .toArray(String[]::new));
  }

  private void runToEnd(String main, String... arguments) throws IOException, InterruptedException {
    System.out.println("=== " + main);
    List<String> command = new ArrayList<>(List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-cp",
        System.getProperty("java.class.path"),
        main));
    command.addAll(List.of(arguments));
    ProcessBuilder program = new ProcessBuilder(command).inheritIO();
    if (this.password != null) {
      program.environment().put("SPRING_DATASOURCE_PASSWORD", this.password);
    }
    if (program.start().waitFor() != 0) {
      this.failed.add(main);
    }
  }
}
