package io.election.autoconfigure.settings;

import java.lang.reflect.RecordComponent;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.bind.DataObjectPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationProperty;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertySource;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.context.properties.source.IterableConfigurationPropertySource;
import org.springframework.core.env.Environment;
import org.springframework.core.env.SystemEnvironmentPropertySource;

/** Misspelt names of properties, and those that elections made by hand have. Used within the
 * auto-configuration. */
public final class UnknownProperties {

  private static final Logger log = LoggerFactory.getLogger(UnknownProperties.class);

  private static final String ALGORITHM = "election.algorithm";

  private static final ConfigurationPropertyName PREFIX =
      ConfigurationPropertyName.of("as.election");

  private UnknownProperties() {}

  /**
   * Warns of names that nothing reads, and says which one is like it. A start is not refused: an
   * older version must start with the settings of a newer one, and Kubernetes adds environment
   * variables for a service of that name.
   */
  public static void warnOfUnknown(Environment environment) {
    Set<ConfigurationPropertyName> known = new LinkedHashSet<>();
    addNames(PREFIX, ElectionProperties.class, known);
    Set<ConfigurationPropertyName> reported = new HashSet<>();
    for (ConfigurationPropertySource source : ConfigurationPropertySources.get(environment)) {
      if (source instanceof IterableConfigurationPropertySource iterable) {
        boolean variables = source.getUnderlyingSource() instanceof SystemEnvironmentPropertySource;
        iterable.stream()
            .filter(PREFIX::isAncestorOf)
            .map(UnknownProperties::withoutIndexes)
            .filter((name) -> known.stream().noneMatch((one) -> isSame(name, one, variables)))
            .filter(reported::add)
            .forEach((name) -> log.warn(
                "{} is no property of this library, so its value has no effect. The nearest name is {}{}",
                name,
                nearest(name, known),
                origin(iterable, name)));
      }
    }
  }

  /**
   * Warns of the names below a prefix, whose values have no effect.
   *
   * @param reason why not, for display
   */
  public static void warnOfUnused(Environment environment, String prefix, String reason) {
    ConfigurationPropertyName unused = ConfigurationPropertyName.of(prefix);
    Set<ConfigurationPropertyName> reported = new HashSet<>();
    for (ConfigurationPropertySource source : ConfigurationPropertySources.get(environment)) {
      if (source instanceof IterableConfigurationPropertySource iterable) {
        iterable.stream()
            .filter(unused::isAncestorOf)
            .filter(reported::add)
            .forEach((name) -> log.warn("{} has no effect, since {}", name, reason));
      }
    }
  }

  /** Adds the names of a record of properties, and of the records in it. */
  private static void addNames(
      ConfigurationPropertyName prefix, Class<?> type, Set<ConfigurationPropertyName> names) {
    for (RecordComponent component : type.getRecordComponents()) {
      ConfigurationPropertyName name =
          prefix.append(DataObjectPropertyName.toDashedForm(component.getName()));
      if (component.getType().isRecord()) {
        addNames(name, component.getType(), names);
      } else {
        names.add(name);
      }
    }
  }

  private static ConfigurationPropertyName withoutIndexes(ConfigurationPropertyName name) {
    ConfigurationPropertyName result = name;
    while (result.isLastElementIndexed()) {
      result = result.getParent();
    }
    return result;
  }

  /** In the name of an environment variable nothing distinguishes a dash from a dot. */
  private static boolean isSame(
      ConfigurationPropertyName written, ConfigurationPropertyName known, boolean variables) {
    return variables ? letters(written).equals(letters(known)) : written.equals(known);
  }

  private static String letters(ConfigurationPropertyName name) {
    return name.toString().toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]", "");
  }

  private static ConfigurationPropertyName nearest(
      ConfigurationPropertyName name, Set<ConfigurationPropertyName> known) {
    String written = letters(name);
    return Collections.min(
        known, Comparator.comparingInt((one) -> distance(written, letters(one))));
  }

  private static String origin(
      IterableConfigurationPropertySource source, ConfigurationPropertyName name) {
    ConfigurationProperty property = source.getConfigurationProperty(name);
    return property != null && property.getOrigin() != null
        ? " (in " + property.getOrigin() + ')'
        : "";
  }

  /** How many letters must be added, removed or replaced to make one text the other. */
  private static int distance(String from, String to) {
    int[] row = IntStream.rangeClosed(0, to.length()).toArray();
    for (int i = 1; i <= from.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j <= to.length(); j++) {
        int replaced = diagonal + (from.charAt(i - 1) == to.charAt(j - 1) ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(replaced, Math.min(row[j - 1], diagonal) + 1);
      }
    }
    return row[to.length()];
  }

  /** Warns of a property that hand-made elections read under a similar name. */
  public static void warn(Environment environment) {
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
            environment, i == 0 ? ALGORITHM : "%s[%s]".formatted(ALGORITHM, i)))
        .takeWhile(Objects::nonNull)
        .map(String::valueOf)
        .collect(Collectors.joining(", "));
  }
}
