package io.election.benchmarks.sidebyside;

import io.election.benchmarks.sidebyside.Scenario.Recorder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.opentest4j.TestAbortedException;
import org.springframework.core.env.SimpleCommandLinePropertySource;

/**
 * Measures all candidates side by side, with three processes of each on the same servers.
 *
 * <pre>
 * java -cp lab/benchmarks/target/benchmarks.jar io.election.benchmarks.sidebyside.SideBySide [--quick]
 * </pre>
 *
 * <p>Options: {@code --backends}, of whose candidates all take part but consumers, or {@code --candidates}; {@code
 * --scenarios}; {@code --rounds} with equal settings,
 * {@code --default-rounds} of some scenarios with each candidate's defaults; {@code --loads}, the
 * numbers of elections with which requests are counted; {@code --crowd}, the number of followers in
 * one election; {@code --results} and {@code --pictures}, the folders of the files.
 */
public final class SideBySide {

  private static final Set<Backend> ENSEMBLES = Set.of(Backend.ZOOKEEPER, Backend.ETCD);

  private final SimpleCommandLinePropertySource options;

  private final boolean quick;

  private final List<CandidateKind> kinds;

  private final Results results;

  private final Servers servers;

  private SideBySide(SimpleCommandLinePropertySource options, Path folder) throws Exception {
    this.options = options;
    this.quick = options.containsProperty("quick");
    // Those on PostgreSQL are measured apart: so many processes at once would measure the machine.
    Set<Backend> backends =
        list("backends", "mysql,zookeeper,etcd").map(Backend::of).collect(Collectors.toSet());
    String all = Stream.of(CandidateKind.values())
        .filter((kind) -> backends.contains(kind.backend) && !kind.isConsumer())
        .map(CandidateKind::id)
        .collect(Collectors.joining(","));
    this.kinds = list("candidates", all).map(CandidateKind::of).toList();
    this.results = Results.create(folder);
    this.servers =
        Servers.start(this.kinds.stream().map((kind) -> kind.backend).distinct().toList());
  }

  /**
   * Measures. Exits with 1 if our candidate ever had two leaders, or if a scenario could not be
   * played on it.
   *
   * @param arguments the options
   * @throws Exception if the servers do not start
   */
  public static void main(String[] arguments) throws Exception {
    System.setProperty("logback.configurationFile", "benchmarks-quiet.xml");
    var options = new SimpleCommandLinePropertySource(arguments);
    String home = options.containsProperty("quick")
        ? "lab/benchmarks/target/quick"
        : "lab/benchmarks/target/results";
    Path folder = Path.of(option(options, "results", home));
    SideBySide measurement = new SideBySide(options, folder);
    Machine.describe(measurement.results, measurement.servers.versions(), arguments);
    try {
      measurement.run();
    } finally {
      measurement.servers.close();
    }
    Machine.describeEnd(measurement.results);
    String summary = Summary.of(measurement.results);
    Files.writeString(folder.resolve("summary.md"), summary);
    System.out.println(summary);
    Pictures.draw(measurement.results, Path.of(option(options, "pictures", folder.toString())));
    System.exit(Summary.isSound(measurement.results) ? 0 : 1);
  }

  private void run() throws Exception {
    for (CandidateKind kind : this.kinds) {
      if (this.servers.find(kind.backend).isEmpty()) {
        this.results.about("not measured: " + kind.id(), this.servers.reason(kind.backend));
      }
    }
    Timing equal = this.quick ? Timing.QUICK : Timing.EQUAL;
    // The others use the same parts; that on PostgreSQL kills.
    String usual = this.quick ? "stall" : "kill,stop,pause,stall,cut";
    List<Scenario> scenarios =
        list("scenarios", usual).map(Scenario::of).collect(Collectors.toCollection(ArrayList::new));
    int rounds = number("rounds", this.quick ? 1 : 10);
    if (scenarios.remove(Scenario.CUT_OFF_SERVER)) {
      playOnEnsembles(equal, rounds);
    }
    play(equal, scenarios, rounds);
    Load load = new Load(this.results, this.servers, equal);
    for (String elections : list("loads", this.quick ? "1" : "1,50,500").toList()) {
      load.measure(this.kinds, Integer.parseInt(elections));
      if (!elections.equals("1")) {
        // After hundreds of abandoned campaigns, etcd 3.4 does not answer any other.
        this.servers.renew(Backend.ETCD);
      }
    }
    int crowd = number("crowd", this.quick ? 0 : 200);
    if (crowd > 0) {
      load.measureCrowd(this.kinds, crowd);
    }
    play(
        Timing.DEFAULTS,
        List.of(Scenario.KILL, Scenario.STOP),
        number("default-rounds", this.quick ? 0 : 10));
  }

