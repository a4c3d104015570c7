package io.election.benchmarks.sidebyside;

import io.election.benchmarks.candidates.CandidateKind;
import io.election.benchmarks.servers.Backend;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Measures all candidates side by side, with three processes of each on the same servers.
 *
 * <pre>
 * java -cp benchmarks/target/benchmarks.jar io.election.benchmarks.sidebyside.SideBySide [--quick]
 * </pre>
 */
public final class SideBySide {

  private SideBySide() {}

  /**
   * Measures. Exits with 1 if our candidate ever had two leaders, or if a scenario could not be
   * played on it.
   *
   * @param arguments see {@link Options}
   * @throws Exception if the servers do not start
   */
  public static void main(String[] arguments) throws Exception {
    System.setProperty("logback.configurationFile", "benchmarks-quiet.xml");
    Options options = Options.parse(arguments);
    Results results = Results.create(options.results());
    try (Servers servers = Servers.start(
        options.candidates().stream().map(CandidateKind::backend).distinct().toList())) {
      Machine.describe(results, servers.versions(), arguments);
      for (CandidateKind kind : options.candidates()) {
        if (servers.find(kind.backend()).isEmpty()) {
          results.about("not measured: " + kind.id(), servers.reason(kind.backend()));
        }
      }
      play(Timing.EQUAL, options.scenarios(), options.rounds(), options, results, servers);
      for (int elections : options.loads()) {
        new Load(results, servers).measure(options.candidates(), elections);
        if (elections > 1) {
          // After hundreds of abandoned campaigns, etcd 3.4 does not answer any other.
          servers.renew(Backend.ETCD);
        }
      }
      if (options.crowd() > 0) {
        new Crowd(results, servers, options.crowd()).measure(options.candidates());
      }
      play(
          Timing.DEFAULTS,
          List.of(Scenario.KILL, Scenario.STOP),
          options.defaultRounds(),
          options,
          results,
          servers);
      Machine.describeEnd(results);
    }
    String summary = Summary.of(results);
    Files.writeString(options.results().resolve("summary.md"), summary);
    System.out.println(summary);
    Pictures.draw(results, options.pictures());
    System.exit(Summary.isSound(results) ? 0 : 1);
  }

  private static void play(
      Timing timing,
      List<Scenario> scenarios,
      int rounds,
      Options options,
      Results results,
      Servers servers)
      throws IOException, InterruptedException {
    if (rounds == 0) {
      return;
    }
    List<Contestant> contestants = new ArrayList<>();
    try {
      for (CandidateKind kind : options.candidates()) {
        if (!timing.lease(kind).isZero()) {
          Optional<Contestant> contestant = servers
              .find(kind.backend())
              .map((server) -> new Contestant(kind, timing, server, timing.id(), 1));
          contestant.ifPresent(contestants::add);
        }
      }
      contestants.forEach((contestant) -> List.of("a", "b", "c").forEach(contestant::add));
      Rounds played = new Rounds(results, timing, contestants, servers);
      for (int round = 1; round <= rounds; round++) {
        for (Scenario scenario : scenarios) {
          played.play(scenario, round);
        }
      }
      played.end();
    } finally {
      contestants.parallelStream().forEach(Contestant::close);
    }
  }
}
