package io.election.benchmarks.scale;

import io.election.lease.LeaseSettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * What a process of many nodes needs.
 *
 * @param first the number of its first node
 * @param size how many nodes it is
 * @param elections in how many elections each takes part
 * @param address the JDBC URL
 * @param username of the database
 * @param password of the database
 * @param lease the lease
 * @param renew the renew interval
 * @param timeout the operation time-out
 * @param start over which time the nodes start
 * @param sample how often all nodes are asked whether they lead
 */
record Fleet(
    int first,
    int size,
    int elections,
    String address,
    String username,
    String password,
    Duration lease,
    Duration renew,
    Duration timeout,
    Duration start,
    Duration sample) {

  List<String> arguments() {
    return new ArrayList<>(List.of(
        "first=" + this.first,
        "size=" + this.size,
        "elections=" + this.elections,
        "address=" + this.address,
        "username=" + this.username,
        "password=" + this.password,
        "lease=" + this.lease.toMillis(),
        "renew=" + this.renew.toMillis(),
        "timeout=" + this.timeout.toMillis(),
        "start=" + this.start.toMillis(),
        "sample=" + this.sample.toMillis()));
  }

  static Fleet parse(Map<String, String> values) {
    return new Fleet(
        Integer.parseInt(value(values, "first")),
        Integer.parseInt(value(values, "size")),
        Integer.parseInt(value(values, "elections")),
        value(values, "address"),
        value(values, "username"),
        value(values, "password"),
        millis(values, "lease"),
        millis(values, "renew"),
        millis(values, "timeout"),
        millis(values, "start"),
        millis(values, "sample"));
  }

  static String value(Map<String, String> values, String name) {
    String value = values.get(name);
    if (value == null) {
      throw new IllegalArgumentException("No argument " + name + "=…");
    }
    return value;
  }

  private static Duration millis(Map<String, String> values, String name) {
    return Duration.ofMillis(Long.parseLong(value(values, name)));
  }

  LeaseSettings settings() {
    return new LeaseSettings(this.lease, this.renew, this.timeout, Duration.ofSeconds(1), true);
  }

  List<String> electionNames() {
    return IntStream.range(0, this.elections).mapToObj((i) -> "election-" + i).toList();
  }

  long startNanos() {
    return this.start.toNanos();
  }

  long sampleNanos() {
    return this.sample.toNanos();
  }
}
