package io.election.mysql.failover.agent;

import io.election.autoconfigure.settings.ElectionProperties;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

@Configuration(proxyBeanMethods = false)
@Import({
  Agent.class,
  AgentMetrics.class,
  Announcer.class,
  CommandPort.class,
  FirstRecord.class,
  Registry.class,
  Site.class,
  SourceDuty.class
})
class AgentConfiguration {

  private static final String ADDRESS = "[\\w.-]+:\\d+";

  /** Reads the monotonic clock in nanoseconds. */
  @Bean
  LongSupplier agentClock() {
    return System::nanoTime;
  }

  @Bean
  AgentState.Reference agentState(LongSupplier clock) {
    return new AgentState.Reference(clock.getAsLong());
  }

  @Bean
  Standing standing(
      AgentProperties properties,
      ElectionProperties election,
      AgentState.Reference state,
      LongSupplier clock) {
    require(
        election.eligible(),
        "as.election.eligible",
        false,
        "each server of the set must publish its position when the source is gone, and only candidates do");
    Map<String, String> servers = properties.servers();
    require(
        servers.containsKey(properties.server()),
        "as.failover.server",
        properties.server(),
        "it must be one of as.failover.servers, which are " + servers.keySet());
    require(
        servers.size() > 1
            && servers.keySet().stream().allMatch((name) -> name.matches("[^\\s,=/]+"))
            && servers.values().stream().allMatch((address) -> address.matches(ADDRESS))
            && servers.values().stream().distinct().count() == servers.size(),
        "as.failover.servers",
        servers,
        "it must have an address, host:port, for each server of the set, at least two, by names without spaces, '=' or '/'");
    require(
        (properties.tls().mode() == Tls.Mode.VERIFY) == (properties.tls().ca() != null),
        "as.failover.tls.ca",
        properties.tls().ca(),
        "it is needed for as.failover.tls.mode=verify, and for no other");
    return new Standing(
        properties.server(),
        new Candidacy(
            Set.copyOf(servers.keySet()), properties.positionWait(), properties.holdBack()),
        state,
        new Semaphore(0),
        clock);
  }

  private static void require(
      boolean condition, String property, @Nullable Object value, String rule) {
    if (!condition) {
      throw new InvalidConfigurationPropertyValueException(property, value, rule);
    }
  }

  @Bean(destroyMethod = "")
  MysqlServer mysqlServer(AgentProperties properties, LongSupplier clock) {
    return new MysqlServer(
        properties.url(), properties.username(), properties.password(), properties.tls(), clock);
  }

  /** Down while the server may not join the source, or does not answer. */
  @Bean
  HealthIndicator serverHealthIndicator(Agent agent) {
    return () -> {
      Status status = agent.status();
      return (status.isOut() ? Health.down() : Health.up())
          .withDetail("role", status.role())
          .withDetail("reason", status.reason())
          .build();
    };
  }
}
