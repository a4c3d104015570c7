package io.election.autoconfigure.leaderonly;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyLong;
import static org.mockito.Mockito.inOrder;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.verify;
import static org.mockito.Mockito.verifyNoInteractions;
import static org.mockito.Mockito.when;

import io.election.ElectionService;
import io.election.Fence;
import io.election.LeaderOnly;
import io.election.LeaderOnly.OnFollower;
import io.election.Leadership;
import io.election.LeadershipLostEvent;
import io.election.LeadershipLostEvent.Reason;
import io.election.NotLeaderException;
import io.election.autoconfigure.BlockingJob;
import io.election.autoconfigure.ElectionAutoConfiguration;
import io.election.autoconfigure.StartFailure;
import io.election.autoconfigure.SwitchedElection;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.mockito.InOrder;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.EventListener;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Calls run on the leader alone, are counted, and are interrupted if they ask for it. */
@ExtendWith(OutputCaptureExtension.class)
class LeaderOnlyTest {

  private final SwitchedElection election = new SwitchedElection();

  private final ApplicationContextRunner contextRunner =
      contexts().withBean(SwitchedElection.class, () -> this.election);

  private final ApplicationContextRunner jobs = this.contextRunner.withBean(Jobs.class);

  @AutoClose("shutdownNow")
  private final ExecutorService executor = Executors.newCachedThreadPool();

  /** Returns contexts that guard their beans, but have no election of their own. */
  static ApplicationContextRunner contexts() {
    return new ApplicationContextRunner()
        .withConfiguration(AutoConfigurations.of(
            AopAutoConfiguration.class,
            ElectionAutoConfiguration.class,
            LeaderOnlyAutoConfiguration.class));
  }

  @Test
  void runsOnTheLeaderAndIsSkippedElsewhere(CapturedOutput output) {
    this.jobs.run((context) -> {
      Jobs jobs = context.getBean(Jobs.class);
      List<String> outcomes = outcomes(context);
      jobs.run();
      assertThat(jobs.runs()).isZero();
      assertThat(output).contains("skipped Jobs.run: this node does not lead election 'default'");
      this.election.becomeLeader();
      jobs.run();
      assertThat(jobs.future()).isCompletedWithValue("ran");
      this.election.lostLeader();
      jobs.run();
      assertThat(jobs.runs()).isEqualTo(1);
      assertThat(jobs.future()).isCompletedWithValue(null);
      assertThat(outcomes)
          .containsExactly(
              "Jobs.run SKIPPED",
              "Jobs.run RAN",
              "Jobs.future RAN",
              "Jobs.run SKIPPED",
              "Jobs.future SKIPPED");
    });
  }

  private static List<String> outcomes(ApplicationContext context) {
    List<String> outcomes = new ArrayList<>();
    context
        .getBean(LeaderOnlyCalls.class)
        .onCall((serviceId, method, outcome, nanos) -> outcomes.add(method + " " + outcome));
    return outcomes;
  }

  /** A class may inherit what another inherits too, and say otherwise. */
  @Test
  void inheritedMethodIsGuardedAsEachClassSays() {
    this.contextRunner.withBean(Skipping.class).withBean(Throwing.class).run((context) -> {
      for (int i = 0; i < 2; i++) {
        assertThat(context.getBean(Skipping.class).text()).isNull();
        assertThatExceptionOfType(NotLeaderException.class)
            .isThrownBy(context.getBean(Throwing.class)::text);
      }
    });
  }

