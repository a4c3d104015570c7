package io.election.autoconfigure.actuate;

import io.election.ElectionService;
import io.election.Fence;
import io.election.Leadership;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipEvent;
import io.election.LeadershipLostEvent;
import io.election.Member;
import io.election.autoconfigure.ElectionBackend;
import io.election.autoconfigure.Elections;
import io.election.autoconfigure.leaderonly.LeaderBoundBeans;
import io.election.autoconfigure.leaderonly.LeaderOnlyCalls;
import io.election.lease.LeaseElectionService;
import io.election.lease.RenewalListener;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.event.EventListener;

/**
 * Metrics of this node's elections, with the tag {@code election}. They have no tag for the node,
 * since the labels of the scrape target identify it and a tag would create new series at each
 * restart. Gauges exist from the start. Meters that only a leader increments exist once this node
 * has led.
 */
final class ElectionMetrics implements SmartLifecycle {

  /** Just before the elections start: the node's id is then known, and no event is missed. */
  static final int PHASE = ElectionBackend.PHASE - 1;

  private static final String LEADER = "election.leader";

  private static final String TERM = "election.term";

  private static final String HEALTHY = "election.healthy";

  private static final String LEASE_DURATION = "election.lease.duration";

  private static final String LEASE_REMAINING = "election.lease.remaining";

  private static final String OPERATION_TIMEOUT = "election.operation.timeout";

  private static final String RENEWAL_AGE = "election.renewal.age";

  private static final String PAUSED = "election.paused";

  private static final String CANDIDATES = "election.candidates";

  private static final String MEMBERS = "election.members";

  private static final String RENEWALS = "election.renewals";

  private static final String TRANSITIONS = "election.transitions";

  private static final String BEAN_RUNNING = "election.bean.running";

  private static final String CALLS_RUNNING = "election.calls.running";

  private static final String CALLS = "election.calls";

  private static final String CALLS_INTERRUPTED = "election.calls.interrupted";

  private static final String FENCE_REJECTIONS = "election.fence.rejections";

  private final MeterRegistry registry;

  private final Elections elections;

  private final ElectionBackend backend;

  private final LeaderOnlyCalls calls;

  private final LeaderBoundBeans beans;

  private final @Nullable Fence fence;

  private final Map<Key, Counter> transitions = new ConcurrentHashMap<>();

  private final Map<Key, Timer> renewals = new ConcurrentHashMap<>();

  private final Map<CallKey, Timer> callTimers = new ConcurrentHashMap<>();

  /** The elections and algorithms whose members are counted. */
  private final Set<Key> memberAlgorithms = ConcurrentHashMap.newKeySet();

  /** The elections whose gauges exist, also after a restart of the context. */
  private final Set<ElectionService> registered = ConcurrentHashMap.newKeySet();

  /** The elections that this node has led since the metrics started. */
  private final Set<String> led = ConcurrentHashMap.newKeySet();

  private volatile boolean running;

  private volatile boolean hasLeases;

  ElectionMetrics(
      MeterRegistry registry,
      Elections elections,
      ElectionBackend backend,
      LeaderOnlyCalls calls,
      LeaderBoundBeans beans,
      @Nullable Fence fence) {
    this.registry = registry;
    this.elections = elections;
    this.backend = backend;
    this.calls = calls;
    this.beans = beans;
    this.fence = fence;
  }

  @Override
  public void start() {
    this.running = true;
    this.elections.all().values().stream().filter(this.registered::add).forEach(this::register);
    this.calls.onCall(this::called);
    this.hasLeases = this.backend.onRenewal(this::renewed);
  }

  @Override
  public void stop() {
    this.running = false;
  }

  @Override
  public boolean isRunning() {
    return this.running;
  }

  @Override
  public int getPhase() {
    return PHASE;
  }

  private void register(ElectionService service) {
    String name = this.elections.nameOf(service);
    Tags tags = tags(name);
    gauge(
        LEADER,
        "1 while this node leads, else 0",
        null,
        tags,
        service,
        (election) -> election.isLeader() ? 1 : 0);
    gauge(
        TERM,
        "The term of the leader as this node sees it",
        null,
        tags,
        service,
        (election) -> election.term().orElse(0));
    gauge(
        PAUSED,
        "1 while this node is paused, else 0",
        null,
        tags,
        service,
        (election) -> ElectionDescriber.paused(election).isPresent() ? 1 : 0);
    Gauge.builder(
            HEALTHY,
            this.backend,
            (backend) ->
                ElectionDescriber.problem(this.elections, backend, this.beans).isEmpty() ? 1 : 0)
        .description("1 while this node can lead or follow, else 0, as its health says")
        .tags(tags)
        .register(this.registry);
    Gauge.builder(CALLS_RUNNING, this.calls, (calls) -> calls.running(name))
        .description("Leader-only calls that run")
        .tags(tags)
        .register(this.registry);
    this.beans
        .of(name)
        .forEach((bean) -> Gauge.builder(
                BEAN_RUNNING, this.beans, (beans) -> isRunning(beans, name, bean.bean()) ? 1 : 0)
            .description("1 while the leader-bound bean runs on this node, else 0")
            .tags(tags.and("bean", bean.bean()))
            .register(this.registry));
    if (service instanceof LeaseElectionService lease) {
      registerLease(lease, tags);
    }
  }

  private static boolean isRunning(LeaderBoundBeans beans, String serviceId, String name) {
    return beans.of(serviceId).stream()
        .anyMatch((bean) -> bean.isRunning() && bean.bean().equals(name));
  }

