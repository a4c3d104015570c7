package io.election.benchmarks.sidebyside;

import io.election.support.process.NodeProcess;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import tools.jackson.databind.json.JsonMapper;

/**
 * The settings with which a process takes part.
 *
 * @param kind the candidate
 * @param timing its lease and renew interval
 * @param node the name of the process
 * @param place where it meets the others, through its own proxy if it has one
 * @param group the prefix of its elections' names
 * @param elections the number of elections that it takes part in
 */
record CandidateSettings(
    CandidateKind kind,
    Timing timing,
    String node,
    Server.Place place,
    String group,
    int elections) {

  /** The property with the password, which the arguments of a process must not contain. */
  static final String PASSWORD = "place.password";

  /** Reads what {@link #toString()} has written, and the password from the environment. */
  static CandidateSettings parse(String json) {
    return JsonMapper.shared()
        .readValue(json, CandidateSettings.class)
        .withPassword(System.getenv(NodeProcess.variable(PASSWORD)));
  }

  /** Writes all but the password. */
  @Override
  public String toString() {
    return JsonMapper.shared().writeValueAsString(withPassword(""));
  }

  private CandidateSettings withPassword(String password) {
    return new CandidateSettings(
        this.kind,
        this.timing,
        this.node,
        this.place.withPassword(password),
        this.group,
        this.elections);
  }

  CandidateSettings of(String node, int port) {
    return new CandidateSettings(
        this.kind, this.timing, node, this.place.through(port), this.group, this.elections);
  }

  /** Returns the time after which a silent leader may be replaced. */
  Duration lease() {
    return this.timing.lease(this.kind);
  }

  /** Returns how often a leader renews its lease and followers poll, where that can be set. */
  Duration renew() {
    return this.timing.renew(this.kind);
  }

  boolean defaults() {
    return this.timing == Timing.DEFAULTS;
  }

  List<String> electionNames() {
    return IntStream.range(0, this.elections)
        .mapToObj((i) -> this.group + "-" + i)
        .toList();
  }
}
