package io.election.autoconfigure.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.ElectionService;
import io.election.autoconfigure.ElectionAutoConfiguration;
import io.election.autoconfigure.leaderonly.LeaderOnlyAutoConfiguration;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.integration.support.SmartLifecycleRoleController;

class IntegrationEventsTest {

  private final ApplicationContextRunner leader = new ApplicationContextRunner()
      .withConfiguration(AutoConfigurations.of(
          ElectionAutoConfiguration.class,
          LeaderOnlyAutoConfiguration.class,
          IntegrationEventsAutoConfiguration.class))
      .withUserConfiguration(Roles.class)
      .withPropertyValues("spring.application.name=orders", "as.election.enabled=false");

  @Test
  void theRoleControllerFollowsTheElection() {
    this.leader.withPropertyValues("as.election.integration-events=true").run((context) -> {
      Endpoint endpoint = context.getBean(Endpoint.class);
      ElectionService election = context.getBean(ElectionService.class);
      assertThat(endpoint.isRunning()).isTrue();
      election.lostLeader();
      assertThat(endpoint.isRunning()).isFalse();
      election.becomeLeader();
      assertThat(endpoint.isRunning()).isTrue();
    });
  }

  @Test
  void withoutThePropertyItHearsNothing() {
    this.leader.run(
        (context) -> assertThat(context.getBean(Endpoint.class).isRunning()).isFalse());
  }

  @Configuration(proxyBeanMethods = false)
  static class Roles {

    @Bean
    SmartLifecycleRoleController roles(Endpoint endpoint) {
      SmartLifecycleRoleController roles = new SmartLifecycleRoleController();
      roles.addLifecycleToRole("orders", endpoint);
      return roles;
    }

    @Bean
    Endpoint endpoint() {
      return new Endpoint();
    }
  }

  static class Endpoint implements SmartLifecycle {

    private boolean running;

    @Override
    public void start() {
      this.running = true;
    }

    @Override
    public void stop() {
      this.running = false;
    }

    @Override
    public boolean isRunning() {
      return this.running;
    }

    @Override
    public boolean isAutoStartup() {
      return false;
    }
  }
}
