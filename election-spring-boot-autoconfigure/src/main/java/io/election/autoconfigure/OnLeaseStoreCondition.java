package io.election.autoconfigure;

import io.election.lease.LeaseStore;
import java.util.List;
import java.util.Objects;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.ConfigurationCondition;
import org.springframework.core.type.AnnotatedTypeMetadata;

/** Matches if {@code as.election.algorithm} is the name of an existing {@link LeaseStore} bean. */
final class OnLeaseStoreCondition extends SpringBootCondition implements ConfigurationCondition {

  @Override
  public ConfigurationPhase getConfigurationPhase() {
    return ConfigurationPhase.REGISTER_BEAN;
  }

  @Override
  public ConditionOutcome getMatchOutcome(
      ConditionContext context, AnnotatedTypeMetadata metadata) {
    List<ElectionAlgorithm> all = ElectionAlgorithm.all(context.getEnvironment());
    ElectionAlgorithm algorithm = all.get(0);
    if (all.size() > 1) {
      return ConditionOutcome.noMatch("as.election.algorithm is a list");
    }
    String beanName = algorithm.storeBean(Objects.requireNonNull(context.getBeanFactory()));
    ConditionMessage.Builder message = ConditionMessage.forCondition(
        LeaseStore.class.getSimpleName(), "of algorithm " + algorithm.name());
    return beanName != null
        ? ConditionOutcome.match(message.foundExactly(beanName))
        : ConditionOutcome.noMatch(message.notAvailable("bean"));
  }
}
