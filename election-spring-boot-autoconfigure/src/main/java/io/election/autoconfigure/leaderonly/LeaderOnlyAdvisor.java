package io.election.autoconfigure.leaderonly;

import java.lang.reflect.Method;
import java.util.function.Supplier;
import org.aopalliance.aop.Advice;
import org.springframework.aop.ClassFilter;
import org.springframework.aop.Pointcut;
import org.springframework.aop.support.AbstractPointcutAdvisor;
import org.springframework.aop.support.StaticMethodMatcherPointcut;
import org.springframework.core.Ordered;

/** Guards the methods to which {@link io.election.LeaderOnly} applies. */
final class LeaderOnlyAdvisor extends AbstractPointcutAdvisor {

  /**
   * Outside transactions and caches, whatever their order. Not outside the advice that Spring adds
   * before existing advisors: {@code @Async}, {@code @Retryable} and {@code @ConcurrencyLimit}.
   */
  static final int ORDER = Ordered.HIGHEST_PRECEDENCE + 100;

  private final transient Pointcut pointcut;

  private final transient Advice advice;

  LeaderOnlyAdvisor(LeaderOnlyMethods methods, Supplier<LeaderOnlyCalls> calls) {
    this.pointcut = new GuardedMethods(methods);
    this.advice = new LeaderOnlyInterceptor(methods, calls);
    setOrder(ORDER);
  }

  @Override
  public Pointcut getPointcut() {
    return this.pointcut;
  }

  @Override
  public Advice getAdvice() {
    return this.advice;
  }

  private static final class GuardedMethods extends StaticMethodMatcherPointcut {

    private final LeaderOnlyMethods methods;

    GuardedMethods(LeaderOnlyMethods methods) {
      this.methods = methods;
      setClassFilter(new ClassFilter() {
        @Override
        public boolean matches(Class<?> type) {
          return !methods.of(type).isEmpty();
        }
      });
    }

    @Override
    public boolean matches(Method method, Class<?> targetClass) {
      return this.methods.find(method, targetClass) != null;
    }
  }
}
