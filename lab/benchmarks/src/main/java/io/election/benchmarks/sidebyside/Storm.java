package io.election.benchmarks.sidebyside;

import io.election.jdbc.ElectionDatabase;
import io.election.jdbc.JdbcLeaseStore;
import io.election.store.LeaseStoreException;
import io.election.support.process.Claim;
import io.election.support.process.NodeProcess;
import io.election.support.process.SafetyJudge;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;
import org.springframework.core.env.SimpleCommandLinePropertySource;

/**
 * Runs a thousand nodes of this election in a hundred elections on one database, and kills leaders:
 * first the one node that leads everything, then the process whose nodes lead most.
 *
 * <pre>
 * java -cp lab/benchmarks/target/benchmarks.jar io.election.benchmarks.sidebyside.Storm [--quick]
 * </pre>
 */
public final class Storm {

  /** The first process is a single node, the others share the rest. */
  private static final int PROCESSES = 6;

  private final Contestant contestant;

  private final Server server;

  private final Results results;

  private final Timing timing;

  private final int nodes;

  private final int elections;

  private final Duration start;

  private Storm(Contestant contestant, Server server, Results results, Timing timing, int nodes) {
    this.contestant = contestant;
    this.server = server;
    this.results = results;
    this.timing = timing;
    this.nodes = nodes;
    this.elections = contestant.settings.elections();
    // A start of all nodes at once is a storm of its own, in which connections time out.
    this.start = Duration.ofMillis(200L * nodes);
  }

  /**
   * Measures. Exits with 1 if an election ever had two leaders, or has none at the end.
   *
   * @param arguments {@code --backend=mysql} or {@code postgresql}; {@code --nodes=1000
   *     --elections=100}; {@code --results=folder}; {@code --quick} for 20 nodes in 5 elections with
   *     a short lease
   * @throws Exception if the server does not start
   */
  public static void main(String[] arguments) throws Exception {
    System.setProperty("logback.configurationFile", "benchmarks-quiet.xml");
    var options = new SimpleCommandLinePropertySource(arguments);
    boolean quick = options.containsProperty("quick");
    String nodes = options.getProperty("nodes");
    String elections = options.getProperty("elections");
    String folder = options.getProperty("results");
    String home =
        quick ? "lab/benchmarks/target/quick/storm" : "lab/benchmarks/target/results/storm";
    Results results = Results.create(Path.of(folder != null ? folder : home));
    Timing timing = quick ? Timing.QUICK : Timing.DEFAULTS;
    String backend = options.getProperty("backend");
    boolean sound;
    try (Server server = Backend.of(backend != null ? backend : "mysql").start();
        Contestant contestant = new Contestant(
            CandidateKind.ELECTION,
            timing,
            server,
            "storm",
            elections != null ? Integer.parseInt(elections) : quick ? 5 : 100)) {
      Runtime.getRuntime().addShutdownHook(new Thread(server::close));
      Machine.describe(results, server.version(), arguments);
      createTables(contestant.settings);
      int size = nodes != null ? Integer.parseInt(nodes) : quick ? 20 : 1000;
      sound = new Storm(contestant, server, results, timing, size).run();
      Machine.describeEnd(results);
    }
    System.exit(sound ? 0 : 1);
  }

  private static void createTables(CandidateSettings settings) throws LeaseStoreException {
    ElectionDatabase database =
        new ElectionDatabase(settings.place().dataSource(), settings.place().address());
    Duration patience = Duration.ofSeconds(10);
    try (JdbcLeaseStore store = new JdbcLeaseStore(
        database, JdbcLeaseStore.SchemaMode.MIGRATE, patience, patience, false)) {
      store.ensureTables();
    }
  }

  private boolean run() {
    try {
      NodeProcess first = add("node-0", 1, Duration.ZERO);
      await("one node leads everything", () -> isLedBy(List.of(first)));
      for (int i = 1, left = this.nodes - 1; i < PROCESSES; i++) {
        int size = left / (PROCESSES - i);
        left -= size;
        add("nodes-" + i, size, this.start);
      }
      await(
          "all nodes have started",
          () -> this.contestant.nodes().stream().allMatch(NodeProcess::isUp));
      sleep(this.contestant.lease);
      rest("one node leads all");
      storm("it is killed", first);
      rest("many lead");
      storm(
          "those that lead most are killed",
          alive().stream()
              .max(Comparator.comparingLong((process) -> process.leadershipLog().led()))
              .orElseThrow());
      rest("the end");
    } catch (ConditionTimeoutException ex) {
      System.out.println(ex.getMessage());
      add("the end", "failed_count", 1);
      return false;
    }
    List<String> violations = claims().values().stream()
        .flatMap((claims) -> new SafetyJudge(claims).violations().stream())
        .toList();
    violations.forEach(System.out::println);
    add("the end", "violations_count", violations.size());
    return violations.isEmpty();
  }

  /** Starts nodes in one process, without signals, which would need as many connections again. */
  private NodeProcess add(String name, int size, Duration start) {
    return this.contestant.addWithoutProxy(
        name, "crowd=" + size, "start-ms=" + start.toMillis(), "sample-ms=100", "signals=false");
  }

