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
import javax.sql.DataSource;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;

/**
 * What the starter adds to the start of an application: fresh JVMs with the election and with {@code
 * as.election.enabled=false} in turn, on tables that are there already, so that Flyway has nothing to
 * do.
 *
 * <pre>
 * java -cp benchmarks.jar io.election.benchmarks.StartUp --spring.datasource.url=jdbc:mysql://… …
 * </pre>
 */
@SpringBootConfiguration
@EnableAutoConfiguration
public class StartUp {

  private static final int ROUNDS = 10;

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
    seconds(true, arguments);
    for (int round = 0; round < ROUNDS; round++) {
      without.add(seconds(false, arguments));
      with.add(seconds(true, arguments));
    }
    print("without election", without);
    print("with election", with);
    System.out.printf("added: %.0f ms (medians)%n", 1000 * (median(with) - median(without)));
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
    return sorted.get(sorted.size() / 2);
  }
}
