package io.election.faults;

import io.election.autoconfigure.ElectionDataSource;
import io.election.test.MovingDataSource;
import io.election.test.TestDataSource;
import io.election.test.process.Node;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import javax.sql.DataSource;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;

/**
 * The election's connections through a proxy that keeps its clients over a failover. They lead to
 * the server whose URL is in a file.
 */
@Configuration(proxyBeanMethods = false)
class KeepingProxy {

  static Node on(Node node, Path file) {
    return node.with("spring.main.sources=" + KeepingProxy.class.getName())
        .with("test.server=" + file);
  }

  @Bean(defaultCandidate = false)
  @ElectionDataSource
  DataSource electionDataSource(Environment environment) {
    Path file = Path.of(environment.getRequiredProperty("test.server"));
    String username = environment.getRequiredProperty("spring.datasource.username");
    String password = environment.getRequiredProperty("spring.datasource.password");
    return new MovingDataSource(() -> new TestDataSource(url(file), username, password));
  }

  private static String url(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }
}
