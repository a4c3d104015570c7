package io.election.benchmarks.sidebyside;

import io.election.benchmarks.candidates.CandidateKind;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What to measure.
 *
 * @param candidates the candidates to measure
 * @param scenarios the scenarios to play
 * @param rounds the number of rounds with equal settings
 * @param defaultRounds the number of rounds of some scenarios with each candidate's defaults
 * @param loads the numbers of elections with which requests are counted
 * @param crowd the number of followers in one election, to count row locks; 0 for none
 * @param results the folder of the files
 * @param pictures the folder of the pictures
 */
record Options(
    List<CandidateKind> candidates,
    List<Scenario> scenarios,
    int rounds,
    int defaultRounds,
    List<Integer> loads,
    int crowd,
    Path results,
    Path pictures) {

  static Options parse(String... arguments) {
    Map<String, String> values = Stream.of(arguments)
        .map((argument) -> argument.replaceFirst("^--", "").split("=", 2))
        .collect(Collectors.toMap((pair) -> pair[0], (pair) -> pair.length > 1 ? pair[1] : ""));
    boolean quick = values.remove("quick") != null;
    String home = quick ? "benchmarks/target/quick" : "benchmarks/target/results";
    String results = take(values, "results", home);
    Options options = new Options(
        list(take(
                values,
                "candidates",
                Stream.of(CandidateKind.values())
                    .map(CandidateKind::id)
                    .collect(Collectors.joining(","))))
            .map(CandidateKind::of)
            .toList(),
        list(take(values, "scenarios", "kill,stop,pause,stall,cut"))
            .map((name) -> Scenario.valueOf(name.toUpperCase(Locale.ROOT)))
            .toList(),
        Integer.parseInt(take(values, "rounds", quick ? "1" : "10")),
        Integer.parseInt(take(values, "default-rounds", quick ? "0" : "10")),
        list(take(values, "loads", quick ? "1" : "1,50,500"))
            .map(Integer::valueOf)
            .toList(),
        Integer.parseInt(take(values, "crowd", quick ? "0" : "200")),
        Path.of(results),
        Path.of(take(values, "pictures", results)));
    if (!values.isEmpty()) {
      throw new IllegalArgumentException("Unknown options: " + values.keySet());
    }
    return options;
  }

  private static String take(Map<String, String> values, String name, String otherwise) {
    String value = values.remove(name);
    return value != null ? value : otherwise;
  }

  private static Stream<String> list(String value) {
    return Arrays.stream(value.split(",")).filter((entry) -> !entry.isBlank());
  }
}
