package io.election.mysql.failover.agent;

import io.election.ElectionService;
import io.election.autoconfigure.ElectionProperties;
import io.election.lease.Elector;
import io.election.lease.LeaseSettings;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Puts the agent together. */
@Configuration(proxyBeanMethods = false)
class AgentConfiguration {

  private static final String SERVER = "as.failover.server";

  @Bean
  FreshestFirst freshestFirst(AgentProperties properties) {
    require(
        properties.servers().contains(properties.server()),
        SERVER,
        properties.server(),
        "it must be one of as.failover.servers, which are " + properties.servers());
    require(
        properties.servers().stream().distinct().count() == properties.servers().size()
            && properties.servers().size() > 1
            && properties.servers().stream().noneMatch((name) -> name.matches(".*\\s.*|")),
        "as.failover.servers",
        properties.servers(),
        "it must name the servers of the set, at least two, each once and without spaces");
    String initial = properties.initialSource();
    require(
        initial == null || properties.servers().contains(initial),
        "as.failover.initial-source",
        initial,
        "it must be one of as.failover.servers, which are " + properties.servers());
    require(
        properties.acknowledgingReplicas() >= 0
            && properties.acknowledgingReplicas() < properties.servers().size(),
        "as.failover.acknowledging-replicas",
        properties.acknowledgingReplicas(),
        "it must be from 0 to the number of replicas, which is "
            + (properties.servers().size() - 1));
    return new FreshestFirst(properties);
  }

  private static void require(
      boolean condition,
      String property,
      @org.jspecify.annotations.Nullable Object value,
      String rule) {
    if (!condition) {
      throw new InvalidConfigurationPropertyValueException(property, value, rule);
    }
  }

  @Bean(destroyMethod = "")
  MysqlServer mysqlServer(AgentProperties properties) {
    return new MysqlServer(properties.url(), properties.username(), properties.password());
  }

  @Bean(destroyMethod = "")
  Promotions promotions(ElectionProperties election, ElectionService service) {
    return new Promotions(
        election.etcd().endpoints(),
        election.etcd().prefix(),
        "/mysql-failover/" + service.serviceId(),
        election.operationTimeout());
  }

  @Bean
  SourceDuty sourceDuty(
      AgentProperties properties,
      MysqlServer server,
      Promotions promotions,
      FreshestFirst freshest,
      ElectionService election,
      LeaseSettings settings) {
    return new SourceDuty(properties, server, promotions, freshest, election, settings);
  }

  @Bean
  AgentMetrics agentMetrics(Agent agent) {
    return new AgentMetrics(agent);
  }

  @Bean
  Agent agent(
      AgentProperties properties,
      MysqlServer server,
      Promotions promotions,
      FreshestFirst freshest,
      ElectionService election,
      Elector elector,
      LeaseSettings settings,
      SourceDuty duty) {
    return new Agent(properties, server, promotions, freshest, election, elector, settings, duty);
  }
}
