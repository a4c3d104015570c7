package io.election.embedded;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Explains how to run the sample if the embedded database is unavailable. */
class EmbeddedDatabaseFailureAnalyzer
    extends AbstractFailureAnalyzer<EmbeddedDatabaseUnavailableException> {

  @Override
  protected FailureAnalysis analyze(
      Throwable rootFailure, EmbeddedDatabaseUnavailableException cause) {
    String description =
        "spring.datasource.url is not set, and the embedded MariaDB is not available. "
            + cause.getMessage();
    String action = """
        Use a MySQL or MariaDB of your own, or run one in Docker:

            export SPRING_DATASOURCE_PASSWORD=choose-one
            MYSQL_ROOT_PASSWORD=$SPRING_DATASOURCE_PASSWORD \
        docker run --rm --name election-sample -p 127.0.0.1:3306:3306 \
        -e MYSQL_ROOT_PASSWORD -e MYSQL_DATABASE=sample mysql:9.7

        and give each node of the sample the same variable and the address:

            --spring.datasource.url=jdbc:mysql://localhost:3306/sample \
        --spring.datasource.username=root
        """;
    return new FailureAnalysis(description, action, cause);
  }
}
