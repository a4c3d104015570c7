package io.election.benchmarks.scale;

import io.election.benchmarks.sidebyside.Pictures;
import io.election.benchmarks.sidebyside.Results;
import io.election.benchmarks.sidebyside.Row;
import java.awt.BasicStroke;
import java.awt.Color;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.XYSeries;
import org.knowm.xchart.style.markers.SeriesMarkers;

/**
 * Statements a second and the slowest renewals against the number of nodes, a line a number of
 * elections, as far as all leaders keep their leases.
 */
final class LimitsPicture {

  private static final Color[] COLORS = {
    new Color(0x1b5e20), new Color(0x1565c0), new Color(0xf9a825), new Color(0xc62828),
  };

  /** The measures of each number of nodes, of each number of elections. */
  private final Map<Integer, TreeMap<Integer, Map<String, Double>>> lines = new TreeMap<>();

  private final Path folder;

  private LimitsPicture(Results results, Path folder) {
    this.folder = folder;
    for (Row row : results.rows()) {
      if (row.scenario().matches("\\d+x\\d+")) {
        String[] size = row.scenario().split("x");
        this.lines
            .computeIfAbsent(Integer.valueOf(size[1]), (elections) -> new TreeMap<>())
            .computeIfAbsent(Integer.valueOf(size[0]), (nodes) -> new HashMap<>())
            .put(row.measure(), row.value());
      }
    }
    this.lines.values().forEach((line) -> line.values().removeIf((of) -> !holds(of)));
  }

  /** What has no leader again has no greatest gap. */
  private static boolean holds(Map<String, Double> measures) {
    return measures.getOrDefault("lost_count", 1.0) == 0
        && measures.getOrDefault("storm_lost_count", 1.0) == 0
        && measures.containsKey("gap_max_ms");
  }

  static void draw(Results results, Path folder) throws IOException {
    System.setProperty("java.awt.headless", "true");
    Files.createDirectories(folder);
    LimitsPicture picture = new LimitsPicture(results, folder);
    picture.draw("scale-statements", "Statements a second", "statements_per_s", true);
    picture.draw(
        "scale-renewals",
        "Renewals, p99.9 while nothing happens: milliseconds",
        "renewal_p999_ms",
        true);
    picture.draw(
        "scale-storm",
        "Oldest renewal of a survivor in a take-over storm: milliseconds",
        "storm_renewal_age_max_ms",
        false);
  }

  private void draw(String name, String title, String measure, boolean logarithmic)
      throws IOException {
    XYChart chart = new XYChartBuilder()
        .width(900)
        .height(420)
        .title(title)
        .xAxisTitle("nodes")
        .build();
    Pictures.style(chart);
    chart.getStyler().setXAxisLogarithmic(true);
    chart.getStyler().setYAxisLogarithmic(logarithmic);
    if (!logarithmic) {
      chart.getStyler().setYAxisMin(0.0);
    }
    int color = 0;
    for (Map.Entry<Integer, TreeMap<Integer, Map<String, Double>>> line : this.lines.entrySet()) {
      TreeMap<Integer, Double> points = new TreeMap<>();
      line.getValue().forEach((nodes, measures) -> {
        Double value = measures.get(measure);
        if (value != null && value > 0) {
          points.put(nodes, value);
        }
      });
      if (!points.isEmpty()) {
        int elections = line.getKey();
        XYSeries series = chart.addSeries(
            elections == 1 ? "1 election" : elections + " elections",
            points.keySet().stream().mapToDouble(Integer::doubleValue).toArray(),
            points.values().stream().mapToDouble(Double::doubleValue).toArray());
        series.setMarker(SeriesMarkers.CIRCLE);
        series.setLineColor(COLORS[color % COLORS.length]);
        series.setMarkerColor(COLORS[color % COLORS.length]);
        series.setLineStyle(new BasicStroke(2));
      }
      color++;
    }
    Pictures.save(chart, this.folder, name);
  }
}
