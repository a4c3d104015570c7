package io.election.benchmarks.sidebyside;

import io.election.benchmarks.candidates.CandidateKind;
import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.jfree.svg.SVGGraphics2D;
import org.knowm.xchart.AnnotationLine;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.CategoryChartBuilder;
import org.knowm.xchart.CategorySeries;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.XYSeries;
import org.knowm.xchart.internal.chartpart.AxesChart;
import org.knowm.xchart.style.Styler;
import org.knowm.xchart.style.markers.SeriesMarkers;

/** Draws result files. */
public final class Pictures {

  private static final int WIDTH = 900;

  private static final Color[] COLORS = {
    new Color(0x1b5e20),
    new Color(0xc62828),
    new Color(0x1565c0),
    new Color(0xf9a825),
    new Color(0x6a1b9a),
    new Color(0x00838f),
  };

  private static final List<CandidateKind> KINDS = List.of(CandidateKind.values());

  private final Results results;

  private final Path folder;

  private Pictures(Results results, Path folder) {
    this.results = results;
    this.folder = folder;
  }

  /**
   * Draws pictures from result files, and writes their tables anew.
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
    System.setProperty("java.awt.headless", "true");
    Files.createDirectories(folder);
    Pictures pictures = new Pictures(results, folder);
    pictures.gaps();
    pictures.twoLeaders();
    pictures.pause();
    pictures.requests("leader");
    pictures.requests("follower");
  }

  /** A point for each round. */
  private void gaps() throws IOException {
    XYChart chart = byCandidate("Without a leader: each round", "seconds without a leader");
    chart.getStyler().setXAxisMin(-0.1);
    points(chart, "kill -9", Scenario.KILL, "gap_ms", COLORS[1], 0.15);
    points(chart, "SIGTERM", Scenario.STOP, "gap_ms", COLORS[2], -0.15);
    save(chart, "gaps");
  }

  private void twoLeaders() throws IOException {
    XYChart chart = byCandidate("Two leaders at once: each round", "seconds with two leaders");
    chart.getStyler().setXAxisMin(-0.1);
    points(chart, "leader paused", Scenario.PAUSE, "overlap_ms", COLORS[4], 0.2);
    points(chart, "server stalled", Scenario.STALL, "overlap_ms", COLORS[3], 0);
    points(chart, "leader cut off", Scenario.CUT, "overlap_ms", COLORS[1], -0.2);
    save(chart, "two-leaders");
  }

  private void points(
      XYChart chart, String name, Scenario scenario, String measure, Color color, double shift) {
    List<Double> x = new ArrayList<>();
    List<Double> y = new ArrayList<>();
    for (CandidateKind kind : KINDS) {
      for (double millis :
          this.results.values(Timing.EQUAL.id(), scenario.id(), kind.id(), measure)) {
        x.add(millis / 1000);
        y.add(row(kind) + shift);
      }
    }
    if (!x.isEmpty()) {
      XYSeries series = chart.addSeries(name, x, y);
      series.setXYSeriesRenderStyle(XYSeries.XYSeriesRenderStyle.Scatter);
      series.setMarker(SeriesMarkers.CIRCLE);
      series.setMarkerColor(new Color(color.getRed(), color.getGreen(), color.getBlue(), 150));
    }
  }

  /** The claims of all processes around a pause in the middle. */
  private void pause() throws IOException {
    List<ClaimRow> all = this.results.claims();
    int rounds = all.stream().mapToInt(ClaimRow::round).max().orElse(1);
    int round = (rounds + 1) / 2;
    List<ClaimRow> claims =
        all.stream().filter((claim) -> claim.round() == round).toList();
    XYChart chart = byCandidate(
        "Who claims to lead while the leader is paused: round " + round,
        "seconds since the leader was paused");
    chart.getStyler().setXAxisMin(-2.0);
    chart.getStyler().setXAxisMax(12.0);
    chart.getStyler().setMarkerSize(0);
    lines(chart, "the paused leader", claims, "leader", COLORS[1], 0.12);
    lines(chart, "the others", claims, "follower", COLORS[2], -0.12);
    chart.addAnnotation(new AnnotationLine(0, true, false));
    chart.addAnnotation(new AnnotationLine(8, true, false));
    save(chart, "pause");
  }

  private static void lines(
      XYChart chart, String name, List<ClaimRow> claims, String role, Color color, double shift) {
    List<Double> x = new ArrayList<>();
    List<Double> y = new ArrayList<>();
    for (ClaimRow claim : claims) {
      if (claim.role().equals(role)) {
        double row = row(CandidateKind.of(claim.candidate())) + shift;
        // A line as short as a claim of a millisecond would not be seen.
        x.addAll(List.of(claim.from() / 1000, Math.max(claim.to(), claim.from() + 15) / 1000));
        y.addAll(List.of(row, row));
        x.add(claim.to() / 1000);
        y.add(Double.NaN);
      }
    }
    if (!x.isEmpty()) {
      XYSeries series = chart.addSeries(name, x, y);
      series.setMarker(SeriesMarkers.NONE);
      series.setLineColor(color);
      series.setLineStyle(new BasicStroke(9, BasicStroke.CAP_BUTT, BasicStroke.JOIN_BEVEL));
    }
  }

