package io.election.autoconfigure.settings;

import java.util.List;
import java.util.stream.Stream;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.ConfigurationCondition;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotatedTypeMetadata;

/** Condition behind {@link ConditionalOnElectionAlgorithm}. */
final class OnElectionAlgorithmCondition extends SpringBootCondition
    implements ConfigurationCondition {

  /** When the beans of the database are registered. */
  @Override
  public ConfigurationPhase getConfigurationPhase() {
    return ConfigurationPhase.REGISTER_BEAN;
  }

  @Override
  public ConditionOutcome getMatchOutcome(
      ConditionContext context, AnnotatedTypeMetadata metadata) {
    ConditionMessage.Builder message =
        ConditionMessage.forCondition(ConditionalOnElectionAlgorithm.class);
    Environment environment = context.getEnvironment();
    if (!OnElectionSettingCondition.isEnabled(context)) {
      return ConditionOutcome.noMatch(message.because("there is no election"));
    }
    String[] wanted =
        metadata.getAnnotations().get(ConditionalOnElectionAlgorithm.class).getStringArray("value");
    List<String> configured = ElectionAlgorithm.names(environment);
    return new ConditionOutcome(
        Stream.of(wanted).anyMatch(configured::contains),
        message.found("algorithm", "algorithms").items(configured));
  }
}
