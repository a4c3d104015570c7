package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import io.election.mysql.failover.agent.Status.Role;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.Status;

/** Health is down while the server is refused or does not answer. */
class AgentHealthTest {

  private final Agent agent = mock();

  @ParameterizedTest
  @EnumSource
  void aServerThatIsRefusedOrDoesNotAnswerIsDown(Role role) {
    when(this.agent.status())
        .thenReturn(new io.election.mysql.failover.agent.Status(role, "why", 0));
    Health health = new AgentConfiguration().serverHealthIndicator(this.agent).health();
    boolean down = role == Role.REFUSED || role == Role.UNKNOWN;
    assertThat(health.getStatus()).isEqualTo(down ? Status.DOWN : Status.UP);
    assertThat(health.getDetails()).containsEntry("role", role).containsEntry("reason", "why");
  }
}
