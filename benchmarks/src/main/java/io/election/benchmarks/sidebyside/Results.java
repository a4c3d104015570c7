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

/** The measurements, in files that are written line by line so that nothing is lost. */
public final class Results {

  private static final String MEASURES = "measures.csv";

  private static final String ABOUT = "about.txt";

  private final Path folder;

  private final List<Row> rows = new ArrayList<>();

  private final Map<String, String> about = new TreeMap<>();

  private Results(Path folder) {
    this.folder = folder;
  }

  /**
   * Creates empty results. Replaces those in the folder.
   *
   * @param folder where the files go
   * @return no results yet
   * @throws IOException if the files cannot be written
   */
  public static Results create(Path folder) throws IOException {
    Files.createDirectories(folder);
    Results results = new Results(folder);
    Files.writeString(folder.resolve(MEASURES), Row.HEADER + "\n");
    Files.writeString(folder.resolve(ABOUT), "");
    return results;
  }

  /**
   * Reads results.
   *
   * @param folder where the files are
   * @return the results
   * @throws IOException if the files cannot be read
   */
  public static Results read(Path folder) throws IOException {
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

  public synchronized void add(Row row) {
    this.rows.add(row);
    append(MEASURES, row.line());
  }

  /**
   * Adds a fact about how the figures were obtained.
   *
   * @param name the name of the fact
   * @param value the fact
   */
  public synchronized void about(String name, String value) {
    this.about.put(name, value);
    append(ABOUT, name + ": " + value);
  }

  public synchronized List<Row> rows() {
    return List.copyOf(this.rows);
  }

  /** Returns the facts about how the figures were obtained. */
  public synchronized Map<String, String> about() {
    return Map.copyOf(this.about);
  }

  /**
   * Returns all figures of a measure.
   *
   * @param settings as in {@link Row}
   * @param scenario as in {@link Row}
   * @param candidate as in {@link Row}
   * @param measure as in {@link Row}
   * @return the figures in their order
   */
  public List<Double> values(String settings, String scenario, String candidate, String measure) {
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
      Files.writeString(
          this.folder.resolve(file),
          line + "\n",
          StandardOpenOption.CREATE,
          StandardOpenOption.APPEND);
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }
}
