package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import io.election.mysql.failover.agent.Registry.Snapshot;
import io.election.mysql.failover.agent.Status.Role;
import io.election.support.Tool;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.config.NamingConvention;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The meters, and whether the alerts use meters that exist. */
class AgentMetricsTest {

  private final Agent agent = mock();
  private final AgentState.Reference state = new AgentState.Reference(0);
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();

  private double value(String name, String... tags) {
    return this.registry.get(name).tags(tags).gauge().value();
  }

  @Test
  void metersShowTheRoleTheLagAndWhatAFailoverNeeds() {
    new AgentMetrics(this.agent).bindTo(this.registry);
    when(this.agent.state()).thenAnswer((call) -> this.state.get());
    when(this.agent.status()).thenReturn(new Status(Role.REPLICA, "", 7));
    assertThat(value("mysql.failover.paused")).isZero();
    Snapshot paused = new Snapshot(Optional.empty(), Map.of(), "an upgrade");
    this.state.change((before) -> before.with(before.seen().see(paused, 0)));
    assertThat(value("mysql.failover.paused")).isEqualTo(1);
    assertThat(value("mysql.failover.role", "role", "REPLICA")).isEqualTo(1);
    assertThat(value("mysql.failover.role", "role", "SOURCE")).isZero();
    assertThat(value("mysql.failover.lag")).isEqualTo(7);
    assertThat(value("mysql.failover.ready")).isEqualTo(1);
    this.state.change((before) -> before.with(new Rehearsal("too few positions", 0, 0)));
    assertThat(value("mysql.failover.ready")).isZero();
  }

  @Test
  void alertsAskForMetersThatExist() throws IOException {
    new AgentMetrics(this.agent).bindTo(this.registry);
    Set<String> meters = this.registry.getMeters().stream()
        .map(Meter::getId)
        .map((id) -> id.getConventionName(NamingConvention.snakeCase)
            + (id.getBaseUnit() != null ? "_" + id.getBaseUnit() : ""))
        .collect(Collectors.toSet());
    String alerts = Files.readString(Path.of("..", "alerts.yaml"));
    Set<String> asked = Pattern.compile("mysql_failover_\\w+")
        .matcher(alerts)
        .results()
        .map(MatchResult::group)
        .collect(Collectors.toSet());
    assertThat(asked).hasSize(4).isSubsetOf(meters);
    Set<String> roles = Pattern.compile("role=\"(\\w+)\"")
        .matcher(alerts)
        .results()
        .map((MatchResult found) -> found.group(1))
        .collect(Collectors.toSet());
    assertThat(Stream.of(Role.values()).map(Enum::name)).containsAll(roles);
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
