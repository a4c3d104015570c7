package io.election.benchmarks.sidebyside;

import io.election.benchmarks.sidebyside.Results.Row;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Prints the medians of two folders of result files, for example of two versions, side by side.
 *
 * <pre>
 * java -cp benchmarks/target/benchmarks.jar io.election.benchmarks.sidebyside.Compare before after
 * </pre>
 */
public final class Compare {

  private Compare() {}

  /**
   * Compares the two folders.
   *
   * @param arguments two folders
   * @throws IOException if they cannot be read
   */
  public static void main(String[] arguments) throws IOException {
    Map<String, double[]> before = figures(Path.of(arguments[0]));
    Map<String, double[]> after = figures(Path.of(arguments[1]));
    System.out.printf("%-60s %12s %12s %s%n", "median of", "before", "after", "rounds");
    before.forEach((name, values) -> {
      double[] others = after.getOrDefault(name, new double[0]);
      if (others.length > 0) {
        System.out.printf(
            "%-60s %12.1f %12.1f %d, %d%n",
            name, Summary.median(values), Summary.median(others), values.length, others.length);
      }
    });
  }

  private static Map<String, double[]> figures(Path folder) throws IOException {
    return Results.read(folder).rows().stream()
        .collect(Collectors.groupingBy(
            (row) ->
                String.join(" ", row.settings(), row.scenario(), row.candidate(), row.measure()),
            TreeMap::new,
            Collectors.collectingAndThen(
                Collectors.toList(),
                (rows) -> rows.stream().mapToDouble(Row::value).toArray())));
  }
}
