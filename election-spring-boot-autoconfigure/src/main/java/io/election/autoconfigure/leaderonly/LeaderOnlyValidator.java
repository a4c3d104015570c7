package io.election.autoconfigure.leaderonly;

import io.election.ElectionSetupException;
import io.election.LeaderOnly;
import io.election.autoconfigure.Elections;
import io.election.autoconfigure.leaderonly.LeaderOnlyMethods.Guarded;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.Advisor;
import org.springframework.aop.MethodMatcher;
import org.springframework.aop.TargetClassAware;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.target.AbstractBeanFactoryBasedTargetSource;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.AutowireCapableBeanFactory;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.MergedBeanDefinitionPostProcessor;
import org.springframework.context.ApplicationListener;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.event.ContextRefreshedEvent;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * Ensures that every bean that starts is guarded. Refuses beans that {@link LeaderOnly} cannot
 * guard when they are created, and beans whose guard is missing when all beans exist.
 */
final class LeaderOnlyValidator
    implements BeanPostProcessor,
        SmartInitializingSingleton,
        ApplicationListener<ContextRefreshedEvent> {

  private static final Logger log = LoggerFactory.getLogger(LeaderOnlyValidator.class);

  /** The post-processor by which Spring's tests replace beans with objects of their own. */
  static final String TEST_OVERRIDES =
      "org.springframework.test.context.bean.override.internalBeanOverridePostProcessor";

  private static final String CALLBACK =
      "Spring calls it when it creates or destroys the bean, not through the bean's proxy";

  private final ConfigurableListableBeanFactory beanFactory;

  private final LeaderOnlyMethods methods;

  private final Supplier<Elections> elections;

  private final boolean proxiesClasses;

  /**
   * The names by which the beans created so far refer to their elections; checked when all beans
   * exist.
   */
  private final Map<String, String> namesByPlace = new ConcurrentHashMap<>();

  /** The beans whose guard was found when they were created. */
  private final Set<String> found = ConcurrentHashMap.newKeySet();

  private volatile boolean electionsAreThere;

  LeaderOnlyValidator(
      ConfigurableListableBeanFactory beanFactory,
      LeaderOnlyMethods methods,
      Supplier<Elections> elections,
      boolean proxiesClasses) {
    this.beanFactory = beanFactory;
    this.methods = methods;
    this.elections = elections;
    this.proxiesClasses = proxiesClasses;
  }

  /**
   * Creates the check of the methods that definitions of beans name. It alone sees the definitions
   * of inner beans; this class cannot, since Spring calls such post-processors after all others.
   */
  static MergedBeanDefinitionPostProcessor ofDefinitions(LeaderOnlyMethods methods) {
    return (definition, type, beanName) -> {
      for (Guarded each : methods.of(type)) {
        if (each.annotated()
            && LeaderOnlyTriggers.isCallback(each.method(), each.type(), definition)) {
          throw unguardable(place(beanName, each), CALLBACK);
        }
      }
    };
  }

  @Override
  public Object postProcessBeforeInitialization(Object bean, String beanName) {
    check(bean, beanName);
    return bean;
  }

  /**
   * Checks what appears only now: the objects that factory beans create, and the proxies of beans.
   */
  @Override
  public Object postProcessAfterInitialization(Object bean, String beanName) {
    Set<Guarded> guarded = check(bean, beanName);
    if (!guarded.isEmpty()
        && !beanName.endsWith(AutowireCapableBeanFactory.ORIGINAL_INSTANCE_SUFFIX)) {
      requireGuard(bean, beanName, guarded);
      if (!this.electionsAreThere) {
        this.found.add(key(bean, beanName));
      }
    }
    return bean;
  }

  /** Checks the beans that were created before this one, or by other code. */
  @Override
  public void afterSingletonsInstantiated() {
    this.electionsAreThere = true;
    this.namesByPlace.forEach(this::checkElection);
    this.namesByPlace.clear();
    for (String beanName : this.beanFactory.getSingletonNames()) {
      Object bean = this.beanFactory.getSingleton(beanName);
      if (bean != null) {
        checkUnseen(bean, beanName);
        if (bean instanceof FactoryBean<?> factory && makesGuarded(factory)) {
          checkUnseen(this.beanFactory.getBean(beanName), beanName);
        }
      }
    }
    this.found.clear();
  }

  private boolean makesGuarded(FactoryBean<?> factory) {
    Class<?> type = factory.getObjectType();
    return type != null && factory.isSingleton() && !this.methods.of(type).isEmpty();
  }

  private void checkUnseen(Object bean, String beanName) {
    if (this.found.contains(key(bean, beanName))) {
      return;
    }
    Set<Guarded> guarded = check(bean, beanName);
    if (guarded.isEmpty()) {
      return;
    }
    if (this.beanFactory.containsLocalBean(TEST_OVERRIDES)) {
      log.warn("@LeaderOnly does not guard bean '{}', which a test may have replaced", beanName);
      return;
    }
    requireGuard(bean, beanName, guarded);
  }

  private static String key(Object bean, String beanName) {
    return bean instanceof FactoryBean ? "&" + beanName : beanName;
  }

  /** Checks the beans of child contexts that have no guard of their own. */
  @Override
  public void onApplicationEvent(ContextRefreshedEvent event) {
    if (event.getApplicationContext() instanceof ConfigurableApplicationContext child
        && child.getBeanFactory() != this.beanFactory
        && child.getBeanFactory().getBeanNamesForType(LeaderOnlyValidator.class).length == 0) {
      for (String beanName : child.getBeanFactory().getSingletonNames()) {
        Object bean = child.getBeanFactory().getSingleton(beanName);
        if (bean != null) {
          Set<Guarded> guarded = guarded(bean);
          if (!guarded.isEmpty()) {
            throw new ElectionSetupException(
                "@LeaderOnly does not guard bean '" + beanName + "', method "
                    + text(guarded.iterator().next()) + ": its context '" + child.getDisplayName()
                    + "' has no auto-configuration, only its parent has.",
                "Define the bean in the parent context, or put @EnableAutoConfiguration on a configuration of the child.");
          }
        }
      }
    }
  }

  private Set<Guarded> check(Object bean, String beanName) {
    Set<Guarded> guarded = guarded(bean);
    for (Guarded each : guarded) {
      String place = place(beanName, each);
      String obstacle = obstacle(each);
      if (obstacle != null) {
        throw unguardable(place, obstacle);
      }
      String hook = LifecycleHooks.of(each);
      if (hook != null) {
        throw new ElectionSetupException(
            "@LeaderOnly cannot guard " + place
                + ": it is called when the node starts, stops or has lost the leadership ("
                + hook
                + "), when it does not lead. No node would do the work.",
            "Do it when a node has become the leader, in a method with @EventListener and the parameter LeadershipAcquiredEvent. Put @LeaderBound on a Lifecycle that should run on the leader alone, or remove @LeaderOnly if each node should do it.");
      }
      String name = this.methods.election(each.annotation().value(), "@LeaderOnly on " + place);
      if (this.electionsAreThere) {
        checkElection(place, name);
      } else {
        this.namesByPlace.put(place, name);
      }
      if (isBeyondProxies(each.type())) {
        throw new ElectionSetupException(
            "@LeaderOnly cannot guard bean '" + beanName + "': class "
                + each.type().getName() + " is final, so that no proxy can extend it.",
            "Make the class not final, or put the methods into one that is not.");
      }
    }
    return guarded;
  }

  /**
   * The guarded methods of a bean and of the objects behind its proxies. If the bean has a guard,
   * only those behind the guard.
   */
  private Set<Guarded> guarded(Object bean) {
    Set<Guarded> guarded = new LinkedHashSet<>();
    Advised guard = guard(bean);
    Object layer = bean;
    if (guard != null) {
      addMethods(guard.getTargetClass(), guarded);
      layer = AopProxyUtils.getSingletonTarget(guard);
    }
    while (layer != null) {
      addMethods(layer.getClass(), guarded);
      if (layer instanceof TargetClassAware proxy) {
        addMethods(proxy.getTargetClass(), guarded);
      }
      layer = AopProxyUtils.getSingletonTarget(layer);
    }
    return guarded;
  }

  private void addMethods(@Nullable Class<?> type, Set<Guarded> guarded) {
    if (type != null) {
      guarded.addAll(this.methods.of(type));
    }
  }

  private void checkElection(String place, String name) {
    Elections elections = this.elections.get();
    if (elections.resolve(name) == null) {
      throw elections.unknown("@LeaderOnly on " + place, name);
    }
  }

  private void requireGuard(Object bean, String beanName, Set<Guarded> guarded) {
    Advised guard = guard(bean);
    if (guard == null) {
      // A bean that others needed before it was ready is exposed as the proxy that they received.
      guard = guard(this.beanFactory.getSingleton(beanName));
    }
    if (guard == null && isDelegate(bean)) {
      return;
    }
    for (Guarded each : guarded) {
      String hole = guard != null
          ? hole(guard, each)
          : "the bean has no proxy that guards it. It was created before @LeaderOnly could be applied, because a BeanPostProcessor or a similar bean needs it, or it was registered as a finished object, or it is an aspect";
      if (hole != null) {
        throw new ElectionSetupException(
            "@LeaderOnly does not guard bean '" + beanName + "', method " + text(each) + ": " + hole
                + ".",
            "Move the method into a bean that only beans of the application need, or remove @LeaderOnly from it and call ElectionService.isLeader() in it.");
      }
    }
  }

  /** The outermost proxy of a bean that asks the election. */
  private static @Nullable Advised guard(@Nullable Object bean) {
    Object layer = bean;
    while (layer instanceof Advised proxy) {
      if (advisor(proxy) != null) {
        return proxy;
      }
      layer = AopProxyUtils.getSingletonTarget(proxy);
    }
    return null;
  }

  private static @Nullable LeaderOnlyAdvisor advisor(Advised proxy) {
    for (Advisor advisor : proxy.getAdvisors()) {
      if (advisor instanceof LeaderOnlyAdvisor ours) {
        return ours;
      }
    }
    return null;
  }

  /** Whether the bean stands for another bean that is checked itself, for example a scoped one. */
  private static boolean isDelegate(Object bean) {
    return bean instanceof Advised proxy
        && proxy.getTargetSource() instanceof AbstractBeanFactoryBasedTargetSource;
  }

  /** How calls of a method bypass the guard of its bean; {@code null} if they do not. */
  private @Nullable String hole(Advised guard, Guarded guarded) {
    Class<?> targetClass = guard.getTargetClass();
    LeaderOnlyAdvisor advisor = advisor(guard);
    if (targetClass == null || advisor == null) {
      return "the bean's proxy does not know its target";
    }
    Method method = guarded.method();
    if (!advisor.getPointcut().getClassFilter().matches(targetClass)
        || !isSeen(method, targetClass, advisor.getPointcut().getMethodMatcher())) {
      return "the bean's proxy is one of " + targetClass.getName()
          + ", on which the annotation cannot be seen; put it on that type or on its interface";
    }
    Class<?> proxyClass = guard.getClass();
    if (!Proxy.isProxyClass(proxyClass)) {
      Method guarding =
          ReflectionUtils.findMethod(proxyClass, method.getName(), method.getParameterTypes());
      return guarding != null && guarding.getDeclaringClass() == proxyClass
          ? null
          : "the bean's proxy does not override it";
    }
    // A method that is missing from all interfaces cannot be called; a class may have internal
    // methods.
    return !guarded.annotated() || isCallable(proxyClass, guarded, targetClass)
        ? null
        : "the bean's proxy has only the methods of its interfaces, and none of them declares this one. Put it into an interface, or set spring.aop.proxy-target-class=true";
  }

  /** A proxy that the application has made has no method of the class behind it, but its own. */
  private static boolean isSeen(Method method, Class<?> targetClass, MethodMatcher guarded) {
    return guarded.matches(method, targetClass)
        || (Proxy.isProxyClass(targetClass)
            && Arrays.stream(targetClass.getMethods())
                .anyMatch((own) -> own.getName().equals(method.getName())
                    && Arrays.equals(own.getParameterTypes(), method.getParameterTypes())
                    && guarded.matches(own, targetClass)));
  }

  private boolean isCallable(Class<?> proxyClass, Guarded guarded, Class<?> targetClass) {
    return Arrays.stream(proxyClass.getInterfaces())
        .flatMap((type) -> Arrays.stream(type.getMethods()))
        .anyMatch((method) -> method.getName().equals(guarded.method().getName())
            && this.methods.find(method, targetClass) != null);
  }

  private boolean isBeyondProxies(Class<?> type) {
    return Modifier.isFinal(type.getModifiers())
        && !ClassUtils.isLambdaClass(type)
        && (this.proxiesClasses || ClassUtils.getAllInterfacesForClass(type).length == 0);
  }

  private static @Nullable String obstacle(Guarded guarded) {
    Method method = guarded.method();
    LeaderOnly leaderOnly = guarded.annotation();
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
    if (!LeaderOnlyMethods.isInherited(method, guarded.type())) {
      return "it is package-private in %s, another package than that of the bean's class, so that no proxy can override it"
          .formatted(method.getDeclaringClass().getName());
    }
    if (AnnotatedElementUtils.hasAnnotation(method, Bean.class)) {
      return "it creates a bean; put the annotation on the methods or the class of that bean";
    }
    if (guarded.annotated() && LeaderOnlyTriggers.isCallback(method, guarded.type())) {
      return CALLBACK;
    }
    if (isSuspending(method)) {
      return "it is a suspending function, and a leader that steps down could not wait for its end; return Mono, Flux or Flow, or let it call a function that blocks, on another bean, with @LeaderOnly";
    }
    boolean skips = leaderOnly.onFollower() != LeaderOnly.OnFollower.THROW;
    Class<?> returnType = guarded.returnType();
    if (returnType.isPrimitive() && returnType != void.class && skips) {
      return "it returns the primitive type %s, and a call that is skipped has no value for it; return %s, Optional or void, or use onFollower = THROW"
          .formatted(
              returnType, ClassUtils.resolvePrimitiveIfNecessary(returnType).getSimpleName());
    }
    String consumer = skips ? LeaderOnlyTriggers.consumer(method, guarded.type()) : null;
    if (consumer != null) {
      return "it consumes its input (%s), and a call that is skipped on a follower counts as done: no node would do the work. Let the consumer run on the leader alone (@LeaderBound, as.election.leader-bound.listeners), or use onFollower = THROW, so that the work fails and can be given to another node"
          .formatted(consumer);
    }
    if (ReturnTypes.isReactive(returnType) && !ReturnTypes.hasAdapter(returnType)) {
      return "it returns the reactive type %s, which needs io.projectreactor:reactor-core on the class path"
          .formatted(returnType.getSimpleName());
    }
    if (ReturnTypes.isReactive(returnType) && leaderOnly.interruptOnLoss()) {
      return "it returns the reactive type %s, whose work has no thread of its own that interruptOnLoss could interrupt; write @LeaderOnly without it on the method"
          .formatted(returnType.getSimpleName());
    }
    return null;
  }

  /**
   * Whether it is a suspending function of Kotlin, which returns at once and reports its end to its
   * last parameter.
   */
  private static boolean isSuspending(Method method) {
    Class<?>[] types = method.getParameterTypes();
    return types.length > 0
        && types[types.length - 1].getName().equals("kotlin.coroutines.Continuation");
  }

  private static ElectionSetupException unguardable(String place, String obstacle) {
    return new ElectionSetupException(
        "@LeaderOnly cannot guard " + place + ": " + obstacle + ".",
        "Change the method, or remove @LeaderOnly from it and call ElectionService.isLeader() in it.");
  }

  private static String place(String beanName, Guarded guarded) {
    return "bean '" + beanName + "', method " + text(guarded);
  }

  private static String text(Guarded guarded) {
    return guarded.type().getName() + "." + guarded.method().getName() + "()";
  }
}
