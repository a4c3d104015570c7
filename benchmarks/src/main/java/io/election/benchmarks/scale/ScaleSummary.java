package io.election.benchmarks.scale;

import io.election.benchmarks.sidebyside.Results;
import io.election.benchmarks.sidebyside.Row;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** The figures of a run as a table of Markdown: a column for each phase. */
final class ScaleSummary {

  private ScaleSummary() {}

  static String of(Results results) {
    List<Row> rows = results.rows();
    Set<String> phases = rows.stream()
        .map(Row::scenario)
        .filter((phase) -> !phase.equals("end"))
        .collect(Collectors.toCollection(LinkedHashSet::new));
    Set<String> measures = rows.stream()
        .map(Row::measure)
        .sorted()
        .collect(Collectors.toCollection(LinkedHashSet::new));
    StringBuilder text = new StringBuilder();
    line(text, "| measure | " + String.join(" | ", phases) + " |");
    line(text, "| --- |" + " --- |".repeat(phases.size()));
    for (String measure : measures) {
      StringBuilder cells = new StringBuilder();
      boolean any = false;
      for (String phase : phases) {
        List<Double> values = results.values(settings(rows), phase, "election", measure);
        any |= !values.isEmpty();
        cells.append(" | ").append(values.isEmpty() ? "–" : number(values.get(0)));
      }
      if (any) {
        line(text, "| " + measure + cells + " |");
      }
    }
    line(text, "");
    rows.stream()
        .filter((row) -> row.scenario().equals("end"))
        .forEach((row) -> line(text, "* " + row.measure() + ": " + number(row.value())));
    results.about().entrySet().stream()
        .sorted(Map.Entry.comparingByKey())
        .forEach((entry) -> line(text, "* " + entry.getKey() + ": " + entry.getValue()));
    return text.toString();
  }

  private static String settings(List<Row> rows) {
    return rows.isEmpty() ? "" : rows.get(0).settings();
  }

  private static String number(double value) {
    return value == Math.rint(value) && Math.abs(value) < 1e9
        ? Long.toString((long) value)
        : String.format(Locale.ROOT, value < 10 ? "%.2f" : "%.1f", value);
  }

  private static void line(StringBuilder text, String line) {
    text.append(line).append('\n');
  }
}
