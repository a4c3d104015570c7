package io.election.benchmarks.sidebyside;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What was measured, in files that are written line by line, so that nothing is lost. */
final class Results {

  private static final String MEASURES = "measures.csv";

  private static final String CLAIMS = "claims.csv";

  private static final String ABOUT = "about.txt";

  private final Path folder;

  private final List<Row> rows = new ArrayList<>();

  private final Map<String, String> about = new TreeMap<>();

  private Results(Path folder) {
    this.folder = folder;
  }

  /** Begins results; those that are in the folder are replaced. */
  static Results create(Path folder) throws IOException {
    Files.createDirectories(folder);
    Results results = new Results(folder);
    Files.writeString(folder.resolve(MEASURES), Row.HEADER + "\n");
    Files.writeString(folder.resolve(CLAIMS), ClaimRow.HEADER + "\n");
    Files.writeString(folder.resolve(ABOUT), "");
    return results;
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

  synchronized void add(Row row) {
    this.rows.add(row);
    append(MEASURES, row.line());
  }

  synchronized void add(ClaimRow claim) {
    append(CLAIMS, claim.line());
  }

  synchronized void about(String name, String value) {
    this.about.put(name, value);
    append(ABOUT, name + ": " + value);
  }

  synchronized List<Row> rows() {
    return List.copyOf(this.rows);
  }

  List<ClaimRow> claims() throws IOException {
    return Files.readAllLines(this.folder.resolve(CLAIMS)).stream()
        .skip(1)
        .map(ClaimRow::parse)
        .toList();
  }

  synchronized Map<String, String> about() {
    return Map.copyOf(this.about);
  }

  /** All figures of a measure. */
  List<Double> values(String settings, String scenario, String candidate, String measure) {
    return rows().stream()
        .filter((row) -> row.settings().equals(settings)
            && row.scenario().equals(scenario)
            && row.candidate().equals(candidate)
            && row.measure().equals(measure))
        .map(Row::value)
        .toList();
  }

  private void append(String file, String line) {
    try {
      Files.writeString(this.folder.resolve(file), line + "\n", StandardOpenOption.APPEND);
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }
}