  /** The target behind a proxy may be another one than that for which the proxy was made. */
  @Test
  void methodWithoutTheAnnotationIsNotGuarded() {
    this.contextRunner.run((context) -> {
      ProxyFactory proxies = new ProxyFactory(new Unguarded());
      proxies.addAdvice(context.getBean(LeaderOnlyAdvisor.class).getAdvice());
      assertThat(((Unguarded) proxies.getProxy()).text()).isEqualTo("ran");
    });
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void callIsBoundToItsTermUntilItLeavesItsThread(boolean fails) {
    Fence fence = mock();
    Fence.Bound bound = mock();
    when(fence.appliesTo(any())).thenReturn(true);
    when(fence.bind(any(), anyLong())).thenReturn(bound);
    SwitchedElection election = new SwitchedElection() {
      @Override
      public Optional<Leadership> leadership() {
        return Optional.of(new Leadership(7, Instant.EPOCH, Leadership.UNLIMITED));
      }
    };
    election.becomeLeader();
    contexts()
        .withBean(SwitchedElection.class, () -> election)
        .withBean(Fence.class, () -> fence)
        .withBean(Jobs.class)
        .run((context) -> {
          Jobs jobs = context.getBean(Jobs.class);
          if (fails) {
            assertThatExceptionOfType(IOException.class).isThrownBy(jobs::fail);
          } else {
            jobs.pending();
          }
          InOrder order = inOrder(fence, bound);
          order.verify(fence).bind(election, 7);
          order.verify(bound).close();
        });
  }

  @Test
  void skippedCallReturnsNothingInTheShapeThatCallersExpect() {
    Map.<Class<?>, Object>of(
            Optional.class, Optional.empty(),
            OptionalInt.class, OptionalInt.empty(),
            OptionalLong.class, OptionalLong.empty(),
            OptionalDouble.class, OptionalDouble.empty(),
            List.class, List.of(),
            Iterable.class, List.of(),
            Set.class, Set.of(),
            Map.class, Map.of(),
            String[].class, new String[0],
            byte[].class, new byte[0])
        .forEach((type, nothing) -> assertThat(skipped(type)).isEqualTo(nothing));
    assertThat(skipped(String.class)).isNull();
    assertThat(((Stream<?>) skipped(Stream.class)).toList()).isEmpty();
    for (var type : List.of(Future.class, CompletableFuture.class, CompletionStage.class)) {
      assertThat((CompletableFuture<?>) skipped(type)).isCompletedWithValue(null);
    }
  }

  private static @Nullable Object skipped(Class<?> type) {
    return ReturnTypes.ofSkipped(type).get();
  }

  @Test
  void throwsWhereTold() {
    this.jobs.run((context) -> {
      Jobs jobs = context.getBean(Jobs.class);
      assertThatExceptionOfType(NotLeaderException.class)
          .isThrownBy(jobs::insist)
          .satisfies((ex) -> assertThat(ex.serviceId()).isEqualTo("default"));
      this.election.becomeLeader();
      assertThat(jobs.insist()).isEqualTo(7);
    });
  }

  @Test
  void exceptionOfTheMethodGoesThrough() {
    this.election.becomeLeader();
    this.jobs.run((context) -> {
      Jobs jobs = context.getBean(Jobs.class);
      assertThatExceptionOfType(IOException.class).isThrownBy(jobs::fail);
      assertThatException()
          .isThrownBy(() -> jobs.failingMono().block())
          .withCauseInstanceOf(IOException.class);
      assertThatExceptionOfType(UnsupportedOperationException.class).isThrownBy(jobs::deaf);
      assertThat(context.getBean(LeaderOnlyCalls.class).isRunning("default")).isFalse();
    });
  }

  @Test
  void everySubscriptionAsksAnew(CapturedOutput output) {
    this.jobs.run((context) -> {
      Jobs jobs = context.getBean(Jobs.class);
      List<String> outcomes = outcomes(context);
      Mono<String> mono = jobs.mono();
      Flux<String> flux = jobs.flux();
      assertThat(mono.blockOptional()).isEmpty();
      assertThat(flux.collectList().block()).isEmpty();
      assertThat(jobs.runs()).isZero();
      assertThat(outcomes).containsExactly("Jobs.mono SKIPPED", "Jobs.flux SKIPPED");
      assertThat(output).contains("skipped Jobs.mono: this node does not lead");
      this.election.becomeLeader();
      assertThat(mono.block()).isEqualTo("ran");
      assertThat(mono.block()).isEqualTo("ran");
      assertThat(flux.collectList().block()).containsExactly("a", "b");
      assertThat(jobs.runs()).isEqualTo(3);
      this.election.lostLeader();
      assertThat(mono.blockOptional()).isEmpty();
      assertThatExceptionOfType(NotLeaderException.class)
          .isThrownBy(() -> jobs.insistentMono().block());
      assertThat(context.getBean(LeaderOnlyCalls.class).isRunning("default")).isFalse();
    });
  }

  @Test
  void worksWithoutAspectJAndWithoutAutoProxies() {
    this.contextRunner
        .withClassLoader(new FilteredClassLoader("org.aspectj"))
        .withBean(VisibleToAllLoaders.class)
        .run((context) ->
            assertThat(context.getBean(VisibleToAllLoaders.class).text()).isNull());
    this.jobs
        .withPropertyValues("spring.aop.auto=false")
        .run((context) ->
            assertThat(context.getBean(Jobs.class).mono().blockOptional()).isEmpty());
  }

  @Test
  void standsOutsideOfTransactions() {
    PlatformTransactionManager transactions = mock();
    this.contextRunner
        .withBean(PlatformTransactionManager.class, () -> transactions)
        .withUserConfiguration(TransactionalJob.class)
        .run((context) -> {
          context.getBean(TransactionalJob.class).run();
          verifyNoInteractions(transactions);
          this.election.becomeLeader();
          context.getBean(TransactionalJob.class).run();
          verify(transactions).getTransaction(any());
        });
  }

  @Test
  void asksOnTheThreadOfAnAsynchronousCall() {
    this.contextRunner.withUserConfiguration(AsynchronousJob.class).run((context) -> {
      AsynchronousJob job = context.getBean(AsynchronousJob.class);
      assertThat(job.thread().get()).isNull();
      this.election.becomeLeader();
      assertThat(job.thread().get()).isNotEqualTo(Thread.currentThread().getName());
    });
  }

  @Test
  void worksOnScheduledMethods(CapturedOutput output) {
    this.contextRunner.withUserConfiguration(ScheduledJob.class).run((context) -> {
      ScheduledJob job = context.getBean(ScheduledJob.class);
      await().until(() -> job.ticks() > 3);
      assertThat(job.runs()).isZero();
      assertThat(job.works()).isZero();
      assertThat(output).contains("skipped ScheduledJob.work: this node does not lead");
      this.election.becomeLeader();
      await().until(() -> job.runs() > 1 && job.works() > 1);
    });
  }

  @Test
  void worksOnEventListeners() {
    this.jobs.run((context) -> {
      context.publishEvent("one");
      this.election.becomeLeader();
      context.publishEvent("two");
      assertThat(context.getBean(Jobs.class).runs()).isEqualTo(1);
    });
  }

  @Test
  void callOfAnotherContextGoesOnWhenAChildCloses() {
    this.election.becomeLeader();
    this.jobs.run((context) -> {
      new ApplicationContextRunner().withParent(context).run((child) -> {});
      assertThat(context.getBean(Jobs.class).mono().block()).isEqualTo("ran");
    });
  }

  @Test
  void callsAreCountedUntilTheirResultIsThere() {
    this.election.becomeLeader();
    this.jobs.run((context) -> {
      Jobs jobs = context.getBean(Jobs.class);
      LeaderOnlyCalls calls = context.getBean(LeaderOnlyCalls.class);
      AtomicInteger ends = new AtomicInteger();
      calls.onEnd(ends::incrementAndGet);
      CompletableFuture<String> future = jobs.pending();
      assertThat(calls.isRunning("default")).isTrue();
      future.complete("done");
      assertThat(calls.isRunning("default")).isFalse();
      assertThat(ends).hasValue(1);

      var subscription = jobs.pendingMono().subscribe();
      assertThat(calls.isRunning("default")).isTrue();
      subscription.dispose();
      assertThat(calls.isRunning("default")).isFalse();
      assertThat(ends).hasValue(2);
    });
  }

  /** Otherwise the second end would be that of another call. */
  @Test
  void aStageThatEndsTwiceEndsNoOtherCall() {
    this.jobs.run((context) -> {
      context.getBean(SwitchedElection.class).becomeLeader();
      LeaderOnlyCalls calls = context.getBean(LeaderOnlyCalls.class);
      Jobs jobs = context.getBean(Jobs.class);
      Repeating repeating = (Repeating) jobs.repeating();
      repeating.end();
      assertThat(calls.isRunning("default")).isFalse();
      jobs.pending();
      repeating.end();
      assertThat(calls.isRunning("default")).isTrue();
    });
  }

  @Test
  void onlyTheCallThatAsksForItIsInterruptedWhenItsElectionPublishesItsLoss(CapturedOutput output) {
    this.election.becomeLeader();
    this.contextRunner.withBean(BlockingJob.class).run((context) -> {
      BlockingJob job = context.getBean(BlockingJob.class);
      Future<Boolean> plain = job.begin(this.executor, job::plain);
      Future<Boolean> interruptible = job.begin(this.executor, job::interruptible);
      this.election.lostLeader();
      context.publishEvent(new LeadershipLostEvent("default", "a", 0, Reason.EXPIRED));
      assertThat(interruptible.get(30, TimeUnit.SECONDS)).isTrue();
      assertThat(context.getBean(LeaderOnlyCalls.class).interrupted("default")).isEqualTo(1);
      assertThat(output)
          .contains("interrupted BlockingJob.interruptible: the leadership of election 'default'");
      job.end();
      assertThat(plain.get(30, TimeUnit.SECONDS)).isFalse();
      this.election.becomeLeader();
      assertThat(job.interruptible()).isFalse();
      context.publishEvent(new LeadershipLostEvent("default", "a", 0, Reason.EXPIRED));
      assertThat(Thread.interrupted()).isFalse();
    });
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "as.election.enabled=false",
        "as.election.algorithm=ManualAllocation,as.election.manual.leader-id=a"
      })
  void callIsInterruptedAtOnceWhereNoLeaseCoversIt(String properties) {
    withoutLease(properties).run((context) -> {
      BlockingJob job = context.getBean(BlockingJob.class);
      Future<Boolean> interrupted = job.begin(this.executor, job::interruptible);
      context.getBean(ElectionService.class).lostLeader();
      assertThat(interrupted.get(30, TimeUnit.SECONDS)).isTrue();
    });
  }

