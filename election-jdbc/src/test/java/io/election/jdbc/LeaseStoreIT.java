package io.election.jdbc;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.election.jdbc.OnEveryServer.Server;
import io.election.support.TestDatabase;
import java.util.Locale;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.Parameter;

/**
 * Runs the contract by the product's driver, and with settings that users have in their URLs and
 * pools.
 */
@OnEveryServer(postgresql = true, alike = true)
class LeaseStoreIT {

  @Parameter
  Server server;

  @Nested
  @Tag("other-connections")
  @Tag("long")
  class Unpooled extends SqlContract {

    Unpooled() {
      super(LeaseStoreIT.this.server::running, Connecting.by(""));
    }
  }

  @Nested
  @Tag("other-connections")
  @Tag("long")
  class ConnectorJWithAffectedRowsAndServerSidePreparedStatementsInAnotherTimeZoneAndLocale
      extends SettingsContract {

    private final Locale before = Locale.getDefault();

    ConnectorJWithAffectedRowsAndServerSidePreparedStatementsInAnotherTimeZoneAndLocale() {
      super(
          LeaseStoreIT.this.server::running,
          Connecting.by(
              "mysql",
              "useAffectedRows=true&useServerPrepStmts=true&cachePrepStmts=true&rewriteBatchedStatements=true"
                  + "&connectionTimeZone=America/New_York&sessionVariables=time_zone='-08:00',sql_mode=''"));
    }

    /** A locale whose digits are not those of SQL. */
    @BeforeAll
    void inAnotherLocale() {
      assumeTrue(
          LeaseStoreIT.this.server.compareTo(Server.NEWEST_POSTGRESQL) < 0,
          "these are parameters of MySQL's");
      Locale.setDefault(Locale.forLanguageTag("fa-IR"));
    }

    @AfterAll
    void inTheLocaleFromBefore() {
      Locale.setDefault(this.before);
    }
  }

  @Nested
  class HikariWithoutAutoCommit extends SqlContract {

    HikariWithoutAutoCommit() {
      super(LeaseStoreIT.this.server::running, LeaseStoreIT::pool);
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
