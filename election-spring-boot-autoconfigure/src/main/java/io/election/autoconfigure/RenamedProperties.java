package io.election.autoconfigure;

import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;
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
    String written = algorithm(environment);
    boolean ours = Binder.get(environment)
        .bind("as." + ALGORITHM, Bindable.listOf(String.class))
        .isBound();
    if (!written.isEmpty() && !ours) {
      log.warn(
          "{} is '{}', which this library does not read: write as.{} instead. The algorithm is {} now",
          ALGORITHM,
          written,
          ALGORITHM,
          ElectionAlgorithm.of(environment).name());
    }
  }

  /** Returns the value, or all values of a list, as the configuration contains them. */
  private static String algorithm(Environment environment) {
    return Stream.iterate(0, (i) -> i + 1)
        .map((i) -> InvalidElectionPropertyFailureAnalyzer.asWritten(
            environment, i == 0 ? ALGORITHM : "%s[%d]".formatted(ALGORITHM, i)))
        .takeWhile(Objects::nonNull)
        .map(String::valueOf)
        .collect(Collectors.joining(", "));
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