  private void requests(String role) throws IOException {
    CategoryChart chart = new CategoryChartBuilder()
        .width(WIDTH)
        .height(420)
        .title("Requests to the server a second, of a " + role)
        .xAxisTitle("elections")
        .yAxisTitle("requests a second")
        .build();
    style(chart);
    chart.getStyler().setYAxisLogarithmic(true);
    chart.getStyler().setYAxisMin(0.1);
    chart.getStyler().setDefaultSeriesRenderStyle(CategorySeries.CategorySeriesRenderStyle.Line);
    chart.getStyler().setLegendPosition(Styler.LegendPosition.OutsideE);
    chart.getStyler().setLegendLayout(Styler.LegendLayout.Vertical);
    chart.getStyler().setOverlapped(true);
    List<Integer> sizes = List.of(1, 50, 500);
    for (CandidateKind kind : KINDS) {
      List<Double> rates = new ArrayList<>();
      for (int elections : sizes) {
        List<Double> measured =
            this.results.values("equal", "load-" + elections, kind.id(), role + "_per_s");
        // Nothing at all has no place on a logarithmic axis.
        rates.add(measured.isEmpty() ? Double.NaN : Math.max(Summary.median(measured), 0.1));
      }
      if (!rates.stream().allMatch((rate) -> rate.isNaN())) {
        CategorySeries series =
            chart.addSeries(kind.title(), sizes.stream().map(String::valueOf).toList(), rates);
        series.setLineColor(COLORS[kind.ordinal()]);
        series.setMarkerColor(COLORS[kind.ordinal()]);
        series.setMarker(SeriesMarkers.CIRCLE);
        series.setLineStyle(new BasicStroke(2));
      }
    }
    save(chart, "requests-" + role);
  }

  /** A chart with a line for each candidate, the first one at the top. */
  private static XYChart byCandidate(String title, String axis) {
    XYChart chart = new XYChartBuilder()
        .width(WIDTH)
        .height(420)
        .title(title)
        .xAxisTitle(axis)
        .build();
    style(chart);
    chart.getStyler().setYAxisMin(-0.5);
    chart.getStyler().setYAxisMax(KINDS.size() - 0.5);
    chart.getStyler().setYAxisTickMarkSpacingHint(45);
    Function<Double, String> names = (value) -> {
      int row = (int) Math.round(value);
      boolean named = Math.abs(value - row) < 0.01 && row >= 0 && row < KINDS.size();
      // Beyond the axis, and not drawn; but the library insists on labels that differ.
      return named ? KINDS.get(KINDS.size() - 1 - row).title() : value.toString();
    };
    chart.getStyler().setYAxisTickLabelsFormattingFunction(names);
    return chart;
  }

  private static double row(CandidateKind kind) {
    return KINDS.size() - 1 - kind.ordinal();
  }

  /**
   * Gives a chart the looks that all pictures share.
   *
   * @param chart the chart
   */
  public static void style(AxesChart<?, ?> chart) {
    Font font = new Font(Font.SANS_SERIF, Font.PLAIN, 13);
    chart
        .getStyler()
        .setChartBackgroundColor(Color.WHITE)
        .setChartTitleBoxVisible(false)
        .setPlotBorderVisible(false)
        .setLegendBorderColor(Color.WHITE)
        .setLegendFont(font)
        .setLegendPosition(Styler.LegendPosition.OutsideS)
        .setLegendLayout(Styler.LegendLayout.Horizontal)
        .setMarkerSize(8);
    chart.getStyler().setAxisTickLabelsFont(font);
    chart.getStyler().setPlotGridLinesColor(new Color(0xe0e0e0));
  }

  private void save(AxesChart<?, ?> chart, String name) throws IOException {
    save(chart, this.folder, name);
  }

  /**
   * Writes a chart as SVG and as PNG, unless it shows nothing.
   *
   * @param chart the chart
   * @param folder where the files go, which exists
   * @param name of the files, without their endings
   * @throws IOException if they cannot be written
   */
  public static void save(AxesChart<?, ?> chart, Path folder, String name) throws IOException {
    if (chart.getSeriesCollection().isEmpty()) {
      return;
    }
    SVGGraphics2D svg = new SVGGraphics2D(chart.getWidth(), chart.getHeight());
    chart.paint(svg, chart.getWidth(), chart.getHeight());
    Files.writeString(folder.resolve(name + ".svg"), svg.getSVGDocument());
    BitmapEncoder.saveBitmap(
        chart, folder.resolve(name).toString(), BitmapEncoder.BitmapFormat.PNG);
  }
}
