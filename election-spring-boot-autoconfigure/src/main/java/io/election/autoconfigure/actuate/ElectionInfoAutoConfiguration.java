package io.election.autoconfigure.actuate;

import io.election.autoconfigure.ElectionAutoConfiguration;
import io.election.autoconfigure.ElectionBackend;
import io.election.autoconfigure.Elections;
import org.springframework.boot.actuate.autoconfigure.info.ConditionalOnEnabledInfoContributor;
import org.springframework.boot.actuate.info.InfoContributor;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

/** Auto-configuration of the information about elections in {@code /actuator/info}. */
@AutoConfiguration(after = ElectionAutoConfiguration.class)
@ConditionalOnClass({InfoContributor.class, ConditionalOnEnabledInfoContributor.class})
@ConditionalOnEnabledInfoContributor("election")
@ConditionalOnBean(ElectionBackend.class)
public final class ElectionInfoAutoConfiguration {

  ElectionInfoAutoConfiguration() {}

  @Bean
  @ConditionalOnMissingBean(name = "electionInfoContributor")
  InfoContributor electionInfoContributor(Elections elections) {
    return new ElectionInfoContributor(elections);
  }
}
