package io.election.autoconfigure.jdbc;

import io.election.jdbc.JdbcLeaseStore;
import org.flywaydb.core.Flyway;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.flyway.autoconfigure.FlywayConfigurationCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.core.env.Environment;

/**
 * Auto-configuration that lets the application's own first Flyway run treat a schema as empty if it
 * holds only tables of the election. Independent of the election's settings, because the tables
 * stay when those change.
 */
@AutoConfiguration
@ConditionalOnClass({Flyway.class, FlywayConfigurationCustomizer.class, JdbcLeaseStore.class})
public final class FlywayBaselineAutoConfiguration {

  FlywayBaselineAutoConfiguration() {}

  /** Ordered after the application's own customizers, so that it sees what they have set. */
  @Bean
  @Order(Ordered.LOWEST_PRECEDENCE)
  FlywayConfigurationCustomizer electionFlywayBaseline(Environment environment) {
    return new FlywayBaseline(environment.containsProperty("spring.flyway.baseline-version"));
  }
}
