package io.election.autoconfigure;

import java.util.Map;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.core.env.Environment;

/** The names of properties in earlier versions. */
final class RenamedProperties {

  private static final Map<String, String> NAMES =
      Map.of("as.election.mysql.operation-timeout", "as.election.operation-timeout");

  private RenamedProperties() {}

  /**
   * Refuses a property of an earlier version, whose value would otherwise be ignored.
   *
   * @throws InvalidConfigurationPropertyValueException if a former name has a value
   */
  static void refuse(Environment environment) {
    NAMES.forEach((former, name) -> {
      Object written = InvalidElectionPropertyFailureAnalyzer.asWritten(environment, former);
      if (written != null) {
        throw new InvalidConfigurationPropertyValueException(
            former, written, "this property is now called " + name + "; write that name");
      }
    });
  }
}
