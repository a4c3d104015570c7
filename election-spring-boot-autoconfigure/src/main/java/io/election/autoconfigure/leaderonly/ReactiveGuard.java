package io.election.autoconfigure.leaderonly;

import io.election.LeaderOnly;
import io.election.NotLeaderException;
import io.election.autoconfigure.leaderonly.Permits.Binding;
import io.election.autoconfigure.leaderonly.Permits.Continuation;
import io.election.autoconfigure.leaderonly.Permits.Permit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.aopalliance.intercept.MethodInvocation;
import org.reactivestreams.Publisher;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.core.ReactiveAdapter;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.util.Assert;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.SignalType;

/**
 * Asks the election at each subscription, and only then calls the method. Spring calls a reactive
 * scheduled method once, at start, and subscribes to its result again and again.
 */
final class ReactiveGuard implements Guard {

  private final ReactiveAdapter adapter;

  private final LeaderOnlyCalls calls;

  private final Supplier<LeaderOnlyCalls.Gate> gate;

  private final LeaderOnly.OnFollower onFollower;

  private final String method;

  private ReactiveGuard(
      ReactiveAdapter adapter,
      LeaderOnlyCalls calls,
      Supplier<LeaderOnlyCalls.Gate> gate,
      LeaderOnly.OnFollower onFollower,
      String method) {
    this.adapter = adapter;
    this.calls = calls;
    this.gate = gate;
    this.onFollower = onFollower;
    this.method = method;
  }

  static ReactiveGuard of(
      Class<?> returnType,
      LeaderOnlyCalls calls,
      Supplier<LeaderOnlyCalls.Gate> gate,
      LeaderOnly.OnFollower onFollower,
      String method) {
    ReactiveAdapter adapter = ReactiveAdapterRegistry.getSharedInstance().getAdapter(returnType);
    Assert.state(adapter != null, () -> "No adapter for " + returnType);
    return new ReactiveGuard(adapter, calls, gate, onFollower, method);
  }

  @Override
  public Object call(MethodInvocation invocation) {
    // Each subscription needs an invocation that has not proceeded yet.
    ProxyMethodInvocation fresh =
        (ProxyMethodInvocation) ((ProxyMethodInvocation) invocation).invocableClone();
    return guard(() -> proceed(fresh));
  }

  /** Guards a result that a method has already returned. */
  Object guard(Object result) {
    return guard(() -> this.adapter.toPublisher(result));
  }

  private Object guard(Supplier<Publisher<Object>> work) {
    return this.adapter.fromPublisher(
        this.adapter.isMultiValue()
            ? Flux.defer(() -> subscribed(work))
            : Mono.defer(() -> Mono.from(subscribed(work))));
  }

  /** The method runs on this thread; what it returns may run on any. */
  private Publisher<Object> subscribed(Supplier<Publisher<Object>> work) {
    LeaderOnlyCalls.Gate gate = this.gate.get();
    try (Permit permit = this.calls.enter(gate, this.method, Binding.NONE)) {
      if (permit == null) {
        NotLeaderException refusal = Guard.skip(this.method, gate, this.onFollower);
        return refusal != null ? Mono.error(refusal) : Mono.empty();
      }
      Publisher<Object> running = work.get();
      Continuation continuation = permit.goesOn();
      Consumer<SignalType> end = (signal) -> continuation.end(signal == SignalType.ON_ERROR);
      // A Mono converted to a Flux would be cancelled after its value, and a transaction within it
      // rolled back.
      Publisher<Object> guarded = this.adapter.isMultiValue()
          ? Flux.from(running).doFinally(end)
          : Mono.from(running).doFinally(end);
      permit.succeed();
      return guarded;
    }
  }

  private Publisher<Object> proceed(ProxyMethodInvocation fresh) {
    try {
      Object result = fresh.invocableClone().proceed();
      return result != null ? this.adapter.toPublisher(result) : Mono.empty();
    } catch (Throwable ex) {
      return Mono.error(ex);
    }
  }
}
