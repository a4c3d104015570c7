package io.election.benchmarks.sidebyside;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/** Draws result files as SVG, with a row for each candidate and a point for each round. */
public final class Pictures {

  private static final int LEFT = 180;

  private static final int WIDTH = 700;

  private static final int TOP = 40;

  private static final int ROW = 48;

  private final StringBuilder svg = new StringBuilder();

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
        new Pictures()
            .draw(
                results,
                "Seconds without a leader, each round",
                "gap_ms",
                new Series("kill -9", Scenario.KILL, "#c62828"),
                new Series("SIGTERM", Scenario.STOP, "#1565c0")));
    Files.writeString(
        folder.resolve("two-leaders.svg"),
        new Pictures()
            .draw(
                results,
                "Seconds with two leaders, each round",
                "overlap_ms",
                new Series("leader paused", Scenario.PAUSE, "#6a1b9a"),
                new Series("server stalled", Scenario.STALL, "#f9a825"),
                new Series("leader cut off", Scenario.CUT, "#c62828")));
  }

  /** The points of one color. */
  private record Series(String name, Scenario scenario, String color) {

    double[] seconds(Results results, CandidateKind kind, String measure) {
      double[] millis = results.values(Timing.EQUAL, this.scenario.id(), kind, measure);
      return Arrays.stream(millis).map((value) -> value / 1000).toArray();
    }
  }

  private String draw(Results results, String title, String measure, Series... series) {
    double longest = Stream.of(series)
        .flatMap(
            (one) -> results.kinds().stream().map((kind) -> one.seconds(results, kind, measure)))
        .flatMapToDouble(Arrays::stream)
        .max()
        .orElse(1);
    List<CandidateKind> kinds = results.kinds();
    int bottom = TOP + ROW * kinds.size();
    double scale = WIDTH / Math.max(1, Math.ceil(longest));
    add(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"930\" height=\"%d\" font-family=\"sans-serif\" font-size=\"13\">",
        bottom + 60);
    add("<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>");
    text(LEFT, 24, "start", title);
    for (int second = 0; second <= Math.ceil(longest); second++) {
      double x = LEFT + second * scale;
      add("<path d=\"M%.1f %d V%d\" stroke=\"#e0e0e0\"/>", x, TOP, bottom);
      text(x, bottom + 18, "middle", Integer.toString(second));
    }
    for (CandidateKind kind : kinds) {
      double middle = TOP + ROW * (kinds.indexOf(kind) + 0.5);
      text(LEFT - 12, middle + 4, "end", kind.title);
      for (int i = 0; i < series.length; i++) {
        for (double seconds : series[i].seconds(results, kind, measure)) {
          point(LEFT + seconds * scale, middle + 12 * (i - (series.length - 1) / 2.0), series[i]);
        }
      }
    }
    for (int i = 0; i < series.length; i++) {
      point(LEFT + 150.0 * i, bottom + 42, series[i]);
      text(LEFT + 150 * i + 10, bottom + 46, "start", series[i].name());
    }
    add("</svg>");
    return this.svg.toString();
  }

  private void text(double x, double y, String anchor, String text) {
    add("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>", x, y, anchor, text);
  }

  private void point(double x, double y, Series series) {
    add(
        "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\" fill-opacity=\"0.6\"/>",
        x, y, series.color());
  }

  private void add(String element, Object... values) {
    this.svg.append(String.format(Locale.ROOT, element, values)).append('\n');
  }
}
