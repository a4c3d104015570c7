package io.election.autoconfigure.jdbc;

import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.core.annotation.Order;
import org.springframework.core.env.Environment;

/**
 * Tells an application without a database what to set. The failure comes from Spring Boot's pool,
 * which is created first. Spring Boot does not know that the starter brings JDBC, and that JDBC
 * stays when the election is switched off.
 */
@Order(0)
final class MissingDatabaseFailureAnalyzer extends AbstractFailureAnalyzer<BeanCreationException> {

  private static final String MESSAGE = "Failed to determine a suitable driver class";

  private final Environment environment;

  MissingDatabaseFailureAnalyzer(Environment environment) {
    this.environment = environment;
  }

  @Override
  protected @Nullable FailureAnalysis analyze(Throwable rootFailure, BeanCreationException cause) {
    if (this.environment.containsProperty("spring.datasource.url")) {
      return null;
    }
    for (Throwable each = rootFailure; each != null; each = each.getCause()) {
      String message = each.getMessage();
      if (message != null && message.endsWith(MESSAGE)) {
        return new FailureAnalysis(
            "Failed to configure a DataSource: spring.datasource.url is not set.", """
            Set spring.datasource.url to that of a MySQL, MariaDB or PostgreSQL database. In an application without a database write both
            spring.autoconfigure.exclude=org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration
            (election-spring-boot-starter brings JDBC), and as.election.algorithm=ManualAllocation, Zookeeper or Etcd; as.election.enabled=false only in tests.\
            """, cause);
      }
    }
    return null;
  }
}
