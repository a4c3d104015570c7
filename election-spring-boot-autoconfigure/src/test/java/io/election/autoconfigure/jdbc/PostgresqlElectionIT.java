package io.election.autoconfigure.jdbc;

import static io.election.autoconfigure.MysqlNode.awaitLeader;
import static io.election.autoconfigure.MysqlNode.patiently;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.AuditNote;
import io.election.ElectionOperations;
import io.election.PastTerm;
import io.election.autoconfigure.MysqlNode;
import io.election.autoconfigure.actuate.EndpointAccess;
import io.election.support.PostgresqlPrograms;
import io.election.support.TestDatabase;
import io.election.support.TestServer;
import java.util.Map;
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

  @Test
  void operatorsDecideByTheEndpointAndBySql() {
    this.application.run((first) -> {
      ElectionOperations election = awaitLeader(first);
      this.application.withPropertyValues("as.election.node-id=b").run((second) -> {
        ElectionOperations other = second.getBean(ElectionOperations.class);
        EndpointAccess endpoint = new EndpointAccess(second);
        patiently()
            .until(() -> other.currentMembers().filter((all) -> all.size() == 2).isPresent());

        assertThat(endpoint.designate("orders", "c", null).getStatus()).isEqualTo(409);
        assertThat(endpoint.designate("orders", "b", null).getStatus()).isEqualTo(202);
        patiently().until(other::isLeader);
        assertThat(election.isLeader()).isFalse();

        this.database.execute(
            "UPDATE leader_election SET leader_id = 'a' WHERE service_id = 'orders'");
        patiently().until(election::isLeader);

        long term = election.leadership().orElseThrow().term();
        assertThat(endpoint.depose("orders", "a", term).getStatus()).isEqualTo(204);
        patiently().until(() -> other.term().orElse(0) > term || election.term().orElse(0) > term);

        election.pause(new AuditNote("operator", "drill"));
        patiently().until(other::isLeader);
        election.resume(new AuditNote("operator", "drill"));

        long before = other.leadership().orElseThrow().term();
        this.database.execute("DELETE FROM leader_election WHERE service_id = 'orders'");
        patiently().until(() -> !other.isLeader());
        patiently().until(() -> election.isLeader() || other.isLeader());
        assertThat(Math.max(election.term().orElse(0), other.term().orElse(0)))
            .isGreaterThan(before);
        assertThat(other.history()).extracting(PastTerm::leaderId).contains("a", "b");
        Map<String, Object> shown = endpoint.election("orders");
        assertThat(shown.toString()).contains("DESIGNATED", "algorithm=postgresql");
      });
    });
  }
}
