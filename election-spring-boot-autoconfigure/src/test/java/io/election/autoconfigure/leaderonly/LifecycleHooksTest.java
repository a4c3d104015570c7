package io.election.autoconfigure.leaderonly;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.ElectionSetupException;
import io.election.LeaderOnly;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipLostEvent;
import io.election.autoconfigure.ElectionAutoConfiguration;
import io.election.autoconfigure.StartFailure;
import io.election.autoconfigure.SwitchedElection;
import jakarta.annotation.PreDestroy;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.ApplicationArguments;
import org.springframework.boot.ApplicationRunner;
import org.springframework.boot.CommandLineRunner;
import org.springframework.boot.LazyInitializationBeanFactoryPostProcessor;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.context.event.ApplicationReadyEvent;
import org.springframework.boot.context.event.ApplicationStartedEvent;
import org.springframework.boot.context.event.SpringApplicationEvent;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.boot.web.server.context.WebServerInitializedEvent;
import org.springframework.boot.web.server.servlet.context.ServletWebServerInitializedEvent;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationContextAware;
import org.springframework.context.ApplicationEvent;
import org.springframework.context.ApplicationListener;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Import;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.event.ContextRefreshedEvent;
import org.springframework.context.event.EventListener;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.scheduling.annotation.SchedulingConfigurer;
import org.springframework.scheduling.config.ScheduledTaskRegistrar;

/** Guarded work that would silently run on no node, or on all, is refused with the remedy. */
@ExtendWith(OutputCaptureExtension.class)
class LifecycleHooksTest {

  private static final String SKIPPED =
      "skipped Acquired.run: this node does not lead election 'default'";

  private static final String SKIPPED_AT_START = SKIPPED + " while it starts";

  private final ApplicationContextRunner contextRunner =
      LeaderOnlyTest.contexts().withBean(SwitchedElection.class);

  @ParameterizedTest
  @ValueSource(
      classes = {
        Runner.class,
        RunnerThatThrows.class,
        RunnerWithArguments.class,
        RunnerOfAGuardedClass.class,
        Ready.class,
        Started.class,
        Refreshed.class,
        AnyOfTheApplication.class,
        Closed.class,
        WebServer.class,
        Servlet.class,
        OneOfSeveral.class,
        Listener.class,
        GenericListener.class,
        Singletons.class,
        Lifecycle.class,
        Once.class,
        Scheduling.class,
        Lost.class,
        LostOrAcquired.class
      })
  void workThatWouldRunNowhereIsRefused(Class<?> hook) {
    assertThat(StartFailure.text(this.contextRunner.withBean(hook)))
        .contains(
            "@LeaderOnly cannot guard bean", hook.getName() + ".", "it is called when the node")
        .containsPattern("leadership \\(@?[A-Z].*\\), when it does not lead")
        .contains("No node would do the work", "LeadershipAcquiredEvent");
  }

  @ParameterizedTest
  @ValueSource(
      classes = {
        Initializing.class,
        Disposable.class,
        Destroyed.class,
        Injected.class,
        OfContext.class,
        Closing.class
      })
  void workThatWouldRunOnAllNodesIsRefused(Class<?> hook) {
    assertThat(StartFailure.text(this.contextRunner.withBean(hook)))
        .contains(hook.getName() + ".", "Spring calls it when it creates or destroys the bean");
  }

  /** Spring calls the methods that the definition of a bean names on the bean itself too. */
  @ParameterizedTest
  @CsvSource({"init, false", "destroy, false", "shutdown, false", "init, true", "shutdown, true"})
  void workThatTheDefinitionOfTheBeanNamesIsRefused(String method, boolean inner) {
    RootBeanDefinition named = new RootBeanDefinition(Named.class);
    if (method.equals("init")) {
      named.setInitMethodName(method);
    } else {
      named.setDestroyMethodName(
          method.equals("destroy") ? method : AbstractBeanDefinition.INFER_METHOD);
    }
    assertThat(StartFailure.text(this.contextRunner.withInitializer(
            (context) -> register(context, inner ? outer(named) : named))))
        .contains(Named.class.getName() + "." + method + "()", "Spring calls it when it creates");
  }

  @ParameterizedTest
  @ValueSource(
      classes = {
        AnyEvent.class,
        Acquired.class,
        Repeated.class,
        RepeatedAtOnce.class,
        InitializedGuarded.class,
        ClosedGuarded.class,
        Named.class,
        LostElsewhere.class,
        Overloaded.class
      })
  void otherWorkIsAccepted(Class<?> job) {
    this.contextRunner.withBean(job).run((context) -> assertThat(context).hasNotFailed());
  }

