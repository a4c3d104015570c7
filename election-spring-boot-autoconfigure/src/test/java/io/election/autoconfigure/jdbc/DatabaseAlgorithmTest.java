package io.election.autoconfigure.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.autoconfigure.ElectionBackend;
import io.election.autoconfigure.ElectionDataSource;
import io.election.autoconfigure.MysqlNode;
import io.election.autoconfigure.PostgresqlContainer;
import io.election.autoconfigure.StartFailure;
import io.election.autoconfigure.commitfence.FencedDatabase;
import io.election.store.JointLeaseStore;
import io.election.store.LeaseStore;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcConnectionDetails;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/** Which product's store is there, and in which database. No server answers: the nodes follow. */
@ExtendWith(OutputCaptureExtension.class)
class DatabaseAlgorithmTest {

  private static final String MYSQL = "jdbc:mysql://127.0.0.1:1/orders";

  private static final String POSTGRESQL = "jdbc:postgresql://127.0.0.1:1/orders";

  private final ApplicationContextRunner application = new ApplicationContextRunner()
      .withConfiguration(MysqlNode.STARTER)
      .withConfiguration(AutoConfigurations.of(DataSourceAutoConfiguration.class))
      .withPropertyValues("spring.application.name=orders");

  @ParameterizedTest
  @CsvSource({
    "spring.datasource.url, " + MYSQL + ", Mysql",
    "spring.datasource.url, " + POSTGRESQL + ", Postgresql",
    "spring.datasource.hikari.jdbc-url, " + POSTGRESQL + ", Postgresql"
  })
  void urlDecidesWithoutAName(
      String property, String url, String algorithm, CapturedOutput output) {
    this.application
        .withPropertyValues(property + "=" + url + "?password=s3cret")
        .run((context) -> {
          assertThat(context.getBeanNamesForType(LeaseStore.class))
              .containsExactly(algorithm.toLowerCase() + "LeaseStore");
          assertThat(context.getBean(ElectionBackend.class).algorithm()).isEqualTo(algorithm);
        });
    assertThat(output.getOut().lines().filter((line) -> line.contains(" by default")))
        .singleElement()
        .asString()
        .contains(" INFO ", "as.election.algorithm is %s by default".formatted(algorithm))
        .endsWith("as the election's database is " + url);
  }

  /** A container of a test, for example, whose URL no setting holds. */
  @Test
  void databaseThatABeanHoldsDecides(CapturedOutput output) {
    this.application
        .withPropertyValues("spring.datasource.url=" + MYSQL)
        .withBean(JdbcConnectionDetails.class, PostgresqlContainer::new)
        .run((context) -> assertThat(context).hasNotFailed());
    assertThat(output).contains("algorithm is Postgresql by default");
  }

  @Test
  void markedDataSourceDecides(CapturedOutput output) {
    this.application
        .withPropertyValues("spring.datasource.url=" + MYSQL)
        .withUserConfiguration(MarkedPostgresql.class)
        .run((context) -> assertThat(context).hasNotFailed());
    assertThat(output)
        .contains("algorithm is Postgresql by default", "127.0.0.1:1/orders cannot be reached");
  }

  @ParameterizedTest
  @CsvSource({
    "Mysql, MySQL or MariaDB, Postgresql, " + POSTGRESQL,
    "Mysql, MySQL or MariaDB, Postgresql, jdbc:tc:postgresql:18:///orders",
    "Postgresql, PostgreSQL, Mysql, " + MYSQL
  })
  void nameOfTheOtherProductIsRefused(String named, String needed, String other, String url) {
    assertThat(StartFailure.text(this.application.withPropertyValues(
            "spring.datasource.driver-class-name=org.postgresql.Driver",
            "as.election.algorithm=" + named,
            "spring.datasource.url=" + url)))
        .contains(
            "%s of as.election.algorithm needs %s, but the DataSource is".formatted(named, needed))
        .contains(url, "Set as.election.algorithm=" + other);
  }

  @Test
  void nameOfTheProductIsTaken(CapturedOutput output) {
    this.application
        .withPropertyValues(
            "as.election.algorithm=postgresql", "spring.datasource.url=" + POSTGRESQL)
        .run((context) -> {
          assertThat(context).hasBean("postgresqlLeaseStore");
          assertThat(context.getBean(ElectionBackend.class).algorithm()).isEqualTo("Postgresql");
        });
    assertThat(output).doesNotContain("by default");
  }

  @ParameterizedTest
  @ValueSource(strings = {MYSQL, POSTGRESQL})
  void listGivesEachStoreTheDatabaseOfItsProduct(String own) {
    boolean postgresql = own.equals(POSTGRESQL);
    this.application
        .withPropertyValues(
            "as.election.algorithm=Mysql,Postgresql", "spring.datasource.url=" + own)
        .withUserConfiguration(postgresql ? MarkedMysql.class : MarkedPostgresql.class)
        .run((context) -> {
          assertThat(context).hasSingleBean(JointLeaseStore.class);
          assertThat(context.getBean(ElectionDatabases.class).fenced())
              .extracting((database) -> database.isLike(MYSQL))
              .containsExactly(true, false);
          FencedDatabase ofOwn =
              context.getBean(ElectionDatabases.class).fenced().get(postgresql ? 1 : 0);
          assertThat(ofOwn.isShared(context.getBean("dataSource", DataSource.class)))
              .isTrue();
          assertThat(ofOwn.isShared(source(postgresql ? MYSQL : POSTGRESQL))).isFalse();
        });
  }

