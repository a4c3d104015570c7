package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** A further product is a dialect and a line in {@link Dialects}. */
class ProductNamesTest {

  private static final Pattern OF_A_PRODUCT =
      Pattern.compile("(Mysql|Postgresql)\\w+|Dialects|Product|package-info");

  private static final Pattern NAMED =
      Pattern.compile("(?i).*(mysql|mariadb|postgres|connector/?j).*");

  @Test
  void noGenericFileNamesAProduct() throws IOException {
    try (Stream<Path> files = Files.walk(Path.of("src/main/java"))) {
      List<String> naming = files
          .filter((file) -> file.toString().endsWith(".java"))
          .filter((file) -> !OF_A_PRODUCT.matcher(name(file)).matches())
          .flatMap((file) ->
              lines(file).filter(NAMED.asMatchPredicate()).map((line) -> name(file) + ": " + line))
          .toList();
      assertThat(naming).isEmpty();
    }
  }

  private static String name(Path file) {
    return file.getFileName().toString().replace(".java", "");
  }

  private static Stream<String> lines(Path file) {
    try {
      return Files.readAllLines(file).stream();
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }
}
