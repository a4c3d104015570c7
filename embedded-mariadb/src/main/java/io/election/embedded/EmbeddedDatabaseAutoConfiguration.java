package io.election.embedded;

import java.nio.file.Path;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.context.annotation.Bean;

/** The database of nodes that were given none, in an application that names a directory for it. */
@AutoConfiguration(before = DataSourceAutoConfiguration.class)
@ConditionalOnProperty("sample.database.directory")
@ConditionalOnProperty(
    name = "spring.datasource.url",
    havingValue = "embedded",
    matchIfMissing = true)
public final class EmbeddedDatabaseAutoConfiguration {

  /**
   * Joins the database. It is left after all that uses it has ended, the election included, because
   * Spring destroys a bean after those that depend on it.
   */
  @Bean
  EmbeddedDatabase embeddedDatabase(@Value("${sample.database.directory}") Path directory) {
    return EmbeddedDatabase.join(directory);
  }
}
