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
  private final Promotions promotions;
  private final int acknowledgingReplicas;

  /**
   * @param acknowledgingReplicas the number of replicas that must acknowledge a transaction
   */
  AgentMetrics(Agent agent, SourceDuty duty, Promotions promotions, int acknowledgingReplicas) {
    this.agent = agent;
    this.duty = duty;
    this.promotions = promotions;
    this.acknowledgingReplicas = acknowledgingReplicas;
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
    Gauge.builder("mysql.failover.paused", () -> this.promotions.paused().isEmpty() ? 0 : 1)
        .description("1 while the set is paused, so that no server is promoted")
        .register(registry);
    Gauge.builder("mysql.failover.lag", () -> this.agent.status().lagSeconds())
        .description("Replication lag of the applier")
        .baseUnit("seconds")
        .register(registry);
    Gauge.builder("mysql.failover.missing", () -> orNaN(this.agent.missing()))
        .description("Number of servers of the set without an agent that has published a position")
        .baseUnit("servers")
        .register(registry);
    Gauge.builder("mysql.failover.acknowledging", () -> orNaN(this.duty.acknowledging()))
        .description("Number of replicas that acknowledge the transactions of the source")
        .baseUnit("replicas")
        .register(registry);
    Gauge.builder("mysql.failover.required", () -> this.acknowledgingReplicas)
        .description(
            "Number of replicas that must acknowledge a transaction before the source does")
        .baseUnit("replicas")
        .register(registry);
  }
}
