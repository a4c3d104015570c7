package io.election.benchmarks.sidebyside;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import javax.sql.DataSource;
import org.springframework.dao.DuplicateKeyException;
import org.springframework.jdbc.core.JdbcTemplate;

/** The connections of candidates that have none, configured as by Spring Boot. */
final class Pool {

  private Pool() {}

  static DataSource open(CandidateSettings settings, String parameters) {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(settings.place().address() + parameters);
    config.setUsername(settings.place().username());
    config.setPassword(settings.place().password());
    config.setMinimumIdle(1);
    if (settings.node().contains("-")) {
      // One of hundreds of nodes in this process needs no more.
      config.setMaximumPoolSize(2);
    }
    return new HikariDataSource(config);
  }

  /** Creates a table unless another node has created it. */
  static void createTable(DataSource dataSource, String sql) {
    try {
      new JdbcTemplate(dataSource)
          .execute(sql.replace("CREATE TABLE ", "CREATE TABLE IF NOT EXISTS "));
    } catch (DuplicateKeyException ex) {
      // On PostgreSQL another node has created it at this moment.
    }
  }
}