  @Test
  void stopOfAManualElectionInterruptsWhatHasNotEndedInTime() {
    withoutLease("as.election.algorithm=ManualAllocation,as.election.manual.leader-id=a")
        .withPropertyValues("as.election.drain-timeout=50ms")
        .run((context) -> {
          BlockingJob job = context.getBean(BlockingJob.class);
          Future<Boolean> interrupted = job.begin(this.executor, job::interruptible);
          context.getSourceApplicationContext().stop();
          assertThat(interrupted.get(30, TimeUnit.SECONDS)).isTrue();
        });
  }

  private static ApplicationContextRunner withoutLease(String properties) {
    return contexts()
        .withPropertyValues("spring.application.name=default", "as.election.node-id=a")
        .withPropertyValues(properties.split(",", -1))
        .withBean(BlockingJob.class);
  }

  @Test
  void beansThatNeedEachOtherAreGuardedToo() {
    this.contextRunner
        .withAllowCircularReferences(true)
        .withBean(Chicken.class)
        .withBean(Egg.class)
        .run((context) -> {
          assertThat(context.getBean(Egg.class).chicken.run()).isNull();
          this.election.becomeLeader();
          assertThat(context.getBean(Egg.class).chicken.run()).isEqualTo("ran");
        });
  }

  @Test
  void callsOfAChildAreThoseOfTheElectionInItsParent() {
    this.election.becomeLeader();
    this.contextRunner.run((parent) -> contexts()
        .withParent(parent)
        .withBean(BlockingJob.class)
        .run((child) -> {
          BlockingJob job = child.getBean(BlockingJob.class);
          LeaderOnlyCalls calls = parent.getBean(LeaderOnlyCalls.class);
          AtomicInteger ends = new AtomicInteger();
          calls.onEnd(ends::incrementAndGet);
          Future<Boolean> interrupted = job.begin(this.executor, job::interruptible);
          assertThat(child.getBean(LeaderOnlyCalls.class)).isNotSameAs(calls);
          assertThat(calls.isRunning("default")).isTrue();
          assertThat(calls.running("default")).isEqualTo(1);
          assertThat(child.getBean(LeaderOnlyCalls.class).running("default")).isEqualTo(1);
          this.election.lostLeader();
          calls.onLeaseOver("default", 0);
          assertThat(interrupted.get(30, TimeUnit.SECONDS)).isTrue();
          assertThat(calls.isRunning("default")).isFalse();
          assertThat(ends).hasValue(1);
        }));
  }

