package io.election.benchmarks;

import io.election.benchmarks.servers.Backend;
import io.election.benchmarks.servers.NotInstalledException;
import io.election.benchmarks.servers.Server;
import io.election.benchmarks.servers.Server.Place;
import io.election.benchmarks.sidebyside.SideBySide;
import io.election.benchmarks.sidebyside.Storm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/**
 * Runs all benchmarks one after the other, each in its own process.
 *
 * <pre>
 * java -cp benchmarks/target/benchmarks.jar io.election.benchmarks.Benchmarks [--quick] [--results=folder]
 * </pre>
 *
 * <p>The results folder has one folder or file for each benchmark. {@code --quick} skips the
 * longest measurements and shortens the others.
 */
public final class Benchmarks {

  private final Path results;

  private final List<String> failed = new ArrayList<>();

  private Benchmarks(Path results) {
    this.results = results;
  }

  /**
   * Runs all benchmarks. Exits with 1 if one of the programs does not exit with 0.
   *
   * @param arguments {@code --quick}; {@code --results=folder}, by default a folder below {@code
   *     benchmarks}
   * @throws Exception if a program or a server does not start
   */
  public static void main(String[] arguments) throws Exception {
    boolean quick = Arrays.asList(arguments).contains("--quick");
    Path results = Path.of(Stream.of(arguments)
        .filter((argument) -> argument.startsWith("--results="))
        .map((argument) -> argument.substring("--results=".length()))
        .findFirst()
        .orElse(quick ? "benchmarks/target/quick" : "benchmarks/target/results"));
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
    run(SideBySide.class.getName(), "--quick", "--results=" + folder("side-by-side"));
    run(Storm.class.getName(), "--quick", "--results=" + folder("storm"));
    microbenchmark("LeadershipBenchmark", "-f", "1", "-wi", "1", "-i", "1", "-w", "1", "-r", "1");
  }

  private void run() throws IOException, InterruptedException, NotInstalledException {
    microbenchmark("LeadershipBenchmark");
    try (Server server = Backend.MYSQL.start()) {
      Place forCommits = server.newPlace();
      microbenchmark(
          "CommitBenchmark|ShedLockBenchmark",
          "-p",
          "url=" + forCommits.address(forCommits.port()),
          "-p",
          "username=" + forCommits.username(),
          "-p",
          "password=" + forCommits.password());
      Place forStarts = server.newPlace();
      runInto(
          folder("start-up.txt"),
          StartUp.class.getName(),
          "--spring.datasource.url=" + forStarts.address(forStarts.port()),
          "--spring.datasource.username=" + forStarts.username(),
          "--spring.datasource.password=" + forStarts.password());
    }
    run(
        SideBySide.class.getName(),
        "--results=" + folder("side-by-side"),
        "--pictures=" + folder("pictures"));
    run(Storm.class.getName(), "--results=" + folder("storm"));
  }

  private Path folder(String name) {
    return this.results.resolve(name);
  }

  private void microbenchmark(String pattern, String... options)
      throws IOException, InterruptedException {
    List<String> arguments = new ArrayList<>(List.of(pattern, "-rf", "csv", "-rff"));
    arguments.add(folder(pattern.replaceAll("Benchmark.*", "") + ".csv").toString());
    arguments.addAll(List.of(options));
    run("org.openjdk.jmh.Main", arguments.toArray(String[]::new));
  }

  private void run(String main, String... arguments) throws IOException, InterruptedException {
    finish(main, new ProcessBuilder(command(main, arguments)).inheritIO());
  }

  /** Runs a program that writes no files, and stores its output. */
  private void runInto(Path file, String main, String... arguments)
      throws IOException, InterruptedException {
    finish(
        main,
        new ProcessBuilder(command(main, arguments))
            .redirectErrorStream(true)
            .redirectOutput(file.toFile()));
    System.out.print(Files.readString(file));
  }

  private void finish(String main, ProcessBuilder program)
      throws IOException, InterruptedException {
    System.out.println("=== " + main.substring(main.lastIndexOf('.') + 1));
    if (program.start().waitFor() != 0) {
      this.failed.add(main);
    }
  }

  private static List<String> command(String main, String... arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), main));
    command.addAll(List.of(arguments));
    return command;
  }
}
