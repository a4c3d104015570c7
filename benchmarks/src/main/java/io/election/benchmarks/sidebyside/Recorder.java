package io.election.benchmarks.sidebyside;

/**
 * Records the figures of a scenario.
 *
 * @param results all figures
 * @param timing the settings in force
 * @param scenario the scenario that is played
 * @param contestant the processes that it is played on
 * @param round the round, from 1
 * @param servers the servers of all contestants
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