  private void registerLease(LeaseElectionService service, Tags tags) {
    gauge(
        LEASE_DURATION,
        "The lease of the leader as this node sees it; 0 if it is unknown",
        "seconds",
        tags,
        service,
        (election) -> seconds(election.leaderLease().orElse(Duration.ZERO)));
    gauge(
        LEASE_REMAINING,
        "How long this node still leads without another renewal; 0 on a follower",
        "seconds",
        tags,
        service,
        (election) ->
            seconds(election.leadership().map(Leadership::remaining).orElse(Duration.ZERO)));
    gauge(
        RENEWAL_AGE,
        "How long ago the last confirmed renewal was sent; 0 on a follower",
        "seconds",
        tags,
        service,
        (election) -> seconds(election.renewalAge().orElse(Duration.ZERO)));
    gauge(
        OPERATION_TIMEOUT,
        "The time after which a renewal counts as unanswered",
        "seconds",
        tags,
        service,
        (election) -> seconds(election.operationTimeout()));
    gauge(
        CANDIDATES,
        "Nodes that may lead, as far as this node knows, the leader included; NaN if it knows none",
        null,
        tags,
        service,
        (election) -> election
            .members()
            .map((members) -> (double) ElectionDescriber.candidates(members).size())
            .orElse(Double.NaN));
    registerMembers(service, this.backend.memberAlgorithm(), tags);
  }

  /**
   * Counts the members with one list of stores. Reading the value also finds the other lists, and
   * registers a gauge for each: members are known only from then on.
   */
  private void registerMembers(LeaseElectionService service, String algorithm, Tags tags) {
    if (!this.memberAlgorithms.add(new Key(service.serviceId(), algorithm))) {
      return;
    }
    gauge(
        MEMBERS,
        "Nodes that stand for the election, as far as this node knows, by where they elect",
        null,
        tags.and("algorithm", algorithm),
        service,
        (election) -> {
          List<Member> members = election.members().orElse(List.of());
          members.forEach((member) -> registerMembers(election, algorithm(member), tags));
          return members.stream()
              .filter((member) -> algorithm(member).equals(algorithm))
              .count();
        });
  }

  private static String algorithm(Member member) {
    return member.algorithm().isEmpty() ? "unknown" : member.algorithm();
  }

  /** Registers all meters of a leader at once, so that each of them counts from the start. */
  private void led(String name) {
    if (!this.led.add(name)) {
      return;
    }
    FunctionCounter.builder(CALLS_INTERRUPTED, this.calls, (calls) -> calls.interrupted(name))
        .description("Leader-only calls that were interrupted because the leadership ended")
        .tags(tags(name))
        .register(this.registry);
    if (this.hasLeases) {
      Arrays.stream(RenewalListener.Outcome.values()).forEach((outcome) -> timer(name, outcome));
    }
    Fence fence = this.fence;
    if (fence != null) {
      FunctionCounter.builder(FENCE_REJECTIONS, fence, (each) -> each.rejections(name))
          .description("Commits that were refused because the term of their work had ended")
          .tags(tags(name))
          .register(this.registry);
    }
  }

  private <T extends ElectionService> void gauge(
      String name,
      String description,
      @Nullable String unit,
      Tags tags,
      T service,
      ToDoubleFunction<T> value) {
    Gauge.builder(name, service, value)
        .description(description)
        .baseUnit(unit)
        .tags(tags)
        .register(this.registry);
  }

  /** Counts a change of leadership. */
  @EventListener
  void on(LeadershipEvent event) {
    led(event.serviceId());
    boolean acquired = event instanceof LeadershipAcquiredEvent;
    Enum<?> reason = acquired
        ? ((LeadershipAcquiredEvent) event).reason()
        : ((LeadershipLostEvent) event).reason();
    this.transitions
        .computeIfAbsent(
            new Key(event.serviceId(), reason),
            (key) -> Counter.builder(TRANSITIONS)
                .description("Changes of this node's leadership")
                .tags(tags(event.serviceId())
                    .and("event", acquired ? "acquired" : "lost", "reason", text(reason)))
                .register(this.registry))
        .increment();
  }

  private void renewed(String serviceId, RenewalListener.Outcome outcome, Duration duration) {
    led(serviceId);
    timer(serviceId, outcome).record(duration);
  }

  private Timer timer(String serviceId, RenewalListener.Outcome outcome) {
    return this.renewals.computeIfAbsent(
        new Key(serviceId, outcome),
        (key) -> Timer.builder(RENEWALS)
            .description("Renewals of the lease, by outcome")
            .publishPercentiles(0.99)
            .tags(tags(serviceId).and("outcome", text(outcome)))
            .register(this.registry));
  }

  private void called(
      String serviceId, String method, LeaderOnlyCalls.Outcome outcome, long nanos) {
    this.callTimers
        .computeIfAbsent(
            new CallKey(serviceId, method, outcome),
            (key) -> Timer.builder(CALLS)
                .description("Leader-only calls, by method and outcome")
                .tags(tags(serviceId).and("method", method, "outcome", text(outcome)))
                .register(this.registry))
        .record(nanos, TimeUnit.NANOSECONDS);
  }

  private static Tags tags(String serviceId) {
    return Tags.of("election", serviceId);
  }

  private static String text(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }

  private static double seconds(Duration duration) {
    return duration.toNanos() / 1e9;
  }

  /** Identifies one of several meters. */
  private record Key(String serviceId, Object value) {}

  /** Identifies a timer of calls. */
  private record CallKey(String serviceId, String method, LeaderOnlyCalls.Outcome outcome) {}
}
