package io.election.autoconfigure.settings;

import io.election.Names;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.core.env.Environment;

/**
 * The names of the elections that the configuration lists. Used within the auto-configuration.
 *
 * @param defaultName the default election
 * @param further the other elections
 */
public record ElectionNames(String defaultName, List<String> further) {

  private static final String SERVICE_ID = "as.election.service-id";

  private static final String SERVICES = "as.election.services";

  static final String APPLICATION_NAME = "spring.application.name";

  /**
   * Reads and checks the names.
   *
   * @throws InvalidConfigurationPropertyValueException if a name is missing, invalid, or listed
   *     twice
   */
  public static ElectionNames from(Environment environment) {
    return from(environment, true);
  }

  /**
   * Reads and checks the names.
   *
   * @param needed whether the default election needs a name
   * @throws InvalidConfigurationPropertyValueException if a name is missing, invalid, or listed
   *     twice
   */
  public static ElectionNames from(Environment environment, boolean needed) {
    Binder binder = Binder.get(environment);
    String defaultName = defaultName(environment, binder, needed);
    List<String> further = new ArrayList<>();
    Set<String> seen = new HashSet<>(Set.of(defaultName));
    for (String name : binder.bind(SERVICES, Bindable.listOf(String.class)).orElse(List.of())) {
      checked(SERVICES, name);
      if (!seen.add(name)) {
        throw new InvalidConfigurationPropertyValueException(
            SERVICES,
            name,
            name.equals(defaultName)
                ? "it is the default election, which need not be listed; remove it"
                : "it is listed twice; remove one of them");
      }
      further.add(name);
    }
    return new ElectionNames(defaultName, List.copyOf(further));
  }

  private static String defaultName(Environment environment, Binder binder, boolean needed) {
    String serviceId = binder.bind(SERVICE_ID, String.class).orElse(null);
    if (serviceId != null) {
      return checked(SERVICE_ID, serviceId);
    }
    @Nullable String applicationName = environment.getProperty(APPLICATION_NAME);
    if (applicationName != null && !applicationName.isBlank()) {
      return checked(APPLICATION_NAME, applicationName);
    }
    if (!needed) {
      return "default";
    }
    throw new InvalidConfigurationPropertyValueException(
        SERVICE_ID,
        null,
        "the election needs a name that no other service uses: set spring.application.name, or as.election.service-id if the election should have another name");
  }

  private static String checked(String property, String name) {
    String problem = Names.problem(name);
    if (problem != null) {
      String remedy = property.equals(APPLICATION_NAME)
          ? "as the name of an election it " + problem + "; set as.election.service-id to another"
          : "it " + problem + "; write a name of 1 to 128 printable characters";
      throw new InvalidConfigurationPropertyValueException(property, name, remedy);
    }
    return name;
  }
}
