package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import io.election.mysql.failover.agent.Status.Role;
import io.election.support.Tool;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;

/** The meters and the alerts. */
class AgentMetricsTest {

  private final Agent agent = mock();
  private final SourceDuty duty = mock();
  private final Promotions promotions = mock();
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();

  private double value(String name, String... tags) {
    return this.registry.get(name).tags(tags).gauge().value();
  }

  @Test
  void metersShowTheRoleTheLagWhoAcknowledgesAndWhoIsMissing() {
    new AgentMetrics(this.agent, this.duty, this.promotions, 2).bindTo(this.registry);
    when(this.agent.status()).thenReturn(new Status(Role.REPLICA, "", 7));
    when(this.duty.acknowledging()).thenReturn(OptionalInt.empty());
    when(this.agent.missing()).thenReturn(OptionalInt.of(2), OptionalInt.empty());
    when(this.promotions.paused()).thenReturn("", "an upgrade");
    assertThat(value("mysql.failover.paused")).isZero();
    assertThat(value("mysql.failover.paused")).isEqualTo(1);
    assertThat(value("mysql.failover.missing")).isEqualTo(2);
    assertThat(value("mysql.failover.missing")).isNaN();
    assertThat(value("mysql.failover.role", "role", "REPLICA")).isEqualTo(1);
    assertThat(value("mysql.failover.role", "role", "SOURCE")).isZero();
    assertThat(value("mysql.failover.lag")).isEqualTo(7);
    assertThat(value("mysql.failover.required")).isEqualTo(2);
    assertThat(value("mysql.failover.acknowledging")).isNaN();
    when(this.duty.acknowledging()).thenReturn(OptionalInt.of(2));
    assertThat(value("mysql.failover.acknowledging")).isEqualTo(2);
  }

  @Test
  void alertsFireWhenTheyShouldAndNeverElse() throws Exception {
    Tool.PROMTOOL.assumeWorks();
    promtool("check", "rules", Path.of("..", "alerts.yaml"));
    promtool(
        "test", "rules", Path.of("src", "test", "resources", "mysql-failover-alerts-test.yaml"));
  }

  private static void promtool(String command, String kind, Path file) throws Exception {
    Process promtool = new ProcessBuilder("promtool", command, kind, file.toString())
        .redirectErrorStream(true)
        .start();
    String told = new String(promtool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(promtool.waitFor()).as(told).isZero();
  }
}
