package io.election.autoconfigure;

import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * The register of elections. Also present where beans are guarded and no election is configured, as
 * in a test of a part of the application. Used within the auto-configuration.
 */
@Configuration(proxyBeanMethods = false)
public final class ElectionsConfiguration {

  ElectionsConfiguration() {}

  @Bean
  Elections elections(ListableBeanFactory beanFactory) {
    return new Elections(beanFactory);
  }
}