  @Test
  void noCallOfAContextBeginsOnceItCloses() {
    this.election.becomeLeader();
    this.contextRunner.run((parent) -> contexts()
        .withParent(parent)
        .withBean(Jobs.class)
        .run((child) -> {
          Jobs jobs = child.getBean(Jobs.class);
          Mono<String> mono = jobs.mono();
          assertThat(jobs.future()).isCompletedWithValue("ran");
          assertThat(mono.block()).isEqualTo("ran");
          child.close();
          assertThat(jobs.future()).isCompletedWithValue(null);
          assertThat(mono.blockOptional()).isEmpty();
        }));
  }

  @Test
  void electionOfAChildIsItsOwn() {
    SwitchedElection reports = new SwitchedElection() {
      @Override
      public String serviceId() {
        return "reports";
      }
    };
    reports.becomeLeader();
    contexts()
        .withPropertyValues("as.election.enabled=false", "as.election.node-id=a")
        .run((parent) -> contexts()
            .withParent(parent)
            .withBean("reports", ElectionService.class, () -> reports)
            .withBean(BlockingJob.class)
            .run((child) -> {
              BlockingJob job = child.getBean(BlockingJob.class);
              Future<Boolean> interrupted = job.begin(this.executor, job::interruptible);
              assertThat(parent.getBean(LeaderOnlyCalls.class).running("reports"))
                  .isZero();
              assertThat(child.getBean(LeaderOnlyCalls.class).running("reports"))
                  .isEqualTo(1);
              reports.lostLeader();
              child.publishEvent(new LeadershipLostEvent("reports", "a", 0, Reason.EXPIRED));
              assertThat(interrupted.get(30, TimeUnit.SECONDS)).isTrue();
            }));
  }

