package io.election.autoconfigure.actuate;

import io.election.Fence;
import io.election.autoconfigure.ElectionAutoConfiguration;
import io.election.autoconfigure.ElectionBackend;
import io.election.autoconfigure.Elections;
import io.election.autoconfigure.leaderonly.LeaderBoundBeans;
import io.election.autoconfigure.leaderonly.LeaderOnlyCalls;
import io.micrometer.core.instrument.MeterRegistry;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Bean;

/** Auto-configuration of election metrics. */
@AutoConfiguration(
    after = ElectionAutoConfiguration.class,
    afterName =
        "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration")
@ConditionalOnClass(MeterRegistry.class)
@ConditionalOnBean({MeterRegistry.class, ElectionBackend.class})
public final class ElectionMetricsAutoConfiguration {

  ElectionMetricsAutoConfiguration() {}

  @Bean
  ElectionMetrics electionMetrics(
      MeterRegistry registry,
      Elections elections,
      ElectionBackend backend,
      LeaderOnlyCalls calls,
      LeaderBoundBeans beans,
      ObjectProvider<Fence> fence) {
    return new ElectionMetrics(registry, elections, backend, calls, beans, fence.getIfAvailable());
  }
}
