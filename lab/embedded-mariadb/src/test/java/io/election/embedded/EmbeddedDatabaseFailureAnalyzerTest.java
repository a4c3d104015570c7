package io.election.embedded;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.boot.diagnostics.FailureAnalysis;

class EmbeddedDatabaseFailureAnalyzerTest {

  @Test
  void saysWhyAndWhatToTypeInstead() {
    FailureAnalysis analysis = new EmbeddedDatabaseFailureAnalyzer()
        .analyze(new BeanCreationException(
            "embeddedDatabase",
            new EmbeddedDatabaseUnavailableException(
                "There is none for this platform (Linux, aarch64).", null)));

    assertThat(analysis.getDescription())
        .isEqualTo("spring.datasource.url is not set, and the embedded MariaDB is not available. "
            + "There is none for this platform (Linux, aarch64).");
    assertThat(analysis.getAction().lines().map(String::strip))
        .contains(
            "MYSQL_ROOT_PASSWORD=$SPRING_DATASOURCE_PASSWORD docker run --rm --name election-sample"
                + " -p 127.0.0.1:3306:3306 -e MYSQL_ROOT_PASSWORD -e MYSQL_DATABASE=sample mysql:9.7",
            "--spring.datasource.url=jdbc:mysql://localhost:3306/sample"
                + " --spring.datasource.username=root");
  }
}
