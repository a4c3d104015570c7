package io.election.autoconfigure.leaderonly;

import io.election.ElectionSetupException;
import io.election.LeaderBound;
import io.election.LeaderTask;
import java.lang.reflect.Method;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.springframework.beans.MutablePropertyValues;
import org.springframework.beans.PropertyAccessorFactory;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.context.Lifecycle;
import org.springframework.context.SmartLifecycle;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.util.ClassUtils;
import org.springframework.util.LinkedMultiValueMap;
import org.springframework.util.MultiValueMap;
import org.springframework.util.ReflectionUtils;

/**
 * Finds what is bound to the leadership, and refuses what cannot be.
 *
 * @param listeners the ids of listener containers, each with "@" and its election unless that is
 *     the default
 */
record LeaderBoundFinder(
    ConfigurableListableBeanFactory beanFactory,
    LeaderOnlyMethods methods,
    List<String> listeners,
    LeaderBoundBean.Shared shared)
    implements Supplier<List<LeaderBoundBean>> {

  static final String LISTENERS = "as.election.leader-bound.listeners";

  /**
   * The registries of the containers of annotated listeners. Referenced by name, so none of them
   * needs to be on the class path.
   */
  static final List<String> REGISTRIES = List.of(
      "org.springframework.kafka.config.KafkaListenerEndpointRegistry",
      "org.springframework.jms.config.JmsListenerEndpointRegistry",
      "org.springframework.amqp.rabbit.listener.RabbitListenerEndpointRegistry");

  @Override
  public List<LeaderBoundBean> get() {
    Map<String, LeaderBoundBean> found = new LinkedHashMap<>();
    Set<String> names =
        new LinkedHashSet<>(List.of(this.beanFactory.getBeanNamesForAnnotation(LeaderBound.class)));
    names.addAll(List.of(this.beanFactory.getBeanNamesForType(LeaderTask.class, true, false)));
    Stream.of(this.beanFactory.getBeanDefinitionNames())
        .filter((name) -> onClass(name).isPresent())
        .forEach(names::add);
    names.forEach((name) -> found.put(name, bean(name)));
    if (!this.listeners.isEmpty()) {
      MultiValueMap<String, Lifecycle> containers = containers();
      for (String listener : this.listeners) {
        int separator = listener.lastIndexOf('@');
        String id = separator < 0 ? listener : listener.substring(0, separator);
        String election = separator < 0 ? "" : listener.substring(separator + 1);
        String place = "listener '" + id + "' of " + LISTENERS;
        refuseIf(
            found.put(id, listener(id, election, place, containers)) != null,
            place,
            "it is bound already",
            "Name it once: by @LeaderBound, or in " + LISTENERS + ".");
      }
    }
    return List.copyOf(found.values());
  }

  private LeaderBoundBean bean(String name) {
    String place = "leader-bound bean '" + name + "'";
    refuseIf(
        !this.beanFactory.isSingleton(name),
        place,
        "it is no singleton",
        "Give it the scope 'singleton'.");
    List<String> elections = Stream.concat(
            this.beanFactory.findAllAnnotationsOnBean(name, LeaderBound.class, false).stream(),
            onClass(name).stream())
        .map((bound) -> this.methods.election(bound.value(), place))
        .distinct()
        .toList();
    refuseIf(
        elections.size() > 1,
        place,
        "its class and its definition name the elections " + elections,
        "Name one.");
    Object bean = this.beanFactory.getBean(name);
    refuseIf(
        !(bean instanceof Lifecycle || bean instanceof LeaderTask),
        place,
        bean.getClass().getName() + " is neither a Lifecycle nor a LeaderTask",
        "Implement one of them. For methods that are called use @LeaderOnly.");
    refuseIf(
        bean instanceof Lifecycle && !(bean instanceof SmartLifecycle) && isDependency(name),
        place,
        "Spring starts a plain Lifecycle with the life cycles that depend on it",
        "Implement SmartLifecycle, and let isAutoStartup() return false.");
    stopBefore(name);
    return bound(
        name,
        elections.isEmpty() ? "" : elections.get(0),
        place,
        bean instanceof Lifecycle work ? work : new LeaderTaskLifecycle((LeaderTask) bean));
  }

  /** The annotation of the class of a bean, which a proxy may hide. */
  private Optional<LeaderBound> onClass(String name) {
    return this.beanFactory.containsBeanDefinition(name)
            && this.beanFactory.getMergedBeanDefinition(name) instanceof RootBeanDefinition bean
            && bean.getTargetType() != null
        ? Optional.ofNullable(
            AnnotatedElementUtils.findMergedAnnotation(bean.getTargetType(), LeaderBound.class))
        : Optional.empty();
  }

  /** Spring stops a life cycle after those that depend on it. */
  private void stopBefore(String bean) {
    this.beanFactory.registerDependentBean(bean, LeaderBoundBeans.STOP);
  }

  private boolean isDependency(String name) {
    return Stream.of(this.beanFactory.getDependentBeans(name))
        .anyMatch((other) -> this.beanFactory.containsBean(other)
            && this.beanFactory.isTypeMatch(other, Lifecycle.class));
  }

  private LeaderBoundBean listener(
      String id, String election, String place, MultiValueMap<String, Lifecycle> containers) {
    List<Lifecycle> named = containers.getOrDefault(id, List.of());
    String number =
        named.isEmpty() ? "no listener container has" : named.size() + " listener containers have";
    refuseIf(
        named.size() != 1,
        place,
        number + " this id; known are " + containers.keySet(),
        "Name the id of one annotated listener: @KafkaListener(id = \"" + id + "\").");
    PropertyAccessorFactory.forBeanPropertyAccess(named.get(0))
        .setPropertyValues(new MutablePropertyValues(Map.of("autoStartup", false)), true);
    return bound(id, election, place, named.get(0));
  }

  private LeaderBoundBean bound(String name, String election, String place, Lifecycle work) {
    refuseIf(
        Stream.concat(Stream.of(work), sources(work))
            .anyMatch((part) -> part instanceof SmartLifecycle smart && smart.isAutoStartup()),
        place,
        "Spring starts it on each node, since isAutoStartup() is true",
        "Let isAutoStartup() return false, by setAutoStartup(false), or for a flow's source by autoStartup(false).");
    return new LeaderBoundBean(name, this.shared.calls().gate(election, place), work, this.shared);
  }

  /** The sources of a flow of Spring Integration, which are started although the flow is not. */
  private static Stream<?> sources(Object bean) {
    return LeaderBoundBean.property(bean, "integrationComponents") instanceof Map<?, ?> parts
        ? parts.keySet().stream()
            .filter((part) -> !part.getClass().getSimpleName().startsWith("ConsumerEndpoint"))
        : Stream.of();
  }

  private MultiValueMap<String, Lifecycle> containers() {
    MultiValueMap<String, Lifecycle> containers = new LinkedMultiValueMap<>();
    ClassLoader loader = this.beanFactory.getBeanClassLoader();
    for (String name : REGISTRIES) {
      if (ClassUtils.isPresent(name, loader)) {
        Class<?> type = ClassUtils.resolveClassName(name, loader);
        Method getter = ClassUtils.getMethod(type, "getListenerContainer", String.class);
        for (Map.Entry<String, ?> bean : this.beanFactory.getBeansOfType(type).entrySet()) {
          stopBefore(bean.getKey());
          Object registry = bean.getValue();
          Object ids = LeaderBoundBean.property(registry, "listenerContainerIds");
          for (Object id : (Collection<?>) Objects.requireNonNull(ids)) {
            Object container = ReflectionUtils.invokeMethod(getter, registry, id);
            containers.add((String) id, (Lifecycle) Objects.requireNonNull(container));
          }
        }
      }
    }
    return containers;
  }

  private static void refuseIf(boolean refused, String place, String obstacle, String remedy) {
    if (refused) {
      throw new ElectionSetupException(
          "%s cannot be bound to the leadership: %s.".formatted(place, obstacle), remedy);
    }
  }
}
