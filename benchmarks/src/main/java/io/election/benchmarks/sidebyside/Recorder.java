package io.election.benchmarks.sidebyside;

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
}
