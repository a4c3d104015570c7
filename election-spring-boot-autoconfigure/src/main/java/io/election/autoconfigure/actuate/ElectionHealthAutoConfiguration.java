package io.election.autoconfigure.actuate;

import io.election.autoconfigure.ElectionAutoConfiguration;
import io.election.autoconfigure.ElectionBackend;
import io.election.autoconfigure.Elections;
import io.election.autoconfigure.leaderonly.LeaderBoundBeans;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;

/** Auto-configuration of the {@code election} health indicator. */
@AutoConfiguration(after = ElectionAutoConfiguration.class)
@ConditionalOnClass({HealthIndicator.class, ConditionalOnEnabledHealthIndicator.class})
@ConditionalOnEnabledHealthIndicator("election")
@ConditionalOnBean(ElectionBackend.class)
public final class ElectionHealthAutoConfiguration {

  ElectionHealthAutoConfiguration() {}

  @Bean
  @ConditionalOnMissingBean(name = "electionHealthIndicator")
  HealthIndicator electionHealthIndicator(
      Elections elections, ElectionBackend backend, LeaderBoundBeans beans) {
    return new ElectionHealthIndicator(elections, backend, beans);
  }
}
