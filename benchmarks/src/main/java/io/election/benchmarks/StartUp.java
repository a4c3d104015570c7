package io.election.benchmarks;

import io.election.benchmarks.sidebyside.Summary;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;

/**
 * Measures what the starter adds to the start of an application. It starts fresh JVMs in turn:
 * without the election ({@code as.election.enabled=false}); with the election on existing tables,
 * so that Flyway has nothing to do; and with the election on an empty database, where Flyway
 * creates the tables.
 *
 * <pre>
 * java -cp benchmarks.jar io.election.benchmarks.StartUp --spring.datasource.url=jdbc:mysql://… …
 * </pre>
 *
 * <p>The user must be allowed to create databases. Their names begin with the one in the URL.
 */
@SpringBootConfiguration
@EnableAutoConfiguration
public class StartUp {

  private static final int ROUNDS = 10;

  private static final String URL = "--spring.datasource.url=";

  private static final Pattern STARTED = Pattern.compile(
      "Started StartUp.Application in ([0-9.]+) seconds.*Needed ([0-9]+) ms of processor time and"
          + " ([0-9]+) classes",
      Pattern.DOTALL);

  /**
   * A start.
   *
   * @param millis from main to started, as the application reports it
   * @param processorMillis processor time since the process began, which other processes disturb
   *     less
   * @param classes the number of loaded classes
   */
  private record Start(double millis, double processorMillis, double classes) {}

  public StartUp() {}

  /** Uses the database at start, as applications with a database do. */
  @Bean
  InitializingBean database(DataSource dataSource) {
    return () -> dataSource.getConnection().close();
  }

  /** The application, in a JVM that is started for it. */
  static final class Application {

    private Application() {}

    public static void main(String[] arguments) {
      ConfigurableApplicationContext context = SpringApplication.run(StartUp.class, arguments);
      System.out.printf(
          Locale.ROOT,
          "Needed %d ms of processor time and %d classes%n",
          ProcessHandle.current()
              .info()
              .totalCpuDuration()
              .orElse(Duration.ZERO)
              .toMillis(),
          ManagementFactory.getClassLoadingMXBean().getTotalLoadedClassCount());
      SpringApplication.exit(context);
    }
  }

  /**
   * Measures.
   *
   * @param arguments the application's arguments, above all its database
   */
  public static void main(String[] arguments) throws IOException {
    List<Start> without = new ArrayList<>();
    List<Start> with = new ArrayList<>();
    List<Start> withFlyway = new ArrayList<>();
    start(true, arguments);
    for (int round = 0; round < ROUNDS; round++) {
      without.add(start(false, arguments));
      with.add(start(true, arguments));
      withFlyway.add(start(true, inDatabaseOfItsOwn(arguments)));
    }
    print("without election", without);
    print("with election, tables there", with);
    print("with election, empty database", withFlyway);
    printDifference("added with tables there", without, with);
    printDifference("added by Flyway on an empty database", with, withFlyway);
  }

  private static String[] inDatabaseOfItsOwn(String... arguments) {
    String suffix = "_" + Long.toString(System.nanoTime(), Character.MAX_RADIX);
    return Stream.of(arguments)
        .map((argument) -> argument.startsWith(URL) ? inDatabase(argument, suffix) : argument)
        .toArray(String[]::new);
  }

  private static String inDatabase(String url, String suffix) {
    String[] parts = url.split("\\?", 2);
    return parts[0]
        + suffix
        + "?createDatabaseIfNotExist=true"
        + (parts.length > 1 ? "&" + parts[1] : "");
  }

  private static Start start(boolean enabled, String... arguments) throws IOException {
    List<String> command =
        new ArrayList<>(List.of(ProcessHandle.current().info().command().orElse("java")));
    command.addAll(
        List.of("-cp", System.getProperty("java.class.path"), Application.class.getName()));
    command.addAll(Arrays.asList(arguments));
    command.addAll(
        List.of("--spring.application.name=start-up", "--as.election.enabled=" + enabled));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    StringBuilder output = new StringBuilder();
    try (BufferedReader lines = new BufferedReader(
        new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      lines.lines().forEach((line) -> output.append(line).append('\n'));
    }
    Matcher started = STARTED.matcher(output);
    if (!started.find()) {
      throw new IllegalStateException("The application did not start:\n" + output);
    }
    return new Start(
        1000 * Double.parseDouble(started.group(1)),
        Double.parseDouble(started.group(2)),
        Double.parseDouble(started.group(3)));
  }

  private static void print(String what, List<Start> starts) {
    List<Double> sorted = starts.stream().map(Start::millis).sorted().toList();
    System.out.printf(
        Locale.ROOT,
        "%s: min %.0f ms, median %.0f ms, max %.0f ms; processor time %.0f ms; classes %.0f%n",
        what,
        sorted.get(0),
        Summary.median(sorted),
        sorted.get(sorted.size() - 1),
        median(starts, Start::processorMillis),
        median(starts, Start::classes));
  }

  private static void printDifference(String what, List<Start> before, List<Start> after) {
    System.out.printf(
        Locale.ROOT,
        "%s: %.0f ms; processor time %.0f ms; classes %.0f (differences of medians)%n",
        what,
        median(after, Start::millis) - median(before, Start::millis),
        median(after, Start::processorMillis) - median(before, Start::processorMillis),
        median(after, Start::classes) - median(before, Start::classes));
  }

  private static double median(List<Start> starts, Function<Start, Double> figure) {
    return Summary.median(starts.stream().map(figure).toList());
  }
}
