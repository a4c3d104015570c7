package io.election.autoconfigure.mysql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariCredentialsProvider;
import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.util.Credentials;
import io.election.ElectionService;
import io.election.autoconfigure.ElectionAutoConfiguration;
import io.election.autoconfigure.leaderonly.LeaderOnlyAutoConfiguration;
import io.election.test.TestDatabase;
import java.time.Duration;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ApplicationContext;
import org.springframework.jdbc.datasource.DelegatingDataSource;

/** The election connects with the credentials of the application's pool. */
@ExtendWith(OutputCaptureExtension.class)
class CredentialsIT {

  private static final Duration LONG = Duration.ofSeconds(60);

  private static TestDatabase database = TestDatabase.newDatabase();

  private final ApplicationContextRunner application = new ApplicationContextRunner()
      .withConfiguration(AutoConfigurations.of(
          ElectionAutoConfiguration.class,
          MysqlElectionAutoConfiguration.class,
          LeaderOnlyAutoConfiguration.class,
          DataSourceAutoConfiguration.class))
      .withPropertyValues(
          "spring.application.name=orders",
          "as.election.lease-duration=3s",
          "as.election.renew-interval=500ms",
          "spring.datasource.url=" + database.jdbcUrl());

  @Test
  void thoseOfThePoolsOwnSettingsAreUsed() {
    this.application
        .withPropertyValues(
            "spring.datasource.username=nobody",
            "spring.datasource.hikari.username=" + database.username(),
            "spring.datasource.hikari.password=" + database.password())
        .run(CredentialsIT::awaitLeader);
  }

  @Test
  void thoseOfAProviderAreUsedAlsoBehindAWrapper() {
    this.application
        .withPropertyValues(
            "spring.datasource.hikari.credentials-provider-class-name=" + Provider.class.getName())
        .withBean(Wrapper.class)
        .run(CredentialsIT::awaitLeader);
  }

  @Test
  void thoseThatAreSetAtRunTimeAreUsedFromTheNextConnectionOn() {
    String first = newUser("first_");
    String second = newUser("second_");
    this.application
        .withPropertyValues(
            "spring.datasource.username=" + first,
            "spring.datasource.password=" + database.password())
        .run((context) -> {
          awaitLeader(context);
          HikariDataSource pool = context.getBean(HikariDataSource.class);
          pool.getHikariConfigMXBean().setCredentials(Credentials.of(second, database.password()));
          database.execute("DROP USER '" + first + "'@'%'");
          await().atMost(LONG).until(() -> {
            String connection = database.query(
                "SELECT MIN(id) FROM information_schema.processlist WHERE user = '" + first + "'");
            if (connection != null) {
              database.execute("KILL " + connection);
            }
            return connection == null;
          });
          await().atMost(LONG).until(() -> !"0".equals(connections(second)));
          awaitLeader(context);
          assertThat(connections(first)).isEqualTo("0");
        });
  }

  @Test
  void refusalSaysWhereTheyWereRead(CapturedOutput output) {
    this.application
        .withPropertyValues(
            "spring.datasource.hikari.username=" + database.username(),
            "spring.datasource.hikari.password=wrong")
        .run((context) -> assertThat(context).hasNotFailed());
    assertThat(output)
        .contains("They are read anew at the next attempt, from the connection pool.");
  }

  @Test
  void providerThatFailsMakesAFollower(CapturedOutput output) {
    this.application
        .withPropertyValues("spring.datasource.hikari.credentials-provider-class-name="
            + FailingProvider.class.getName())
        .run((context) -> assertThat(context).hasNotFailed());
    assertThat(output).contains("the vault is sealed").contains("starts as a follower");
  }

  @Test
  void withoutHikariThoseOfTheConnectionDetailsAreUsed() {
    this.application
        .withClassLoader(new FilteredClassLoader("com.zaxxer.hikari"))
        .withPropertyValues(
            "spring.datasource.type=org.springframework.jdbc.datasource.SimpleDriverDataSource",
            "spring.datasource.username=" + database.username(),
            "spring.datasource.password=" + database.password())
        .run(CredentialsIT::awaitLeader);
  }

  private static String newUser(String prefix) {
    return database.newUser(prefix + database.name(), "ALL ON " + database.name() + ".*");
  }

  private static String connections(String user) {
    return database.query(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE user = '" + user + "'");
  }

  private static void awaitLeader(ApplicationContext context) {
    await().atMost(LONG).until(context.getBean(ElectionService.class)::isLeader);
  }

  public static final class Provider implements HikariCredentialsProvider {

    @Override
    public Credentials getCredentials() {
      return Credentials.of(database.username(), database.password());
    }
  }

  public static final class FailingProvider implements HikariCredentialsProvider {

    @Override
    public Credentials getCredentials() {
      throw new IllegalStateException("the vault is sealed");
    }
  }

  static class Wrapper implements BeanPostProcessor {

    @Override
    public Object postProcessAfterInitialization(Object bean, String name) {
      return bean instanceof DataSource dataSource ? new DelegatingDataSource(dataSource) : bean;
    }
  }
}
