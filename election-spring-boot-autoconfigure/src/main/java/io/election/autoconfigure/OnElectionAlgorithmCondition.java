package io.election.autoconfigure;

import io.election.autoconfigure.ElectionProperties.Algorithm;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotatedTypeMetadata;

/**
 * Condition behind {@link ConditionalOnElectionAlgorithm}. Binds the property, because a YAML list is
 * not one property.
 */
final class OnElectionAlgorithmCondition extends SpringBootCondition {

  private static final String PROPERTY = "as.election.algorithm";

  /** Names that are kept for algorithms to come. */
  private static final Set<String> LATER = Set.of("zookeeper", "etcd");

  @Override
  public ConditionOutcome getMatchOutcome(
      ConditionContext context, AnnotatedTypeMetadata metadata) {
    ConditionMessage.Builder message =
        ConditionMessage.forCondition(ConditionalOnElectionAlgorithm.class);
    Environment environment = context.getEnvironment();
    if (!isEnabled(environment)) {
      return ConditionOutcome.noMatch(message.because("as.election.enabled is false"));
    }
    Algorithm wanted = metadata
        .getAnnotations()
        .get(ConditionalOnElectionAlgorithm.class)
        .getEnum("value", Algorithm.class);
    Algorithm configured = configured(environment);
    return new ConditionOutcome(configured == wanted, message.found("algorithm").items(configured));
  }

  static boolean isEnabled(Environment environment) {
    return OnElectionSettingCondition.isOn(environment, "as.election.enabled");
  }

  /** The one algorithm of this application. */
  static Algorithm configured(Environment environment) {
    List<String> written = Binder.get(environment)
        .bind(PROPERTY, Bindable.listOf(String.class))
        .orElse(List.of(Algorithm.MYSQL.toString()));
    String value = String.join(", ", written);
    if (written.stream().map(OnElectionAlgorithmCondition::canonical).anyMatch(LATER::contains)) {
      throw new InvalidConfigurationPropertyValueException(
          PROPERTY, value, "it is not available in this version; write one of " + allowed());
    }
    if (written.isEmpty()) {
      throw new InvalidConfigurationPropertyValueException(
          PROPERTY, value, "it must be one of " + allowed());
    }
    List<Algorithm> algorithms =
        written.stream().map((name) -> parse(name, value)).toList();
    if (algorithms.size() > 1) {
      throw new InvalidConfigurationPropertyValueException(
          PROPERTY,
          value,
          "a list of several algorithms is not available in this version; write one of "
              + allowed());
    }
    return algorithms.get(0);
  }

  private static Algorithm parse(String name, String value) {
    return Arrays.stream(Algorithm.values())
        .filter((algorithm) -> canonical(algorithm.toString()).equals(canonical(name)))
        .findFirst()
        .orElseThrow(() -> new InvalidConfigurationPropertyValueException(
            PROPERTY, value, "it must be one of " + allowed()));
  }

  /** As the binder reads an enum: letters and digits alone count. */
  private static String canonical(String name) {
    return name.replaceAll("[^\\p{L}\\p{Nd}]", "").toLowerCase(Locale.ROOT);
  }

  private static String allowed() {
    return Arrays.stream(Algorithm.values())
        .map(Algorithm::toString)
        .collect(Collectors.joining(", "));
  }
}
