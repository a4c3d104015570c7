package io.election.autoconfigure;

import io.election.LeaderOnly;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.util.ClassUtils;
import org.springframework.util.ConcurrentReferenceHashMap;
import org.springframework.util.ReflectionUtils;

/** Which methods of a class {@link LeaderOnly} guards. */
final class LeaderOnlyMethods {

  private final Map<Class<?>, Map<Method, LeaderOnly>> byClass = new ConcurrentReferenceHashMap<>();

  /**
   * Gives the annotation that guards a method, whether on the method, its interface, its class, or
   * within another annotation there.
   */
  @Nullable
  LeaderOnly find(Method method, Class<?> targetClass) {
    Map<Method, LeaderOnly> guarded = of(targetClass);
    if (guarded.isEmpty()) {
      return null;
    }
    return guarded.get(
        AopUtils.getMostSpecificMethod(method, ClassUtils.getUserClass(targetClass)));
  }

  /** All methods of a class that are guarded, or ought to be. */
  Map<Method, LeaderOnly> of(Class<?> targetClass) {
    Class<?> userClass = ClassUtils.getUserClass(targetClass);
    if (!AnnotationUtils.isCandidateClass(userClass, LeaderOnly.class)) {
      return Map.of();
    }
    Map<Method, LeaderOnly> guarded = this.byClass.get(userClass);
    if (guarded == null) {
      guarded = Map.copyOf(look(userClass));
      this.byClass.put(userClass, guarded);
    }
    return guarded;
  }

  private static Map<Method, LeaderOnly> look(Class<?> userClass) {
    LeaderOnly onType = AnnotatedElementUtils.findMergedAnnotation(userClass, LeaderOnly.class);
    return MethodIntrospector.selectMethods(userClass, (MethodIntrospector.MetadataLookup<
            @Nullable LeaderOnly>)
        (method) -> {
          LeaderOnly onMethod =
              AnnotatedElementUtils.findMergedAnnotation(method, LeaderOnly.class);
          if (onMethod != null) {
            return onMethod;
          }
          return onType != null && isPublic(method) ? onType : null;
        });
  }

  private static boolean isPublic(Method method) {
    return Modifier.isPublic(method.getModifiers())
        && !Modifier.isStatic(method.getModifiers())
        && !method.isSynthetic()
        && !ReflectionUtils.isObjectMethod(method);
  }
}
