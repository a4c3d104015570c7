package io.election.autoconfigure;

import static io.election.autoconfigure.ElectionServicesRegistrar.DEFAULT_BEAN_NAME;
import static io.election.autoconfigure.ElectionServicesRegistrar.SEPARATOR;

import io.election.ElectionRegistry;
import io.election.ElectionService;
import io.election.ElectionSetupException;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.ListableBeanFactory;

/**
 * The elections of this application, auto-configured or its own, by name. Used within the
 * auto-configuration; applications use {@link ElectionRegistry}.
 */
public final class Elections implements ElectionRegistry {

  private final ListableBeanFactory beanFactory;

  private volatile @Nullable Known known;

  Elections(ListableBeanFactory beanFactory) {
    this.beanFactory = beanFactory;
  }

  /**
   * The default election; {@code null} if there is none, or if there are several and none is
   * primary.
   */
  @Nullable
  ElectionService defaultElection() {
    return known().defaultElection();
  }

  /**
   * Finds the election that a name refers to.
   *
   * @param name the name; empty for the default election
   * @return its service, or {@code null} if there is none
   */
  public @Nullable ElectionService resolve(String name) {
    return name.isEmpty() ? defaultElection() : known().byName().get(name);
  }

  /**
   * The name of one of these services, even if it is a mock that returns none.
   *
   * @param service the service
   * @return its name
   */
  public String nameOf(ElectionService service) {
    return known().byName().entrySet().stream()
        .filter((entry) -> entry.getValue() == service)
        .map(Map.Entry::getKey)
        .findFirst()
        .orElseGet(service::serviceId);
  }

  /**
   * Creates the failure for a place that names an unknown election.
   *
   * @param place the place that names it, for display
   * @param name the name; empty for the default election
   * @return the failure, which lists the known elections
   */
  public ElectionSetupException unknown(String place, String name) {
    Set<String> known = known().byName().keySet();
    if (known.isEmpty()) {
      return new ElectionSetupException(
          "%s means %s, but there is no ElectionService bean."
              .formatted(
                  place, name.isEmpty() ? "the default election" : "election '" + name + "'"),
          "Let the auto-configuration create one, or define one. In a test of a part of the application put @AutoConfigureElection (io.election:election-test) on the test.");
    }
    if (!name.isEmpty()) {
      return new ElectionSetupException(
          "%s names election '%s', but this node only knows %s.".formatted(place, name, known),
          "Add '%s' to as.election.services, or name one of those.".formatted(name));
    }
    return new ElectionSetupException(
        place
            + " means the default election, but there are several ElectionService beans and none is primary: "
            + known + ".",
        "Mark one of them @Primary, or name the election: @LeaderOnly(\"…\").");
  }

  @Override
  public Map<String, ElectionService> all() {
    return known().byName();
  }

  private Known known() {
    Known known = this.known;
    if (known == null) {
      known = inspect();
      this.known = known;
    }
    return known;
  }

  private Known inspect() {
    ElectionService defaultElection =
        this.beanFactory.getBeanProvider(ElectionService.class).getIfUnique();
    Map<String, ElectionService> byName = new LinkedHashMap<>();
    if (defaultElection != null) {
      byName.put(name(defaultElection, DEFAULT_BEAN_NAME), defaultElection);
    }
    BeanFactoryUtils.beansOfTypeIncludingAncestors(this.beanFactory, ElectionService.class)
        .forEach((beanName, service) -> {
          if (service != defaultElection && !PartBeans.contains(this.beanFactory, beanName)) {
            byName.putIfAbsent(name(service, beanName), service);
          }
        });
    return new Known(defaultElection, Collections.unmodifiableMap(byName));
  }

  /**
   * The name of a service. A mock returns {@code null} and gets the name of the service that it
   * replaces.
   */
  private static String name(ElectionService service, String beanName) {
    @Nullable String name = service.serviceId();
    if (name != null) {
      return name;
    }
    return beanName.startsWith(DEFAULT_BEAN_NAME + SEPARATOR)
        ? beanName.substring((DEFAULT_BEAN_NAME + SEPARATOR).length())
        : "default";
  }

  private record Known(
      @Nullable ElectionService defaultElection, Map<String, ElectionService> byName) {}
}
