package io.election.mysql.failover.agent;

import io.election.mysql.failover.agent.Status.Role;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;

/** Meters for the state of the server and of its set. */
record AgentMetrics(Agent agent) implements MeterBinder {

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
            "mysql.failover.paused", () -> this.agent.state().seen().paused().isEmpty() ? 0 : 1)
        .description("1 while the set is paused, so that no server is promoted")
        .register(registry);
    Gauge.builder(
            "mysql.failover.ready",
            () -> this.agent.state().rehearsal().problem().isEmpty() ? 1 : 0)
        .description("1 if a server would be promoted if the source were lost now")
        .register(registry);
  }
}