  @Test
  void reactiveScheduledMethodDoesNotHideWhyTheStartFails() {
    assertThat(StartFailure.text(contexts()
            .withPropertyValues(
                "spring.application.name=a", "as.election.algorithm=ManualAllocation")
            .withUserConfiguration(ScheduledJob.class)))
        .contains("as.election.manual.leader-id");
  }

  static class Jobs {

    private final AtomicInteger runs = new AtomicInteger();

    int runs() {
      return this.runs.get();
    }

    @LeaderOnly
    void run() {
      this.runs.incrementAndGet();
    }

    @LeaderOnly
    @EventListener
    public void on(String event) {
      this.runs.incrementAndGet();
    }

    @LeaderOnly
    public CompletableFuture<String> future() {
      return CompletableFuture.completedFuture("ran");
    }

    @LeaderOnly(onFollower = OnFollower.THROW)
    public int insist() {
      return 7;
    }

    @LeaderOnly
    public void fail() throws IOException {
      throw new IOException("expected");
    }

    /** Its result tells nobody of its end. */
    @LeaderOnly
    public CompletionStage<String> deaf() {
      return new CompletableFuture<>() {
        @Override
        public CompletableFuture<String> whenComplete(
            BiConsumer<? super @Nullable String, ? super @Nullable Throwable> callback) {
          throw new UnsupportedOperationException();
        }
      };
    }

