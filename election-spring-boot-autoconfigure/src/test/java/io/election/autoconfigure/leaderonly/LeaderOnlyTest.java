package io.election.autoconfigure.leaderonly;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

import io.election.ElectionService;
import io.election.LeaderOnly;
import io.election.LeaderOnly.OnFollower;
import io.election.LeadershipLostEvent;
import io.election.LeadershipLostEvent.Reason;
import io.election.NotLeaderException;
import io.election.autoconfigure.ElectionAutoConfiguration;
import io.election.autoconfigure.StartFailure;
import io.election.autoconfigure.SwitchedElection;
import java.io.IOException;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.EventListener;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionStatus;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

@ExtendWith(OutputCaptureExtension.class)
class LeaderOnlyTest {

  private final SwitchedElection election = new SwitchedElection();

  private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
      .withConfiguration(AutoConfigurations.of(
          AopAutoConfiguration.class,
          ElectionAutoConfiguration.class,
          LeaderOnlyAutoConfiguration.class))
      .withBean(SwitchedElection.class, () -> this.election);

  private final ApplicationContextRunner jobs =
      this.contextRunner.withBean("jobs", Jobs.class, Jobs::new);

  private final ExecutorService executor = Executors.newCachedThreadPool();

  @AfterEach
  void shutDown() {
    this.executor.shutdownNow();
  }

  @Test
  void runsOnTheLeaderAndIsSkippedElsewhere() {
    this.jobs.run((context) -> {
      Jobs jobs = context.getBean(Jobs.class);
      jobs.run();
      assertThat(jobs.runs()).isZero();
      this.election.becomeLeader();
      jobs.run();
      assertThat(jobs.runs()).isEqualTo(1);
      this.election.lostLeader();
      jobs.run();
      assertThat(jobs.runs()).isEqualTo(1);
    });
  }

