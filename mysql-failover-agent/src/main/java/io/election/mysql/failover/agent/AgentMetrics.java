package io.election.mysql.failover.agent;

import io.election.mysql.failover.agent.Status.Role;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.OptionalInt;

/** The state of the server, and what is missing in its set, as meters. */
final class AgentMetrics implements MeterBinder {

  private final Agent agent;
  private final SourceDuty duty;

  AgentMetrics(Agent agent, SourceDuty duty) {
    this.agent = agent;
    this.duty = duty;
  }

  private static double orNaN(OptionalInt number) {
    return number.isPresent() ? number.getAsInt() : Double.NaN;
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
    Gauge.builder("mysql.failover.missing", () -> orNaN(this.agent.missing()))
        .description("How many servers of the set have no agent that has published a position")
        .baseUnit("servers")
        .register(registry);
    Gauge.builder("mysql.failover.acknowledging", () -> orNaN(this.duty.acknowledging()))
        .description("How many replicas acknowledge the transactions of the source")
        .baseUnit("replicas")
        .register(registry);
  }
}
