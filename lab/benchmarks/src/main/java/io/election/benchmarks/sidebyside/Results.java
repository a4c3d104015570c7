package io.election.benchmarks.sidebyside;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The measurements, in files that are written line by line so that nothing is lost. */
final class Results {

  private static final String MEASURES = "measures.csv";

  private static final String ABOUT = "about.txt";

  private final Path folder;

  private final List<Row> rows = new ArrayList<>();

  private final Map<String, String> about = new TreeMap<>();

  private Results(Path folder) {
    this.folder = folder;
  }

  /**
   * One figure.
   *
   * @param settings the name of its {@link Timing}
   * @param measure its name, which ends with the unit of the value
   */
  record Row(
      String settings, String scenario, String candidate, int round, String measure, double value) {

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

    String line() {
      return "%s,%s,%s,%d,%s,%s"
          .formatted(
              this.settings,
              this.scenario,
              this.candidate,
              this.round,
              this.measure,
              Math.round(this.value * 1000) / 1000.0);
    }
  }

  /** Creates empty results. Replaces those in the folder. */
  static Results create(Path folder) throws IOException {
    Files.createDirectories(folder);
    Files.writeString(
        folder.resolve(MEASURES), "settings,scenario,candidate,round,measure,value\n");
    Files.writeString(folder.resolve(ABOUT), "");
    return new Results(folder);
  }

  static Results read(Path folder) throws IOException {
    Results results = new Results(folder);
    Files.readAllLines(folder.resolve(MEASURES)).stream()
        .skip(1)
        .map(Row::parse)
        .forEach(results.rows::add);
    Files.readAllLines(folder.resolve(ABOUT)).forEach((line) -> {
      String[] pair = line.split(": ", 2);
      results.about.put(pair[0], pair[1]);
    });
    return results;
  }

  synchronized void add(
      Timing timing, String scenario, CandidateKind kind, int round, String measure, double value) {
    Row row = new Row(timing.id(), scenario, kind.id(), round, measure, value);
    this.rows.add(row);
    append(MEASURES, row.line());
  }

  /** Adds a fact about how the figures were obtained. */
  synchronized void about(String name, String value) {
    this.about.put(name, value);
    append(ABOUT, name + ": " + value);
  }

  synchronized List<Row> rows() {
    return List.copyOf(this.rows);
  }

  /** Returns the candidates that have figures. */
  List<CandidateKind> kinds() {
    Set<String> ids = rows().stream().map(Row::candidate).collect(Collectors.toSet());
    return Stream.of(CandidateKind.values())
        .filter((kind) -> ids.contains(kind.id()))
        .toList();
  }

  Map<String, String> about() {
    return this.about;
  }

  double[] values(Timing timing, String scenario, CandidateKind kind, String measure) {
    return rows().stream()
        .filter((row) -> row.settings().equals(timing.id())
            && row.scenario().equals(scenario)
            && row.candidate().equals(kind.id())
            && row.measure().equals(measure))
        .mapToDouble(Row::value)
        .toArray();
  }

  private void append(String file, String line) {
    try {
      Files.writeString(this.folder.resolve(file), line + "\n", StandardOpenOption.APPEND);
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }
}
