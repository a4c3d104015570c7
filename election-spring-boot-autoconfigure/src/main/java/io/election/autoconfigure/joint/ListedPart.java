package io.election.autoconfigure.joint;

import io.election.ElectionService;
import io.election.autoconfigure.ElectionServicesRegistrar;
import io.election.autoconfigure.settings.ElectionAlgorithm;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.core.env.Environment;

/**
 * A part that the list names: manual allocation, or a bean.
 *
 * @param name the name, as the endpoint shows it
 * @param kind what it is
 * @param beanName the bean; empty for manual allocation
 */
record ListedPart(String name, Kind kind, String beanName) {

  /** What a part is. */
  enum Kind {
    /** The leader that the configuration names. */
    MANUAL_ALLOCATION,
    /** A lease in a store. */
    STORE,
    /** A service of the application. */
    SERVICE
  }

  /**
   * Checks names alone.
   *
   * @throws InvalidConfigurationPropertyValueException if one of them is empty, repeated or ours
   */
  static void check(List<String> names) {
    Set<String> seen = new HashSet<>();
    for (String name : names) {
      if (name.isBlank()) {
        throw invalid(names, "one of its parts has no name; remove it");
      }
      if (!seen.add(name)) {
        throw invalid(names, "it names '%s' twice; remove one of them".formatted(name));
      }
      if (isOfElection(name)) {
        throw invalid(
            names,
            "'%s' is the name of the election itself, which cannot be a part of it; if that is a bean of the application, give the bean another name"
                .formatted(name));
      }
    }
  }

  /** Returns whether a bean of this name is an election itself. */
  static boolean isOfElection(String beanName) {
    return (beanName + ":").startsWith(ElectionServicesRegistrar.DEFAULT_BEAN_NAME + ":");
  }

  /**
   * Checks a list that a service of the application replaces.
   *
   * @param replacing the bean, which the list does not name
   * @throws InvalidConfigurationPropertyValueException if a name means nothing in the application
   */
  static void refuseUnknown(
      Environment environment, ListableBeanFactory beanFactory, String replacing) {
    List<String> services = services(beanFactory);
    for (ElectionAlgorithm algorithm : ElectionAlgorithm.all(environment)) {
      String name = algorithm.name();
      if (!algorithm.isOurs() && find(algorithm, services, beanFactory) == null) {
        throw invalid(
            ElectionAlgorithm.names(environment),
            "there is no bean '%s', and bean '%s', which it does not name, would be the election alone; name that bean, or remove '%s'"
                .formatted(name, replacing, name));
      }
    }
  }

  /** Returns the names of the beans that are services, without creating one. */
  static List<String> services(ListableBeanFactory beanFactory) {
    return Arrays.asList(beanFactory.getBeanNamesForType(ElectionService.class, true, false));
  }

  /**
   * Finds what the names mean.
   *
   * @return the parts in their order
   * @throws InvalidConfigurationPropertyValueException if a part is not available, or named twice
   */
  static List<ListedPart> all(Environment environment, ListableBeanFactory beanFactory) {
    List<String> names = ElectionAlgorithm.names(environment);
    check(names);
    List<String> services = services(beanFactory);
    List<ListedPart> parts = ElectionAlgorithm.all(environment).stream()
        .map((algorithm) -> of(algorithm, names, services, beanFactory))
        .toList();
    Set<String> beanNames = new HashSet<>();
    for (ListedPart part : parts) {
      if (!beanNames.add(part.beanName())) {
        throw invalid(
            names,
            "two of its parts are the bean '%s'; remove one of them".formatted(part.beanName()));
      }
    }
    if (parts.stream().noneMatch((part) -> part.kind() == Kind.STORE)) {
      throw invalid(
          names,
          "none of its parts keeps a lease; add Mysql, Postgresql, Zookeeper, Etcd, or a store of your own");
    }
    return parts;
  }

  private static ListedPart of(
      ElectionAlgorithm algorithm,
      List<String> names,
      List<String> services,
      ListableBeanFactory beanFactory) {
    ListedPart part = find(algorithm, services, beanFactory);
    if (part == null) {
      throw invalid(
          names,
          "its part '%s' is not available: %s, or the name of an ElectionService bean of this context"
              .formatted(algorithm.name(), algorithm.unavailable(beanFactory).getReason()));
    }
    return part;
  }

  /** Finds what a name means; {@code null} if nothing in this context has it. */
  private static @Nullable ListedPart find(
      ElectionAlgorithm algorithm, List<String> services, ListableBeanFactory beanFactory) {
    String name = algorithm.name();
    if (algorithm.is(ElectionAlgorithm.MANUAL_ALLOCATION)) {
      return new ListedPart(name, Kind.MANUAL_ALLOCATION, "");
    }
    if (services.contains(name)) {
      return new ListedPart(name, Kind.SERVICE, name);
    }
    String store = algorithm.storeBean(beanFactory);
    return store != null ? new ListedPart(name, Kind.STORE, store) : null;
  }

  /** Returns the failure of a start whose list cannot be used. */
  static InvalidConfigurationPropertyValueException invalid(
      Collection<String> names, String reason) {
    return new InvalidConfigurationPropertyValueException(
        ElectionAlgorithm.PROPERTY, String.join(ElectionAlgorithm.SEPARATOR, names), reason);
  }
}
