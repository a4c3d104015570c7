package io.election.benchmarks.sidebyside;

import java.util.Locale;

/**
 * A claim for the picture of a pause.
 *
 * @param candidate whose
 * @param round in which round, from 1
 * @param node of which process
 * @param role {@code leader} when the pause began, or {@code follower}
 * @param from its begin in milliseconds since the begin of the pause
 * @param to its end
 */
record ClaimRow(String candidate, int round, String node, String role, double from, double to) {

  static final String HEADER = "candidate,round,node,role,from_ms,to_ms";

  String line() {
    return String.format(
        Locale.ROOT,
        "%s,%d,%s,%s,%.1f,%.1f",
        this.candidate,
        this.round,
        this.node,
        this.role,
        this.from,
        this.to);
  }

  static ClaimRow parse(String line) {
    String[] cells = line.split(",", -1);
    return new ClaimRow(
        cells[0],
        Integer.parseInt(cells[1]),
        cells[2],
        cells[3],
        Double.parseDouble(cells[4]),
        Double.parseDouble(cells[5]));
  }
}
