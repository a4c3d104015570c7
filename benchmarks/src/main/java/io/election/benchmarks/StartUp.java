package io.election.benchmarks;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;

/**
 * What the starter adds to the start of an application: fresh JVMs in turn, without the election
 * ({@code as.election.enabled=false}), with it on tables that are there already, so that Flyway has
 * nothing to do, and with it on an empty database, where Flyway makes them.
 *
 * <pre>
 * java -cp benchmarks.jar io.election.benchmarks.StartUp --spring.datasource.url=jdbc:mysql://… …
 * </pre>
 *
 * <p>The user has to be allowed to create databases, whose names begin with that in the URL.
 */
@SpringBootConfiguration
@EnableAutoConfiguration
public class StartUp {

  private static final int ROUNDS = 10;

  private static final String URL = "--spring.datasource.url=";

  private static final Pattern STARTED =
      Pattern.compile("Started StartUp.Application in ([0-9.]+) seconds");

  /** Creates the configuration; Spring calls it. */
  public StartUp() {}

  /** Uses the database at start, as the applications do that have one. */
  @Bean
  InitializingBean database(DataSource dataSource) {
    return () -> dataSource.getConnection().close();
  }

  /** An application of its own, in a JVM that is started for it. */
  static final class Application {

    private Application() {}

    public static void main(String[] arguments) {
      SpringApplication.exit(SpringApplication.run(StartUp.class, arguments));
    }
  }

  /**
   * Measures.
   *
   * @param arguments the application's, above all its database
   */
  public static void main(String[] arguments) throws IOException {
    List<Double> without = new ArrayList<>();
    List<Double> with = new ArrayList<>();
    List<Double> withFlyway = new ArrayList<>();
    seconds(true, arguments);
    for (int round = 0; round < ROUNDS; round++) {
      without.add(seconds(false, arguments));
      with.add(seconds(true, arguments));
      withFlyway.add(seconds(true, inDatabaseOfItsOwn(arguments)));
    }
    print("without election", without);
    print("with election, tables there", with);
    print("with election, empty database", withFlyway);
    System.out.printf(
        "added with tables there: %.0f ms; by Flyway on an empty database: %.0f ms more (medians)%n",
        1000 * (median(with) - median(without)), 1000 * (median(withFlyway) - median(with)));
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

  private static double seconds(boolean enabled, String... arguments) throws IOException {
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
    return Double.parseDouble(started.group(1));
  }

  private static void print(String what, List<Double> seconds) {
    List<Double> sorted = seconds.stream().sorted().toList();
    System.out.printf(
        "%s: min %.3f s, median %.3f s, max %.3f s%n",
        what, sorted.get(0), median(seconds), sorted.get(sorted.size() - 1));
  }

  private static double median(List<Double> values) {
    List<Double> sorted = values.stream().sorted().toList();
    int half = sorted.size() / 2;
    return sorted.size() % 2 == 1
        ? sorted.get(half)
        : (sorted.get(half - 1) + sorted.get(half)) / 2;
  }
}
