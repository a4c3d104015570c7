package io.election.mysql;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.election.mysql.OnEveryServer.Server;
import io.election.test.TestDataSource;
import io.election.test.TestDatabase;
import io.election.test.TestServer;
import java.util.function.Function;
import javax.sql.DataSource;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.params.Parameter;

/**
 * Runs the contract with each driver, and with settings that users have in their URLs and pools.
 */
@OnEveryServer
class LeaseStoreIT {

  @Parameter
  Server server;

  @Nested
  class ConnectorJ extends OnThisServer {

    ConnectorJ() {
      super("mysql", "");
    }
  }

  @Nested
  class ConnectorJWithAffectedRows extends OnThisServer {

    ConnectorJWithAffectedRows() {
      super("mysql", "useAffectedRows=true");
    }
  }

  @Nested
  class ConnectorJWithServerSidePreparedStatementsInAnotherTimeZone extends OnThisServer {

    ConnectorJWithServerSidePreparedStatementsInAnotherTimeZone() {
      super(
          "mysql",
          "useServerPrepStmts=true&cachePrepStmts=true&rewriteBatchedStatements=true"
              + "&connectionTimeZone=America/New_York&sessionVariables=time_zone='-08:00',sql_mode=''");
    }
  }

  @Nested
  class MariaDbDriver extends OnThisServer {

    MariaDbDriver() {
      super("mariadb", "");
    }
  }

  @Nested
  class MariaDbDriverWithAffectedRows extends OnThisServer {

    MariaDbDriverWithAffectedRows() {
      super(
          "mariadb",
          "useAffectedRows=true&useServerPrepStmts=true&sessionVariables=time_zone='+10:30'");
    }
  }

  @Nested
  class HikariWithoutAutoCommit extends OnThisServer {

    HikariWithoutAutoCommit() {
      super(LeaseStoreIT::pool);
    }
  }

  private static DataSource pool(TestDatabase database) {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(database.jdbcUrl());
    config.setUsername(database.username());
    config.setPassword(database.password());
    config.setAutoCommit(false);
    config.setMaximumPoolSize(2);
    return new HikariDataSource(config);
  }

  /** The contract on the outer class's server, with one kind of connection. */
  abstract class OnThisServer extends LeaseTablesContract {

    private final Function<TestDatabase, DataSource> connecting;

    OnThisServer(Function<TestDatabase, DataSource> connecting) {
      this.connecting = connecting;
    }

    OnThisServer(String driver, String parameters) {
      this(database -> new TestDataSource(
          database.jdbcUrl(driver, parameters), database.username(), database.password()));
    }

    @Override
    TestServer server() {
      return LeaseStoreIT.this.server.running();
    }

    @Override
    DataSource dataSource(TestDatabase database) {
      return this.connecting.apply(database);
    }
  }
}
