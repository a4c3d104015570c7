package io.election.autoconfigure;

import io.election.LeaderOnly;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.context.annotation.Bean;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.util.ClassUtils;

/** Refuses beans that {@link LeaderOnly} cannot guard, when they are made. */
final class LeaderOnlyCheck implements BeanPostProcessor, SmartInitializingSingleton {

  private final LeaderOnlyMethods methods = new LeaderOnlyMethods();

  private final Supplier<Elections> elections;

  private final boolean proxiesClasses;

  /** What each bean made so far calls its elections; looked up when all are there. */
  private final Map<String, String> namesByPlace = new ConcurrentHashMap<>();

  private volatile boolean electionsAreThere;

  LeaderOnlyCheck(Supplier<Elections> elections, boolean proxiesClasses) {
    this.elections = elections;
    this.proxiesClasses = proxiesClasses;
  }

  @Override
  public Object postProcessBeforeInitialization(Object bean, String beanName) {
    check(bean, beanName);
    return bean;
  }

  /** Checks what only now appears: the objects that factory beans make. */
  @Override
  public Object postProcessAfterInitialization(Object bean, String beanName) {
    check(bean, beanName);
    return bean;
  }

  @Override
  public void afterSingletonsInstantiated() {
    this.electionsAreThere = true;
    this.namesByPlace.forEach(this::checkElection);
    this.namesByPlace.clear();
  }

  private void check(Object bean, String beanName) {
    Class<?> type = ClassUtils.getUserClass(AopProxyUtils.ultimateTargetClass(bean));
    Map<Method, LeaderOnly> guarded = this.methods.of(type);
    if (guarded.isEmpty()) {
      return;
    }
    guarded.forEach((method, leaderOnly) -> {
      String place = "bean '" + beanName + "', method " + text(type, method);
      String obstacle = obstacle(method, leaderOnly);
      if (obstacle != null) {
        throw new UnusableSetupException(
            "@LeaderOnly cannot guard " + place + ": " + obstacle,
            "Change the method, or take @LeaderOnly from it and ask ElectionService.isLeader() within.");
      }
      if (this.electionsAreThere) {
        checkElection(place, leaderOnly.value());
      } else {
        this.namesByPlace.put(place, leaderOnly.value());
      }
    });
    if (isBeyondProxies(type)) {
      throw new UnusableSetupException(
          "@LeaderOnly cannot guard bean '" + beanName + "': class " + type.getName()
              + " is final, so that no proxy can extend it",
          "Make the class not final, or put the methods into one that is not.");
    }
  }

  private void checkElection(String place, String name) {
    Elections elections = this.elections.get();
    if (elections.meantBy(name) == null) {
      throw UnusableSetupException.unknownElection(
          "@LeaderOnly on " + place, name, elections.names());
    }
  }

  private boolean isBeyondProxies(Class<?> type) {
    return Modifier.isFinal(type.getModifiers())
        && !Proxy.isProxyClass(type)
        && !ClassUtils.isLambdaClass(type)
        && (this.proxiesClasses || ClassUtils.getAllInterfacesForClass(type).length == 0);
  }

  private static @Nullable String obstacle(Method method, LeaderOnly leaderOnly) {
    int modifiers = method.getModifiers();
    if (Modifier.isPrivate(modifiers)) {
      return "it is private, so that calls do not pass the bean's proxy";
    }
    if (Modifier.isStatic(modifiers)) {
      return "it is static, so that calls do not pass the bean's proxy";
    }
    if (Modifier.isFinal(modifiers)) {
      return "it is final, so that no proxy can override it";
    }
    if (AnnotatedElementUtils.hasAnnotation(method, Bean.class)) {
      return "it makes a bean; the annotation belongs on the methods or the class of that bean";
    }
    Class<?> returnType = method.getReturnType();
    if (returnType.isPrimitive()
        && returnType != void.class
        && leaderOnly.onFollower() != LeaderOnly.OnFollower.THROW) {
      return "it returns the primitive type %s, and a call that is skipped has no value for it; return %s, Optional or void, or use onFollower = THROW"
          .formatted(
              returnType, ClassUtils.resolvePrimitiveIfNecessary(returnType).getSimpleName());
    }
    if (GuardedResult.isReactive(returnType) && !GuardedResult.hasAdapter(returnType)) {
      return "it returns the reactive type %s, which needs io.projectreactor:reactor-core on the class path"
          .formatted(returnType.getSimpleName());
    }
    if (GuardedResult.isReactive(returnType) && leaderOnly.interruptOnLoss()) {
      return "it returns the reactive type %s, whose work has no thread of its own that interruptOnLoss could interrupt; write @LeaderOnly without it on the method"
          .formatted(returnType.getSimpleName());
    }
    return null;
  }

  private static String text(Class<?> type, Method method) {
    return type.getName() + "." + method.getName() + "()";
  }
}
