package io.election.sample;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.ElectionService;
import io.election.test.SimulatedElection;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfSystemProperty;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.jdbc.core.simple.JdbcClient;

/** Two nodes of the service in one JVM. A lease of five seconds passes at once. */
@DisabledIfSystemProperty(
    named = "spring.aot.enabled",
    matches = "true",
    disabledReason = "it starts other beans than those of the processed application")
class TwoNodesTest {

  private static final Duration LEASE = Duration.ofSeconds(5);

  private static final Duration RENEW_INTERVAL = Duration.ofSeconds(1);

  private final SimulatedElection election = new SimulatedElection("sample-app", LEASE);

  private final Node a = new Node("a");

  private final Node b = new Node("b");

  @AfterEach
  void close() {
    a.application.close();
    b.application.close();
  }

  @Test
  void whenTheLeaderDiesTheOtherGoesOnWithTheReports() {
    election.advance(LEASE);
    writeReports();
    assertThat(runs()).containsExactly("a in term 1");

    a.inElection.pause();
    writeReports(); // the lease of a has not expired
    assertThat(runs()).containsExactly("a in term 1", "a in term 1");

    election.advance(LEASE.plus(RENEW_INTERVAL));
    writeReports();
    assertThat(runs()).containsExactly("a in term 1", "a in term 1", "b in term 2");

    a.inElection.resume(); // a does not lead when it wakes up
    writeReports();
    assertThat(runs()).endsWith("b in term 2", "b in term 2");
  }

  @Test
  void whenTheLeaderStopsTheOtherGoesOnWithoutWaitingForTheLease() {
    election.advance(LEASE);
    a.inElection.stop();
    election.advance(RENEW_INTERVAL.multipliedBy(2));
    writeReports();
    assertThat(runs()).containsExactly("b in term 2");
  }

  private void writeReports() {
    a.job().writeReport();
    b.job().writeReport();
  }

  private List<String> runs() {
    JdbcClient jdbc = b.application.getBean(JdbcClient.class);
    return jdbc.sql("SELECT concat(node_id, ' in term ', term) FROM job_run ORDER BY id")
        .query(String.class)
        .list();
  }

  /** An application that takes part in the election. */
  private final class Node {

    final ConfigurableApplicationContext application;

    SimulatedElection.Node inElection;

    Node(String id) {
      this.application = new SpringApplicationBuilder(Service.class)
          .web(WebApplicationType.NONE)
          .initializers((context) -> {
            inElection = election.join(id, context::publishEvent);
            ((GenericApplicationContext) context)
                .registerBean("election", ElectionService.class, inElection::election);
          })
          .run("--spring.datasource.url=jdbc:h2:mem:two-nodes;MODE=MySQL");
    }

    ReportJob job() {
      return application.getBean(ReportJob.class);
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @Import(ReportJob.class)
  static class Service {}
}
