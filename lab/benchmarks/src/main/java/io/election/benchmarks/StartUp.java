package io.election.benchmarks;

import io.election.benchmarks.sidebyside.Summary;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.apache.commons.math3.stat.StatUtils;
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
 * <p>The password is in the environment variable {@code SPRING_DATASOURCE_PASSWORD}.
 *
 * <p>The user must be allowed to create databases. Their names begin with the one in the URL.
 */
@SpringBootConfiguration
@EnableAutoConfiguration
public class StartUp {

  private static final int ROUNDS = 10;

  private static final Pattern STARTED = Pattern.compile(
      "Started StartUp.Application in ([0-9.]+) seconds.*Needed ([0-9]+) ms of processor time and"
          + " ([0-9]+) classes",
      Pattern.DOTALL);

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

  public static void main(String[] arguments) throws IOException {
    Map<String, List<double[]>> starts = new LinkedHashMap<>();
    start("true", arguments);
    for (int round = 0; round < ROUNDS; round++) {
      add(starts, "without election", start("false", arguments));
      add(starts, "with election, tables there", start("true", arguments));
      add(starts, "with election, empty database", start("true", inNewDatabase(arguments)));
    }
    StringBuilder text = new StringBuilder();
    starts.forEach((what, figures) -> text.append(String.format(
        Locale.ROOT,
        "%s: min %.0f ms, median %.0f ms, max %.0f ms; processor time %.0f ms; classes %.0f%n",
        what,
        StatUtils.min(column(figures, 0)),
        Summary.median(column(figures, 0)),
        StatUtils.max(column(figures, 0)),
        Summary.median(column(figures, 1)),
        Summary.median(column(figures, 2)))));
    System.out.print(text);
    for (String argument : arguments) {
      if (argument.startsWith("--results=")) {
        Files.writeString(Path.of(argument.substring("--results=".length())), text);
      }
    }
  }

  private static void add(Map<String, List<double[]>> starts, String what, double... figures) {
    starts.computeIfAbsent(what, (name) -> new ArrayList<>()).add(figures);
  }

  private static double[] column(List<double[]> starts, int index) {
    return starts.stream().mapToDouble((start) -> start[index]).toArray();
  }

  private static String[] inNewDatabase(String... arguments) {
    String suffix = "_" + Long.toString(System.nanoTime(), Character.MAX_RADIX);
    return Stream.of(arguments)
        .map((argument) -> argument.startsWith("--spring.datasource.url=")
            ? argument.replaceFirst(
                "([^?]*)\\??(.*)", "$1" + suffix + "?createDatabaseIfNotExist=true&$2")
            : argument)
        .toArray(String[]::new);
  }

  /**
   * Starts the application once. Returns the milliseconds from main to started, as the application
   * reports them; those of processor time, which other processes disturb less; and the number of
   * loaded classes.
   */
  private static double[] start(String enabled, String... arguments) throws IOException {
    List<String> command = new ArrayList<>(List.of(
        ProcessHandle.current().info().command().orElse("java"),
        "-cp",
        System.getProperty("java.class.path"),
        Application.class.getName(),
        "--spring.application.name=start-up",
        "--as.election.enabled=" + enabled));
    command.addAll(List.of(arguments));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    Matcher started = STARTED.matcher(output);
    if (!started.find()) {
      throw new IllegalStateException("The application did not start:\n" + output);
    }
    return new double[] {
      1000 * Double.parseDouble(started.group(1)),
      Double.parseDouble(started.group(2)),
      Double.parseDouble(started.group(3))
    };
  }
}
