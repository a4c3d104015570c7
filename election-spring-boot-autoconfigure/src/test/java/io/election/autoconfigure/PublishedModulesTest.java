package io.election.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The requirements of Maven Central and of the module path. */
class PublishedModulesTest {

  @Test
  void thePomsSayWhereTheyComeFrom() throws IOException {
    assertThat(Files.readString(Path.of("../pom.xml")))
        .contains("<url>https://", "<licenses>", "<developers>", "<scm ", "<connection>scm:git:");
  }

  /** Renaming a module later breaks the modules that require it. */
  @ParameterizedTest
  @CsvSource({
    "election-core, io.election.core",
    "election-test, io.election.testing",
    "election-mysql, io.election.mysql",
    "election-spring-boot-autoconfigure, io.election.autoconfigure"
  })
  void eachJarHasAModuleName(String module, String name) throws IOException {
    assertThat(Files.readString(Path.of("../pom.xml")))
        .contains("<Automatic-Module-Name>${module.name}</Automatic-Module-Name>");
    assertThat(Files.readString(Path.of("..", module, "pom.xml")))
        .contains("<module.name>" + name + "</module.name>");
  }
}
