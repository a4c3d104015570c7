package io.election.faults;

import io.election.test.process.Node;
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

/** Takes all connections of the application's pool and keeps them, like work that never ends. */
@Configuration(proxyBeanMethods = false)
class ExhaustedPool {

  private static final Logger log = LoggerFactory.getLogger(SamplingNode.class);

  private static final int CONNECTIONS = 2;

  private final List<Connection> held = new ArrayList<>();

  static Node on(Node node) {
    return node.with("spring.main.sources=" + ExhaustedPool.class.getName())
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
