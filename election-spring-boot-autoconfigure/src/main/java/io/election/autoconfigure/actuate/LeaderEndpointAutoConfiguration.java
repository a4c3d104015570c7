package io.election.autoconfigure.actuate;

import io.election.autoconfigure.ElectionAutoConfiguration;
import io.election.autoconfigure.ElectionBackend;
import io.election.autoconfigure.Elections;
import io.election.autoconfigure.leaderonly.LeaderBoundBeans;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;

/** Auto-configuration of the {@code leader} endpoint. */
@AutoConfiguration(after = ElectionAutoConfiguration.class)
@ConditionalOnClass(ConditionalOnAvailableEndpoint.class)
@ConditionalOnAvailableEndpoint(LeaderEndpoint.class)
@EnableConfigurationProperties(LeaderEndpointProperties.class)
public final class LeaderEndpointAutoConfiguration {

  LeaderEndpointAutoConfiguration() {}

  @Bean
  @ConditionalOnMissingBean
  LeaderEndpoint leaderEndpoint(
      Elections elections,
      ObjectProvider<ElectionBackend> backend,
      LeaderBoundBeans beans,
      LeaderEndpointProperties properties) {
    return new LeaderEndpoint(elections, backend.getIfAvailable(), beans, properties);
  }
}
