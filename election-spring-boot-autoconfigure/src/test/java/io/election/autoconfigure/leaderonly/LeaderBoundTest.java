package io.election.autoconfigure.leaderonly;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.params.provider.Arguments.arguments;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

import io.election.ElectionOperations;
import io.election.ElectionService;
import io.election.LeaderBound;
import io.election.LeaderTask;
import io.election.autoconfigure.MysqlNode;
import io.election.autoconfigure.StartFailure;
import io.election.autoconfigure.SwitchedElection;
import io.election.autoconfigure.actuate.ElectionHealthAutoConfiguration;
import io.election.autoconfigure.actuate.ElectionMetricsAutoConfiguration;
import io.election.autoconfigure.actuate.EndpointAccess;
import io.election.store.LeaseStore;
import io.election.store.MemoryLeaseStore;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.amqp.rabbit.listener.AbstractMessageListenerContainer;
import org.springframework.amqp.rabbit.listener.RabbitListenerEndpoint;
import org.springframework.amqp.rabbit.listener.RabbitListenerEndpointRegistry;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.CustomScopeConfigurer;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationListener;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.Lifecycle;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Scope;
import org.springframework.context.annotation.ScopedProxyMode;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.event.ContextRefreshedEvent;
import org.springframework.context.support.SimpleThreadScope;
import org.springframework.integration.config.EnableIntegration;
import org.springframework.integration.dsl.IntegrationFlow;
import org.springframework.integration.dsl.Pollers;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.transaction.annotation.EnableTransactionManagement;

/** Beans of every kind are bound to the leadership, or refused by name. */
class LeaderBoundTest {

  private final ApplicationContextRunner leader = LeaderOnlyTest.contexts()
      .withConfiguration(AutoConfigurations.of(
          ElectionHealthAutoConfiguration.class, ElectionMetricsAutoConfiguration.class))
      .withBean(SimpleMeterRegistry.class)
      .withPropertyValues(
          "spring.application.name=default",
          "as.election.enabled=false",
          "as.election.services=billing");

  @Test
  void beansOfEveryKindRunWhileThisNodeLeadsTheirElection() {
    this.leader.withUserConfiguration(Beans.class).run((context) -> {
      List<String> running = context.getBean(Running.class).names();
      await().until(() -> running.size() == 4);
      assertThat(running).containsExactlyInAnyOrder("class", "method", "task", "lazy");
      context.getBean("electionService:billing", ElectionService.class).lostLeader();
      await().until(() -> running.size() == 3);
      assertThat(running).doesNotContain("method");
      context.getBean("electionService", ElectionService.class).lostLeader();
      await().until(running::isEmpty);
      context.getBean("electionService", ElectionService.class).becomeLeader();
      await().until(() -> running.size() == 3);
    });
  }

  @Test
  void aContextThatClosesWaitsForTheStopsWhileThisNodeLeads() {
    CountDownLatch stopping = new CountDownLatch(1);
    List<Boolean> led = new CopyOnWriteArrayList<>();
    this.leader
        .withBean(
            LeaderTask.class,
            () -> () -> () -> {
              stopping.countDown();
              Thread.sleep(300);
              led.add(true);
            })
        .withUserConfiguration(LastLifecycle.class)
        .run((context) -> {
          awaitState(context, "running");
          context.getBean(LastLifecycle.class).onStop = () -> led.add(false);
        });
    assertThat(stopping.getCount()).isZero();
    assertThat(led).containsExactly(true, false);
  }

  /** So a stop that hangs delays the shutdown once, and what has stopped is handed back at once. */
  @ParameterizedTest
  @ValueSource(strings = {"First", "First,Second", "ManualAllocation,Second"})
  void anElectionThatHasWorkBoundToItEndsWithIt(String algorithm) {
    List<Boolean> led = new CopyOnWriteArrayList<>();
    AtomicReference<ElectionService> election = new AtomicReference<>();
    new ApplicationContextRunner()
        .withConfiguration(MysqlNode.STARTER)
        .withBean("firstLeaseStore", LeaseStore.class, () -> store("first"))
        .withBean("secondLeaseStore", LeaseStore.class, () -> store("second"))
        .withBean(LeaderTask.class, () -> () -> {
          led.add(election.get().isLeader());
          return () -> {
            await().until(() -> !election.get().isLeader());
            led.add(false);
          };
        })
        .withPropertyValues(
            "spring.application.name=default",
            "as.election.node-id=a",
            "as.election.manual.leader-id=a",
            "as.election.algorithm=" + algorithm,
            "as.election.lease-duration=1500ms",
            "as.election.renew-interval=100ms",
            "as.election.operation-timeout=500ms",
            "as.election.drain-timeout=1m")
        .run((context) -> {
          election.set(context.getBean(ElectionService.class));
          await().until(() -> isRunning(context));
          LeaderBoundBeans beans = context.getBean(LeaderBoundBeans.class);
          context.close();
          assertThat(beans.of("default").get(0).state()).isEqualTo("stopped");
        });
    assertThat(led).containsExactly(true, false);
  }