  @Test
  void skippedCallReturnsNothingInTheShapeThatCallersExpect() throws Exception {
    this.jobs.run((context) -> {
      Jobs jobs = context.getBean(Jobs.class);
      assertThat(jobs.text()).isNull();
      assertThat(jobs.optional()).isEmpty();
      assertThat(jobs.optionalInt()).isEmpty();
      assertThat(jobs.future()).isCompletedWithValue(null);
      assertThat(jobs.stage().toCompletableFuture()).isCompletedWithValue(null);
      assertThat(jobs.plainFuture().get()).isNull();
      this.election.becomeLeader();
      assertThat(jobs.text()).isEqualTo("ran");
      assertThat(jobs.optional()).contains("ran");
      assertThat(jobs.future()).isCompletedWithValue("ran");
      assertThat(jobs.plainFuture().get()).isEqualTo("ran");
    });
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
      assertThatExceptionOfType(IOException.class).isThrownBy(context.getBean(Jobs.class)::fail);
      assertThat(context.getBean(LeaderOnlyCalls.class).isRunning("default")).isFalse();
    });
  }

  @Test
  void everySubscriptionAsksAnew() {
    this.jobs.run((context) -> {
      Jobs jobs = context.getBean(Jobs.class);
      Mono<String> mono = jobs.mono();
      Flux<String> flux = jobs.flux();
      assertThat(mono.blockOptional()).isEmpty();
      assertThat(flux.collectList().block()).isEmpty();
      assertThat(jobs.runs()).isZero();
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
  void worksOnTypesInterfacesAndWithinOtherAnnotations() {
    this.contextRunner
        .withBean(OnType.class)
        .withBean(OnInterface.class)
        .withBean(Nightly.class)
        .run((context) -> {
          assertThat(context.getBean(OnType.class).text()).isNull();
          assertThat(context.getBean(OnInterface.class).text()).isNull();
          assertThat(context.getBean(Nightly.class).text()).isNull();
          this.election.becomeLeader();
          assertThat(context.getBean(OnType.class).text()).isEqualTo("ran");
          assertThat(context.getBean(OnInterface.class).text()).isEqualTo("ran");
          assertThat(context.getBean(Nightly.class).text()).isEqualTo("ran");
        });
  }

  @Test
  void worksOnInterfaceProxies() {
    this.contextRunner
        .withPropertyValues("spring.aop.proxy-target-class=false")
        .withBean(OnInterface.class)
        .run((context) -> {
          Reporter reporter = context.getBean(Reporter.class);
          assertThat(AopUtils.isJdkDynamicProxy(reporter)).isTrue();
          assertThat(reporter.text()).isNull();
          this.election.becomeLeader();
          assertThat(reporter.text()).isEqualTo("ran");
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
        .run((context) -> assertThat(context.getBean(Jobs.class).text()).isNull());
  }

  @Test
  void standsOutsideOfTransactions() {
    this.contextRunner.withUserConfiguration(Transactions.class).run((context) -> {
      CountingTransactions transactions = context.getBean(CountingTransactions.class);
      TransactionalJob job = context.getBean(TransactionalJob.class);
      job.run();
      assertThat(transactions.begun).hasValue(0);
      this.election.becomeLeader();
      job.run();
      assertThat(transactions.begun).hasValue(1);
    });
  }

  @Test
  void asksOnTheThreadOfAnAsynchronousCall() {
    this.contextRunner.withUserConfiguration(Asynchronous.class).run((context) -> {
      AsynchronousJob job = context.getBean(AsynchronousJob.class);
      assertThat(job.thread().get()).isNull();
      this.election.becomeLeader();
      assertThat(job.thread().get()).isNotEqualTo(Thread.currentThread().getName());
    });
  }

  @Test
  void worksOnScheduledMethods() {
    this.contextRunner.withUserConfiguration(Scheduling.class).run((context) -> {
      ScheduledJob job = context.getBean(ScheduledJob.class);
      await().until(() -> job.ticks() > 3);
      assertThat(job.runs()).isZero();
      this.election.becomeLeader();
      await().until(() -> job.runs() > 0 && job.reactiveRuns() > 1);
    });
  }

  @Test
  void worksOnEventListeners() {
    this.contextRunner.withBean(ListeningJob.class).run((context) -> {
      context.publishEvent("one");
      assertThat(context.getBean(ListeningJob.class).heard()).isZero();
      this.election.becomeLeader();
      context.publishEvent("two");
      assertThat(context.getBean(ListeningJob.class).heard()).isEqualTo(1);
    });
  }

  @Test
  void skipIsLoggedForThoseWhoLook(CapturedOutput output) {
    this.jobs.run((context) -> {
      context.getBean(Jobs.class).run();
      assertThat(output).contains("skipped Jobs.run: this node does not lead election 'default'");
    });
  }

  @Test
  void noCallBeginsOnceTheContextCloses() {
    this.election.becomeLeader();
    this.jobs.run((context) -> {
      Jobs jobs = context.getBean(Jobs.class);
      assertThat(jobs.text()).isEqualTo("ran");
      context.close();
      assertThat(jobs.text()).isNull();
    });
  }

  @Test
  void callOfAnotherContextGoesOnWhenAChildCloses() {
    this.election.becomeLeader();
    this.jobs.run((context) -> {
      new SpringApplicationBuilder(Object.class)
          .parent(context)
          .web(WebApplicationType.NONE)
          .run()
          .close();
      assertThat(context.getBean(Jobs.class).text()).isEqualTo("ran");
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
      jobs.pending();
      assertThat(calls.isRunning("default")).isTrue();
      jobs.complete();
      assertThat(calls.isRunning("default")).isFalse();
      assertThat(ends).hasValue(1);

      var subscription = jobs.pendingMono().subscribe();
      assertThat(calls.isRunning("default")).isTrue();
      subscription.dispose();
      assertThat(calls.isRunning("default")).isFalse();
      assertThat(ends).hasValue(2);
    });
  }

  @Test
  void primitiveResultIsRefused() {
    assertThat(failure(Primitive.class))
        .contains(
            "@LeaderOnly cannot guard bean 'job', method " + Primitive.class.getName() + ".count()")
        .contains("it returns the primitive type int")
        .contains("return Integer, Optional or void, or use onFollower = THROW");
  }

  @Test
  void methodsThatProxiesMissAreRefused() {
    assertThat(failure(FinalMethod.class))
        .contains("bean 'job'", "FinalMethod.run()", "it is final");
    assertThat(failure(PrivateMethod.class)).contains("PrivateMethod.run()", "it is private");
    assertThat(failure(StaticMethod.class)).contains("StaticMethod.run()", "it is static");
    assertThat(failure(FinalOnType.class)).contains("FinalOnType.run()", "it is final");
    assertThat(failure(FinalClass.class)).contains("bean 'job'", "FinalClass is final");
    assertThat(failure(BeanMethod.class)).contains("BeanMethod.text()", "it makes a bean");
  }

  @Test
  void runningCallIsInterruptedWhenItsElectionPublishesItsLoss() throws Exception {
    this.election.becomeLeader();
    this.contextRunner.withBean(Blocking.class).run((context) -> {
      Blocking job = context.getBean(Blocking.class);
      Future<Boolean> interrupted = this.executor.submit(job::interruptible);
      job.begun().await();
      this.election.lostLeader();
      context.publishEvent(new LeadershipLostEvent("default", "a", 0, Reason.EXPIRED));
      assertThat(interrupted.get(30, TimeUnit.SECONDS)).isTrue();
      assertThat(context.getBean(LeaderOnlyCalls.class).interrupted("default")).isEqualTo(1);
    });
  }

  @Test
  void callThatDoesNotAskForItIsNotInterrupted() throws Exception {
    this.election.becomeLeader();
    this.contextRunner.withBean(Blocking.class).run((context) -> {
      Blocking job = context.getBean(Blocking.class);
      Future<Boolean> interrupted = this.executor.submit(job::plain);
      job.begun().await();
      context.publishEvent(new LeadershipLostEvent("default", "a", 0, Reason.EXPIRED));
      job.end().countDown();
      assertThat(interrupted.get(30, TimeUnit.SECONDS)).isFalse();
    });
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "as.election.enabled=false",
        "as.election.algorithm=ManualAllocation,as.election.manual.leader-id=a"
      })
  void callIsInterruptedAtOnceWhereNoLeaseCoversIt(String properties) throws Exception {
    withoutLease(properties).run((context) -> {
      Blocking job = context.getBean(Blocking.class);
      Future<Boolean> interrupted = this.executor.submit(job::interruptible);
      job.begun().await();
      context.getBean(ElectionService.class).lostLeader();
      assertThat(interrupted.get(30, TimeUnit.SECONDS)).isTrue();
    });
  }

  @Test
  void stopOfAManualElectionInterruptsWhatHasNotEndedInTime() throws Exception {
    withoutLease("as.election.algorithm=ManualAllocation,as.election.manual.leader-id=a")
        .withPropertyValues("as.election.drain-timeout=50ms")
        .run((context) -> {
          Blocking job = context.getBean(Blocking.class);
          Future<Boolean> interrupted = this.executor.submit(job::interruptible);
          job.begun().await();
          context.getSourceApplicationContext().stop();
          assertThat(interrupted.get(30, TimeUnit.SECONDS)).isTrue();
        });
  }

  @Test
  void publisherThatAsksForInterruptionIsRefused() {
    assertThat(failure(InterruptiblePublisher.class))
        .contains("InterruptiblePublisher.run()")
        .contains("it returns the reactive type Mono")
        .contains("no thread of its own that interruptOnLoss could interrupt");
  }

  @Test
  void unknownElectionIsRefused() {
    assertThat(failure(UnknownElection.class))
        .contains("@LeaderOnly on bean 'job', method " + UnknownElection.class.getName() + ".run()")
        .contains("names election 'reports', but this node only knows [default]")
        .contains("Add 'reports' to as.election.services");
  }

  @Test
  void lazyBeanIsRefusedWhenItIsMade() {
    this.contextRunner
        .withBean(
            "job",
            UnknownElection.class,
            UnknownElection::new,
            (definition) -> definition.setLazyInit(true))
        .run((context) -> {
          assertThat(context).hasNotFailed();
          assertThatExceptionOfType(BeanCreationException.class)
              .isThrownBy(() -> context.getBean("job"))
              .havingRootCause()
              .withMessageContaining("names election 'reports'");
        });
  }

  @Test
  void namedElectionIsAsked() {
    SwitchedElection reports = new SwitchedElection() {
      @Override
      public String serviceId() {
        return "reports";
      }
    };
    this.contextRunner
        .withBean(
            "reports",
            ElectionService.class,
            () -> reports,
            (definition) -> ((AbstractBeanDefinition) definition).setDefaultCandidate(false))
        .withBean(UnknownElection.class)
        .run((context) -> {
          UnknownElection job = context.getBean(UnknownElection.class);
          this.election.becomeLeader();
          assertThat(job.run()).isNull();
          reports.becomeLeader();
          assertThat(job.run()).isEqualTo("ran");
        });
  }

  @Test
  void beansThatNeedEachOtherAreGuardedToo() {
    this.contextRunner
        .withAllowCircularReferences(true)
        .withBean(Chicken.class)
        .withBean(Egg.class)
        .run((context) -> {
          assertThat(context.getBean(Egg.class).ask()).isNull();
          this.election.becomeLeader();
          assertThat(context.getBean(Egg.class).ask()).isEqualTo("ran");
        });
  }

  private ApplicationContextRunner withoutLease(String properties) {
    return new ApplicationContextRunner()
        .withConfiguration(AutoConfigurations.of(
            AopAutoConfiguration.class,
            ElectionAutoConfiguration.class,
            LeaderOnlyAutoConfiguration.class))
        .withPropertyValues("spring.application.name=default", "as.election.node-id=a")
        .withPropertyValues(properties.split(",", -1))
        .withBean(Blocking.class);
  }

  private String failure(Class<?> job) {
    return StartFailure.text(
        this.contextRunner.withInitializer((context) -> ((GenericApplicationContext) context)
            .registerBeanDefinition("job", new RootBeanDefinition(job))));
  }

  static class Jobs {

    private final AtomicInteger runs = new AtomicInteger();

    private final CompletableFuture<String> pending = new CompletableFuture<>();

    void complete() {
      this.pending.complete("done");
    }

    int runs() {
      return this.runs.get();
    }

    @LeaderOnly
    void run() {
      this.runs.incrementAndGet();
    }

    @LeaderOnly
    public String text() {
      return "ran";
    }

    @LeaderOnly
    public Optional<String> optional() {
      return Optional.of("ran");
    }

    @LeaderOnly
    public OptionalInt optionalInt() {
      return OptionalInt.of(1);
    }

    @LeaderOnly
    public CompletableFuture<String> future() {
      return CompletableFuture.completedFuture("ran");
    }

    @LeaderOnly
    public CompletionStage<String> stage() {
      return CompletableFuture.completedFuture("ran");
    }

    @LeaderOnly
    public Future<String> plainFuture() {
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
      return this.pending;
    }

    @LeaderOnly
    public Mono<String> pendingMono() {
      return Mono.never();
    }
  }

  @LeaderOnly
  static class OnType {

    public String text() {
      return "ran";
    }
  }

  public static class VisibleToAllLoaders {

    @LeaderOnly
    public String text() {
      return "ran";
    }
  }

  interface Reporter {

    @LeaderOnly
    String text();
  }

  static class OnInterface implements Reporter {

    @Override
    public String text() {
      return "ran";
    }
  }

  @LeaderOnly
  @Retention(RetentionPolicy.RUNTIME)
  @interface OncePerNight {}

  static class Nightly {

    @OncePerNight
    public String text() {
      return "ran";
    }
  }

  static class TransactionalJob {

    @LeaderOnly
    @Transactional
    public void run() {}
  }

  @Configuration(proxyBeanMethods = false)
  @EnableTransactionManagement(order = 0, proxyTargetClass = true)
  static class Transactions {

    @Bean
    PlatformTransactionManager transactionManager() {
      return new CountingTransactions();
    }

    @Bean
    TransactionalJob job() {
      return new TransactionalJob();
    }
  }

  static class CountingTransactions extends AbstractPlatformTransactionManager {

    final transient AtomicInteger begun = new AtomicInteger();

    @Override
    protected Object doGetTransaction() {
      return new Object();
    }

    @Override
    protected void doBegin(Object transaction, TransactionDefinition definition) {
      this.begun.incrementAndGet();
    }

    @Override
    protected void doCommit(DefaultTransactionStatus status) {}

    @Override
    protected void doRollback(DefaultTransactionStatus status) {}
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAsync(proxyTargetClass = true)
  static class Asynchronous {

    @Bean
    AsynchronousJob job() {
      return new AsynchronousJob();
    }
  }

  static class AsynchronousJob {

    @Async
    @LeaderOnly
    public CompletableFuture<String> thread() {
      return CompletableFuture.completedFuture(Thread.currentThread().getName());
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableScheduling
  static class Scheduling {

    @Bean
    ScheduledJob job() {
      return new ScheduledJob();
    }
  }

  static class ScheduledJob {

    private final AtomicInteger ticks = new AtomicInteger();

    private final AtomicInteger runs = new AtomicInteger();

    private final AtomicInteger reactiveRuns = new AtomicInteger();

    int ticks() {
      return this.ticks.get();
    }

    int runs() {
      return this.runs.get();
    }

    int reactiveRuns() {
      return this.reactiveRuns.get();
    }

    @Scheduled(fixedDelay = 5)
    void tick() {
      this.ticks.incrementAndGet();
    }

    @LeaderOnly
    @Scheduled(fixedDelay = 5)
    public void run() {
      this.runs.incrementAndGet();
    }

    @LeaderOnly
    @Scheduled(fixedDelay = 5)
    public Mono<Integer> runReactively() {
      return Mono.fromSupplier(this.reactiveRuns::incrementAndGet);
    }
  }

  static class ListeningJob {

    private final AtomicInteger heard = new AtomicInteger();

    int heard() {
      return this.heard.get();
    }

    @LeaderOnly
    @EventListener
    public void on(String event) {
      this.heard.incrementAndGet();
    }
  }

  static class Blocking {

    private final CountDownLatch begun = new CountDownLatch(1);

    private final CountDownLatch end = new CountDownLatch(1);

    CountDownLatch begun() {
      return this.begun;
    }

    CountDownLatch end() {
      return this.end;
    }

    @LeaderOnly(interruptOnLoss = true)
    public Boolean interruptible() {
      return block();
    }

    @LeaderOnly
    public Boolean plain() {
      return block();
    }

    private boolean block() {
      this.begun.countDown();
      try {
        this.end.await();
        return false;
      } catch (InterruptedException ex) {
        return true;
      }
    }
  }

  static class InterruptiblePublisher {

    @LeaderOnly(interruptOnLoss = true)
    public Mono<String> run() {
      return Mono.just("ran");
    }
  }

  static class Primitive {

    @LeaderOnly
    public int count() {
      return 1;
    }
  }

  static class FinalMethod {

    @LeaderOnly
    public final void run() {}
  }

  static class PrivateMethod {

    @LeaderOnly
    private void run() {}
  }

  static class StaticMethod {

    @LeaderOnly
    public static void run() {}
  }

  @LeaderOnly
  static class FinalOnType {

    public final void run() {}
  }

  static final class FinalClass {

    @LeaderOnly
    public void run() {}
  }

  @Configuration(proxyBeanMethods = false)
  static class BeanMethod {

    @Bean
    @LeaderOnly
    public String text() {
      return "";
    }
  }

  static class UnknownElection {

    @LeaderOnly("reports")
    public String run() {
      return "ran";
    }
  }

  static class Chicken {

    @Autowired
    Egg egg;

    @LeaderOnly
    public String run() {
      return "ran";
    }
  }

  static class Egg {

    @Autowired
    Chicken chicken;

    String ask() {
      return this.chicken.run();
    }
  }
}