  /** A runner that is not guarded itself may call a guarded bean. */
  @Test
  void aCallThatIsSkippedDuringTheStartIsReported(CapturedOutput output) {
    try (ConfigurableApplicationContext context = new SpringApplicationBuilder(Application.class)
        .web(WebApplicationType.NONE)
        .initializers((created) -> created
            .getBeanFactory()
            .registerSingleton("runner", (CommandLineRunner) (arguments) -> {
              Acquired job = created.getBean(Acquired.class);
              Thread other = new Thread(() -> job.run(null));
              other.start();
              other.join();
              assertThat(output).contains(SKIPPED).doesNotContain(SKIPPED_AT_START);
              job.run(null);
            }))
        .run()) {
      assertThat(output.getAll().split(SKIPPED_AT_START, -1)).hasSize(2);
      context.getBean(Acquired.class).run(null);
      assertThat(output.getAll().split(SKIPPED_AT_START, -1)).hasSize(2);
    }
  }

  /** Also where the first call creates what counts the calls. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aContextWithoutRunnersHasStartedWhenItsBeansAreThere(boolean lazy, CapturedOutput output) {
    this.contextRunner
        .withBean(Acquired.class)
        .withInitializer((context) -> {
          if (lazy) {
            context.addBeanFactoryPostProcessor(new LazyInitializationBeanFactoryPostProcessor());
          }
        })
        .run((context) -> {
          context.getBean(Acquired.class).run(null);
          assertThat(output).contains(SKIPPED).doesNotContain(SKIPPED_AT_START);
        });
  }

  @Test
  void theRemedyRunsOnTheLeader() {
    this.contextRunner.withBean(Acquired.class).run((context) -> {
      context.getBean(SwitchedElection.class).becomeLeader();
      context.publishEvent(
          new LeadershipAcquiredEvent("default", "a", 1, LeadershipAcquiredEvent.Reason.EXPIRED));
      assertThat(context.getBean(Acquired.class).runs()).isEqualTo(1);
    });
  }

  /** Beans that are defined within others are checked and guarded like those with a name. */
  @Test
  void innerBeansAreGuardedAndRefusedToo() {
    this.contextRunner
        .withInitializer(
            (context) -> register(context, outer(new RootBeanDefinition(Acquired.class))))
        .run((context) -> {
          Acquired job = (Acquired) context.getBean(Outer.class).inner;
          job.run(null);
          assertThat(job.runs()).isZero();
          context.getBean(SwitchedElection.class).becomeLeader();
          job.run(null);
          assertThat(job.runs()).isEqualTo(1);
        });
    this.contextRunner
        .withInitializer(
            (context) -> register(context, outer(new RootBeanDefinition(Runner.class))))
        .run((context) -> assertThat(context)
            .getFailure()
            .rootCause()
            .isInstanceOf(ElectionSetupException.class)
            .hasMessageContaining(Runner.class.getName()));
  }

  private static RootBeanDefinition outer(RootBeanDefinition inner) {
    RootBeanDefinition outer = new RootBeanDefinition(Outer.class);
    outer.getPropertyValues().add("inner", inner);
    return outer;
  }

  private static void register(ApplicationContext context, RootBeanDefinition bean) {
    ((GenericApplicationContext) context).registerBeanDefinition("bean", bean);
  }

  @ImportAutoConfiguration({ElectionAutoConfiguration.class, LeaderOnlyAutoConfiguration.class})
  @Import({SwitchedElection.class, Acquired.class})
  static class Application {}

  public static class Outer {

    private Object inner = this;

    public void setInner(Object inner) {
      this.inner = inner;
    }
  }

  static class Runner implements CommandLineRunner {
    @Override
    @LeaderOnly
    public void run(String... arguments) {}
  }

  static class RunnerThatThrows implements CommandLineRunner {
    @Override
    @LeaderOnly(onFollower = LeaderOnly.OnFollower.THROW)
    public void run(String... arguments) {}
  }

  static class RunnerWithArguments implements ApplicationRunner {
    @Override
    @LeaderOnly
    public void run(ApplicationArguments arguments) {}
  }

  @LeaderOnly
  static class RunnerOfAGuardedClass implements CommandLineRunner {
    @Override
    public void run(String... arguments) {}
  }

  static class Ready {
    @LeaderOnly
    @EventListener(ApplicationReadyEvent.class)
    public void run() {}
  }

