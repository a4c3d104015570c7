package io.election.autoconfigure.settings;

import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.source.ConfigurationProperty;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertySource;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.core.Ordered;
import org.springframework.core.env.Environment;

/**
 * Names the property, its value as written, the origin, the rule and the remedy. Spring Boot's own
 * analysis does not handle a property that is missing or written as an environment variable.
 */
final class InvalidElectionPropertyFailureAnalyzer
    extends AbstractFailureAnalyzer<InvalidConfigurationPropertyValueException> implements Ordered {

  private final @Nullable Environment environment;

  InvalidElectionPropertyFailureAnalyzer(@Nullable Environment environment) {
    this.environment = environment;
  }

  /** Before Spring Boot's analyzer. */
  @Override
  public int getOrder() {
    return 0;
  }

  @Override
  protected @Nullable FailureAnalysis analyze(
      Throwable rootFailure, InvalidConfigurationPropertyValueException cause) {
    String name = cause.getName();
    if (!name.startsWith("as.election.") && !name.equals(ElectionNames.APPLICATION_NAME)) {
      return null;
    }
    ConfigurationProperty written = this.environment != null ? find(this.environment, name) : null;
    StringBuilder description = new StringBuilder(name);
    if (cause.getValue() == null) {
      description.append(" is not set");
    } else {
      description.append(" is '").append(cause.getValue()).append('\'');
      if (written == null) {
        description.append(" by default");
      } else if (written.getOrigin() != null) {
        description.append(" (in ").append(written.getOrigin()).append(')');
      }
    }
    String reason = Objects.requireNonNullElse(cause.getReason(), "The value is invalid");
    return new FailureAnalysis(
        description
            .append(": ")
            .append(reason)
            .append(reason.endsWith(".") ? "" : ".")
            .toString(),
        "Update " + name + " in the configuration of the application.",
        cause);
  }

  /** The value of a property as the configuration contains it, or {@code null}. */
  static @Nullable Object asWritten(Environment environment, String name) {
    ConfigurationProperty property = find(environment, name);
    return property != null ? property.getValue() : null;
  }

  private static @Nullable ConfigurationProperty find(Environment environment, String name) {
    ConfigurationPropertyName propertyName = ConfigurationPropertyName.of(name);
    for (ConfigurationPropertySource source : ConfigurationPropertySources.get(environment)) {
      ConfigurationProperty property = source.getConfigurationProperty(propertyName);
      if (property == null) {
        property = source.getConfigurationProperty(propertyName.append("[0]"));
      }
      if (property != null) {
        return property;
      }
    }
    return null;
  }
}
