package io.election.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** A test that the documentation names is there: a claim without its test is only a claim. */
class DocumentedTestsTest {

  private static final Path ROOT = Path.of("..");

  /** {@code SomeTest}, {@code SomeIT#someMethod}, or {@code #another} of the class before it. */
  private static final Pattern NAMED =
      Pattern.compile("`([A-Z]\\w*(?:Test|IT|Contract))(?:[#.](\\w+)(…)?)?`|`#(\\w+)(…)?`");

  private static final Pattern COMMAND = Pattern.compile("-D(?:it\\.)?test=['\"]?([\\w#+,*]+)");

  /**
   * The source of each test by the name of its class. Other modules may write to their build folders
   * meanwhile.
   */
  private static final Map<String, String> sources = new HashMap<>();

  @BeforeAll
  static void readSources() throws IOException {
    Files.walkFileTree(ROOT, new SimpleFileVisitor<>() {
      @Override
      public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) {
        String name = folder.getFileName().toString();
        return name.equals("target") || name.equals(".git")
            ? FileVisitResult.SKIP_SUBTREE
            : FileVisitResult.CONTINUE;
      }

      @Override
      public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
          throws IOException {
        String name = file.getFileName().toString();
        if (name.matches(".*(Test|IT|Contract)\\.java")) {
          sources.merge(name.replace(".java", ""), Files.readString(file), String::concat);
        }
        return FileVisitResult.CONTINUE;
      }
    });
  }

  @ParameterizedTest
  @MethodSource("io.election.autoconfigure.DocumentationTest#pages")
  void eachTestThatAPageNamesIsThere(Path page) throws IOException {
    assertThat(missing(Files.readString(page), sources)).isEmpty();
  }

  @Test
  void aTestThatIsNotThereIsFound() {
    String page = """
        `FirstTest`, `FirstTest#a`, `#b`, `FirstTest#abc…` and `mvn -Dit.test='FirstTest#a+b,NoIT'`:
        `NoTest`, `FirstTest#c`, `FirstTest.Inner`, `#aa`, `FirstTest#bc…`
        """;
    Map<String, String> sources =
        Map.of("FirstTest", "class FirstTest { void a() {} void b() {} void abcd() {}}");
    assertThat(missing(page, sources))
        .containsExactlyInAnyOrder(
            "NoIT", "NoTest", "FirstTest#c", "FirstTest#Inner", "FirstTest#aa", "FirstTest#bc");
  }

  private static List<String> missing(String page, Map<String, String> sources) {
    List<String> missing = new ArrayList<>();
    String last = "";
    for (MatchResult named : NAMED.matcher(page).results().toList()) {
      last = named.group(1) != null ? named.group(1) : last;
      String method = named.group(2) != null ? named.group(2) : named.group(4);
      boolean whole = named.group(3) == null && named.group(5) == null;
      check(last, method != null ? method : "", whole, sources, missing);
    }
    for (MatchResult command : COMMAND.matcher(page).results().toList()) {
      for (String test : command.group(1).split(",")) {
        String[] parts = test.split("#");
        if (test.contains("*")) {
          continue;
        }
        for (String method : parts.length > 1 ? parts[1].split("\\+") : new String[] {""}) {
          check(parts[0], method, true, sources, missing);
        }
      }
    }
    return missing;
  }

  private static void check(
      String test,
      String method,
      boolean whole,
      Map<String, String> sources,
      List<String> missing) {
    String source = sources.get(test);
    if (source == null) {
      missing.add(test);
    } else if (!method.isEmpty()
        && !Pattern.compile("\\b(void|class) " + method + (whole ? "\\b" : ""))
            .matcher(source)
            .find()) {
      missing.add(test + "#" + method);
    }
  }
}
