package io.election.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.ElectionService;
import io.election.LeaderOnly;
import io.election.LeaderOnly.OnFollower;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipEvent;
import io.election.LeadershipLostEvent;
import io.election.NotLeaderException;
import io.election.autoconfigure.actuate.EndpointAccess;
import io.election.autoconfigure.actuate.LeaderEndpointAutoConfiguration;
import io.election.autoconfigure.leaderonly.LeaderOnlyAutoConfiguration;
import io.election.testing.DecidedElection;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.EventListener;

/** The test kit's election as a bean of an application whose database is H2. */
class DecidedElectionTest {

  private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
      .withConfiguration(AutoConfigurations.of(
          DataSourceAutoConfiguration.class,
          ElectionAutoConfiguration.class,
          LeaderOnlyAutoConfiguration.class,
          LeaderEndpointAutoConfiguration.class))
      .withPropertyValues(
          "spring.datasource.url=jdbc:h2:mem:decided",
          "management.endpoints.web.exposure.include=leader")
      .withUserConfiguration(Decided.class, Jobs.class);

  @Test
  void itReplacesTheAutoConfiguredElection() {
    this.contextRunner.run((context) -> {
      assertThat(context).hasNotFailed().doesNotHaveBean(ElectionDriver.class);
      assertThat(context.getBean(ElectionService.class))
          .isSameAs(context.getBean("election", DecidedElection.class));
    });
  }

  @Test
  void itDecidesWhetherAJobRuns() {
    this.contextRunner.run((context) -> {
      DecidedElection election = context.getBean("election", DecidedElection.class);
      Jobs jobs = context.getBean(Jobs.class);
      jobs.run();
      assertThat(jobs.ran()).isEmpty();
      election.lead();
      jobs.run();
      assertThat(jobs.ran()).containsExactly("run");
      election.follow("b");
      jobs.run();
      assertThat(jobs.ran()).containsExactly("run");
      assertThatThrownBy(jobs::insist)
          .isInstanceOfSatisfying(
              NotLeaderException.class, (ex) -> assertThat(ex.leaderId()).contains("b"));
    });
  }

  @Test
  void eachElectionOfANodeIsDecidedByItself() {
    this.contextRunner.run((context) -> {
      DecidedElection reports = context.getBean("reports", DecidedElection.class);
      Jobs jobs = context.getBean(Jobs.class);
      reports.lead();
      jobs.run();
      jobs.report();
      assertThat(jobs.ran()).containsExactly("report");
      assertThat(context.getBean(ElectionService.class).isLeader()).isFalse();
    });
  }

  @Test
  void itsEventsAreSpringEvents() {
    this.contextRunner.run((context) -> {
      DecidedElection election = context.getBean("election", DecidedElection.class);
      election.lead();
      election.lose(LeadershipLostEvent.Reason.EXPIRED);
      election.lead();
      assertThat(context.getBean(Jobs.class).events())
          .containsExactly(
              new LeadershipAcquiredEvent(
                  "billing", "this-node", 1, LeadershipAcquiredEvent.Reason.EXPIRED),
              new LeadershipLostEvent(
                  "billing", "this-node", 1, LeadershipLostEvent.Reason.EXPIRED),
              new LeadershipAcquiredEvent(
                  "billing", "this-node", 2, LeadershipAcquiredEvent.Reason.EXPIRED));
    });
  }

  @Test
  void theEndpointShowsAndDecidesIt() {
    this.contextRunner.run((context) -> {
      DecidedElection election = context.getBean("election", DecidedElection.class);
      assertThat(context).hasBean("leaderEndpoint");
      EndpointAccess endpoint = new EndpointAccess(context);
      election.lead();
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
    });
  }

  @Configuration(proxyBeanMethods = false)
  static class Decided {

    @Bean
    DecidedElection election(ApplicationEventPublisher events) {
      return new DecidedElection("billing", events::publishEvent);
    }

    @Bean(defaultCandidate = false)
    @Qualifier("reports")
    DecidedElection reports(ApplicationEventPublisher events) {
      return new DecidedElection("reports", events::publishEvent);
    }
  }

  static class Jobs {

    private final List<String> ran = new ArrayList<>();

    private final List<LeadershipEvent> events = new ArrayList<>();

    @LeaderOnly
    public void run() {
      this.ran.add("run");
    }

    @LeaderOnly(onFollower = OnFollower.THROW)
    public void insist() {
      this.ran.add("insist");
    }

    @LeaderOnly("reports")
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
