package io.election.mysql;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.election.mysql.OnEveryServer.Server;
import io.election.test.TestDataSource;
import io.election.test.TestDatabase;
import io.election.test.TestServer;
import javax.sql.DataSource;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.params.Parameter;

/** The contract with each driver, and with what users set in their URLs and pools. */
@OnEveryServer
class LeaseStoreIT {

  @Parameter
  Server server;

  @Nested
  class ConnectorJ extends OnThisServer {

    @Override
    DataSource dataSource(TestDatabase database) {
      return source(database, "mysql", "");
    }
  }

  @Nested
  class ConnectorJWithAffectedRows extends OnThisServer {

    @Override
    DataSource dataSource(TestDatabase database) {
      return source(database, "mysql", "useAffectedRows=true");
    }
  }

  @Nested
  class ConnectorJWithServerSidePreparedStatementsInAnotherTimeZone extends OnThisServer {

    @Override
    DataSource dataSource(TestDatabase database) {
      return source(
          database,
          "mysql",
          "useServerPrepStmts=true&cachePrepStmts=true&rewriteBatchedStatements=true"
              + "&connectionTimeZone=America/New_York&sessionVariables=time_zone='-08:00',sql_mode=''");
    }
  }

  @Nested
  class MariaDbDriver extends OnThisServer {

    @Override
    DataSource dataSource(TestDatabase database) {
      return source(database, "mariadb", "");
    }
  }

  @Nested
  class MariaDbDriverWithAffectedRows extends OnThisServer {

    @Override
    DataSource dataSource(TestDatabase database) {
      return source(
          database,
          "mariadb",
          "useAffectedRows=true&useServerPrepStmts=true&sessionVariables=time_zone='+10:30'");
    }
  }

  @Nested
  class HikariWithoutAutoCommit extends OnThisServer {

    @Override
    DataSource dataSource(TestDatabase database) {
      HikariConfig config = new HikariConfig();
      config.setJdbcUrl(database.jdbcUrl());
      config.setUsername(database.username());
      config.setPassword(database.password());
      config.setAutoCommit(false);
      config.setMaximumPoolSize(2);
      return new HikariDataSource(config);
    }
  }

  private static DataSource source(TestDatabase database, String driver, String parameters) {
    return new TestDataSource(
        database.jdbcUrl(driver, parameters), database.username(), database.password());
  }

  /** The contract on the outer class's server. */
  abstract class OnThisServer extends LeaseTablesContract {

    @Override
    TestServer server() {
      return LeaseStoreIT.this.server.running();
    }
  }
}
