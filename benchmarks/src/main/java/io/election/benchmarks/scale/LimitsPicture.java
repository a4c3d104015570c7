package io.election.benchmarks.scale;

import io.election.benchmarks.sidebyside.Pictures;
import java.awt.BasicStroke;
import java.awt.Color;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.TreeSet;
import java.util.function.ToDoubleFunction;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.XYSeries;
import org.knowm.xchart.style.markers.SeriesMarkers;

/** Statements a second and the slowest renewals against the number of nodes, a line a number of elections. */
final class LimitsPicture {

  private static final Color[] COLORS = {
    new Color(0x1b5e20), new Color(0x1565c0), new Color(0xf9a825), new Color(0xc62828),
  };

  private LimitsPicture() {}

  static void draw(List<Simulated> simulated, Path folder) throws IOException {
    System.setProperty("java.awt.headless", "true");
    Files.createDirectories(folder);
    draw(simulated, folder, "scale-statements", "Statements a second", Simulated::idlePerSecond);
    draw(
        simulated,
        folder,
        "scale-renewals",
        "Renewals, p99.9 while nothing happens: milliseconds",
        (s) -> s.renewal().millis(0.999));
    draw(
        simulated,
        folder,
        "scale-storm",
        "Oldest renewal of a survivor in a take-over storm: milliseconds",
        (s) -> s.stormAge().millis(1));
  }

  private static void draw(
      List<Simulated> simulated,
      Path folder,
      String name,
      String title,
      ToDoubleFunction<Simulated> figure)
      throws IOException {
    XYChart chart = new XYChartBuilder()
        .width(900)
        .height(420)
        .title(title)
        .xAxisTitle("nodes")
        .build();
    Pictures.style(chart);
    chart.getStyler().setXAxisLogarithmic(true);
    chart.getStyler().setYAxisLogarithmic(true);
    int color = 0;
    for (int elections :
        new TreeSet<>(simulated.stream().map(Simulated::elections).toList())) {
      List<Simulated> line = simulated.stream()
          .filter((s) -> s.elections() == elections && figure.applyAsDouble(s) > 0)
          .sorted(Comparator.comparingInt(Simulated::nodes))
          .toList();
      if (!line.isEmpty()) {
        XYSeries series = chart.addSeries(
            elections == 1 ? "1 election" : elections + " elections",
            line.stream().mapToDouble(Simulated::nodes).toArray(),
            line.stream().mapToDouble(figure).toArray());
        series.setMarker(SeriesMarkers.CIRCLE);
        series.setLineColor(COLORS[color % COLORS.length]);
        series.setMarkerColor(COLORS[color % COLORS.length]);
        series.setLineStyle(new BasicStroke(2));
      }
      color++;
    }
    Pictures.save(chart, folder, name);
  }
}
