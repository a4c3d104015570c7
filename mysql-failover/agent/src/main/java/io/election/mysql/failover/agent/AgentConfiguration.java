package io.election.mysql.failover.agent;

import com.zaxxer.hikari.HikariDataSource;
import io.election.ElectionOperations;
import io.election.ElectionService;
import io.election.autoconfigure.settings.ElectionProperties;
import io.election.etcd.EtcdFence;
import io.election.jdbc.CommitFence;
import io.election.lease.Elector;
import io.election.mysql.failover.agent.Status.Role;
import io.election.store.LeaseSettings;
import io.election.zookeeper.ZookeeperFence;
import java.util.Map;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.jdbc.autoconfigure.DataSourceProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;

/** Configuration of the agent. */
@Configuration(proxyBeanMethods = false)
class AgentConfiguration {

  private static final String SERVER = "as.failover.server";

  private static final String ADDRESS = "[\\w.-]+:\\d+";

  private static final String ALGORITHM = "as.election.algorithm";

  @Bean
  FreshestFirst freshestFirst(AgentProperties properties, ElectionProperties election) {
    require(
        election.eligible(),
        "as.election.eligible",
        false,
        "each server of the set must publish its position when the source is gone, and only candidates do");
    Map<String, String> servers = properties.servers();
    require(
        servers.containsKey(properties.server()),
        SERVER,
        properties.server(),
        "it must be one of as.failover.servers, which are " + servers.keySet());
    require(
        servers.size() > 1
            && servers.keySet().stream().noneMatch((name) -> name.matches(".*\\s.*|"))
            && servers.values().stream().allMatch((address) -> address.matches(ADDRESS))
            && servers.values().stream().distinct().count() == servers.size(),
        "as.failover.servers",
        servers,
        "it must have an address, host:port, for each server of the set, at least two, by names without spaces");
    require(
        (properties.tls().mode() == Tls.Mode.VERIFY) == (properties.tls().ca() != null),
        "as.failover.tls.ca",
        properties.tls().ca(),
        "it is needed for as.failover.tls.mode=verify, and for no other");
    String initial = properties.initialSource();
    require(
        initial == null || servers.containsKey(initial),
        "as.failover.initial-source",
        initial,
        "it must be one of as.failover.servers, which are " + servers.keySet());
    require(
        properties.acknowledgingReplicas() >= 0
            && properties.acknowledgingReplicas() < servers.size(),
        "as.failover.acknowledging-replicas",
        properties.acknowledgingReplicas(),
        "it must be between 0 and the number of replicas, which is " + (servers.size() - 1));
    return new FreshestFirst(properties);
  }

  private static void require(
      boolean condition, String property, @Nullable Object value, String rule) {
    if (!condition) {
      throw new InvalidConfigurationPropertyValueException(property, value, rule);
    }
  }

  @Bean(destroyMethod = "")
  MysqlServer mysqlServer(AgentProperties properties) {
    return new MysqlServer(
        properties.url(), properties.username(), properties.password(), properties.tls());
  }

  @Bean(destroyMethod = "")
  Promotions promotions(
      AgentProperties properties,
      Environment environment,
      ElectionService election,
      ObjectProvider<EtcdFence> etcd,
      ObjectProvider<ZookeeperFence> zookeeper,
      ObjectProvider<DataSource> database,
      ObjectProvider<CommitFence> mysql) {
    EtcdFence fence = etcd.getIfAvailable();
    if (fence != null) {
      return new EtcdPromotions(fence, election, properties);
    }
    ZookeeperFence other = zookeeper.getIfAvailable();
    if (other != null) {
      return new ZookeeperPromotions(other, election, properties);
    }
    require(
        mysql.getIfAvailable() != null,
        ALGORITHM,
        environment.getProperty(ALGORITHM),
        "the agents can elect over Etcd, Zookeeper or Mysql");
    return new MysqlPromotions(database.getObject(), mysql.getObject(), election, properties);
  }

  /** The database of the election, which must not be one of the set's servers. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnProperty(name = ALGORITHM, havingValue = "Mysql")
  @EnableConfigurationProperties(DataSourceProperties.class)
  static class ElectionDatabaseConfiguration {

    @Bean
    HikariDataSource electionDataSource(
        DataSourceProperties properties, ElectionProperties election) {
      HikariDataSource pool =
          properties.initializeDataSourceBuilder().type(HikariDataSource.class).build();
      pool.setMaximumPoolSize(2);
      long timeout = Math.max(election.operationTimeout().toMillis(), 250);
      pool.setConnectionTimeout(timeout);
      // The agent must not wait for an answer that the network has lost.
      pool.addDataSourceProperty("connectTimeout", Long.toString(timeout));
      pool.addDataSourceProperty("socketTimeout", Long.toString(timeout));
      return pool;
    }
  }

  @Bean
  CommandPort commandPort(CommandProperties properties) {
    return new CommandPort(properties);
  }

  /** Down while the server may not join the source, or does not answer. */
  @Bean
  HealthIndicator serverHealthIndicator(Agent agent) {
    return () -> {
      Status status = agent.status();
      boolean out = status.role() == Role.REFUSED || status.role() == Role.UNKNOWN;
      return (out ? Health.down() : Health.up())
          .withDetail("role", status.role())
          .withDetail("reason", status.reason())
          .build();
    };
  }

  @Bean
  SourceDuty sourceDuty(
      AgentProperties properties,
      MysqlServer server,
      Promotions promotions,
      FreshestFirst freshest,
      ElectionOperations election,
      LeaseSettings settings) {
    return new SourceDuty(properties, server, promotions, freshest, election, settings);
  }

  @Bean
  AgentMetrics agentMetrics(
      AgentProperties properties, Agent agent, SourceDuty duty, Promotions promotions) {
    return new AgentMetrics(agent, duty, promotions, properties.acknowledgingReplicas());
  }

  @Bean
  Agent agent(
      AgentProperties properties,
      MysqlServer server,
      Promotions promotions,
      FreshestFirst freshest,
      ElectionOperations election,
      Elector elector,
      LeaseSettings settings,
      SourceDuty duty) {
    return new Agent(properties, server, promotions, freshest, election, elector, settings, duty);
  }
}
