package io.election.autoconfigure;

import io.election.ElectionOperations;
import io.election.ElectionService;
import io.election.autoconfigure.settings.ConditionalOnElectionSetting;
import io.election.autoconfigure.settings.ElectionAlgorithm;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;

/**
 * Fails the start if the configured algorithm is not available, so that no node runs without an
 * election.
 */
@Configuration(proxyBeanMethods = false)
@ConditionalOnElectionSetting("as.election.enabled")
@ConditionalOnMissingBean(ElectionService.class)
class UnavailableElectionConfiguration {

  @Bean
  ElectionOperations electionService(Environment environment, ListableBeanFactory beanFactory) {
    throw ElectionAlgorithm.of(environment).unavailable(beanFactory);
  }
}
