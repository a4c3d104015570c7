package io.election.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The requirements of Maven Central and of the module path. */
class PublishedModulesTest {

  private static final String[] PUBLISHED = {
    "election-core",
    "election-test",
    "election-jdbc",
    "election-key-value",
    "election-zookeeper",
    "election-etcd",
    "election-spring-boot-autoconfigure",
    "election-spring-boot-starter",
    "election-spring-boot-starter-postgresql",
    "election-bom"
  };

  @Test
  void thePomsSayWhereTheyComeFrom() throws IOException {
    assertThat(read(""))
        .contains("<url>${project.home}", "<licenses>", "<developers>", "<scm ")
        .contains("<connection>scm:git:${project.home}");
    assertThat(find("https://github\\.com/.*", read(""))).as("placeholders").hasSize(1);
  }

  @Test
  void theModulesThatApplicationsUseArePublishedAndNoOthers() throws IOException {
    List<String> published = new ArrayList<>();
    for (String module : find("<module>(.+)</module>", read(""))) {
      if (read(module).contains("<unpublished>false</unpublished>")) {
        published.add(module);
      }
    }
    assertThat(published).containsExactlyInAnyOrder(PUBLISHED);
  }

  @Test
  void theBomListsThePublishedModules() throws IOException {
    String listed = read("election-bom").replaceAll("(?s)^.*?<dependencyManagement>", "");
    List<String> expected = new ArrayList<>(List.of(PUBLISHED));
    expected.remove("election-bom");
    assertThat(find("<artifactId>(election-.+)</artifactId>", listed))
        .containsExactlyInAnyOrderElementsOf(expected);
  }

  /** Renaming a module later breaks the modules that require it. */
  @ParameterizedTest
  @CsvSource({
    "election-core, io.election.core",
    "election-test, io.election.test",
    "election-jdbc, io.election.jdbc",
    "election-key-value, io.election.keyvalue",
    "election-zookeeper, io.election.zookeeper",
    "election-etcd, io.election.etcd",
    "election-spring-boot-autoconfigure, io.election.autoconfigure"
  })
  void eachJarHasAModuleName(String module, String name) throws IOException {
    assertThat(read("")).contains("<Automatic-Module-Name>${module.name}</Automatic-Module-Name>");
    assertThat(read(module)).contains("<module.name>" + name + "</module.name>");
  }

  private static List<String> find(String pattern, String text) {
    return Pattern.compile(pattern)
        .matcher(text)
        .results()
        .map((found) -> found.group(found.groupCount()))
        .toList();
  }

  private static String read(String module) throws IOException {
    return Files.readString(Path.of("..", module, "pom.xml"));
  }
}
