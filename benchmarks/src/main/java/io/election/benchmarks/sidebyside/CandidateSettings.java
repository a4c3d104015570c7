package io.election.benchmarks.sidebyside;

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
 * @param address the server: a JDBC URL, or host and port
 * @param username the user of the database
 * @param password the password of the database
 * @param group the prefix of its elections' names
 * @param elections the number of elections that it takes part in
 */
record CandidateSettings(
    CandidateKind kind,
    Timing timing,
    String node,
    String address,
    String username,
    String password,
    String group,
    int elections) {

  /** Reads what {@link #toString()} has written. */
  static CandidateSettings parse(String json) {
    return JsonMapper.shared().readValue(json, CandidateSettings.class);
  }

  @Override
  public String toString() {
    return JsonMapper.shared().writeValueAsString(this);
  }

  CandidateSettings of(String node, String address) {
    return new CandidateSettings(
        this.kind,
        this.timing,
        node,
        address,
        this.username,
        this.password,
        this.group,
        this.elections);
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
