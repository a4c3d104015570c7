package io.election.autoconfigure.leaderonly;

import io.election.LeaderOnly;
import io.election.NotLeaderException;
import io.election.autoconfigure.leaderonly.Permits.Binding;
import io.election.autoconfigure.leaderonly.Permits.Continuation;
import io.election.autoconfigure.leaderonly.Permits.Permit;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.core.MethodClassKey;
import org.springframework.util.function.SingletonSupplier;

/** Runs a call on the leader, and skips or refuses it elsewhere. */
final class LeaderOnlyInterceptor implements MethodInterceptor {

  private final LeaderOnlyMethods methods;

  private final Supplier<LeaderOnlyCalls> calls;

  private final Map<MethodClassKey, Guard> guards = new ConcurrentHashMap<>();

  /** The first class of each method, which is usually the only one: found without a new key. */
  private final Map<Method, Known> first = new ConcurrentHashMap<>();

  LeaderOnlyInterceptor(LeaderOnlyMethods methods, Supplier<LeaderOnlyCalls> calls) {
    this.methods = methods;
    this.calls = calls;
  }

  @Override
  public @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
    Object target = invocation.getThis();
    Method method = invocation.getMethod();
    Class<?> targetClass = target != null ? target.getClass() : method.getDeclaringClass();
    Known known = this.first.get(method);
    Guard guard =
        known != null && known.targetClass == targetClass ? known.guard : find(method, targetClass);
    return guard.call(invocation);
  }

  private Guard find(Method method, Class<?> targetClass) {
    MethodClassKey key = new MethodClassKey(method, targetClass);
    Guard guard = this.guards.get(key);
    if (guard == null) {
      guard = guard(method, targetClass);
      this.guards.put(key, guard);
      this.first.putIfAbsent(method, new Known(targetClass, guard));
    }
    return guard;
  }

  private Guard guard(Method method, Class<?> targetClass) {
    LeaderOnlyMethods.Guarded guarded = this.methods.find(method, targetClass);
    if (guarded == null) {
      return MethodInvocation::proceed;
    }
    String name = guarded.shortName();
    LeaderOnly leaderOnly = guarded.annotation();
    LeaderOnlyCalls calls = this.calls.get();
    String election = this.methods.election(leaderOnly.value(), "@LeaderOnly on " + name);
    if (ReturnTypes.isReactive(guarded.returnType())) {
      // Spring calls reactive scheduled methods while it creates beans, before the election can be
      // asked.
      return ReactiveGuard.of(
          guarded.returnType(),
          calls,
          SingletonSupplier.of(() -> calls.gate(election)),
          leaderOnly.onFollower(),
          name);
    }
    return new CallGuard(
        calls,
        calls.gate(election),
        leaderOnly.onFollower(),
        leaderOnly.interruptOnLoss() ? Binding.INTERRUPTIBLE : Binding.TERM,
        name,
        ReturnTypes.ofSkipped(guarded.returnType()),
        guarded.returnType() == Object.class);
  }

  private record Known(Class<?> targetClass, Guard guard) {}

  private record CallGuard(
      LeaderOnlyCalls calls,
      LeaderOnlyCalls.Gate gate,
      LeaderOnly.OnFollower onFollower,
      Binding binding,
      String method,
      Supplier<@Nullable Object> skipped,
      boolean mayBeReactive)
      implements Guard {

    @Override
    public @Nullable Object call(MethodInvocation invocation) throws Throwable {
      try (Permit permit = this.calls.enter(this.gate, this.method, this.binding)) {
        if (permit == null) {
          NotLeaderException refusal = Guard.skip(this.method, this.gate, this.onFollower);
          if (refusal != null) {
            throw refusal;
          }
          return this.skipped.get();
        }
        Object result = invocation.proceed();
        if (result instanceof CompletionStage<?> stage) {
          Continuation continuation = permit.goesOn();
          stage.whenComplete((value, failure) -> continuation.end(failure != null));
        } else if (this.mayBeReactive && result != null) {
          result = guarded(result);
        }
        permit.succeed();
        return result;
      }
    }

    /**
     * Guards a result of an unspecific type, which may prove to be work that runs on subscription.
     */
    private Object guarded(Object result) {
      Class<?> type = result.getClass();
      return ReturnTypes.isReactive(type) && ReturnTypes.hasAdapter(type)
          ? ReactiveGuard.of(type, this.calls, () -> this.gate, this.onFollower, this.method)
              .guard(result)
          : result;
    }
  }
}
