package io.election.autoconfigure.settings;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.Mockito.mock;

import com.zaxxer.hikari.HikariDataSource;
import io.election.ElectionService;
import io.election.autoconfigure.ElectionBackend;
import io.election.autoconfigure.MysqlNode;
import io.election.autoconfigure.PostgresqlContainer;
import io.election.autoconfigure.StartFailure;
import io.election.lease.LeaseElectionService;
import java.util.List;
import javax.sql.DataSource;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcConnectionDetails;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.test.annotation.DirtiesContext;
import org.springframework.test.context.MergedContextConfiguration;
import org.springframework.test.context.TestPropertySource;

/** When a test without settings leads by itself: each of three conditions counts. */
@ExtendWith(OutputCaptureExtension.class)
class TestInMemoryTest {

  private static final String LINE = "this is a test whose database is in memory";

  /** Not made by Spring's TestContext framework, although that is on the class path. */
  private final ApplicationContextRunner production = new ApplicationContextRunner()
      .withConfiguration(MysqlNode.STARTER)
      .withConfiguration(AutoConfigurations.of(DataSourceAutoConfiguration.class))
      .withPropertyValues("spring.application.name=orders");

  private final ApplicationContextRunner test =
      this.production.withInitializer((context) -> new TestContextMark()
          .createContextCustomizer(getClass(), List.of())
          .customizeContext(context, mock(MergedContextConfiguration.class)));

  @Nested
  @SpringBootTest(webEnvironment = WebEnvironment.NONE, classes = Application.class)
  @DirtiesContext
  @ExtendWith(OutputCaptureExtension.class)
  class WithoutSettings {

    @Autowired
    ElectionService election;

    @Autowired
    ElectionBackend backend;

    @Test
    void leadsAtOnce() {
      assertThat(this.election.isLeader()).isTrue();
      assertThat(this.backend.algorithm()).isEqualTo("Disabled");
    }
  }

  @Nested
  @SpringBootTest(webEnvironment = WebEnvironment.NONE, classes = Application.class)
  @TestPropertySource(
      properties = {
        "spring.application.name=orders",
        "spring.datasource.url=jdbc:mysql://127.0.0.1:1/orders"
      })
  @DirtiesContext
  class OnAServer {

    @Autowired
    ElectionService election;

    @Test
    void elects() {
      assertThat(this.election).isInstanceOf(LeaseElectionService.class);
      assertThat(this.election.isLeader()).isFalse();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"any=value", "spring.datasource.url=jdbc:h2:mem:orders;MODE=MySQL"})
  void aTestInMemoryLeadsWithOneLine(String property, CapturedOutput output) {
    this.test
        .withPropertyValues(property)
        .run((context) ->
            assertThat(context.getBean(ElectionService.class).isLeader()).isTrue());
    assertThat(output.getOut().lines().filter((line) -> line.contains("election")))
        .filteredOn((line) -> line.contains(LINE) || line.contains(" WARN "))
        .singleElement()
        .asString()
        .contains(" INFO ", LINE);
  }

  @ParameterizedTest
  @ValueSource(strings = {"any=value", "spring.datasource.url=jdbc:h2:mem:orders"})
  void aNodeThatIsNoTestDoesNot(String property) {
    assertThat(StartFailure.text(this.production.withPropertyValues(property)))
        .contains("needs MySQL, MariaDB, PostgreSQL, ZooKeeper or etcd, but the DataSource is h2");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "spring.datasource.url=jdbc:h2:file:./target/orders",
        "spring.datasource.hikari.jdbc-url=jdbc:h2:tcp://127.0.0.1:1/mem:orders"
      })
  void aTestOnAnotherDatabaseDoesNot(String property) {
    assertThat(StartFailure.text(this.test.withPropertyValues(property)))
        .contains("but the DataSource is h2");
  }

  /** For example the database of a container, beside which no URL is set. */
  @Test
  void aTestWhoseBeansHoldAnotherDatabaseDoesNot(CapturedOutput output) {
    this.test
        .withBean(JdbcConnectionDetails.class, PostgresqlContainer::new)
        .run((context) ->
            assertThat(context.getBean(ElectionService.class).isLeader()).isFalse());
    this.test
        .withBean("own", DataSource.class, () -> {
          HikariDataSource pool = new HikariDataSource();
          pool.setJdbcUrl("jdbc:mysql://127.0.0.1:1/orders");
          return pool;
        })
        .withPropertyValues("spring.datasource.url=jdbc:h2:mem:orders")
        .run((context) ->
            assertThat(context.getBean(ElectionService.class).isLeader()).isFalse());
    assertThat(output).doesNotContain(LINE);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "as.election.algorithm=Mysql",
        "as.election.algorithm[0]=Mysql",
        "as.election.enabled=true"
      })
  void aTestThatSaysWhatItWantsDoesNot(String property) {
    assertThat(StartFailure.text(this.test.withPropertyValues(property)))
        .contains("but the DataSource is h2");
  }

  @ParameterizedTest
  @CsvSource({
    "jdbc:h2:mem:orders;DB_CLOSE_DELAY=-1, true",
    "jdbc:p6spy:h2:mem:orders, true",
    "jdbc:hsqldb:mem:orders, true",
    "jdbc:derby:memory:orders;create=true, true",
    "jdbc:sqlite::memory:, true",
    "jdbc:sqlite:file:orders?mode=memory&cache=shared, true",
    "jdbc:h2:~/orders, false",
    "jdbc:h2:tcp://db/mem:orders, false",
    "jdbc:hsqldb:hsql://db/mem:orders, false",
    "jdbc:derby://db/memory:orders, false",
    "jdbc:sqlite:orders.db, false",
    "jdbc:mysql://db/h2:mem:orders, false",
    "jdbc:postgresql://db/orders, false"
  })
  void memoryIsKnownByTheUrl(String url, boolean inMemory) {
    assertThat(TestInMemory.isInMemory(url)).isEqualTo(inMemory);
  }

  @Configuration(proxyBeanMethods = false)
  @ImportAutoConfiguration(DataSourceAutoConfiguration.class)
  @Import(MysqlNode.Starter.class)
  static class Application {}
}