  private static LeaseStore store(String name) {
    return new MemoryLeaseStore() {
      @Override
      public String name() {
        return name;
      }
    };
  }

  /** Spring waits for the life cycles of a phase before it stops the next one. */
  @Test
  void otherLifeCyclesAreWaitedForAsBefore() {
    List<String> stops = new CopyOnWriteArrayList<>();
    this.leader
        .withUserConfiguration(Beans.class)
        .withBean(SlowLifecycle.class, stops)
        .withUserConfiguration(NextPhase.class)
        .run((context) -> {
          List<String> running = context.getBean(Running.class).names();
          await().until(() -> running.size() == 4);
          context.getBean(NextPhase.class).onStop = () -> stops.add("next phase");
        });
    assertThat(stops).containsExactly("slow", "next phase");
  }

  static class NextPhase extends LastLifecycle {

    @Override
    public int getPhase() {
      return 0;
    }
  }

  /** In the phase of most life cycles. Its stop ends once its caller waits, or has gone on. */
  static class SlowLifecycle extends PlainLifecycle implements SmartLifecycle {

    private final List<String> stops;

    SlowLifecycle(List<String> stops) {
      this.stops = stops;
    }

    @Override
    public void stop(Runnable callback) {
      stop();
      Thread caller = Thread.currentThread();
      Thread stop = new Thread(() -> {
        await()
            .until(() -> !this.stops.isEmpty()
                || Arrays.stream(caller.getStackTrace())
                    .anyMatch((frame) -> frame.getClassName().endsWith("CountDownLatch")));
        this.stops.add("slow");
        callback.run();
      });
      stop.start();
    }
  }

  /** As devtools do with their restarts. */
  @Test
  void aContextThatIsClosedLeavesNoThread() {
    ClassLoader loader = new FilteredClassLoader("none");
    ApplicationContextRunner restarted =
        this.leader.withClassLoader(loader).withBean(LeaderTask.class, () -> () -> () -> {});
    for (int i = 0; i < 2; i++) {
      restarted.run((context) -> awaitState(context, "running"));
      await()
          .until(() -> Thread.getAllStackTraces().keySet().stream()
              .noneMatch((thread) -> thread.getName().equals("election-leader-bound")
                  && thread.getContextClassLoader() == loader));
    }
  }

  /** Its election may be that of a parent, or have no life cycle. */
  @Test
  void aContextThatFailsAfterItsRefreshRunsNothing() {
    List<String> running = new CopyOnWriteArrayList<>();
    this.leader
        .withBean(LeaderTask.class, () -> () -> {
          running.add("task");
          return () -> running.remove("task");
        })
        .withInitializer((context) -> context.addApplicationListener((event) -> {
          if (event instanceof ContextRefreshedEvent) {
            await().until(() -> !running.isEmpty());
            throw new IllegalStateException("expected");
          }
        }))
        .run((context) -> assertThat(context).hasFailed());
    assertThat(running).isEmpty();
  }

  /** Spring calls no further listener then. */
  @Test
  void aListenerThatFailsAtTheCloseKeepsNothingRunning() {
    AtomicReference<LeaderBoundBeans> beans = new AtomicReference<>();
    this.leader
        .withBean(Failing.class)
        .withBean(LeaderTask.class, () -> () -> () -> {})
        .run((context) -> {
          awaitState(context, "running");
          beans.set(context.getBean(LeaderBoundBeans.class));
        });
    assertThat(beans.get().of("default")).noneMatch(LeaderBoundStatus::isRunning);
  }

  private static final class Failing implements ApplicationListener<ContextClosedEvent> {

    @Override
    public void onApplicationEvent(ContextClosedEvent event) {
      throw new IllegalStateException("expected");
    }
  }

