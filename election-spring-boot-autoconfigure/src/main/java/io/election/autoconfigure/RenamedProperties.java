package io.election.autoconfigure;

import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.core.env.Environment;

/** The names of properties in earlier versions, and in elections made by hand. */
final class RenamedProperties {

  private static final Map<String, String> NAMES =
      Map.of("as.election.mysql.operation-timeout", "as.election.operation-timeout");

  private static final Logger log = LoggerFactory.getLogger(RenamedProperties.class);

  private static final String ALGORITHM = "election.algorithm";

  private RenamedProperties() {}

  /** Warns of a property that hand-made elections read under a similar name. */
  static void warn(Environment environment) {
    Object written = InvalidElectionPropertyFailureAnalyzer.asWritten(environment, ALGORITHM);
    boolean ours = Binder.get(environment)
        .bind("as." + ALGORITHM, Bindable.listOf(String.class))
        .isBound();
    if (written != null && !ours) {
      log.warn(
          "{} is '{}', which this library does not read: write as.{} instead. The algorithm is {} now",
          ALGORITHM,
          written,
          ALGORITHM,
          ElectionAlgorithm.of(environment).name());
    }
  }

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