  @Test
  void twoMarkedDataSourcesOfTwoProductsServeAList() {
    this.application
        .withPropertyValues(
            "as.election.algorithm=Postgresql,Mysql", "spring.datasource.url=jdbc:h2:mem:orders")
        .withUserConfiguration(MarkedMysql.class, MarkedPostgresql.class)
        .run((context) -> {
          assertThat(context).hasSingleBean(JointLeaseStore.class);
          assertThat(
                  context.getBean(ElectionDatabases.class).fenced().get(0).isShared(source(MYSQL)))
              .isTrue();
        });
  }

  /** Otherwise the step that removes a store from the list would change the other's database. */
  @Test
  void markedDataSourceOfTheOtherProductIsLeftToItAlsoWithoutAList() {
    this.application
        .withPropertyValues("as.election.algorithm=Mysql", "spring.datasource.url=" + MYSQL)
        .withUserConfiguration(MarkedPostgresql.class)
        .run((context) -> assertThat(context
                .getBean(ElectionDatabases.class)
                .fenced()
                .get(0)
                .isShared(context.getBean("dataSource", DataSource.class)))
            .isTrue());
  }

  @Test
  void listWithoutADatabaseForAPartIsRefused() {
    assertThat(StartFailure.text(this.application.withPropertyValues(
            "as.election.algorithm=Mysql,Postgresql", "spring.datasource.url=" + MYSQL)))
        .contains(
            "Postgresql of as.election.algorithm needs PostgreSQL, but the DataSource is mysql");
  }

  @ParameterizedTest
  @CsvSource({"Mysql, " + MYSQL, "Postgresql, " + POSTGRESQL})
  void fenceIsSwitchedOffByTheSettingOfTheProduct(String named, String url) {
    this.application
        .withPropertyValues(
            "as.election.algorithm=" + named,
            "spring.datasource.url=" + url,
            "as.election.mysql.commit-fence=" + !named.equals("Mysql"),
            "as.election.postgresql.commit-fence=" + !named.equals("Postgresql"))
        .run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean("fencedCalls"));
  }

  /** Which product it is shows when the database is found. */
  @ParameterizedTest
  @CsvSource({"postgresql, false", "mysql, true"})
  void fenceWithoutANameIsThatOfTheDatabase(String off, boolean fenced, CapturedOutput output) {
    this.application
        .withPropertyValues("as.election.%s.commit-fence=false".formatted(off))
        .withUserConfiguration(MarkedPostgresql.class)
        .run((context) -> {
          assertThat(context).hasNotFailed();
          assertThat(context.getBean(ElectionDatabases.class).fenced()).hasSize(fenced ? 1 : 0);
          assertThat(context.containsBean("fencedCalls")).isTrue();
        });
    assertThat(output.getOut().contains("as.election.mysql.commit-fence has no effect"))
        .isEqualTo(fenced);
  }

  @Test
  void partOfFlywayThatIsMissingIsNamed() {
    ApplicationContextRunner withoutPart = this.application
        .withPropertyValues("spring.datasource.url=" + MYSQL)
        .withClassLoader(new FilteredClassLoader("org.flywaydb.database.mysql"));
    assertThat(StartFailure.text(withoutPart))
        .contains("Add org.flywaydb:flyway-mysql", "as.election.mysql.schema=validate");
    withoutPart
        .withPropertyValues("as.election.mysql.schema=validate")
        .run((context) -> assertThat(context).hasNotFailed());
    withoutPart
        .withPropertyValues("spring.datasource.url=" + POSTGRESQL)
        .run((context) -> assertThat(context).hasNotFailed());
  }

  @Test
  void settingOfTheOtherProductIsWarnedOf(CapturedOutput output) {
    this.application
        .withPropertyValues(
            "spring.datasource.url=" + POSTGRESQL,
            "as.election.mysql.schema=none",
            "as.election.postgresql.schema=none")
        .run((context) -> assertThat(context).hasNotFailed());
    assertThat(output)
        .contains(
            "as.election.mysql.schema has no effect, since the election is not by MySQL or MariaDB")
        .doesNotContain("as.election.postgresql.schema has no effect");
  }

  private static DataSource source(String url) {
    return new DriverManagerDataSource(url);
  }

  @Configuration(proxyBeanMethods = false)
  static class MarkedMysql {

    @Bean(defaultCandidate = false)
    @ElectionDataSource
    DataSource markedMysql() {
      return source(MYSQL);
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class MarkedPostgresql {

    @Bean(defaultCandidate = false)
    @ElectionDataSource
    DataSource markedPostgresql() {
      return source(POSTGRESQL);
    }
  }
}
