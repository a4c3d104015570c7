package io.election.autoconfigure.leaderonly;

import io.election.autoconfigure.leaderonly.LeaderOnlyMethods.Guarded;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aot.hint.ExecutableMode;
import org.springframework.aot.hint.ReflectionHints;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.aot.BeanRegistrationAotContribution;
import org.springframework.beans.factory.aot.BeanRegistrationAotProcessor;
import org.springframework.beans.factory.support.RegisteredBean;
import org.springframework.util.ClassUtils;

/**
 * Keeps the methods that {@link io.election.LeaderOnly} guards, and the classes that are searched
 * for them, in a native image. A method that is not found there would run on followers.
 */
final class LeaderOnlyAotProcessor implements BeanRegistrationAotProcessor {

  private final LeaderOnlyMethods methods = new LeaderOnlyMethods((text) -> text);

  @Override
  public @Nullable BeanRegistrationAotContribution processAheadOfTime(RegisteredBean bean) {
    Set<Class<?>> types = new LinkedHashSet<>();
    types.add(bean.getBeanClass());
    Class<?> product = product(bean);
    if (product != null) {
      types.add(product);
    }
    List<Guarded> guarded =
        types.stream().map(this.methods::of).flatMap(Collection::stream).toList();
    if (guarded.isEmpty()) {
      return null;
    }
    return (context, code) -> {
      ReflectionHints hints = context.getRuntimeHints().reflection();
      guarded.forEach((method) -> {
        hints.registerMethod(method.method(), ExecutableMode.INVOKE);
        hierarchy(method.type()).forEach(hints::registerType);
        if (method.type().isInterface()) {
          context
              .getRuntimeHints()
              .proxies()
              .registerJdkProxy(AopProxyUtils.completeJdkProxyInterfaces(method.type()));
        }
      });
    };
  }

  /** The type of what a factory creates. The bean factory knows the names of outer beans alone. */
  private static @Nullable Class<?> product(RegisteredBean bean) {
    return bean.isInnerBean()
        ? bean.getBeanType().as(FactoryBean.class).resolveGeneric()
        : bean.getBeanFactory().getType(bean.getBeanName(), false);
  }

  private static List<Class<?>> hierarchy(Class<?> type) {
    List<Class<?>> hierarchy = new ArrayList<>(ClassUtils.getAllInterfacesForClassAsSet(type));
    for (Class<?> each = ClassUtils.getUserClass(type);
        each != null && each != Object.class;
        each = each.getSuperclass()) {
      hierarchy.add(each);
    }
    return hierarchy;
  }
}
