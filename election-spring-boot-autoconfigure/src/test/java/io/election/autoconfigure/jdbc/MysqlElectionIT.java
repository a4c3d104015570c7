package io.election.autoconfigure.jdbc;

import static io.election.autoconfigure.MysqlNode.awaitLeader;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import com.mysql.cj.jdbc.NonRegisteringDriver;
import io.election.autoconfigure.MysqlNode;
import io.election.support.TestServer;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Properties;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MysqlElectionIT extends DatabaseElectionContract {

  MysqlElectionIT() {
    super("mysql", TestServer.shared());
  }

  /** Wraps the driver as P6Spy does. */
  @Test
  void driverThatWrapsAnotherIsUsed() {
    this.application
        .withPropertyValues(
            "spring.datasource.driver-class-name=" + WrappingDriver.class.getName(),
            "spring.datasource.url=" + this.database.jdbcUrl().replace("jdbc:", "jdbc:wrapped:"))
        .run(MysqlNode::awaitLeader);
  }

  /** MariaDB shows connection attributes only if its performance_schema is on. */
  @ParameterizedTest
  @ValueSource(strings = {"mysql", "mariadb"})
  void connectionsOfTheElectionBearItsName(String driver) {
    assumeThat(this.database.server().isMariaDb()).isFalse();
    String programs = """
        SELECT GROUP_CONCAT(DISTINCT COALESCE(attr_value, 'none')) FROM information_schema.processlist
        LEFT JOIN performance_schema.session_connect_attrs
            ON processlist_id = id AND attr_name = 'program_name'
        WHERE db = DATABASE() AND id <> CONNECTION_ID()\
        """;
    this.application
        .withPropertyValues(
            "spring.datasource.type=org.springframework.jdbc.datasource.SimpleDriverDataSource",
            "spring.datasource.url=" + this.database.jdbcUrl(driver, ""))
        .run((context) -> {
          awaitLeader(context);
          assertThat(this.database.query(programs)).isEqualTo("election");
        });
  }

  /** Returns connections of another driver, whose URL follows the prefix of this one. */
  public static final class WrappingDriver extends NonRegisteringDriver {

    public WrappingDriver() throws SQLException {}

    @Override
    public @Nullable Connection connect(String url, Properties properties) throws SQLException {
      return acceptsURL(url)
          ? DriverManager.getConnection(url.replace(":wrapped:", ":"), properties)
          : null;
    }

    @Override
    public boolean acceptsURL(String url) {
      return url.startsWith("jdbc:wrapped:");
    }
  }
}
