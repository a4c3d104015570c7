package io.election.benchmarks.candidates;

import io.election.test.process.LeadershipLog;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The settings with which a process takes part.
 *
 * @param kind the candidate
 * @param node the name of the process
 * @param address the server: a JDBC URL, or host and port
 * @param username the user of the database
 * @param password the password of the database
 * @param lease the time after which a silent leader may be replaced
 * @param renew how often a leader renews its lease and followers poll, where that can be set
 * @param defaults whether everything with a default keeps it
 * @param group the prefix of its elections' names
 * @param elections the number of elections that it takes part in
 */
public record CandidateSettings(
    CandidateKind kind,
    String node,
    String address,
    String username,
    String password,
    Duration lease,
    Duration renew,
    boolean defaults,
    String group,
    int elections) {

  /** Returns the settings as arguments of a process. */
  public List<String> arguments() {
    return new ArrayList<>(List.of(
        "kind=" + this.kind.id(),
        "node=" + this.node,
        "address=" + this.address,
        "username=" + this.username,
        "password=" + this.password,
        "lease=" + this.lease.toMillis(),
        "renew=" + this.renew.toMillis(),
        "defaults=" + this.defaults,
        "group=" + this.group,
        "elections=" + this.elections));
  }

  /** Returns the same settings for another node. */
  CandidateSettings named(String name) {
    return new CandidateSettings(
        this.kind,
        name,
        this.address,
        this.username,
        this.password,
        this.lease,
        this.renew,
        this.defaults,
        this.group,
        this.elections);
  }

  static CandidateSettings parse(Map<String, String> arguments) {
    return new CandidateSettings(
        CandidateKind.of(value(arguments, "kind")),
        value(arguments, "node"),
        value(arguments, "address"),
        value(arguments, "username"),
        value(arguments, "password"),
        Duration.ofMillis(Long.parseLong(value(arguments, "lease"))),
        Duration.ofMillis(Long.parseLong(value(arguments, "renew"))),
        Boolean.parseBoolean(value(arguments, "defaults")),
        value(arguments, "group"),
        Integer.parseInt(value(arguments, "elections")));
  }

  static Map<String, String> parse(String... arguments) {
    return Stream.of(arguments)
        .map((argument) -> argument.replaceFirst("^--", "").split("=", 2))
        .collect(Collectors.toMap((pair) -> pair[0], (pair) -> pair[1]));
  }

  /**
   * Opens the log. A node that is not sampled for 100 ms, for example while paused, counts as
   * claiming nothing.
   */
  static LeadershipLog claims(Map<String, String> arguments) {
    return LeadershipLog.open(Path.of(value(arguments, "test.claims")), Duration.ofMillis(100));
  }

  static String value(Map<String, String> arguments, String name) {
    String value = arguments.get(name);
    if (value == null) {
      throw new IllegalArgumentException("No argument " + name + "=…");
    }
    return value;
  }

  List<String> electionNames() {
    return IntStream.range(0, this.elections)
        .mapToObj((i) -> this.group + "-" + i)
        .toList();
  }
}