  static class Started {
    @LeaderOnly
    @EventListener
    public void run(ApplicationStartedEvent event) {}
  }

  static class Refreshed {
    @LeaderOnly
    @EventListener
    public void run(ContextRefreshedEvent event) {}
  }

  static class AnyOfTheApplication {
    @LeaderOnly
    @EventListener
    public void run(SpringApplicationEvent event) {}
  }

  static class Closed {
    @LeaderOnly
    @EventListener
    public void run(ContextClosedEvent event) {}
  }

  static class WebServer {
    @LeaderOnly
    @EventListener
    public void run(WebServerInitializedEvent event) {}
  }

  static class Servlet {
    @LeaderOnly
    @EventListener
    public void run(ServletWebServerInitializedEvent event) {}
  }

  static class OneOfSeveral {
    @LeaderOnly
    @EventListener({LeadershipAcquiredEvent.class, ApplicationReadyEvent.class})
    public void run() {}
  }

  static class Listener implements ApplicationListener<ApplicationReadyEvent> {
    @Override
    @LeaderOnly
    public void onApplicationEvent(ApplicationReadyEvent event) {}
  }

  abstract static class Base<E extends ApplicationEvent> implements ApplicationListener<E> {
    @Override
    public void onApplicationEvent(E event) {}
  }

  @LeaderOnly
  static class GenericListener extends Base<ContextRefreshedEvent> {}

  static class Singletons implements SmartInitializingSingleton {
    @Override
    @LeaderOnly
    public void afterSingletonsInstantiated() {}
  }

  static class Lifecycle implements SmartLifecycle {
    @Override
    @LeaderOnly
    public void start() {}

    @Override
    public void stop() {}

    @Override
    public boolean isRunning() {
      return false;
    }
  }

  static class Once {
    @LeaderOnly
    @Scheduled(initialDelay = 1000)
    public void run() {}
  }

  static class Initializing implements InitializingBean {
    @Override
    @LeaderOnly
    public void afterPropertiesSet() {}
  }

  static class Disposable implements DisposableBean {
    @Override
    @LeaderOnly
    public void destroy() {}
  }

  static class Destroyed {
    @LeaderOnly
    @PreDestroy
    public void end() {}
  }

  static class Scheduling implements SchedulingConfigurer {
    @Override
    @LeaderOnly
    public void configureTasks(ScheduledTaskRegistrar tasks) {}
  }

  static class Lost {
    @LeaderOnly
    @EventListener
    public void run(LeadershipLostEvent event) {}
  }

  static class LostOrAcquired {
    @LeaderOnly
    @EventListener({LeadershipLostEvent.class, LeadershipAcquiredEvent.class})
    public void run() {}
  }

  static class LostElsewhere {
    @LeaderOnly
    @EventListener(condition = "#event.serviceId() == 'reports'")
    public void run(LeadershipLostEvent event) {}
  }

  static class Injected {
    @LeaderOnly
    @Autowired
    public void use(ApplicationContext context) {}
  }

  static class OfContext implements ApplicationContextAware {
    @Override
    @LeaderOnly
    public void setApplicationContext(ApplicationContext context) {}
  }

  static class Closing implements AutoCloseable {
    @Override
    @LeaderOnly
    public void close() {}
  }

  static class Named {
    @LeaderOnly
    public void init() {}

    @LeaderOnly
    public void destroy() {}

    @LeaderOnly
    public void shutdown() {}
  }

  @LeaderOnly
  static class ClosedGuarded implements AutoCloseable {
    @Override
    public void close() {}
  }

  static class AnyEvent {
    @LeaderOnly
    @EventListener
    public void run(ApplicationEvent event) {}
  }

  public static class Acquired {

    private int runs;

    @LeaderOnly
    @EventListener
    public void run(LeadershipAcquiredEvent event) {
      this.runs++;
    }

    public int runs() {
      return this.runs;
    }
  }

  static class Repeated {
    @LeaderOnly
    @Scheduled(initialDelay = 1000, fixedDelayString = "PT1H")
    public void run() {}
  }

  static class RepeatedAtOnce {
    @LeaderOnly
    @Scheduled(initialDelay = 1000, fixedDelay = 0)
    public void run() {}
  }

  /** Each node prepares the bean; only its work is guarded. */
  @LeaderOnly
  static class InitializedGuarded implements InitializingBean {
    @Override
    public void afterPropertiesSet() {}

    public void work() {}
  }

  static class Overloaded implements CommandLineRunner {
    @Override
    public void run(String... arguments) {}

    @LeaderOnly
    public void run(Long id) {}
  }
}
