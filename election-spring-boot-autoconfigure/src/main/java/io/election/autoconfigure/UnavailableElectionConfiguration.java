package io.election.autoconfigure;

import io.election.ElectionService;
import io.election.autoconfigure.ElectionProperties.Algorithm;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;

/** The algorithm asked for is not there: ends the start, so that nobody runs unelected. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnElectionSetting("as.election.enabled")
@ConditionalOnMissingBean(ElectionService.class)
class UnavailableElectionConfiguration {

  @Bean
  ElectionService electionService(Environment environment) {
    Algorithm algorithm = OnElectionAlgorithmCondition.configured(environment);
    String reason = switch (algorithm) {
      case MYSQL ->
        "it needs io.election:election-mysql and org.springframework.boot:spring-boot-starter-jdbc on the class path, which io.election:election-spring-boot-starter brings; add that, or set as.election.algorithm=ManualAllocation";
      case MANUAL_ALLOCATION -> "it could not be configured";
    };
    throw new InvalidConfigurationPropertyValueException(
        "as.election.algorithm", algorithm, reason);
  }
}
