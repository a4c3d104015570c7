package io.election.autoconfigure.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.mysql.cj.jdbc.MysqlDataSource;
import com.zaxxer.hikari.HikariDataSource;
import io.election.ElectionService;
import io.election.autoconfigure.ElectionDataSource;
import io.election.autoconfigure.MysqlNode;
import io.election.autoconfigure.StartFailure;
import io.election.support.TestDatabase;
import java.sql.SQLException;
import java.util.List;
import java.util.Properties;
import javax.sql.DataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.datasource.IsolationLevelDataSourceAdapter;
import org.springframework.jdbc.datasource.LazyConnectionDataSourceProxy;
import org.springframework.jdbc.datasource.UserCredentialsDataSourceAdapter;

/** The election's connections are neither weaker than the pool's, nor other ones. */
@ExtendWith(OutputCaptureExtension.class)
@Tag("faults")
class PoolSettingsIT {

  private static final String HIKARI = "spring.datasource.hikari.";

  private static final String ROLE = "rights_of_election";

  private final TestDatabase database = MysqlNode.newDatabase();

  private final ApplicationContextRunner application = MysqlNode.on(this.database);

  /** The server's certificate is self-signed, or it has none at all. */
  @ParameterizedTest
  @ValueSource(strings = {"mysql", "mariadb"})
  void serverWithoutTheDemandedCertificateIsRefusedAsByThePool(
      String driver, CapturedOutput output) {
    this.application
        .withPropertyValues(
            "spring.datasource.url=" + this.database.jdbcUrl(driver, "").replaceFirst("\\?.*", ""),
            HIKARI + "data-source-properties.sslMode="
                + (driver.equals("mysql") ? "VERIFY_IDENTITY" : "verify-full"),
            HIKARI + "connection-timeout=250")
        .run((context) -> {
          assertThatThrownBy(() -> context.getBean(DataSource.class).getConnection())
              .isInstanceOf(SQLException.class);
          assertThat(context.getBean(ElectionService.class).isLeader()).isFalse();
          assertThat(output).contains("This node starts as a follower");
          assertThat(this.database.query(
                  "SELECT COUNT(*) FROM information_schema.processlist WHERE user = '"
                      + this.database.username() + "'"))
              .isEqualTo("0");
        });
  }

  @Test
  void roleIsSetAsInThePool() {
    String user = this.database.newUser("role_" + this.database.name());
    this.database.execute(
        "CREATE ROLE IF NOT EXISTS " + ROLE,
        "GRANT ALL ON " + this.database.name() + ".* TO " + ROLE,
        "GRANT " + ROLE + " TO '" + user + "'@'%'",
        this.database.server().isMariaDb()
            ? "GRANT USAGE ON *.* TO '" + user + "'@'%'"
            : "SET DEFAULT ROLE NONE TO '" + user + "'@'%'");
    this.application
        .withPropertyValues(
            // Without the role the database cannot be reached at all.
            "spring.datasource.url="
                + this.database.jdbcUrl().replace("/" + this.database.name() + "?", "/?"),
            "spring.datasource.username=" + user,
            "spring.datasource.password=" + this.database.password(),
            HIKARI + "data-source-properties.allowMultiQueries=true",
            HIKARI + "connection-init-sql=SET ROLE " + ROLE + "; USE " + this.database.name())
        .run(MysqlNode::awaitLeader);
  }

  @Test
  void catalogOfThePoolIsUsed() {
    String url = this.database.jdbcUrl().replace("/" + this.database.name() + "?", "/?");
    this.application
        .withPropertyValues(
            "spring.datasource.url=" + url, HIKARI + "catalog=" + this.database.name())
        .run(MysqlNode::awaitLeader);
  }

  @Test
  void urlOfThePoolIsUsed() {
    this.application
        .withPropertyValues(
            "spring.datasource.url=jdbc:mysql://host.invalid/app",
            HIKARI + "jdbc-url=" + this.database.jdbcUrl())
        .run(MysqlNode::awaitLeader);
  }

  @Test
  void initSqlThatFailsIsNamed(CapturedOutput output) {
    this.application
        .withPropertyValues(HIKARI + "connection-init-sql=SET no_such_variable = 1")
        .run((context) ->
            assertThat(context.getBean(ElectionService.class).isLeader()).isFalse());
    assertThat(output).contains("connection-init-sql of the pool failed: ");
  }

