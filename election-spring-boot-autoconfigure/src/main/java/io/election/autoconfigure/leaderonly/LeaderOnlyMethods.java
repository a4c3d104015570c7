package io.election.autoconfigure.leaderonly;

import io.election.ElectionSetupException;
import io.election.LeaderOnly;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.core.ResolvableType;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.util.ClassUtils;
import org.springframework.util.ConcurrentReferenceHashMap;
import org.springframework.util.ReflectionUtils;
import org.springframework.util.StringValueResolver;

/**
 * Finds the methods of a class that {@link LeaderOnly} guards. Whichever method is called (a method
 * of an interface, a bridge, a method of a proxy), it is identified by the method that finally
 * runs.
 */
final class LeaderOnlyMethods {

  private final StringValueResolver placeholders;

  private final Map<Class<?>, Map<Method, Guarded>> byClass = new ConcurrentReferenceHashMap<>();

  LeaderOnlyMethods(StringValueResolver placeholders) {
    this.placeholders = placeholders;
  }

  /**
   * A method that is or should be guarded.
   *
   * @param type the class on which it is called; for a JDK proxy, the interface
   * @param method the method as declared for that class
   * @param annotation the annotation that guards it
   * @param annotated whether the method itself is annotated, not only its class
   * @param returnType its return type in that class, with generics resolved
   */
  record Guarded(
      Class<?> type, Method method, LeaderOnly annotation, boolean annotated, Class<?> returnType) {

    /** A short name, for logs. */
    String shortName() {
      return this.type.getSimpleName() + "." + this.method.getName();
    }
  }

  /**
   * Returns the guarded method that a call reaches, or {@code null}. The annotation may be on the
   * method, its interface or its class, directly or as a meta-annotation.
   */
  @Nullable
  Guarded find(Method method, Class<?> targetClass) {
    Map<Method, Guarded> guarded = byRunning(targetClass);
    return guarded.isEmpty()
        ? null
        : guarded.get(running(method, ClassUtils.getUserClass(targetClass)));
  }

  /** All methods of a class that are or should be guarded. */
  Collection<Guarded> of(Class<?> targetClass) {
    return byRunning(targetClass).values();
  }

  /**
   * Returns the election that an annotation names, with placeholders resolved.
   *
   * @param value what the annotation says
   * @param place the annotation and where it is, for display
   * @throws ElectionSetupException if a placeholder has no value
   */
  String election(String value, String place) {
    try {
      String name = this.placeholders.resolveStringValue(value);
      return name != null ? name : "";
    } catch (IllegalArgumentException ex) {
      throw new ElectionSetupException(
          "%s names election '%s', which has no value: %s."
              .formatted(place, value, ex.getMessage()),
          "Set that property to the name of an election, or give it a default: ${name:default}.");
    }
  }

  private Map<Method, Guarded> byRunning(Class<?> targetClass) {
    Class<?> userClass = ClassUtils.getUserClass(targetClass);
    if (!AnnotationUtils.isCandidateClass(userClass, LeaderOnly.class)) {
      return Map.of();
    }
    Map<Method, Guarded> guarded = this.byClass.get(userClass);
    if (guarded == null) {
      guarded = inspect(userClass);
      this.byClass.put(userClass, guarded);
    }
    return guarded;
  }

  private static Map<Method, Guarded> inspect(Class<?> userClass) {
    Map<Method, Guarded> guarded = new LinkedHashMap<>();
    if (Proxy.isProxyClass(userClass)) {
      for (Class<?> type : userClass.getInterfaces()) {
        LeaderOnly onType = annotation(type);
        for (Method method : type.getMethods()) {
          inspect(userClass, type, method, method, onType, guarded);
        }
      }
    } else {
      LeaderOnly onType = annotation(userClass);
      for (Method method : methods(userClass)) {
        Method running = running(method, userClass);
        inspect(userClass, userClass, method, running, onType, guarded);
      }
    }
    return guarded;
  }

  private static void inspect(
      Class<?> userClass,
      Class<?> type,
      Method method,
      Method shown,
      @Nullable LeaderOnly onType,
      Map<Method, Guarded> guarded) {
    LeaderOnly onMethod = AnnotatedElementUtils.findMergedAnnotation(method, LeaderOnly.class);
    LeaderOnly annotation = onMethod;
    if (annotation == null && onType != null && isCovered(shown, type)) {
      annotation = onType;
    }
    if (annotation != null) {
      Guarded found =
          new Guarded(type, shown, annotation, onMethod != null, returnType(shown, type));
      guarded.merge(running(method, userClass), found, LeaderOnlyMethods::closer);
    }
  }

  /**
   * Of two candidates for the same call, prefers the one annotated on the method, then the one with
   * the narrower return type.
   */
  private static Guarded closer(Guarded one, Guarded other) {
    if (one.annotated() != other.annotated()) {
      return one.annotated() ? one : other;
    }
    boolean narrower = one.returnType() != other.returnType()
        && one.returnType().isAssignableFrom(other.returnType());
    return narrower ? other : one;
  }

  /** The method that finally runs when a method is called on an object of a class. */
  private static Method running(Method method, Class<?> userClass) {
    return AopUtils.getMostSpecificMethod(method, userClass);
  }

  private static Set<Method> methods(Class<?> userClass) {
    Set<Method> methods = new LinkedHashSet<>();
    for (Class<?> type = userClass;
        type != null && type != Object.class;
        type = type.getSuperclass()) {
      methods.addAll(Arrays.asList(ReflectionUtils.getDeclaredMethods(type)));
    }
    for (Class<?> type : ClassUtils.getAllInterfacesForClassAsSet(userClass)) {
      methods.addAll(Arrays.asList(type.getMethods()));
    }
    return methods;
  }

  private static Class<?> returnType(Method method, Class<?> type) {
    return ResolvableType.forMethodReturnType(method, type).resolve(method.getReturnType());
  }

  private static @Nullable LeaderOnly annotation(Class<?> type) {
    return AnnotatedElementUtils.findMergedAnnotation(type, LeaderOnly.class);
  }

  /** Whether the annotation of a class applies to one of its methods. */
  private static boolean isCovered(Method method, Class<?> type) {
    if ((method.isSynthetic() && !method.isBridge()) || ReflectionUtils.isObjectMethod(method)) {
      return false;
    }
    int modifiers = method.getModifiers();
    boolean overridable =
        !Modifier.isStatic(modifiers) && !Modifier.isFinal(modifiers) && isInherited(method, type);
    // A method that only its own class calls needs no guard, but Spring calls some of those methods
    // too.
    return overridable
        || (Modifier.isPublic(modifiers) && !Modifier.isStatic(modifiers))
        || LeaderOnlyTriggers.isTriggered(method);
  }

  /** Whether a proxy that extends a class inherits one of its methods. */
  static boolean isInherited(Method method, Class<?> type) {
    int modifiers = method.getModifiers();
    if (Modifier.isPublic(modifiers) || Modifier.isProtected(modifiers)) {
      return true;
    }
    return !Modifier.isPrivate(modifiers)
        && method.getDeclaringClass().getPackageName().equals(type.getPackageName());
  }
}
