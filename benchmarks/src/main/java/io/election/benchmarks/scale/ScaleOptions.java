package io.election.benchmarks.scale;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What to run.
 *
 * @param nodes how many nodes
 * @param elections how many elections, in which all of them take part
 * @param processes how many processes the nodes are, one of which is a single node
 * @param lease the lease
 * @param renew the renew interval
 * @param operation the operation time-out
 * @param start over which time the nodes start
 * @param idle how long is measured while nothing happens
 * @param sample how often all nodes are asked in how many elections they lead
 * @param cold whether all nodes start on empty tables, rather than after one that leads everything
 * @param results the folder of the files
 */
record ScaleOptions(
    int nodes,
    int elections,
    int processes,
    Duration lease,
    Duration renew,
    Duration operation,
    Duration start,
    Duration idle,
    Duration sample,
    boolean cold,
    Path results) {

  static ScaleOptions parse(String... arguments) {
    Map<String, String> values = Stream.of(arguments)
        .map((argument) -> argument.replaceFirst("^--", "").split("=", 2))
        .collect(Collectors.toMap((pair) -> pair[0], (pair) -> pair.length > 1 ? pair[1] : ""));
    boolean quick = values.remove("quick") != null;
    boolean cold = values.remove("cold") != null;
    ScaleOptions options = new ScaleOptions(
        number(values, "nodes", quick ? 60 : 1000),
        number(values, "elections", quick ? 10 : 100),
        number(values, "processes", quick ? 3 : 6),
        millis(values, "lease", quick ? 3000 : 10_000),
        millis(values, "renew", quick ? 600 : 2000),
        millis(values, "operation", 1000),
        millis(values, "start", quick ? 1000 : 30_000),
        millis(values, "idle", quick ? 5000 : 60_000),
        millis(values, "sample", 50),
        cold,
        Path.of(take(
            values,
            "results",
            quick ? "benchmarks/target/quick-scale" : "benchmarks/results/latest/scale")));
    if (!values.isEmpty()) {
      throw new IllegalArgumentException("Unknown options: " + values.keySet());
    }
    if (options.processes() < 3 || options.nodes() < options.processes()) {
      throw new IllegalArgumentException("Three processes at least, and a node for each");
    }
    return options;
  }

  private static int number(Map<String, String> values, String name, int otherwise) {
    return Integer.parseInt(take(values, name, Integer.toString(otherwise)));
  }

  /** The unit is part of the option's name: {@code --lease-ms=…}. */
  private static Duration millis(Map<String, String> values, String name, long otherwise) {
    return Duration.ofMillis(Long.parseLong(take(values, name + "-ms", Long.toString(otherwise))));
  }

  private static String take(Map<String, String> values, String name, String otherwise) {
    String value = values.remove(name);
    return value != null ? value : otherwise;
  }
}
