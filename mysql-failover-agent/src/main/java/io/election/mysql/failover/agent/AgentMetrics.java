package io.election.mysql.failover.agent;

import io.election.mysql.failover.agent.Status.Role;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.OptionalInt;

/** The roles and the lag of the server as meters. */
final class AgentMetrics implements MeterBinder {

  private final Agent agent;
  private final SourceDuty duty;

  AgentMetrics(Agent agent, SourceDuty duty) {
    this.agent = agent;
    this.duty = duty;
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    for (Role role : Role.values()) {
      Gauge.builder("mysql.failover.role", () -> this.agent.status().role() == role ? 1 : 0)
          .description("1 for the present role of the server, 0 for the others")
          .tag("role", role.name())
          .register(registry);
    }
    Gauge.builder("mysql.failover.lag", () -> this.agent.status().lagSeconds())
        .description("How far the applier is behind")
        .baseUnit("seconds")
        .register(registry);
    Gauge.builder("mysql.failover.acknowledging", () -> {
          OptionalInt replicas = this.duty.acknowledging();
          return replicas.isPresent() ? replicas.getAsInt() : Double.NaN;
        })
        .description("How many replicas acknowledge the transactions of the source")
        .baseUnit("replicas")
        .register(registry);
  }
}
