package io.election.benchmarks.sidebyside;

import io.election.test.process.Claim;
import io.election.test.process.NodeProcess;

/**
 * Where a scenario puts its figures.
 *
 * @param results all figures
 * @param timing the settings in force
 * @param scenario what is played
 * @param contestant to whom
 * @param round from 1
 * @param servers the servers of all
 */
record Recorder(
    Results results,
    Timing timing,
    Scenario scenario,
    Contestant contestant,
    int round,
    Servers servers) {

  /** Adds a figure in nanoseconds. */
  void add(String measure, long nanos) {
    this.results.add(new Row(
        this.timing.id(),
        this.scenario.id(),
        this.contestant.kind().id(),
        this.round,
        measure,
        nanos / 1e6));
  }

  /** Adds what was claimed since two seconds before an instant. */
  void addClaims(Contestant contestant, NodeProcess leader, long instant) {
    if (this.timing != Timing.EQUAL) {
      return;
    }
    for (NodeProcess node : contestant.nodes()) {
      for (Claim claim : node.claims(instant - 2_000_000_000L)) {
        this.results.add(new ClaimRow(
            contestant.kind().id(),
            this.round,
            node.name(),
            node == leader ? "leader" : "follower",
            Math.max(-2000, (claim.from() - instant) / 1e6),
            (claim.to() - instant) / 1e6));
      }
    }
  }
}
