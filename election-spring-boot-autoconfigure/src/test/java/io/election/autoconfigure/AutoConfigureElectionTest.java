package io.election.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.ElectionService;
import io.election.LeaderOnly;
import io.election.LeadershipEvent;
import io.election.NotLeaderException;
import io.election.autoconfigure.actuate.EndpointAccess;
import io.election.test.AutoConfigureElection;
import io.election.test.ScriptedElection;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.event.EventListener;

/** One annotation lets a test of a Spring Boot application on H2 decide its elections. */
@SpringBootTest(
    webEnvironment = WebEnvironment.NONE,
    properties = {
      "spring.application.name=billing",
      "spring.datasource.url=jdbc:h2:mem:annotated",
      "management.endpoints.web.exposure.include=leader",
      "as.election.services=reports"
    })
@AutoConfigureElection
class AutoConfigureElectionTest {

  @Autowired
  ScriptedElection election;

  @Autowired
  @Qualifier("reports")
  ScriptedElection reports;

  @Autowired
  Jobs jobs;

  @Autowired
  ApplicationContext context;

  @Test
  void theTestAndTheEndpointDecideEachElection() {
    assertThat(this.election.serviceId()).isEqualTo("billing");
    assertThat(this.context.getBean(ElectionService.class)).isSameAs(this.election);
    assertThat(this.context.getBeansOfType(ElectionBackend.class)).isEmpty();
    this.jobs.bill();
    assertThat(this.jobs.ran()).isEmpty();
    this.election.lead();
    this.jobs.bill();
    this.reports.follow("b");
    assertThatThrownBy(this.jobs::report)
        .isInstanceOfSatisfying(
            NotLeaderException.class, (ex) -> assertThat(ex.leaderId()).contains("b"));
    assertThat(this.jobs.ran()).containsExactly("bill");
    this.reports.lead();
    this.jobs.report();
    assertThat(this.jobs.ran()).containsExactly("bill", "report");
    assertThat(this.jobs.events())
        .extracting(LeadershipEvent::serviceId)
        .containsExactly("billing", "reports");

    assertThat(this.context.containsBean("leaderEndpoint")).isTrue();
    EndpointAccess endpoint = new EndpointAccess(this.context);
    assertThat(endpoint.election("billing"))
        .containsEntry("leader", true)
        .containsEntry("leaderId", "this-node")
        .containsEntry("term", 1L);
    assertThat(endpoint.designate("billing", "b", null).getStatus()).isEqualTo(202);
    assertThat(endpoint.election("billing"))
        .isEqualTo(Map.of("leader", false, "leaderId", "b", "term", 2L));
    assertThat(endpoint.elections().get("elections"))
        .isInstanceOfSatisfying(
            Map.class,
            (elections) ->
                assertThat(elections.keySet().toArray()).containsExactly("billing", "reports"));
    this.jobs.bill();
    assertThat(this.jobs.ran()).hasSize(2);
  }

  @Configuration(proxyBeanMethods = false)
  @ImportAutoConfiguration(DataSourceAutoConfiguration.class)
  @Import({MysqlNode.Starter.class, Jobs.class})
  static class Application {}

  static class Jobs {

    private final List<String> ran = new ArrayList<>();

    private final List<LeadershipEvent> events = new ArrayList<>();

    @LeaderOnly
    public void bill() {
      this.ran.add("bill");
    }

    @LeaderOnly(value = "reports", onFollower = LeaderOnly.OnFollower.THROW)
    public void report() {
      this.ran.add("report");
    }

    @EventListener
    public void on(LeadershipEvent event) {
      this.events.add(event);
    }

    List<String> ran() {
      return this.ran;
    }

    List<LeadershipEvent> events() {
      return this.events;
    }
  }
}
