package io.election.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What the documentation names is there: pages, headings, profiles, versions. It stays short. */
class DocumentedNamesTest {

  private static final Path ROOT = Path.of("..");

  private static final Pattern CODE = Pattern.compile("(?m)^```.*?^```$", Pattern.DOTALL);

  private static final Pattern LINK = Pattern.compile("\\]\\(([^)\\s]+)\\)");

  private static final Pattern HEADING = Pattern.compile("(?m)^#+ (.+)$");

  private static final Pattern PROFILES = Pattern.compile(" -P([\\w,-]+)");

  private static final Pattern PROFILE = Pattern.compile("<profile>\\s+<id>([\\w-]+)</id>");

  private static final Pattern VERSION =
      Pattern.compile("(?:<version>|io\\.election:[\\w-]+:)([\\w.-]+)");

  private static final Set<String> PROFILES_OF_THE_BUILD = profilesOfTheBuild();

  /** Reference tables, which are looked up and not read. */
  private static final Set<String> TABLES = Set.of("settings.md", "metrics.md", "ddl.md");

  @ParameterizedTest
  @MethodSource("io.election.autoconfigure.DocumentationTest#pages")
  void linksLeadToFilesAndHeadings(Path page) {
    assertThat(LINK.matcher(prose(page)).results().map((found) -> found.group(1)))
        .filteredOn((link) -> !link.matches("https?:.*|mailto:.*"))
        .filteredOn((link) -> !leadsSomewhere(page, link))
        .isEmpty();
  }

  private static boolean leadsSomewhere(Path page, String link) {
    String[] parts = link.split("#", 2);
    Path target = parts[0].isEmpty() ? page : page.resolveSibling(parts[0]);
    return Files.exists(target) && (parts.length == 1 || anchors(target).contains(parts[1]));
  }

  private static String prose(Path page) {
    return CODE.matcher(DocumentationTest.text(page)).replaceAll("");
  }

  /** As GitHub and GitLab derive them from headings. */
  private static Set<String> anchors(Path page) {
    Set<String> anchors = new HashSet<>();
    HEADING.matcher(prose(page)).results().forEach((heading) -> {
      String anchor = heading
          .group(1)
          .toLowerCase(Locale.ROOT)
          .replaceAll("\\[([^]]*)]\\([^)]*\\)", "$1")
          .replaceAll("[^\\p{L}\\p{N} _-]", "")
          .replace(' ', '-');
      assertThat(anchors.add(anchor)).as("two headings of one name: %s", anchor).isTrue();
    });
    return anchors;
  }

  @ParameterizedTest
  @MethodSource("io.election.autoconfigure.DocumentationTest#pages")
  void commandsNameProfilesOfTheBuild(Path page) {
    for (String command : DocumentationTest.commands(page)) {
      assertThat(PROFILES.matcher(command).results().map((found) -> found.group(1)))
          .allSatisfy(
              (names) -> assertThat(PROFILES_OF_THE_BUILD).as(command).contains(names.split(",")));
    }
  }

  private static Set<String> profilesOfTheBuild() {
    try (Stream<Path> files = Files.find(ROOT, 3, (file, is) -> file.endsWith("pom.xml"))) {
      return files
          .flatMap((file) -> PROFILE.matcher(DocumentationTest.text(file)).results())
          .map((profile) -> profile.group(1))
          .collect(Collectors.toSet());
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  /** Copied coordinates find what this source builds, also after a release. */
  @ParameterizedTest
  @MethodSource("io.election.autoconfigure.DocumentationTest#pages")
  void coordinatesHaveTheVersionOfTheBuild(Path page) throws IOException {
    String build = VERSION
        .matcher(Files.readString(ROOT.resolve("pom.xml")))
        .results()
        .findFirst()
        .orElseThrow()
        .group(1);
    assertThat(
            VERSION.matcher(DocumentationTest.text(page)).results().map((found) -> found.group(1)))
        .allSatisfy((version) -> assertThat(version).isEqualTo(build));
  }

  @ParameterizedTest
  @MethodSource("io.election.autoconfigure.DocumentationTest#pages")
  void pagesAreReadInOneSitting(Path page) {
    String name = page.getFileName().toString();
    if (!TABLES.contains(name)) {
      assertThat(words(page)).isLessThanOrEqualTo(name.equals("guarantees.md") ? 2_000 : 1_500);
    }
  }

  @Test
  void theDocumentsAreReadAtAll() throws IOException {
    assertThat(DocumentationTest.pages()
            .filter((page) -> !page.toString().matches(".*(zh-CN|/mysql-failover/).*"))
            .mapToInt(DocumentedNamesTest::words)
            .sum())
        .isLessThanOrEqualTo(25_000);
    assertThat(lines("README.md")).isLessThanOrEqualTo(150);
    assertThat(lines("CONTRIBUTING.md")).isLessThanOrEqualTo(80);
  }

  private static int lines(String page) throws IOException {
    return Files.readAllLines(ROOT.resolve(page)).size();
  }

  private static int words(Path page) {
    return DocumentationTest.text(page).strip().split("\\s+").length;
  }
}
