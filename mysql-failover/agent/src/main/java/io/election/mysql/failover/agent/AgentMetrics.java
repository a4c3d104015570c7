package io.election.mysql.failover.agent;

import io.election.mysql.failover.agent.Status.Role;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.OptionalInt;

/** Meters for the state of the server and of its set. */
final class AgentMetrics implements MeterBinder {

  private final Agent agent;
  private final SourceDuty duty;
  private final Rehearsal rehearsal;
  private final Registry registry;

  AgentMetrics(Agent agent, SourceDuty duty, Rehearsal rehearsal, Registry registry) {
    this.agent = agent;
    this.duty = duty;
    this.rehearsal = rehearsal;
    this.registry = registry;
  }

  private static double orNaN(OptionalInt number) {
    return number.isPresent() ? number.getAsInt() : Double.NaN;
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    for (Role role : Role.values()) {
      Gauge.builder("mysql.failover.role", () -> this.agent.status().role() == role ? 1 : 0)
          .description("1 for the current role of the server, 0 for all others")
          .tag("role", role.name())
          .register(registry);
    }
    Gauge.builder("mysql.failover.lag", () -> this.agent.status().lagSeconds())
        .description("Replication lag of the applier")
        .baseUnit("seconds")
        .register(registry);
    Gauge.builder(
            "mysql.failover.missing",
            () -> this.rehearsal.unmanaged().map((each) -> (double) each.size()).orElse(Double.NaN))
        .description("Number of servers of the set without an agent that has published a position")
        .baseUnit("servers")
        .register(registry);
    Gauge.builder("mysql.failover.acknowledging", () -> orNaN(this.duty.acknowledging()))
        .description("Number of replicas that acknowledge the transactions of the source")
        .baseUnit("replicas")
        .register(registry);
    Gauge.builder("mysql.failover.required", () -> orNaN(this.duty.required()))
        .description(
            "Number of replicas that must acknowledge a transaction before the source does")
        .baseUnit("replicas")
        .register(registry);
    Gauge.builder("mysql.failover.paused", () -> this.registry.paused().isEmpty() ? 0 : 1)
        .description("1 while the set is paused, so that no server is promoted")
        .register(registry);
    Gauge.builder("mysql.failover.ready", () -> this.rehearsal.problem().isEmpty() ? 1 : 0)
        .description("1 if a server would be promoted if the source were lost now")
        .register(registry);
  }
}
