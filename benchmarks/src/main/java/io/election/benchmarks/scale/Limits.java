package io.election.benchmarks.scale;

import io.election.benchmarks.sidebyside.Machine;
import io.election.benchmarks.sidebyside.Results;
import io.election.benchmarks.sidebyside.Row;
import io.election.lease.LeaseSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.springframework.boot.logging.LogLevel;
import org.springframework.boot.logging.LoggingSystem;

/**
 * How many nodes one database carries, by a simulation that runs the real electors on simulated time.
 * What calls cost is taken from the results of {@link Scale}, and so is what the simulation is compared
 * with first.
 *
 * <pre>
 * java -cp benchmarks/target/benchmarks.jar io.election.benchmarks.scale.Limits --real=folder
 * </pre>
 */
public final class Limits {

  /** So many candidacies fit into a few gigabytes. */
  private static final long MOST_CANDIDACIES = 2_000_000;

  private static final int BISECTIONS = 4;

  private final Results results;

  private final StringBuilder text = new StringBuilder();

  private final ServiceTimes times;

  private final int cores;

  private final LeaseSettings settings;

  private Limits(Results results, ServiceTimes times, int cores, LeaseSettings settings) {
    this.results = results;
    this.times = times;
    this.cores = cores;
    this.settings = settings;
  }

  /**
   * Simulates.
   *
   * @param arguments {@code --real=folder}, with the results of {@link Scale}; {@code
   *     --results=folder}; {@code --pictures=folder}; {@code --draw}, nothing but the pictures,
   *     from earlier results; {@code --nodes=100,…}; {@code --elections=1,…};
   *     {@code --cores=2}, those of the server; {@code --lease-ms=10000}; {@code --renew-ms=2000}
   * @throws IOException if files cannot be read or written
   */
  public static void main(String[] arguments) throws IOException {
    // Of electors that lose their leases on purpose there is nothing to tell.
    LoggingSystem.get(Limits.class.getClassLoader()).setLogLevel("io.election", LogLevel.OFF);
    Map<String, String> options = Stream.of(arguments)
        .map((argument) -> argument.replaceFirst("^--", "").split("=", 2))
        .collect(Collectors.toMap((pair) -> pair[0], (pair) -> pair.length > 1 ? pair[1] : ""));
    Path folder = Path.of(options.getOrDefault("results", "benchmarks/results/latest/limits"));
    Path pictures = Path.of(options.getOrDefault("pictures", folder.toString()));
    if (options.containsKey("draw")) {
      LimitsPicture.draw(Results.read(folder), pictures);
      return;
    }
    Results real =
        Results.read(Path.of(options.getOrDefault("real", "benchmarks/results/latest/scale")));
    ServiceTimes both = ServiceTimes.parse(real.about().getOrDefault("service times", ""));
    ServiceTimes alone = both.ofServer();
    int cores = Integer.parseInt(options.getOrDefault("cores", "2"));
    Duration lease = millis(options, "lease-ms", 10_000);
    Duration renew = millis(options, "renew-ms", 2000);
    LeaseSettings settings = settings(lease, renew);
    Results results = Results.create(folder);
    Machine.describe(results, "none: simulated", arguments);
    results.about("service times, both ends", both.toString());
    results.about("service times, server", alone.toString());
    Limits limits = new Limits(results, alone, cores, settings);
    limits.compare(real, both);
    limits.tabulate(
        numbers(options.getOrDefault("elections", "1,10,100,1000")),
        numbers(options.getOrDefault("nodes", "100,300,1000,3000,10000,20000")));
    Files.writeString(folder.resolve("summary.md"), limits.text.toString());
    LimitsPicture.draw(results, pictures);
  }

  private static Duration millis(Map<String, String> options, String name, long otherwise) {
    return Duration.ofMillis(Long.parseLong(options.getOrDefault(name, Long.toString(otherwise))));
  }

  private static LeaseSettings settings(Duration lease, Duration renew) {
    return new LeaseSettings(lease, renew, Duration.ofSeconds(1), Duration.ofSeconds(1), true);
  }

  private static List<Integer> numbers(String list) {
    return Stream.of(list.split(",")).map(Integer::valueOf).toList();
  }

  /** Simulates what has been run for real, where nodes and server share the cores. */
  private void compare(Results real, ServiceTimes both) {
    String name = real.rows().stream().map(Row::settings).findFirst().orElse("");
    if (!name.matches("\\d+x\\d+-\\d+-\\d+")) {
      return;
    }
    String[] parts = name.split("[x-]");
    int nodes = Integer.parseInt(parts[0]);
    int elections = Integer.parseInt(parts[1]);
    Simulated simulated = Simulated.run(
        nodes,
        elections,
        Runtime.getRuntime().availableProcessors(),
        both,
        settings(
            Duration.ofMillis(Long.parseLong(parts[2])),
            Duration.ofMillis(Long.parseLong(parts[3]))),
        1);
    line("### %d nodes, %d elections, one node leads all: real and simulated", nodes, elections);
    line("| measure | real | simulated | factor |");
    line("| --- | --- | --- | --- |");
    Map<String, Double> idle = new LinkedHashMap<>();
    idle.put("statements_per_s", simulated.idlePerSecond());
    idle.put("poll_p50_ms", simulated.poll().millis(0.5));
    idle.put("poll_p99_ms", simulated.poll().millis(0.99));
    idle.put("renewal_p50_ms", simulated.renewal().millis(0.5));
    idle.put("renewal_max_ms", simulated.renewal().millis(1));
    idle.forEach((measure, value) -> compare(real, name, "idle-one-leader", measure, value));
    Map<String, Double> storm = new LinkedHashMap<>();
    double[] gaps = simulated.gaps();
    storm.put("gap_p50_ms", gaps[(gaps.length - 1) / 2]);
    storm.put("gap_max_ms", gaps[gaps.length - 1]);
    storm.put("refused_take_count", (double) simulated.refused());
    storm.put("statements_count", (double) simulated.stormStatements());
    storm.forEach((measure, value) -> compare(real, name, "storm-one-leader", measure, value));
    line("");
  }

