package io.election.autoconfigure.jdbc;

import static io.election.autoconfigure.MysqlNode.awaitLeader;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.autoconfigure.MysqlNode;
import io.election.autoconfigure.actuate.EndpointAccess;
import io.election.support.PostgresqlPrograms;
import io.election.support.TestDatabase;
import io.election.support.TestServer;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;

class PostgresqlElectionIT extends DatabaseElectionContract {

  PostgresqlElectionIT() {
    super("postgresql", TestServer.shared(PostgresqlPrograms.V18));
  }

  @Test
  void leadsWithNothingSetButANameAndTheUrl(CapturedOutput output) {
    TestDatabase free = this.database;
    new ApplicationContextRunner()
        .withConfiguration(MysqlNode.STARTER)
        .withConfiguration(AutoConfigurations.of(DataSourceAutoConfiguration.class))
        .withPropertyValues("spring.application.name=orders")
        .withPropertyValues("spring.datasource.url=%s&user=%s&password=%s"
            .formatted(free.jdbcUrl(), free.username(), free.password()))
        .run((context) -> {
          awaitLeader(context);
          assertThat(new EndpointAccess(context).elections().toString()).contains("Postgresql");
          assertThat(output)
              .contains("as.election.algorithm is Postgresql by default")
              .doesNotContain("WARN");
        });
  }
}