  /**
   * Waits for a random instant between two renewals. Each round has its own part of the interval, so
   * that the rounds are spread evenly over it. If the last renewal is not known, any instant is
   * random.
   */
  private static void awaitInstant(Contestant contestant, int round, int rounds)
      throws InterruptedException {
    long renew = contestant.renew.toNanos();
    double part = (round - 1 + ThreadLocalRandom.current().nextDouble()) / rounds;
    long now = System.nanoTime();
    long renewed = contestant.trafficOf(contestant.awaitLeader()).renewedAt().orElse(now);
    TimeUnit.NANOSECONDS.sleep(Math.floorMod(renewed + (long) (renew * part) - now, renew));
  }

  private static String option(
      SimpleCommandLinePropertySource options, String name, String otherwise) {
    String value = options.getProperty(name);
    return value != null ? value : otherwise;
  }

  private Stream<String> list(String name, String otherwise) {
    return Arrays.stream(option(this.options, name, otherwise).split(","))
        .filter((entry) -> !entry.isBlank());
  }

  private int number(String name, int otherwise) {
    return Integer.parseInt(option(this.options, name, Integer.toString(otherwise)));
  }

  /**
   * Plays scenarios on all candidates at the same time, so that a slow minute of the machine
   * affects all of them.
   */
  private void play(Timing timing, List<Scenario> scenarios, int rounds) throws Exception {
    if (rounds == 0 || scenarios.isEmpty()) {
      return;
    }
    play(
        timing,
        scenarios,
        rounds,
        this.kinds.stream()
            .filter((kind) -> !timing.lease(kind).isZero())
            .flatMap((kind) -> this.servers.find(kind.backend).stream()
                .map((server) -> new Contestant(kind, timing, server, timing.id(), 1)))
            .toList());
  }

  /** Plays on the candidates whose servers are ensembles, on one after the other. */
  private void playOnEnsembles(Timing timing, int rounds) throws Exception {
    for (CandidateKind kind : this.kinds) {
      if (ENSEMBLES.contains(kind.backend) && this.servers.find(kind.backend).isPresent()) {
        try (Ensemble ensemble = new Ensemble(kind.backend)) {
          Contestant contestant = new Contestant(kind, timing, ensemble, timing.id(), 1);
          play(timing, List.of(Scenario.CUT_OFF_SERVER), rounds, List.of(contestant));
        } catch (TestAbortedException ex) {
          this.results.about("not measured: " + Scenario.CUT_OFF_SERVER.id(), ex.toString());
        }
      }
    }
  }

  private void play(
      Timing timing, List<Scenario> scenarios, int rounds, List<Contestant> contestants)
      throws Exception {
    try {
      contestants.forEach((contestant) -> List.of("a", "b", "c").forEach(contestant::add));
      for (int round = 1; round <= rounds; round++) {
        for (Scenario scenario : scenarios) {
          int number = round;
          long start = System.nanoTime();
          // If a scenario hits all candidates at once, none begins before all are ready.
          CountDownLatch waiting =
              new CountDownLatch(scenario == Scenario.STALL ? contestants.size() : 0);
          Parallel.forEach(
              contestants,
              contestants.size(),
              (contestant) -> play(timing, scenario, number, rounds, contestant, waiting));
          System.out.printf(
              "%s, %s, round %d: %d s%n",
              timing.id(), scenario.id(), round, (System.nanoTime() - start) / 1_000_000_000);
        }
      }
    } finally {
      contestants.parallelStream().forEach(Contestant::close);
    }
  }

  /** Restarts a candidate that fails, and records the failure as a figure. */
  private void play(
      Timing timing,
      Scenario scenario,
      int round,
      int rounds,
      Contestant contestant,
      CountDownLatch waiting)
      throws InterruptedException {
    Recorder recorder = (measure, value) ->
        this.results.add(timing, scenario.id(), contestant.kind, round, measure, value);
    try {
      try {
        contestant.awaitLeader();
        // The others need time to notice it.
        TimeUnit.MILLISECONDS.sleep(Math.min(3000, 2 * contestant.renew.toMillis()));
      } finally {
        waiting.countDown();
        waiting.await();
      }
      if (scenario != Scenario.STALL) {
        awaitInstant(contestant, round, rounds);
      }
      scenario.play(contestant, contestant.awaitLeader(), this.servers, recorder);
    } catch (RuntimeException ex) {
      System.out.println(contestant.kind.title + ", " + scenario.id() + ": " + ex);
      System.out.println(contestant.logs());
      recorder.add("failed_count", 1);
      contestant.restartAll();
    }
  }
}