  private void compare(
      Results real, String settings, String phase, String measure, double simulated) {
    List<Double> values = real.values(settings, phase, "election", measure);
    if (!values.isEmpty()) {
      double value = values.get(0);
      line(
          "| %s, %s | %s | %s | %.2f |",
          phase, measure, figure(value), figure(simulated), simulated / value);
      add("compared", phase + "_" + measure, simulated);
    }
  }

  private void tabulate(List<Integer> elections, List<Integer> nodes) {
    line(
        "### A server with %d cores, lease %d s, renewed every %.1f s; half of the elections are led"
            + " by one node, which is killed",
        this.cores,
        this.settings.leaseDuration().toSeconds(),
        this.settings.renewInterval().toMillis() / 1000.0);
    line("| elections | nodes | statements a second | cores busy | look p99.9 | renewal p50 / p99.9"
        + " | oldest renewal | lost | after a kill: gap p50 / max | refused takes | failed calls"
        + " | oldest renewal | lost |");
    line("| --- |" + " --- |".repeat(12));
    List<String> limits = new ArrayList<>();
    for (int count : elections) {
      int good = 0;
      int bad = 0;
      for (int size : nodes) {
        if ((long) size * count <= MOST_CANDIDACIES && bad == 0) {
          Simulated simulated = simulate(size, count);
          tell(simulated);
          if (simulated.holdsInStorm()) {
            good = size;
          } else {
            bad = size;
          }
        }
      }
      for (int i = 0; i < BISECTIONS && bad > 0 && good > 0; i++) {
        int middle = (int) Math.sqrt((double) good * bad);
        Simulated simulated = simulate(middle, count);
        tell(simulated);
        if (simulated.holdsInStorm()) {
          good = middle;
        } else {
          bad = middle;
        }
      }
      double capacity = this.cores
          * 1e6
          * this.settings.renewInterval().toMillis()
          / 1000
          / (this.times.read() + this.times.readRow() * (count - 1));
      add(count + " elections", "holds_nodes", good);
      add(count + " elections", "fails_nodes", bad);
      add(count + " elections", "capacity_nodes", capacity);
      limits.add(String.format(
          Locale.ROOT,
          "* %s: all leaders keep their leases with %d nodes, %s; looks alone would take all of the"
              + " cores with %.0f",
          count == 1 ? "1 election" : count + " elections",
          good,
          bad > 0 ? "no longer with " + bad : "more were not simulated",
          capacity));
    }
    line("");
    limits.forEach((limit) -> line("%s", limit));
  }

  private Simulated simulate(int nodes, int elections) {
    return Simulated.run(nodes, elections, this.cores, this.times, this.settings, 0.5);
  }

  private void tell(Simulated s) {
    double[] gaps = s.gaps();
    line(
        "| %d | %d | %.0f | %.2f | %s | %s / %s | %s | %d | %s / %s | %d | %d | %s | %d |",
        s.elections(),
        s.nodes(),
        s.idlePerSecond(),
        s.utilisation(),
        figure(s.poll().millis(0.999)),
        figure(s.renewal().millis(0.5)),
        figure(s.renewal().millis(0.999)),
        figure(s.age().millis(1)),
        s.lost(),
        figure(gaps[(gaps.length - 1) / 2]),
        figure(gaps[gaps.length - 1]),
        s.refused(),
        s.failed(),
        figure(s.stormAge().millis(1)),
        s.stormLost());
    String scenario = s.nodes() + "x" + s.elections();
    add(scenario, "statements_per_s", s.idlePerSecond());
    add(scenario, "utilisation", s.utilisation());
    add(scenario, "poll_p999_ms", s.poll().millis(0.999));
    add(scenario, "renewal_p50_ms", s.renewal().millis(0.5));
    add(scenario, "renewal_p999_ms", s.renewal().millis(0.999));
    add(scenario, "renewal_age_max_ms", s.age().millis(1));
    add(scenario, "lost_count", s.lost());
    add(scenario, "gap_p50_ms", gaps[(gaps.length - 1) / 2]);
    add(scenario, "gap_max_ms", gaps[gaps.length - 1]);
    add(scenario, "refused_take_count", s.refused());
    add(scenario, "failed_call_count", s.failed());
    add(scenario, "storm_statements_count", s.stormStatements());
    add(scenario, "storm_renewal_p999_ms", s.stormRenewal().millis(0.999));
    add(scenario, "storm_renewal_age_max_ms", s.stormAge().millis(1));
    add(scenario, "storm_lost_count", s.stormLost());
  }

  private static String figure(double millis) {
    return Double.isNaN(millis)
        ? "–"
        : String.format(Locale.ROOT, millis < 100 ? "%.1f" : "%.0f", millis);
  }

  private void add(String scenario, String measure, double value) {
    if (!Double.isNaN(value)) {
      this.results.add(new Row("simulated", scenario, "election", 1, measure, value));
    }
  }

  private void line(String format, Object... values) {
    String line = values.length == 0 ? format : String.format(Locale.ROOT, format, values);
    System.out.println(line);
    this.text.append(line).append('\n');
  }
}
