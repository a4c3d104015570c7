package io.election.faults;

import io.election.autoconfigure.ElectionDataSource;
import io.election.support.MovingDataSource;
import io.election.support.TestDataSource;
import io.election.support.process.Node;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.ApplicationRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;

/** Unusual data sources of nodes. */
final class DataSources {

  private DataSources() {}

  /** Connections through a proxy that keeps them over a failover, to the server in a file. */
  @Configuration(proxyBeanMethods = false)
  static class KeepingProxy {

    static Node on(Node node, Path file) {
      return SamplingNode.with(KeepingProxy.class, node).with("test.server=" + file);
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

  /** Takes all connections of the application's pool and keeps them, like work that never ends. */
  @Configuration(proxyBeanMethods = false)
  static class ExhaustedPool {

    private static final Logger log = LoggerFactory.getLogger(SamplingNode.class);

    private static final int CONNECTIONS = 2;

    private final List<Connection> held = new ArrayList<>();

    static Node on(Node node) {
      return SamplingNode.with(ExhaustedPool.class, node)
          .with("spring.datasource.hikari.maximum-pool-size=" + CONNECTIONS)
          .with("spring.datasource.hikari.connection-timeout=250");
    }

    @Bean
    ApplicationRunner exhaust(DataSource pool) {
      return (arguments) -> {
        boolean refused = false;
        // On a slow machine the pool refuses before it is full, since connecting takes too long.
        while (!refused || this.held.size() < CONNECTIONS) {
          refused = !holdsAnother(pool);
        }
        log.info("the pool is exhausted, {} connections are held", this.held.size());
      };
    }

    private boolean holdsAnother(DataSource pool) throws SQLException {
      try {
        return this.held.add(pool.getConnection());
      } catch (SQLTransientConnectionException ex) {
        return false;
      }
    }
  }
}
