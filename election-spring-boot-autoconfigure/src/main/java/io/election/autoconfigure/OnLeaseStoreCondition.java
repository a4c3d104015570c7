package io.election.autoconfigure;

import io.election.autoconfigure.settings.ElectionAlgorithm;
import io.election.store.LeaseStore;
import java.util.Objects;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.ConfigurationCondition;
import org.springframework.core.type.AnnotatedTypeMetadata;

/** Matches if {@code as.election.algorithm} names an existing {@link LeaseStore} bean, or a list. */
final class OnLeaseStoreCondition extends SpringBootCondition implements ConfigurationCondition {

  @Override
  public ConfigurationPhase getConfigurationPhase() {
    return ConfigurationPhase.REGISTER_BEAN;
  }

  @Override
  public ConditionOutcome getMatchOutcome(
      ConditionContext context, AnnotatedTypeMetadata metadata) {
    String beanName = ElectionAlgorithm.storeBean(
        context.getEnvironment(), Objects.requireNonNull(context.getBeanFactory()));
    ConditionMessage.Builder message = ConditionMessage.forCondition(
        LeaseStore.class.getSimpleName(),
        "of algorithm "
            + String.join(
                ElectionAlgorithm.SEPARATOR, ElectionAlgorithm.names(context.getEnvironment())));
    return beanName != null
        ? ConditionOutcome.match(message.foundExactly(beanName))
        : ConditionOutcome.noMatch(message.notAvailable("bean"));
  }
}
