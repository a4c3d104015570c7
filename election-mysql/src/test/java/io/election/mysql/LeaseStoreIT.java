package io.election.mysql;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.election.lease.LeaseStore;
import io.election.mysql.OnEveryServer.Server;
import io.election.test.TestDatabase;
import io.election.testing.StoreFaults;
import javax.sql.DataSource;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.Parameter;

/**
 * Runs the contract with each driver, and with settings that users have in their URLs and pools:
 * the driver of MariaDB with the long tests.
 */
@OnEveryServer
class LeaseStoreIT {

  @Parameter
  Server server;

  @Nested
  @Tag("other-connections")
  class ConnectorJ extends SqlContract {

    ConnectorJ() {
      super(LeaseStoreIT.this.server::running, Connecting.by("mysql", ""));
    }
  }

  @Nested
  @Tag("other-connections")
  @Tag("default-server")
  class ConnectorJWithAffectedRowsAndServerSidePreparedStatementsInAnotherTimeZone extends Variant {

    ConnectorJWithAffectedRowsAndServerSidePreparedStatementsInAnotherTimeZone() {
      super(
          Connecting.by(
              "mysql",
              "useAffectedRows=true&useServerPrepStmts=true&cachePrepStmts=true&rewriteBatchedStatements=true"
                  + "&connectionTimeZone=America/New_York&sessionVariables=time_zone='-08:00',sql_mode=''"));
    }
  }

  @Nested
  @Tag("other-connections")
  @Tag("faults")
  class MariaDbDriver extends SqlContract {

    MariaDbDriver() {
      super(LeaseStoreIT.this.server::running, Connecting.by("mariadb", ""));
    }
  }

  @Nested
  @Tag("other-connections")
  @Tag("faults")
  class MariaDbDriverWithAffectedRows extends Variant {

    MariaDbDriverWithAffectedRows() {
      super(Connecting.by(
          "mariadb",
          "useAffectedRows=true&useServerPrepStmts=true&sessionVariables=time_zone='+10:30'"));
    }
  }

  @Nested
  class HikariWithoutAutoCommit extends SqlContract {

    HikariWithoutAutoCommit() {
      super(LeaseStoreIT.this.server::running, LeaseStoreIT::pool);
    }
  }

  /** Settings that make no difference when a connection breaks, and little when nodes race. */
  abstract class Variant extends SqlContract {

    Variant(Connecting connecting) {
      super(LeaseStoreIT.this.server::running, connecting);
    }

    @Override
    protected int rounds() {
      return 2;
    }

    @Override
    protected StoreFaults faults() {
      LeaseStore store = open();
      return () -> store;
    }
  }

  private static DataSource pool(TestDatabase database, int port) {
    HikariConfig config = new HikariConfig();
    config.setJdbcUrl(SqlContract.Connecting.at(port, database.jdbcUrl()));
    config.setUsername(database.username());
    config.setPassword(database.password());
    config.setAutoCommit(false);
    config.setMaximumPoolSize(16);
    config.setMinimumIdle(0);
    return new HikariDataSource(config);
  }
}
