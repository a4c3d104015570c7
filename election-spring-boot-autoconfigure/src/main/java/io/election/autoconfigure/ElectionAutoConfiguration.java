package io.election.autoconfigure;

import io.election.ElectionService;
import io.election.autoconfigure.settings.ElectionProperties;
import org.springframework.boot.LazyInitializationExcludeFilter;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;

/**
 * Auto-configuration of leader election. Provides an {@link ElectionService} according to {@code
 * as.election.algorithm}, unless the application has its own.
 */
@AutoConfiguration(
    afterName = {
      "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration",
      "org.springframework.boot.flyway.autoconfigure.FlywayAutoConfiguration",
      "org.springframework.boot.liquibase.autoconfigure.LiquibaseAutoConfiguration"
    })
@EnableConfigurationProperties(ElectionProperties.class)
@Import({
  ElectionsConfiguration.class,
  FixedElectionConfiguration.Disabled.class,
  LeaseElectionConfiguration.class,
  FixedElectionConfiguration.Allocated.class,
  UnavailableElectionConfiguration.class
})
public final class ElectionAutoConfiguration {

  ElectionAutoConfiguration() {}

  /** Makes invalid configuration fail the start even if all other beans are initialized lazily. */
  @Bean
  static LazyInitializationExcludeFilter electionsAreNotLazy() {
    return LazyInitializationExcludeFilter.forBeanTypes(ElectionService.class);
  }

  @Bean
  static ReplacedElections replacedElections() {
    return new ReplacedElections();
  }
}