  @Test
  void whatFailsIsShown() {
    this.leader
        .withBean(LeaderTask.class, () -> () -> {
          throw new IllegalStateException("no broker");
        })
        .run((context) -> {
          await().until(() -> context.getBean(LeaderBoundBeans.class).problem().isPresent());
          assertThat(context.getBean(LeaderBoundBeans.class).problem())
              .hasValue(
                  "Leader-bound bean 'leaderTask' of election 'default' does not run: its start failed: java.lang.IllegalStateException: no broker.");
          assertThat(context
                  .getBean("electionHealthIndicator", HealthIndicator.class)
                  .health())
              .satisfies((health) -> {
                assertThat(health.getStatus()).isEqualTo(Status.DOWN);
                assertThat(health.getDetails().get("problem")).asString().contains("no broker");
              });
          assertThat(shown(context))
              .containsKeys("since")
              .hasEntrySatisfying(
                  "lastFailure", (failure) -> assertThat(failure).asString().contains("no broker"));
          assertThat(running(context)).isZero();
        });
  }

  @Test
  void whatRunsIsShown() {
    this.leader.withBean(LeaderTask.class, () -> () -> () -> {}).run((context) -> {
      awaitState(context, "running");
      assertThat(shown(context))
          .containsEntry("bean", "leaderTask")
          .doesNotContainKey("lastFailure");
      assertThat(running(context)).isOne();
      assertThat(context
              .getBean("electionHealthIndicator", HealthIndicator.class)
              .health()
              .getStatus())
          .isEqualTo(Status.UP);
    });
  }

