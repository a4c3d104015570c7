package io.election.embedded;

import java.nio.file.Path;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.context.annotation.Bean;

/**
 * Auto-configuration of the embedded database, for an application that names a directory for it and
 * has no other database.
 */
@AutoConfiguration(before = DataSourceAutoConfiguration.class)
@ConditionalOnProperty("sample.database.directory")
@ConditionalOnProperty(
    name = "spring.datasource.url",
    havingValue = "embedded",
    matchIfMissing = true)
public final class EmbeddedDatabaseAutoConfiguration {

  /** Joins the database, which is left after everything that uses it has ended. */
  @Bean
  EmbeddedDatabase embeddedDatabase(@Value("${sample.database.directory}") Path directory) {
    return EmbeddedDatabase.join(directory);
  }
}
