package io.election.autoconfigure.leaderonly;

import io.election.LeaderOnly;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
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
    String election = this.methods.election(leaderOnly, name);
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
        leaderOnly.interruptOnLoss(),
        name,
        ReturnTypes.ofSkipped(guarded.returnType()),
        guarded.returnType() == Object.class);
  }

  private record Known(Class<?> targetClass, Guard guard) {}

  private record CallGuard(
      LeaderOnlyCalls calls,
      LeaderOnlyCalls.Gate gate,
      LeaderOnly.OnFollower onFollower,
      boolean interruptible,
      String method,
      Supplier<@Nullable Object> skipped,
      boolean mayBeReactive)
      implements Guard {

    @Override
    public @Nullable Object call(MethodInvocation invocation) throws Throwable {
      RunningCalls.Call entered = enter();
      if (entered == null) {
        this.gate.skipped(this.method);
        if (this.onFollower == LeaderOnly.OnFollower.THROW) {
          throw this.gate.notLeader();
        }
        Guard.logSkip(this.method, this.gate);
        return this.skipped.get();
      }
      boolean continues = false;
      Throwable thrown = null;
      try {
        Object result = proceed(invocation, entered);
        if (result instanceof CompletionStage<?> stage) {
          continues = true;
          leaveAfter(stage, entered);
        }
        return this.mayBeReactive && result != null ? guarded(result) : result;
      } catch (Throwable ex) {
        thrown = ex;
        throw ex;
      } finally {
        if (this.interruptible) {
          this.gate.leaveInterruptible();
        }
        this.gate.leaveThread();
        if (!continues) {
          this.gate.leave(entered, thrown);
        }
      }
    }

    /** Leaves once, whatever the stage does: the call's place serves another call then. */
    private void leaveAfter(CompletionStage<?> stage, RunningCalls.Call entered) {
      AtomicBoolean left = new AtomicBoolean();
      BiConsumer<@Nullable Object, @Nullable Throwable> leave = (value, failure) -> {
        if (left.compareAndSet(false, true)) {
          this.gate.leave(entered, failure);
        }
      };
      try {
        stage.whenComplete(leave);
      } catch (RuntimeException | Error ex) {
        leave.accept(null, ex);
        throw ex;
      }
    }

    private static @Nullable Object proceed(MethodInvocation invocation, RunningCalls.Call entered)
        throws Throwable {
      entered.attach();
      try {
        return invocation.proceed();
      } finally {
        entered.detach();
      }
    }

    private RunningCalls.@Nullable Call enter() {
      if (this.calls.isClosed()) {
        return null;
      }
      return this.interruptible
          ? this.gate.enterInterruptible(this.method)
          : this.gate.enterThread(this.method);
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
