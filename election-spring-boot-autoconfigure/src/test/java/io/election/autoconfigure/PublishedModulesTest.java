package io.election.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The requirements of Maven Central and of the module path. */
class PublishedModulesTest {

  @Test
  void thePomsSayWhereTheyComeFrom() throws IOException {
    assertThat(read(""))
        .contains("<url>https://", "<licenses>", "<developers>", "<scm ", "<connection>scm:git:");
  }

  @Test
  void theModulesThatApplicationsUseArePublishedAndNoOthers() throws IOException {
    List<String> published = new ArrayList<>();
    for (MatchResult module :
        Pattern.compile("<module>(.+)</module>").matcher(read("")).results().toList()) {
      if (read(module.group(1)).contains("<unpublished>false</unpublished>")) {
        published.add(module.group(1));
      }
    }
    assertThat(published)
        .containsExactlyInAnyOrder(
            "election-core",
            "election-test",
            "election-mysql",
            "election-key-value",
            "election-zookeeper",
            "election-etcd",
            "election-spring-boot-autoconfigure",
            "election-spring-boot-starter");
  }

  /** Renaming a module later breaks the modules that require it. */
  @ParameterizedTest
  @CsvSource({
    "election-core, io.election.core",
    "election-test, io.election.test",
    "election-mysql, io.election.mysql",
    "election-key-value, io.election.keyvalue",
    "election-zookeeper, io.election.zookeeper",
    "election-etcd, io.election.etcd",
    "election-spring-boot-autoconfigure, io.election.autoconfigure"
  })
  void eachJarHasAModuleName(String module, String name) throws IOException {
    assertThat(read("")).contains("<Automatic-Module-Name>${module.name}</Automatic-Module-Name>");
    assertThat(read(module)).contains("<module.name>" + name + "</module.name>");
  }

  private static String read(String module) throws IOException {
    return Files.readString(Path.of("..", module, "pom.xml"));
  }
}
