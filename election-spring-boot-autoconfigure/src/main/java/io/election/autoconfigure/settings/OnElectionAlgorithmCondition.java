package io.election.autoconfigure.settings;

import java.util.List;
import java.util.stream.Stream;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotatedTypeMetadata;

/** Condition behind {@link ConditionalOnElectionAlgorithm}. */
final class OnElectionAlgorithmCondition extends SpringBootCondition {

  @Override
  public ConditionOutcome getMatchOutcome(
      ConditionContext context, AnnotatedTypeMetadata metadata) {
    ConditionMessage.Builder message =
        ConditionMessage.forCondition(ConditionalOnElectionAlgorithm.class);
    Environment environment = context.getEnvironment();
    if (!isEnabled(environment)) {
      return ConditionOutcome.noMatch(message.because("as.election.enabled is false"));
    }
    String[] wanted =
        metadata.getAnnotations().get(ConditionalOnElectionAlgorithm.class).getStringArray("value");
    List<String> configured = ElectionAlgorithm.names(environment);
    return new ConditionOutcome(
        Stream.of(wanted).anyMatch(configured::contains),
        message.found("algorithm", "algorithms").items(configured));
  }

  static boolean isEnabled(Environment environment) {
    return OnElectionSettingCondition.isOn(environment, "as.election.enabled");
  }
}
