package io.election.benchmarks.sidebyside;

import java.util.List;

/**
 * One figure.
 *
 * @param settings {@code equal} or {@code defaults}
 * @param scenario the scenario that was played
 * @param candidate the candidate that it was played on
 * @param round the round, from 1
 * @param measure the name of the measure
 * @param value the figure, in the unit that the measure's name ends with
 */
public record Row(
    String settings, String scenario, String candidate, int round, String measure, double value) {

  static final String HEADER = "settings,scenario,candidate,round,measure,value";

  String line() {
    return String.join(
        ",",
        List.of(
            this.settings,
            this.scenario,
            this.candidate,
            Integer.toString(this.round),
            this.measure,
            Double.toString(Math.round(this.value * 1000) / 1000.0)));
  }

  static Row parse(String line) {
    String[] cells = line.split(",", -1);
    return new Row(
        cells[0],
        cells[1],
        cells[2],
        Integer.parseInt(cells[3]),
        cells[4],
        Double.parseDouble(cells[5]));
  }
}