  @Test
  void sourceWithPropertiesOfItsOwnIsRefused() {
    DriverManagerDataSource source = new DriverManagerDataSource(
        this.database.jdbcUrl(), this.database.username(), this.database.password());
    Properties properties = new Properties();
    properties.setProperty("sslMode", "VERIFY_IDENTITY");
    source.setConnectionProperties(properties);
    assertThat(StartFailure.text(
            MysqlNode.withoutDataSource(this.database).withBean(DataSource.class, () -> source)))
        .contains("connectionProperties of the DataSource", "sslMode=VERIFY_IDENTITY")
        .contains("PostgreSQL ignores these names", "sslmode=verify-full", "options=-c");
  }

  /** Their connections may be verified, or of another user. */
  @Test
  void sourceOrWrapperWithOtherConnectionsIsRefused() throws SQLException {
    DriverManagerDataSource plain = new DriverManagerDataSource(
        this.database.jdbcUrl(), this.database.username(), this.database.password());
    UserCredentialsDataSourceAdapter reader = new UserCredentialsDataSourceAdapter();
    reader.setTargetDataSource(plain);
    reader.setUsername("reader");
    IsolationLevelDataSourceAdapter pooled = new IsolationLevelDataSourceAdapter();
    HikariDataSource pool = new HikariDataSource();
    pool.setJdbcUrl(this.database.jdbcUrl());
    pooled.setTargetDataSource(new LazyConnectionDataSourceProxy(pool));
    MysqlDataSource verified = new MysqlDataSource();
    verified.setUrl("jdbc:mysql://127.0.0.1/none");
    verified.setUser("app");
    verified.setPassword("secret");
    verified.setSslMode("VERIFY_IDENTITY");
    for (DataSource each : List.of(reader, pooled, verified)) {
      assertThat(StartFailure.text(
              MysqlNode.withoutDataSource(this.database).withBean(DataSource.class, () -> each)))
          .contains(each.getClass().getName() + " may give", "@ElectionDataSource");
    }
  }

  @Test
  void wrappersThatPassConnectionsOnAreUnwrapped() {
    DataSource wrapped = new LazyConnectionDataSourceProxy(new DriverManagerDataSource(
        this.database.jdbcUrl(), this.database.username(), this.database.password()));
    MysqlNode.withoutDataSource(this.database)
        .withBean(DataSource.class, () -> wrapped)
        .run(MysqlNode::awaitLeader);
  }

  /** With R2DBC, for example, there is no pool that has these settings. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "hikari.data-source-properties.sslMode=VERIFY_IDENTITY",
        "hikari.connection-init-sql=SET ROLE rw",
        "dbcp2.connection-properties=sslMode=VERIFY_IDENTITY",
        "dbcp2.connection-init-sqls=SET ROLE rw",
        "tomcat.connection-properties=sslMode=VERIFY_IDENTITY",
        "tomcat.init-s-q-l=SET ROLE rw",
        "oracleucp.connection-properties.sslMode=VERIFY_IDENTITY"
      })
  void settingOfAPoolThatIsNotKnownIsRefused(String setting) {
    assertThat(StartFailure.text(MysqlNode.withoutDataSource(this.database)
            .withPropertyValues("spring.datasource." + setting)))
        .contains("what spring.datasource." + setting.replaceFirst("(\\.sslMode)?=.*", ""));
  }

  @Test
  void markedPoolLogsNothing(CapturedOutput output) {
    MysqlNode.withoutDataSource(this.database)
        .withBean(TestDatabase.class, () -> this.database)
        .withUserConfiguration(MarkedPool.class)
        .run((context) -> {
          MysqlNode.awaitLeader(context);
          assertThat(context.getBean("forElections", HikariDataSource.class).isRunning())
              .as("a connection was taken from the pool")
              .isFalse();
        });
    assertThat(output).doesNotContain("marked as broken", "Exception");
  }

  @Configuration(proxyBeanMethods = false)
  static class MarkedPool {

    @Bean(defaultCandidate = false)
    @ElectionDataSource
    HikariDataSource forElections(TestDatabase database) {
      HikariDataSource pool = new HikariDataSource();
      pool.setJdbcUrl(database.jdbcUrl());
      pool.setUsername(database.username());
      pool.setPassword(database.password());
      pool.setConnectionInitSql("SET @used = 1");
      return pool;
    }
  }
}
