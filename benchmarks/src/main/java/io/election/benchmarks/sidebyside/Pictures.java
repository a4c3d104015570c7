package io.election.benchmarks.sidebyside;

import io.election.benchmarks.candidates.CandidateKind;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/** Draws result files as SVG, with a row for each candidate and a point for each round. */
public final class Pictures {

  private static final int LEFT = 150;

  private static final int WIDTH = 700;

  private static final int TOP = 40;

  private static final int ROW = 48;

  private static final int BOTTOM = TOP + ROW * CandidateKind.values().length;

  private Pictures() {}

  /**
   * Draws pictures from result files, and writes their tables again.
   *
   * @param arguments the folder of the files, and the folder of the pictures
   * @throws IOException if they cannot be read or written
   */
  public static void main(String[] arguments) throws IOException {
    Path folder = Path.of(arguments[0]);
    Results results = Results.read(folder);
    Files.writeString(folder.resolve("summary.md"), Summary.of(results));
    draw(results, Path.of(arguments[1]));
  }

  static void draw(Results results, Path folder) throws IOException {
    Files.createDirectories(folder);
    Files.writeString(
        folder.resolve("gaps.svg"),
        picture(
            results,
            "Seconds without a leader, each round",
            "gap_ms",
            List.of(
                new Series("kill -9", Scenario.KILL, "#c62828"),
                new Series("SIGTERM", Scenario.STOP, "#1565c0"))));
    Files.writeString(
        folder.resolve("two-leaders.svg"),
        picture(
            results,
            "Seconds with two leaders, each round",
            "overlap_ms",
            List.of(
                new Series("leader paused", Scenario.PAUSE, "#6a1b9a"),
                new Series("server stalled", Scenario.STALL, "#f9a825"),
                new Series("leader cut off", Scenario.CUT, "#c62828"))));
  }

  /** The points of one color. */
  private record Series(String name, Scenario scenario, String color) {}

  private static String picture(
      Results results, String title, String measure, List<Series> series) {
    int seconds = (int) Math.ceil(results.rows().stream()
        .filter(
            (row) -> row.settings().equals(Timing.EQUAL.id()) && row.measure().equals(measure))
        .mapToDouble((row) -> row.value() / 1000)
        .max()
        .orElse(1));
    double scale = (double) WIDTH / Math.max(1, seconds);
    StringBuilder svg = new StringBuilder("""
        <svg xmlns="http://www.w3.org/2000/svg" width="900" height="%d" font-family="sans-serif" font-size="13">
        <rect width="100%%" height="100%%" fill="white"/>
        <text x="%d" y="24" font-weight="bold">%s</text>
        """.formatted(BOTTOM + 60, LEFT, title));
    for (int second = 0; second <= seconds; second++) {
      double x = LEFT + second * scale;
      add(svg, "<path d=\"M%.1f %d V%d\" stroke=\"#e0e0e0\"/>", x, TOP, BOTTOM);
      add(
          svg,
          "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%d</text>",
          x,
          BOTTOM + 18,
          second);
    }
    for (CandidateKind kind : CandidateKind.values()) {
      double middle = TOP + ROW * (kind.ordinal() + 0.5);
      add(
          svg,
          "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>",
          LEFT - 12,
          middle + 4,
          kind.title());
      for (int i = 0; i < series.size(); i++) {
        double y = middle + 12 * (i - (series.size() - 1) / 2.0);
        for (double millis :
            results.values(Timing.EQUAL.id(), series.get(i).scenario().id(), kind.id(), measure)) {
          point(svg, LEFT + millis / 1000 * scale, y, series.get(i));
        }
      }
    }
    for (int i = 0; i < series.size(); i++) {
      point(svg, LEFT + 150.0 * i, BOTTOM + 42, series.get(i));
      add(
          svg,
          "<text x=\"%d\" y=\"%d\">%s</text>",
          LEFT + 150 * i + 10,
          BOTTOM + 46,
          series.get(i).name());
    }
    return svg.append("</svg>\n").toString();
  }

  private static void point(StringBuilder svg, double x, double y, Series series) {
    add(
        svg,
        "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\" fill-opacity=\"0.6\"/>",
        x,
        y,
        series.color());
  }

  private static void add(StringBuilder svg, String element, Object... values) {
    svg.append(String.format(Locale.ROOT, element, values)).append('\n');
  }
}
