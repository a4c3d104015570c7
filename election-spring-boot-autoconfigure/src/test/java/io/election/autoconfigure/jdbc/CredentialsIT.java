package io.election.autoconfigure.jdbc;

import static io.election.autoconfigure.MysqlNode.patiently;
import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariCredentialsProvider;
import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.util.Credentials;
import io.election.autoconfigure.MysqlNode;
import io.election.support.TestDatabase;
import javax.sql.DataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.jdbc.datasource.DelegatingDataSource;

/** The election connects with the credentials of the application's pool. */
@ExtendWith(OutputCaptureExtension.class)
@Tag("faults")
class CredentialsIT {

  private static final TestDatabase DATABASE = MysqlNode.newDatabase();

  /** The credentials of each test follow from these settings alone. */
  private final ApplicationContextRunner application = MysqlNode.on(DATABASE)
      .withPropertyValues("spring.datasource.username=nobody", "spring.datasource.password=none");

  @Test
  void thoseOfAProviderAreUsedAlsoBehindAWrapper() {
    this.application
        .withPropertyValues(
            "spring.datasource.hikari.credentials-provider-class-name=" + Provider.class.getName())
        .withBean(Wrapper.class)
        .run(MysqlNode::awaitLeader);
  }

  @Test
  void thoseThatAreSetAtRunTimeAreUsedFromTheNextConnectionOn() {
    String first = newUser("first_");
    String second = newUser("second_");
    this.application
        .withPropertyValues(
            "spring.datasource.username=" + first,
            "spring.datasource.password=" + DATABASE.password())
        .run((context) -> {
          MysqlNode.awaitLeader(context);
          HikariDataSource pool = context.getBean(HikariDataSource.class);
          pool.getHikariConfigMXBean().setCredentials(Credentials.of(second, DATABASE.password()));
          DATABASE.execute("DROP USER '" + first + "'@'%'");
          patiently().until(() -> {
            String connection = DATABASE.query(
                "SELECT MIN(id) FROM information_schema.processlist WHERE user = '" + first + "'");
            if (connection != null) {
              DATABASE.execute("KILL " + connection);
            }
            return connection == null;
          });
          patiently().until(() -> !"0".equals(connections(second)));
          MysqlNode.awaitLeader(context);
          assertThat(connections(first)).isEqualTo("0");
        });
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
            "spring.datasource.username=" + DATABASE.username(),
            "spring.datasource.password=" + DATABASE.password())
        .run(MysqlNode::awaitLeader);
  }

  private static String newUser(String prefix) {
    return DATABASE.newUser(prefix + DATABASE.name(), "ALL ON " + DATABASE.name() + ".*");
  }

  private static String connections(String user) {
    return DATABASE.query(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE user = '" + user + "'");
  }

  public static final class Provider implements HikariCredentialsProvider {

    @Override
    public Credentials getCredentials() {
      return Credentials.of(DATABASE.username(), DATABASE.password());
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