  private static void awaitState(ApplicationContext context, String state) {
    await().until(() -> shown(context).get("state"), state::equals);
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> shown(ApplicationContext context) {
    Map<String, Object> election = new EndpointAccess(context).election("default");
    return ((List<Map<String, Object>>) election.get("leaderBound")).get(0);
  }

  private static boolean isRunning(ApplicationContext context) {
    return context.getBean(LeaderBoundBeans.class).of("default").get(0).isRunning();
  }

  private static double running(ApplicationContext context) {
    return context
        .getBean(SimpleMeterRegistry.class)
        .get("election.bean.running")
        .tags("election", "default", "bean", "leaderTask")
        .gauge()
        .value();
  }

  @ParameterizedTest
  @MethodSource
  void whatCannotBeBoundIsRefused(Class<?> configuration, String problem) {
    assertThat(StartFailure.text(this.leader.withUserConfiguration(configuration)))
        .contains(problem);
  }

  static Stream<Arguments> whatCannotBeBoundIsRefused() {
    return Stream.of(
        arguments(
            NoLifecycle.class,
            "bean 'noLifecycle' cannot be bound to the leadership: java.lang.Object is neither a Lifecycle nor a LeaderTask.\nAction: Implement one of them."),
        arguments(
            Automatic.class,
            "bean 'automatic' cannot be bound to the leadership: Spring starts it on each node, since isAutoStartup() is true.\nAction: Let isAutoStartup() return false"),
        arguments(
            AutomaticSource.class,
            "bean 'flow' cannot be bound to the leadership: Spring starts it on each node, since isAutoStartup() is true.\nAction: Let isAutoStartup() return false"),
        arguments(
            Dependency.class,
            "bean 'dependency' cannot be bound to the leadership: Spring starts a plain Lifecycle with the life cycles that depend on it.\nAction: Implement SmartLifecycle"),
        arguments(
            Prototype.class,
            "bean 'prototype' cannot be bound to the leadership: it is no singleton.\nAction: Give it the scope 'singleton'."),
        arguments(
            Scoped.class,
            "bean 'scopedTarget.scoped' cannot be bound to the leadership: it is no singleton"),
        arguments(
            Refreshed.class,
            "bean 'scopedTarget.refreshed' cannot be bound to the leadership: it is no singleton"),
        arguments(
            TwoElections.class,
            "bean 'twice' cannot be bound to the leadership: its class and its definition name the elections"),
        arguments(
            Unknown.class,
            "leader-bound bean 'unknown' names election 'payroll', but this node only knows [default, billing]"),
        arguments(
            Placeholder.class,
            "leader-bound bean 'placeholder' names election '${nowhere}', but this node only knows"));
  }

  /** An annotation on a class that only the method of the bean's definition has seen. */
  @ParameterizedTest
  @ValueSource(classes = {Asynchronous.class, Transactional.class, Wrapped.class})
  void whatAProxyHidesRunsWhereTheLeaderIs(Class<?> configuration) {
    this.leader
        .withPropertyValues("spring.aop.proxy-target-class=false")
        .withUserConfiguration(configuration)
        .run((context) -> {
          Lifecycle hidden = context.getBean("hidden", Lifecycle.class);
          assertThat(hidden).matches((bean) -> Proxy.isProxyClass(bean.getClass()));
          await().until(hidden::isRunning);
          context.getBean("electionService:billing", ElectionService.class).lostLeader();
          await().until(() -> !hidden.isRunning());
        });
  }

  @Test
  void aFlowRunsWhereTheLeaderIs() {
    this.leader.withUserConfiguration(Flow.class).run((context) -> {
      Lifecycle source = context.getBean("source", Lifecycle.class);
      await().until(source::isRunning);
      context.getBean("electionService", ElectionService.class).lostLeader();
      await().until(() -> !source.isRunning());
    });
  }

  @Test
  void aListenerThatIsUnknownIsRefused() {
    assertThat(StartFailure.text(
            this.leader.withPropertyValues("as.election.leader-bound.listeners=orders")))
        .contains(
            "listener 'orders' of as.election.leader-bound.listeners cannot be bound to the leadership: no listener container has this id; known are [].");
  }

  /** For instance one of Kafka and one of Rabbit, while an application moves. */
  @Test
  void anIdThatTwoListenersHaveIsRefused() {
    assertThat(StartFailure.text(this.listeners(new Registry(), "orders")
            .withBean(RabbitListenerEndpointRegistry.class, () -> rabbit(new RabbitContainer()))))
        .contains("listener 'orders' of", "2 listener containers have this id");
  }

  @Test
  void listenersOfSeveralElectionsRunWhereTheirElectionsAreLed() {
    Registry registry = new Registry();
    this.listeners(registry, "orders, invoices@billing").run((context) -> {
      await().until(() -> registry.container("orders").isRunning());
      await().until(() -> registry.container("invoices").isRunning());
      assertThat(registry.container("others").isRunning()).isTrue();
      context.getBean("electionService:billing", ElectionService.class).lostLeader();
      await().until(() -> !registry.container("invoices").isRunning());
      assertThat(registry.container("orders").isRunning()).isTrue();
    });
  }

  @Test
  void listenersOfRabbitRunWhereTheLeaderIs() {
    RabbitContainer container = new RabbitContainer();
    this.leader
        .withBean(RabbitListenerEndpointRegistry.class, () -> rabbit(container))
        .withPropertyValues("as.election.leader-bound.listeners=orders")
        .run((context) -> {
          await().until(container::isRunning);
          context.getBean("electionService", ElectionService.class).lostLeader();
          await().until(() -> !container.isRunning());
          assertThat(container.threads).allMatch("election-leader-bound"::equals);
        });
  }

  private static RabbitListenerEndpointRegistry rabbit(RabbitContainer container) {
    RabbitListenerEndpoint endpoint = mock();
    given(endpoint.getId()).willReturn("orders");
    RabbitListenerEndpointRegistry registry = new RabbitListenerEndpointRegistry();
    registry.registerListenerContainer(endpoint, (id) -> container);
    return registry;
  }

  /** A container of Rabbit without a broker. */
  private static final class RabbitContainer extends AbstractMessageListenerContainer {

    private final List<String> threads = new CopyOnWriteArrayList<>();

    RabbitContainer() {
      setConnectionFactory(mock());
    }

    @Override
    protected void doInitialize() {}

    @Override
    protected void doStart() {
      this.threads.add(Thread.currentThread().getName());
      super.doStart();
    }

    @Override
    protected void shutdownAndWaitOrCallback(@Nullable Runnable callback) {
      if (callback != null) {
        callback.run();
      }
    }
  }

  @Test
  void aListenerThatIsBoundTwiceIsRefused() {
    assertThat(StartFailure.text(this.listeners(new Registry(), "orders,orders@billing")))
        .contains(
            "listener 'orders' of as.election.leader-bound.listeners cannot be bound to the leadership: it is bound already.\nAction: Name it once: by @LeaderBound, or in as.election.leader-bound.listeners.");
  }

  @Test
  void aListenerThatCannotBeKeptFromStartingIsRefused() {
    Registry registry = new Registry();
    registry.containers.put("orders", mock(MessageListenerContainer.class));
    given(registry.container("orders").isAutoStartup()).willReturn(true);
    assertThat(StartFailure.text(this.listeners(registry, "orders")))
        .contains(
            "listener 'orders' of as.election.leader-bound.listeners cannot be bound to the leadership: Spring starts it on each node, since isAutoStartup() is true.");
  }

  private ApplicationContextRunner listeners(Registry registry, String ids) {
    return this.leader
        .withBean(KafkaListenerEndpointRegistry.class, () -> registry)
        .withPropertyValues("as.election.leader-bound.listeners=" + ids);
  }

  @Test
  void aTimeOutThatIsOutOfRangeIsRefused() {
    assertThat(StartFailure.text(
            this.leader.withPropertyValues("as.election.leader-bound.start-timeout=0s")))
        .contains("as.election.leader-bound.start-timeout", "it must be from 1s to 1d");
  }

  @Test
  void anElectionOfTheApplicationIsFollowed() {
    SwitchedElection own = new SwitchedElection();
    LeaderOnlyTest.contexts()
        .withBean(SwitchedElection.class, () -> own)
        .withBean(LeaderTask.class, () -> () -> () -> {})
        .run((context) -> {
          assertThat(own).isNotInstanceOf(ElectionOperations.class);
          own.becomeLeader();
          await().until(() -> isRunning(context));
          own.lostLeader();
          await().until(() -> !isRunning(context));
        });
  }

  /** Spring's test framework pauses contexts that no test uses. */
  @Test
  void aPausedContextRunsNothing() {
    SwitchedElection own = new SwitchedElection();
    LeaderOnlyTest.contexts()
        .withBean(SwitchedElection.class, () -> own)
        .withBean(LeaderTask.class, () -> () -> () -> {})
        .run((context) -> {
          own.becomeLeader();
          await().until(() -> isRunning(context));
          ConfigurableApplicationContext pausable =
              context.getSourceApplicationContext(ConfigurableApplicationContext.class);
          pausable.pause();
          assertThat(isRunning(context)).isFalse();
          pausable.restart();
          await().until(() -> isRunning(context));
        });
  }

  /** Starts its containers as that of Kafka does. */
  static final class Registry extends KafkaListenerEndpointRegistry {

    private final Map<String, MessageListenerContainer> containers = new LinkedHashMap<>();

    Registry() {
      List.of("orders", "invoices", "others")
          .forEach((id) -> this.containers.put(id, new Container()));
    }

    MessageListenerContainer container(String id) {
      return Objects.requireNonNull(this.containers.get(id));
    }

    @Override
    public Set<String> getListenerContainerIds() {
      return this.containers.keySet();
    }

    @Override
    public @Nullable MessageListenerContainer getListenerContainer(String id) {
      return this.containers.get(id);
    }

    @Override
    public void start() {
      this.containers.values().stream()
          .filter(SmartLifecycle::isAutoStartup)
          .forEach(Lifecycle::start);
    }
  }

  private static final class Container implements MessageListenerContainer {

    private volatile boolean running;

    private boolean autoStartup = true;

    @Override
    public void setupMessageListener(Object messageListener) {}

    @Override
    public Map<String, Map<MetricName, ? extends Metric>> metrics() {
      return Map.of();
    }

    @Override
    public boolean isAutoStartup() {
      return this.autoStartup;
    }

    @Override
    public void setAutoStartup(boolean autoStartup) {
      this.autoStartup = autoStartup;
    }

    @Override
    public void start() {
      this.running = true;
    }

    @Override
    public void stop() {
      this.running = false;
    }

    @Override
    public boolean isRunning() {
      return this.running;
    }
  }

  /** Collects what runs. */
  static final class Running {

    private final List<String> names = new CopyOnWriteArrayList<>();

    List<String> names() {
      return this.names;
    }
  }

  static class Worker implements SmartLifecycle {

    private final String name;

    private final List<String> running;

    Worker(String name, Running running) {
      this.name = name;
      this.running = running.names();
    }

    @Override
    public void start() {
      this.running.add(this.name);
    }

    @Override
    public void stop() {
      this.running.remove(this.name);
    }

    @Override
    public boolean isRunning() {
      return this.running.contains(this.name);
    }

    @Override
    public boolean isAutoStartup() {
      return false;
    }
  }

  @LeaderBound
  static class AnnotatedWorker extends Worker {

    AnnotatedWorker(Running running) {
      super("class", running);
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Beans {

    @Bean
    Running running() {
      return new Running();
    }

    @Bean
    AnnotatedWorker annotated(Running running) {
      return new AnnotatedWorker(running);
    }

    @Bean
    @LeaderBound("billing")
    Worker method(Running running) {
      return new Worker("method", running);
    }

    @Bean
    LeaderTask task(Running running) {
      return () -> {
        running.names().add("task");
        return () -> running.names().remove("task");
      };
    }

    @Bean
    @Lazy
    @LeaderBound
    Lifecycle lazy(Running running) {
      return new Worker("lazy", running);
    }
  }

  /** Stops after everything else. */
  static class LastLifecycle extends PlainLifecycle implements SmartLifecycle {}

  static class PlainLifecycle implements Lifecycle {

    @Nullable
    Runnable onStop;

    private boolean running;

    @Override
    public void start() {
      this.running = true;
    }

    @Override
    public void stop() {
      this.running = false;
      if (this.onStop != null) {
        this.onStop.run();
      }
    }

    @Override
    public boolean isRunning() {
      return this.running;
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class NoLifecycle {

    @Bean
    @LeaderBound
    Object noLifecycle() {
      return new Object();
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableIntegration
  static class AutomaticSource {

    @Bean
    @LeaderBound
    IntegrationFlow flow() {
      return flow(true);
    }

    static IntegrationFlow flow(boolean automatic) {
      return IntegrationFlow.fromSupplier(
              () -> "order",
              (source) -> source
                  .id("source")
                  .autoStartup(automatic)
                  .poller(Pollers.fixedDelay(Duration.ofHours(1))))
          .handle((order, headers) -> null)
          .get();
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableIntegration
  static class Flow {

    @Bean
    @LeaderBound
    IntegrationFlow flow() {
      return AutomaticSource.flow(false);
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Automatic {

    @Bean
    @LeaderBound
    LastLifecycle automatic() {
      return new LastLifecycle();
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Dependency {

    @Bean
    @LeaderBound
    PlainLifecycle dependency() {
      return new PlainLifecycle();
    }

    @Bean
    LastLifecycle dependent(PlainLifecycle dependency) {
      return new LastLifecycle();
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Prototype {

    @Bean
    @LeaderBound
    @Scope(BeanDefinition.SCOPE_PROTOTYPE)
    Worker prototype() {
      return new Worker("prototype", new Running());
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Scoped {

    @Bean
    @LeaderBound
    @Scope(scopeName = BeanDefinition.SCOPE_PROTOTYPE, proxyMode = ScopedProxyMode.INTERFACES)
    Worker scoped() {
      return new Worker("scoped", new Running());
    }
  }

  /** As with Spring Cloud's {@code @RefreshScope}. */
  @Configuration(proxyBeanMethods = false)
  static class Refreshed {

    @Bean
    static CustomScopeConfigurer scopes() {
      CustomScopeConfigurer scopes = new CustomScopeConfigurer();
      scopes.addScope("refresh", new SimpleThreadScope());
      return scopes;
    }

    @Bean
    Running running() {
      return new Running();
    }

    @Bean
    @Scope(scopeName = "refresh", proxyMode = ScopedProxyMode.TARGET_CLASS)
    AnnotatedWorker refreshed(Running running) {
      return new AnnotatedWorker(running);
    }
  }

  @LeaderBound("billing")
  static class HiddenWorker extends Worker {

    HiddenWorker() {
      super("hidden", new Running());
    }

    @Async
    @org.springframework.transaction.annotation.Transactional
    public void work() {}
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAsync
  static class Asynchronous {

    @Bean
    SmartLifecycle hidden() {
      return new HiddenWorker();
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableTransactionManagement
  static class Transactional {

    @Bean
    SmartLifecycle hidden() {
      return new HiddenWorker();
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Wrapped {

    @Bean
    SmartLifecycle hidden() {
      return new HiddenWorker();
    }

    @Bean
    static BeanPostProcessor wrapper() {
      return new BeanPostProcessor() {
        @Override
        public Object postProcessAfterInitialization(Object bean, String name) {
          return bean instanceof HiddenWorker
              ? Proxy.newProxyInstance(
                  getClass().getClassLoader(),
                  new Class<?>[] {SmartLifecycle.class},
                  (proxy, method, arguments) -> method.invoke(bean, arguments))
              : bean;
        }
      };
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class TwoElections {

    @Bean
    @LeaderBound("billing")
    AnnotatedWorker twice() {
      return new AnnotatedWorker(new Running());
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Unknown {

    @Bean
    @LeaderBound("payroll")
    Worker unknown() {
      return new Worker("unknown", new Running());
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Placeholder {

    @Bean
    @LeaderBound("${nowhere}")
    Worker placeholder() {
      return new Worker("placeholder", new Running());
    }
  }
}