  private List<NodeProcess> alive() {
    return this.contestant.nodes().stream().filter(NodeProcess::isAlive).toList();
  }

  private boolean isLedBy(Collection<NodeProcess> processes) {
    return processes.stream()
            .mapToLong((process) -> process.leadershipLog().led())
            .sum()
        == this.elections;
  }

  private void rest(String phase) {
    Counters before = new Counters();
    sleep(this.contestant.lease.multipliedBy(2));
    before.addRates(phase);
    add(phase, "leaderships_lost_count", begun(before.instant));
    await("all elections have a leader", () -> isLedBy(alive()));
  }

  private void storm(String phase, NodeProcess victim) {
    Counters before = new Counters();
    victim.kill();
    long killed = System.nanoTime();
    Map<Integer, Long> open = new HashMap<>();
    claims(List.of(victim)).forEach((election, claims) -> {
      long last = claims.stream().mapToLong(Claim::to).max().orElseThrow();
      // A claim this recent was still open, since nodes are sampled far more often.
      if (before.instant - last < TimeUnit.SECONDS.toNanos(1)) {
        open.put(election, last);
      }
    });
    await(phase + ": all elections have a leader again", () -> isLedBy(alive()));
    add(phase, "all_led_s", (System.nanoTime() - killed) / 1e9);
    sleep(this.contestant.renew.multipliedBy(2));
    before.addRates(phase);
    add(phase, "elections_count", open.size());
    add(phase, "leaderships_lost_count", begun(killed) - open.size());
    List<Double> gaps = new ArrayList<>();
    Map<Integer, List<Claim>> claims = claims();
    open.forEach((election, last) -> claims.getOrDefault(election, List.of()).stream()
        .mapToLong(Claim::from)
        .filter((from) -> from - last > 0)
        .min()
        .ifPresent((from) -> gaps.add((from - last) / 1e9)));
    if (!gaps.isEmpty()) {
      double[] sorted = gaps.stream().mapToDouble(Double::doubleValue).sorted().toArray();
      add(phase, "gap_min_s", sorted[0]);
      add(phase, "gap_median_s", Summary.median(sorted));
      add(phase, "gap_p99_s", sorted[(int) Math.ceil(sorted.length * 0.99) - 1]);
      add(phase, "gap_max_s", sorted[sorted.length - 1]);
    }
  }

  private long begun(long since) {
    return claims().values().stream()
        .mapToLong((claims) -> claims.stream()
            .collect(Collectors.groupingBy(
                Claim::term, Collectors.mapping(Claim::from, Collectors.minBy(Long::compare))))
            .values()
            .stream()
            .filter((from) -> from.orElseThrow() - since > 0)
            .count())
        .sum();
  }

  private Map<Integer, List<Claim>> claims() {
    return claims(this.contestant.nodes());
  }

  private Map<Integer, List<Claim>> claims(List<NodeProcess> processes) {
    Map<Integer, List<Claim>> byElection = new TreeMap<>();
    for (NodeProcess process : processes) {
      process.leadershipLog().claimsByTrack(process.name()).forEach((track, claims) -> {
        String node = process.name() + "-" + track / this.elections;
        for (Claim claim : claims) {
          byElection
              .computeIfAbsent(track % this.elections, (election) -> new ArrayList<>())
              .add(new Claim(node, claim.term(), claim.from(), claim.to()));
        }
      });
    }
    return byElection;
  }

  /** The server's counters at an instant. */
  private final class Counters {

    final long instant = System.nanoTime();

    final Map<String, Double> counts = Storm.this.server.counters();

    /** Adds the rates per second since that instant. */
    void addRates(String phase) {
      Map<String, Double> after = Storm.this.server.counters();
      double seconds = (System.nanoTime() - this.instant) / 1e9;
      add(phase, "seconds", seconds);
      Map.of(
              "Questions", "statements_per_s",
              "Transactions", "transactions_per_s",
              "cpu_seconds", "server_cores",
              "Connections", "connections_per_s")
          .forEach((counter, measure) -> {
            if (after.containsKey(counter)) {
              add(
                  phase,
                  measure,
                  (after.get(counter) - this.counts.getOrDefault(counter, 0.0)) / seconds);
            }
          });
    }
  }

  /** Waits with a generous time-out, since the figures report the actual time. */
  private void await(String what, Callable<Boolean> condition) {
    Awaitility.await(what)
        .atMost(this.start
            .multipliedBy(3)
            .plus(this.contestant.lease.multipliedBy(6))
            .plusSeconds(60))
        .pollInterval(Duration.ofMillis(100))
        .until(condition);
  }

  private static void sleep(Duration duration) {
    try {
      TimeUnit.NANOSECONDS.sleep(duration.toNanos());
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(ex);
    }
  }

  private void add(String phase, String measure, double value) {
    System.out.printf(Locale.ROOT, "%s: %s %.2f%n", phase, measure, value);
    this.results.add(this.timing, phase, CandidateKind.ELECTION, 1, measure, value);
  }
}
