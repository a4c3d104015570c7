package io.election.autoconfigure.leaderonly;

import io.election.LeadershipLostEvent;
import io.election.autoconfigure.leaderonly.LeaderOnlyMethods.Guarded;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.boot.ApplicationRunner;
import org.springframework.boot.CommandLineRunner;
import org.springframework.boot.context.event.SpringApplicationEvent;
import org.springframework.context.ApplicationListener;
import org.springframework.context.Lifecycle;
import org.springframework.context.event.ApplicationContextEvent;
import org.springframework.context.event.EventListener;
import org.springframework.core.ResolvableType;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.MergedAnnotation;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.scheduling.annotation.SchedulingConfigurer;
import org.springframework.util.ClassUtils;

/**
 * Methods that are called while the node does not lead: when it starts or stops, since an election
 * needs a while to begin and ends before the application does, and when it has lost the leadership.
 * A guarded call would be skipped on all nodes.
 */
final class LifecycleHooks {

  private static final List<Class<?>> INTERFACES = List.of(
      ApplicationRunner.class,
      CommandLineRunner.class,
      Lifecycle.class,
      SchedulingConfigurer.class,
      SmartInitializingSingleton.class);

  private static final String WEB_SERVER =
      "org.springframework.boot.web.server.context.WebServerInitializedEvent";

  private static final String SCHEDULED = "org.springframework.scheduling.annotation.Scheduled";

  private LifecycleHooks() {}

  /**
   * Returns through what a method is called while the node does not lead.
   *
   * @return the interface or event, for display; {@code null} if there is none. A listener of
   *     several events counts if one of them is such an event
   */
  static @Nullable String of(Guarded guarded) {
    Method method = guarded.method();
    Class<?> type = guarded.type();
    if (isScheduledOnce(method)) {
      return "@Scheduled with an initial delay alone";
    }
    if (isOfAnyLoss(method)) {
      return "LeadershipLostEvent";
    }
    return Stream.concat(
            INTERFACES.stream()
                .filter((hook) -> hook.isAssignableFrom(type) && declares(hook, method)),
            events(method, type).filter(LifecycleHooks::isOfLifecycle))
        .map(Class::getSimpleName)
        .findFirst()
        .orElse(null);
  }

  private static boolean declares(Class<?> hook, Method method) {
    return Arrays.stream(hook.getMethods())
        .anyMatch((declared) -> declared.getName().equals(method.getName())
            && Arrays.equals(declared.getParameterTypes(), method.getParameterTypes()));
  }

  /** The types of the events with which a method is called. */
  private static Stream<Class<?>> events(Method method, Class<?> type) {
    EventListener listener =
        AnnotatedElementUtils.findMergedAnnotation(method, EventListener.class);
    if (listener != null) {
      return listener.classes().length > 0
          ? Arrays.stream(listener.classes())
          : Arrays.stream(method.getParameterTypes());
    }
    if (ApplicationListener.class.isAssignableFrom(type)
        && method.getName().equals("onApplicationEvent")) {
      Class<?> event =
          ResolvableType.forClass(type).as(ApplicationListener.class).resolveGeneric();
      return Stream.ofNullable(event);
    }
    return Stream.empty();
  }

  private static boolean isOfLifecycle(Class<?> event) {
    if (SpringApplicationEvent.class.isAssignableFrom(event)
        || ApplicationContextEvent.class.isAssignableFrom(event)) {
      return true;
    }
    ClassLoader loader = event.getClassLoader();
    return ClassUtils.isPresent(WEB_SERVER, loader)
        && ClassUtils.resolveClassName(WEB_SERVER, loader).isAssignableFrom(event);
  }

  /** A condition may choose the losses of other elections than the one that guards the method. */
  private static boolean isOfAnyLoss(Method method) {
    EventListener listener =
        AnnotatedElementUtils.findMergedAnnotation(method, EventListener.class);
    return listener != null
        && listener.condition().isEmpty()
        && events(method, method.getDeclaringClass()).anyMatch(LeadershipLostEvent.class::equals);
  }

  private static boolean isScheduledOnce(Method method) {
    return MergedAnnotations.from(method, SearchStrategy.TYPE_HIERARCHY).stream(SCHEDULED)
        .anyMatch(LifecycleHooks::isOnce);
  }

  private static boolean isOnce(MergedAnnotation<?> scheduled) {
    return Stream.of("cron", "fixedDelayString", "fixedRateString")
            .allMatch((name) -> scheduled.getString(name).isEmpty())
        && Stream.of("fixedDelay", "fixedRate").allMatch((name) -> scheduled.getLong(name) < 0);
  }
}
