package io.election.autoconfigure;

import static org.awaitility.Awaitility.await;

import io.election.ElectionOperations;
import io.election.support.TestDatabase;
import io.election.support.TestServer;
import java.time.Duration;
import java.util.stream.Stream;
import org.awaitility.core.ConditionFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.context.annotation.Configurations;
import org.springframework.boot.context.annotation.ImportCandidates;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.DeferredImportSelector;
import org.springframework.core.type.AnnotationMetadata;
import org.springframework.util.ClassUtils;
import org.springframework.util.StringUtils;

/** A node of the election {@code orders} on a real database: MySQL if nothing else is said. */
public final class MysqlNode {

  /** All that the starter configures. */
  public static final AutoConfigurations STARTER = AutoConfigurations.of(
      ImportCandidates.load(AutoConfiguration.class, null).getCandidates().stream()
          .filter((name) -> name.startsWith("io.election.autoconfigure."))
          .map((name) -> ClassUtils.resolveClassName(name, null))
          .toArray(Class<?>[]::new));

  /** Imports all that the starter configures. */
  public static final class Starter implements DeferredImportSelector {

    @Override
    public String[] selectImports(AnnotationMetadata importing) {
      return StringUtils.toStringArray(
          Stream.of(Configurations.getClasses(STARTER)).map(Class::getName).toList());
    }
  }

  private MysqlNode() {}

  /** Creates a database whose lease is free, so that the first node leads at once. */
  public static TestDatabase newDatabase(TestServer server) {
    TestDatabase database = server.newDatabase().withTables();
    database.execute(
        "INSERT INTO leader_election (service_id, leader_id, lease_millis) VALUES ('orders', '', 0)");
    return database;
  }

  public static TestDatabase newDatabase() {
    return newDatabase(TestServer.shared());
  }

  /** Takes all elections over, as another node does when the lease has expired. */
  public static void takeOver(TestDatabase database) {
    database.execute(
        "UPDATE leader_election SET leader_id = 'b', lease_millis = 60000, term = term + 1, version = version + 1",
        "UPDATE leader_election_history SET ended_at = CURRENT_TIMESTAMP(6) WHERE ended_at IS NULL");
  }

  /** The values of a column in an order, with commas; {@code null} if there are no rows. */
  public static @Nullable String list(
      TestDatabase database, String column, String order, String rest) {
    boolean postgresql = database.server().product() == TestServer.Product.POSTGRESQL;
    String list = postgresql
        ? "STRING_AGG(CAST(%s AS text), ',' ORDER BY %s)"
        : "GROUP_CONCAT(%s ORDER BY %s)";
    return database.query("SELECT " + list.formatted(column, order) + " FROM " + rest);
  }

  public static String[] properties(TestDatabase database) {
    return new String[] {
      "spring.application.name=orders",
      "as.election.node-id=a",
      "as.election.lease-duration=2s",
      "as.election.renew-interval=300ms",
      "as.election.operation-timeout=700ms",
      "spring.datasource.url=" + database.jdbcUrl(),
      "spring.datasource.username=" + database.username(),
      "spring.datasource.password=" + database.password()
    };
  }

  public static ApplicationContextRunner withoutDataSource(TestDatabase database) {
    return new ApplicationContextRunner()
        .withConfiguration(STARTER)
        .withPropertyValues(properties(database));
  }

  public static ApplicationContextRunner on(TestDatabase database) {
    return withoutDataSource(database)
        .withConfiguration(AutoConfigurations.of(DataSourceAutoConfiguration.class));
  }

  public static ElectionOperations awaitLeader(ApplicationContext context) {
    ElectionOperations election = context.getBean(ElectionOperations.class);
    patiently().until(election::isLeader);
    return election;
  }

  public static ConditionFactory patiently() {
    return await().atMost(Duration.ofSeconds(60));
  }
}
