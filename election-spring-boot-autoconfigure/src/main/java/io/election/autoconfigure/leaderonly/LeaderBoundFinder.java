package io.election.autoconfigure.leaderonly;

import io.election.ElectionSetupException;
import io.election.LeaderBound;
import io.election.LeaderTask;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.springframework.beans.MutablePropertyValues;
import org.springframework.beans.PropertyAccessorFactory;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.Lifecycle;
import org.springframework.context.SmartLifecycle;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/** Finds what is bound to the leadership, and refuses what cannot be. */
final class LeaderBoundFinder implements Supplier<List<LeaderBoundBean>> {

  static final String LISTENERS = "as.election.leader-bound.listeners";

  /**
   * The registries of the containers of annotated listeners. Referenced by name, so none of them
   * needs to be on the class path.
   */
  static final List<String> REGISTRIES = List.of(
      "org.springframework.kafka.config.KafkaListenerEndpointRegistry",
      "org.springframework.jms.config.JmsListenerEndpointRegistry",
      "org.springframework.amqp.rabbit.listener.RabbitListenerEndpointRegistry");

  private final ConfigurableListableBeanFactory beanFactory;

  private final LeaderOnlyMethods methods;

  /** The ids of the listener containers, each with "@" and its election unless that is the default. */
  private final List<String> listeners;

  private final LeaderBoundBean.Shared shared;

  LeaderBoundFinder(
      ConfigurableListableBeanFactory beanFactory,
      LeaderOnlyMethods methods,
      List<String> listeners,
      LeaderBoundBean.Shared shared) {
    this.beanFactory = beanFactory;
    this.methods = methods;
    this.listeners = listeners;
    this.shared = shared;
  }

  @Override
  public List<LeaderBoundBean> get() {
    Map<String, LeaderBoundBean> found = new LinkedHashMap<>();
    Set<String> names =
        new LinkedHashSet<>(List.of(this.beanFactory.getBeanNamesForAnnotation(LeaderBound.class)));
    names.addAll(List.of(this.beanFactory.getBeanNamesForType(LeaderTask.class, true, false)));
    names.forEach((name) -> addBean(name, found));
    if (!this.listeners.isEmpty()) {
      Map<String, List<Lifecycle>> containers = containers();
      this.listeners.forEach((listener) -> addListener(listener, containers, found));
    }
    return List.copyOf(found.values());
  }

  private void add(
      String name,
      String election,
      String place,
      Lifecycle work,
      Map<String, LeaderBoundBean> found) {
    if (found.containsKey(name)) {
      throw new ElectionSetupException(
          "'" + name + "' is bound to the leadership twice.",
          "Name it once: by @LeaderBound, or in " + LISTENERS + ".");
    }
    found.put(
        name,
        new LeaderBoundBean(name, this.shared.calls().gate(election, place), work, this.shared));
  }

  private void addBean(String name, Map<String, LeaderBoundBean> found) {
    String place = "leader-bound bean '" + name + "'";
    if (!this.beanFactory.isSingleton(name)) {
      throw unbound(place, "it is no singleton", "Give it the scope 'singleton'.");
    }
    List<String> elections =
        this.beanFactory.findAllAnnotationsOnBean(name, LeaderBound.class, false).stream()
            .map((annotation) -> this.methods.election(annotation.value(), place))
            .distinct()
            .toList();
    if (elections.size() > 1) {
      throw unbound(
          place, "its class and its definition name the elections " + elections, "Name one.");
    }
    Object bean = this.beanFactory.getBean(name);
    requireManualStart(place, bean);
    if (bean instanceof Lifecycle
        && !(bean instanceof SmartLifecycle)
        && Stream.of(this.beanFactory.getDependentBeans(name))
            .filter(this.beanFactory::containsBean)
            .anyMatch((each) -> this.beanFactory.isTypeMatch(each, Lifecycle.class))) {
      throw unbound(
          place,
          "Spring starts a plain Lifecycle with the life cycles that depend on it",
          "Implement SmartLifecycle, and let isAutoStartup() return false.");
    }
    add(name, elections.isEmpty() ? "" : elections.get(0), place, lifecycle(place, bean), found);
  }

  private static Lifecycle lifecycle(String place, Object bean) {
    if (bean instanceof Lifecycle lifecycle) {
      return lifecycle;
    }
    if (bean instanceof LeaderTask task) {
      return new LeaderTaskLifecycle(task);
    }
    throw unbound(
        place,
        bean.getClass().getName() + " is neither a Lifecycle nor a LeaderTask",
        "Implement one of them. For methods that are called use @LeaderOnly.");
  }

  private void addListener(
      String listener,
      Map<String, List<Lifecycle>> containers,
      Map<String, LeaderBoundBean> found) {
    int separator = listener.lastIndexOf('@');
    String id = separator < 0 ? listener : listener.substring(0, separator);
    List<Lifecycle> named = containers.getOrDefault(id, List.of());
    String place = "listener '" + id + "' of " + LISTENERS;
    if (named.size() != 1) {
      throw unbound(
          place,
          (named.isEmpty()
                  ? "no listener container has"
                  : named.size() + " listener containers have")
              + " this id; known are "
              + containers.keySet(),
          "Name the id of one annotated listener: @KafkaListener(id = \"" + id + "\").");
    }
    Lifecycle container = named.get(0);
    PropertyAccessorFactory.forBeanPropertyAccess(container)
        .setPropertyValues(new MutablePropertyValues(Map.of("autoStartup", false)), true);
    requireManualStart(place, container);
    add(id, separator < 0 ? "" : listener.substring(separator + 1), place, container, found);
  }

  private Map<String, List<Lifecycle>> containers() {
    Map<String, List<Lifecycle>> containers = new LinkedHashMap<>();
    ClassLoader loader = Objects.requireNonNull(this.beanFactory.getBeanClassLoader());
    for (String name : REGISTRIES) {
      if (ClassUtils.isPresent(name, loader)) {
        Class<?> type = ClassUtils.resolveClassName(name, loader);
        Method getter = ReflectionUtils.findMethod(type, "getListenerContainer", String.class);
        for (Object registry : this.beanFactory.getBeansOfType(type).values()) {
          Object ids = LeaderBoundBean.property(registry, "listenerContainerIds");
          for (Object id : (Collection<?>) Objects.requireNonNull(ids)) {
            Object container =
                ReflectionUtils.invokeMethod(Objects.requireNonNull(getter), registry, id);
            containers.computeIfAbsent((String) id, (key) -> new ArrayList<>()).add((Lifecycle)
                Objects.requireNonNull(container));
          }
        }
      }
    }
    return containers;
  }

  private static void requireManualStart(String place, Object bean) {
    if (Stream.concat(Stream.of(bean), sources(bean))
        .anyMatch((part) -> part instanceof SmartLifecycle smart && smart.isAutoStartup())) {
      throw unbound(
          place,
          "Spring starts it on each node, since isAutoStartup() is true",
          "Let isAutoStartup() return false, by setAutoStartup(false), or for a flow's source by autoStartup(false).");
    }
  }

  /** The sources of a flow of Spring Integration, which are started although the flow is not. */
  private static Stream<?> sources(Object bean) {
    return LeaderBoundBean.property(bean, "integrationComponents") instanceof Map<?, ?> parts
        ? parts.keySet().stream()
            .filter((part) -> !part.getClass().getSimpleName().startsWith("ConsumerEndpoint"))
        : Stream.of();
  }

  private static ElectionSetupException unbound(String place, String obstacle, String remedy) {
    return new ElectionSetupException(
        "%s cannot be bound to the leadership: %s.".formatted(place, obstacle), remedy);
  }
}