    @LeaderOnly
    public Mono<String> failingMono() throws IOException {
      throw new IOException("expected");
    }

    @LeaderOnly
    public Mono<String> mono() {
      this.runs.incrementAndGet();
      return Mono.just("ran");
    }

    @LeaderOnly
    public Flux<String> flux() {
      this.runs.incrementAndGet();
      return Flux.just("a", "b");
    }

    @LeaderOnly(onFollower = OnFollower.THROW)
    public Mono<String> insistentMono() {
      return Mono.just("ran");
    }

    @LeaderOnly
    public CompletableFuture<String> pending() {
      return new CompletableFuture<>();
    }

    @LeaderOnly
    public CompletableFuture<String> repeating() {
      return new Repeating();
    }

    @LeaderOnly
    public Mono<String> pendingMono() {
      return Mono.never();
    }
  }

  /** Calls back as often as it is told. */
  private static final class Repeating extends CompletableFuture<String> {

    private BiConsumer<? super @Nullable String, ? super @Nullable Throwable> callback =
        (value, failure) -> {};

    @Override
    public CompletableFuture<String> whenComplete(
        BiConsumer<? super @Nullable String, ? super @Nullable Throwable> callback) {
      this.callback = callback;
      return this;
    }

    void end() {
      this.callback.accept("ran", null);
    }
  }

  public static class VisibleToAllLoaders {

    @LeaderOnly
    public @Nullable String text() {
      return "ran";
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableTransactionManagement(order = 0, proxyTargetClass = true)
  static class TransactionalJob {

    @LeaderOnly
    @Transactional
    public void run() {}
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAsync(proxyTargetClass = true)
  static class AsynchronousJob {

    @Async
    @LeaderOnly
    public CompletableFuture<String> thread() {
      return CompletableFuture.completedFuture(Thread.currentThread().getName());
    }
  }

  static class ScheduledBase {

    private final AtomicInteger works = new AtomicInteger();

    int works() {
      return this.works.get();
    }

    @LeaderOnly
    @Scheduled(fixedDelay = 5)
    public void work() {
      this.works.incrementAndGet();
    }
  }

  /** Public, so that the compiler generates a bridge method for that of its base class. */
  @Configuration(proxyBeanMethods = false)
  @EnableScheduling
  public static class ScheduledJob extends ScheduledBase {

    private final AtomicInteger ticks = new AtomicInteger();

    private final AtomicInteger runs = new AtomicInteger();

    int ticks() {
      return this.ticks.get();
    }

    int runs() {
      return this.runs.get();
    }

    @Scheduled(fixedDelay = 5)
    void tick() {
      this.ticks.incrementAndGet();
    }

    @LeaderOnly
    @Scheduled(fixedDelay = 5)
    public Mono<Integer> run() {
      return Mono.fromSupplier(this.runs::incrementAndGet);
    }
  }

  static class Unguarded {

    public @Nullable String text() {
      return "ran";
    }
  }

  @LeaderOnly
  static class Skipping extends Unguarded {}

  @LeaderOnly(onFollower = OnFollower.THROW)
  static class Throwing extends Unguarded {}

  static class Chicken {

    @Autowired
    Egg egg;

    @LeaderOnly
    public @Nullable String run() {
      return "ran";
    }
  }

  static class Egg {

    @Autowired
    Chicken chicken;
  }
}
