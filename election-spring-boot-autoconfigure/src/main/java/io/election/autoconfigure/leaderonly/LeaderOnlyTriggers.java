package io.election.autoconfigure.leaderonly;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.Aware;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.util.ClassUtils;
import org.springframework.util.ObjectUtils;

/**
 * Annotations and types through which frameworks call methods. They are referenced by name, so none
 * of them needs to be on the class path.
 */
final class LeaderOnlyTriggers {

  private static final List<String> CALLBACKS = List.of(
      "jakarta.annotation.PostConstruct",
      "jakarta.annotation.PreDestroy",
      "jakarta.annotation.Resource",
      "jakarta.inject.Inject",
      "org.springframework.beans.factory.annotation.Autowired");

  private static final List<String> TRIGGERS = List.of(
      "org.springframework.scheduling.annotation.Scheduled",
      "org.springframework.scheduling.annotation.Schedules",
      "org.springframework.context.event.EventListener");

  /**
   * Annotations of methods that receive each message once. Those of Kafka, RabbitMQ, JMS and Pulsar
   * are message mappings.
   */
  private static final List<String> CONSUMERS = List.of(
      "org.springframework.messaging.handler.annotation.MessageMapping",
      "org.springframework.kafka.annotation.KafkaListener",
      "org.springframework.kafka.annotation.KafkaHandler",
      "org.springframework.amqp.rabbit.annotation.RabbitListener",
      "org.springframework.amqp.rabbit.annotation.RabbitHandler",
      "org.springframework.jms.annotation.JmsListener",
      "org.springframework.pulsar.annotation.PulsarListener",
      "org.springframework.integration.annotation.ServiceActivator",
      "org.springframework.modulith.events.ApplicationModuleListener",
      "io.awspring.cloud.sqs.annotation.SqsListener");

  static final List<String> CONSUMER_TYPES = List.of(
      "org.springframework.batch.core.step.tasklet.Tasklet",
      "org.springframework.batch.item.ItemReader",
      "org.springframework.batch.item.ItemProcessor",
      "org.springframework.batch.item.ItemWriter",
      "org.springframework.batch.infrastructure.item.ItemReader",
      "org.springframework.batch.infrastructure.item.ItemProcessor",
      "org.springframework.batch.infrastructure.item.ItemWriter",
      "org.springframework.messaging.MessageHandler",
      "org.springframework.kafka.listener.GenericMessageListener",
      "org.springframework.amqp.core.MessageListener",
      "jakarta.jms.MessageListener");

  private LeaderOnlyTriggers() {}

  /** Whether a framework calls the method even if it is private. */
  static boolean isTriggered(Method method) {
    return find(TRIGGERS, method) != null || find(CONSUMERS, method) != null;
  }

  /** Whether Spring calls the method on the bean itself, whatever proxies it has. */
  static boolean isCallback(Method method, Class<?> type) {
    return find(CALLBACKS, method) != null
        || isOf(InitializingBean.class, "afterPropertiesSet", method, type)
        || isOf(DisposableBean.class, "destroy", method, type)
        || ClassUtils.getAllInterfacesForClassAsSet(type).stream()
            .anyMatch((aware) -> Aware.class.isAssignableFrom(aware) && declares(aware, method));
  }

  /** Returns whether the bean definition names the method as an init or destroy method. */
  static boolean isCallback(Method method, Class<?> type, AbstractBeanDefinition definition) {
    if (method.getParameterCount() > 0) {
      return false;
    }
    String name = method.getName();
    String[] ends = definition.getDestroyMethodNames();
    boolean inferred = ends != null
        ? Arrays.asList(ends).contains(AbstractBeanDefinition.INFER_METHOD)
        : AutoCloseable.class.isAssignableFrom(type);
    return ObjectUtils.containsElement(definition.getInitMethodNames(), name)
        || ObjectUtils.containsElement(ends, name)
        || (inferred
            && !DisposableBean.class.isAssignableFrom(type)
            && name.equals(ClassUtils.hasMethod(type, "close") ? "close" : "shutdown"));
  }

  private static boolean isOf(Class<?> callback, String name, Method method, Class<?> type) {
    return callback.isAssignableFrom(type)
        && method.getName().equals(name)
        && method.getParameterCount() == 0;
  }

  /**
   * Finds the trigger that treats the method's work as done when the method returns.
   *
   * @return the annotation or interface, for display; {@code null} if there is no known one
   */
  static @Nullable String consumer(Method method, Class<?> type) {
    String annotation = find(CONSUMERS, method);
    if (annotation != null) {
      return "@" + ClassUtils.getShortName(annotation);
    }
    return CONSUMER_TYPES.stream()
        .filter((name) -> ClassUtils.isPresent(name, type.getClassLoader()))
        .map((name) -> ClassUtils.resolveClassName(name, type.getClassLoader()))
        .filter((consumer) -> consumer.isAssignableFrom(type) && declares(consumer, method))
        .map(Class::getSimpleName)
        .findFirst()
        .orElse(null);
  }

  private static boolean declares(Class<?> consumer, Method method) {
    return Arrays.stream(consumer.getMethods())
        .anyMatch((declared) -> declared.getName().equals(method.getName())
            && declared.getParameterCount() == method.getParameterCount());
  }

  private static @Nullable String find(List<String> annotations, Method method) {
    MergedAnnotations present = MergedAnnotations.from(method, SearchStrategy.TYPE_HIERARCHY);
    return annotations.stream().filter(present::isPresent).findFirst().orElse(null);
  }
}
