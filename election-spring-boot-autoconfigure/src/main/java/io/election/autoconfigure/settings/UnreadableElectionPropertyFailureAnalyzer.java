package io.election.autoconfigure.settings;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.boot.context.properties.source.ConfigurationProperty;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.core.Ordered;
import org.springframework.core.env.Environment;

/**
 * States the rule where Spring Boot's own analysis repeats an internal message: for a switch
 * without a value, and for a duration that is too long.
 */
final class UnreadableElectionPropertyFailureAnalyzer extends AbstractFailureAnalyzer<BindException>
    implements Ordered {

  private final InvalidElectionPropertyFailureAnalyzer analyzer;

  UnreadableElectionPropertyFailureAnalyzer(@Nullable Environment environment) {
    this.analyzer = new InvalidElectionPropertyFailureAnalyzer(environment);
  }

  /** Before Spring Boot's analyzer. */
  @Override
  public int getOrder() {
    return 0;
  }

  @Override
  protected @Nullable FailureAnalysis analyze(Throwable rootFailure, BindException cause) {
    String rule = rule(cause);
    ConfigurationProperty property = cause.getProperty();
    if (rule == null || property == null) {
      return null;
    }
    InvalidConfigurationPropertyValueException invalid =
        new InvalidConfigurationPropertyValueException(
            cause.getName().toString(), property.getValue(), rule, cause);
    return this.analyzer.analyze(rootFailure, invalid);
  }

  private static @Nullable String rule(BindException cause) {
    if (cause.getTarget().getType().resolve() == boolean.class) {
      return "it must be true or false";
    }
    return NestedExceptionUtils.getMostSpecificCause(cause) instanceof ArithmeticException
        ? "it is too long; write for instance 10s"
        : null;
  }
}
