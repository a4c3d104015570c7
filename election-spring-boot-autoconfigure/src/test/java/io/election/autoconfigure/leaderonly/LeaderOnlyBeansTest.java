package io.election.autoconfigure.leaderonly;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.election.ElectionSetupException;
import io.election.LeaderOnly;
import io.election.NotLeaderException;
import io.election.autoconfigure.StartFailure;
import io.election.autoconfigure.SwitchedElection;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.aopalliance.intercept.MethodInterceptor;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.aggregator.ArgumentsAccessor;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.target.HotSwappableTargetSource;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.config.AutowireCapableBeanFactory;
import org.springframework.beans.factory.config.BeanDefinitionCustomizer;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.CustomScopeConfigurer;
import org.springframework.boot.LazyInitializationBeanFactoryPostProcessor;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Scope;
import org.springframework.context.annotation.ScopedProxyMode;
import org.springframework.context.support.SimpleThreadScope;
import org.springframework.core.PriorityOrdered;
import org.springframework.core.test.tools.SourceFile;
import org.springframework.core.test.tools.TestCompiler;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;
import reactor.core.publisher.Mono;

/** Beans, proxies, contexts and return types of every kind are guarded, or refused by name. */
@ExtendWith(OutputCaptureExtension.class)
class LeaderOnlyBeansTest {

  private static final String IMPORTS = """
      import io.election.LeaderOnly;
      import static io.election.LeaderOnly.OnFollower.THROW;
      import io.election.autoconfigure.leaderonly.elsewhere.Neighbour;
      import jakarta.annotation.PostConstruct;
      import java.lang.annotation.Retention;
      import java.lang.annotation.RetentionPolicy;
      import kotlin.coroutines.Continuation;
      import org.aspectj.lang.annotation.Aspect;
      import org.springframework.context.annotation.Bean;
      import org.springframework.context.annotation.Configuration;
      import org.springframework.messaging.Message;
      import org.springframework.messaging.MessageHandler;
      import org.springframework.messaging.handler.annotation.MessageMapping;
      import org.springframework.scheduling.annotation.Scheduled;
      import reactor.core.publisher.Mono;
      """;

  private final SwitchedElection election = new SwitchedElection();

  private final ApplicationContextRunner contextRunner =
      LeaderOnlyTest.contexts().withBean(SwitchedElection.class, () -> this.election);

  static Stream<Arguments> guarded() {
    return Stream.of(
        shape("implementation of a generic class", Texts.class, (Texts job) -> job.take("x")),
        shape("bridge of a generic class", Texts.class, (Texts job) -> take(job, "x")),
        shape(
            "lambda",
            (runner) -> runner.withBean("job", Late.class, () -> () -> "ran"),
            Late.class),
        shape("factory's JDK proxy", factory(Late.class, false), Late.class),
        shape("factory's Spring proxy", factory(Late.class, true), Late.class),
        shape("factory's interface with an annotation", factory(Typed.class, true), Typed.class),
        shape("factory's inherited interface", factory(SubTyped.class, false), Plain.class),
        shape("application's own proxy", proxied(new Behind()), Late.class),
        shape("prototype", job((definition) -> definition.setScope("prototype")), Job.class),
        shape("scoped proxy", (runner) -> runner.withUserConfiguration(Scopes.class), Job.class),
        shape("lazy bean", job((definition) -> definition.setLazyInit(true)), Job.class));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource
  void guarded(
      String name,
      UnaryOperator<ApplicationContextRunner> beans,
      Function<ApplicationContext, @Nullable Object> call) {
    assertGuarded(beans.apply(this.contextRunner), call);
  }

  /** The method {@code text()} of a class {@code Job}, behind a proxy of the class or its interfaces. */
  @ParameterizedTest(name = "{0}")
  @CsvSource(delimiter = '|', textBlock = """
      method of a package-private base        | class Base { @LeaderOnly public String text() { return "ran"; } } public class Job extends Base {}
      package-private base with an annotation | @LeaderOnly class Base { public String text() { return "ran"; } } public class Job extends Base {}
      annotation within another               | @LeaderOnly @Retention(RetentionPolicy.RUNTIME) @interface Nightly {} class Job { @Nightly public String text() { return "ran"; } }
      method of an interface                  | interface Late { @LeaderOnly String text(); } class Job implements Late { public String text() { return "ran"; } }
      interface with an annotation            | @LeaderOnly interface Typed { String text(); } class Job implements Typed { public String text() { return "ran"; } }
      default method                          | interface Late { @LeaderOnly default String text() { return "ran"; } } class Job implements Late {}
      inherited method of an annotated class  | class Base { public String text() { return "ran"; } } @LeaderOnly public class Job extends Base {}
      method of a class with an interface     | interface Plain { String text(); } class Job implements Plain { @LeaderOnly public String text() { return "ran"; } }
      inherited method of a generic class     | class Base<T> { @LeaderOnly public Object text() { return "ran"; } } public class Job extends Base<Long> {}
      package-private method                  | @LeaderOnly class Job { String text() { return "ran"; } }
      protected method                        | @LeaderOnly class Job { protected String text() { return hidden(); } private String hidden() { return "ran"; } }
      inherited protected method              | @LeaderOnly class Base { protected String text() { return "ran"; } } class Job extends Base {}
      configuration class                     | @Configuration class Job { @LeaderOnly public String text() { return "ran"; } }
      other methods of a consumer             | interface Late { @LeaderOnly String text(); @LeaderOnly void handleMessage(String text, int n); } class Job implements Late, MessageHandler { public String text() { return "ran"; } public void handleMessage(String text, int n) {} public void handleMessage(Message<?> message) {} }
      placeholder                             | class Job { @LeaderOnly("${which:default}") public String text() { return "ran"; } }
      """)
  void guardedWhateverItsClassLooksLike(String name, String code) {
    ApplicationContextRunner job = jobOf(code);
    for (boolean proxyOfTheClass : new boolean[] {true, false}) {
      this.election.lostLeader();
      assertGuarded(
          job.withPropertyValues("spring.aop.proxy-target-class=" + proxyOfTheClass),
          LeaderOnlyBeansTest::text);
    }
  }

  private static @Nullable Object text(ApplicationContext context) {
    Object job = context.getBean("job");
    Method text = ReflectionUtils.findMethod(job.getClass(), "text");
    ReflectionUtils.makeAccessible(text);
    return ReflectionUtils.invokeMethod(text, job);
  }

  private void assertGuarded(
      ApplicationContextRunner beans, Function<ApplicationContext, @Nullable Object> call) {
    beans.run((context) -> {
      assertThat(context).hasNotFailed();
      assertThat(call.apply(context)).isNull();
      this.election.becomeLeader();
      assertThat(call.apply(context)).isEqualTo("ran");
    });
  }

  /** Compiles a class {@code Job} and others, nested in one, and makes a bean of it. */
  private ApplicationContextRunner jobOf(String code) {
    String nested = code.replaceAll("(public |final )?class ", "static $0");
    SourceFile source = SourceFile.of("package job;\n" + IMPORTS + "class Code {" + nested + "}");
    AtomicReference<Class<?>> job = new AtomicReference<>();
    TestCompiler.forSystem()
        .withSources(source)
        .compile((compiled) ->
            job.set(ClassUtils.resolveClassName("job.Code$Job", compiled.getClassLoader())));
    return this.contextRunner
        .withClassLoader(job.get().getClassLoader())
        .withBean("job", job.get());
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', textBlock = """
      class Job { @LeaderOnly public int count() { return 1; } }                         | count(): it returns the primitive type int | return Integer, Optional or void, or use onFollower = THROW
      @LeaderOnly class Job { int count() { return 1; } }                                | the primitive type int
      class Job { @LeaderOnly public final void run() {} }                               | it is final, so that no proxy
      @LeaderOnly class Job { public final void run() {} }                               | it is final
      @LeaderOnly class Job { @Scheduled(fixedDelay = 1) final void tick() {} }          | it is final
      class Job { @LeaderOnly private void run() {} }                                    | it is private
      @LeaderOnly class Job { @Scheduled(fixedDelay = 1) private void tick() {} }        | it is private
      class Job { @LeaderOnly public static void run() {} }                              | it is static
      final class Job { @LeaderOnly public void run() {} }                               | Job is final
      @Configuration(proxyBeanMethods = false) class Job { @Bean @LeaderOnly public String text() { return ""; } } | it creates a bean
      @Aspect class Job { @LeaderOnly public void run() {} }                             | it is an aspect
      class Job extends Neighbour {}                                                     | another package
      @LeaderOnly class Job extends Neighbour.Ticking {}                                 | another package
      class Job { @LeaderOnly @PostConstruct public void begin() {} }                    | Spring calls it when it creates or destroys
      class Job implements MessageHandler { @LeaderOnly public void handleMessage(Message<?> message) {} } | (MessageHandler)
      class Job { @LeaderOnly @MessageMapping("orders") public void on(String order) {} } | it consumes its input (@MessageMapping)
      class Job { @LeaderOnly public Object run(Continuation<? super String> next) { return "ran"; } } | it is a suspending function
      class Base<T> { @LeaderOnly(interruptOnLoss = true) public T work() { return null; } } class Job extends Base<Mono<String>> {} | it returns the reactive type Mono | no thread of its own that interruptOnLoss could interrupt
      class Job { @LeaderOnly("reports") public void run() {} }                          | run() names election 'reports', but this node only knows [default] | Add 'reports' to as.election.services
      class Job { @LeaderOnly("${nowhere}") public void run() {} }                       | election '${nowhere}'
      """)
  void refused(ArgumentsAccessor row) {
    assertThat(StartFailure.text(jobOf(row.getString(0))))
        .contains("@LeaderOnly", "bean 'job'", "job.Code$Job")
        .contains(row.toList().stream().skip(1).map(String::valueOf).toList());
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', textBlock = """
      class Job { @LeaderOnly("reports") public void run() {} } | names election 'reports'
      @Aspect class Job { @LeaderOnly public void run() {} }    | it is an aspect
      """)
  void lazyBeanIsRefusedWhenItIsMade(String code, String why) {
    jobOf(code)
        .withInitializer((context) ->
            context.addBeanFactoryPostProcessor(new LazyInitializationBeanFactoryPostProcessor()))
        .run((context) -> assertThatExceptionOfType(BeanCreationException.class)
            .isThrownBy(() -> context.getBean("job"))
            .havingRootCause()
            .withMessageContaining(why));
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', textBlock = """
      interface Late { @LeaderOnly void run(); } class Job implements Late { public void run() {} @LeaderOnly public void text() {} } | Job.text() | only the methods of its interfaces
      interface Plain { void text(); } class Job implements Plain { public void text() {} @LeaderOnly public void text(int n) {} }   | Job.text() | only the methods of its interfaces
      final class Job { @LeaderOnly public void text() {} }                                                                          | Job is final
      """)
  void classThatAProxyOfItsInterfacesCannotGuardIsRefused(ArgumentsAccessor row) {
    assertThat(StartFailure.text(
            jobOf(row.getString(0)).withPropertyValues("spring.aop.proxy-target-class=false")))
        .contains(row.toList().stream().skip(1).map(String::valueOf).toList());
  }

  @Test
  void finalClassIsGuardedByAProxyOfItsInterfaces() {
    assertGuarded(
        jobOf(
                "interface Late { @LeaderOnly String text(); } final class Job implements Late { public String text() { return \"ran\"; } }")
            .withPropertyValues("spring.aop.proxy-target-class=false"),
        LeaderOnlyBeansTest::text);
  }

  @Test
  void methodThatOnlyTheObjectBehindAProxyHasIsRefused() {
    assertThat(StartFailure.text(proxied(new More()).apply(this.contextRunner)))
        .contains("method " + More.class.getName() + ".run()", "the annotation cannot be seen");
  }

  /** Only the proxy tells what is behind it, and its target may be another one at each call. */
  @Test
  void methodBehindAProxyWithoutAGuardIsRefused() {
    ProxyFactory proxies = new ProxyFactory(Plain.class, new HotSwappableTargetSource(new Job()));
    assertThat(StartFailure.text(
            this.contextRunner.withBean("job", Plain.class, () -> (Plain) proxies.getProxy())))
        .contains("method " + Job.class.getName() + ".text()", "has no proxy that guards it");
  }

  @ParameterizedTest
  @ValueSource(classes = {Late.class, Plain.class})
  void productIsNotMadeAtTheStartIfThereIsNothingToCheck(Class<?> type) {
    this.contextRunner
        .withBean(FactoryBean.class, () -> new Unavailable(type))
        .run((context) -> assertThat(context).hasNotFailed());
  }

  @Test
  void consumersThatThrowAreAccepted() {
    jobOf("class Job { @LeaderOnly(onFollower = THROW) @MessageMapping public void text() {} }")
        .run((context) ->
            assertThatExceptionOfType(NotLeaderException.class).isThrownBy(() -> text(context)));
  }

  static Stream<Arguments> early() {
    return Stream.of(
        arguments(bean(Job.class), Job.class), arguments(factory(Late.class, false), Late.class));
  }

  @ParameterizedTest
  @MethodSource("early")
  void beanOrProductThatIsMadeTooEarlyIsRefused(
      UnaryOperator<ApplicationContextRunner> beans, Class<?> type) {
    ApplicationContextRunner needy = beans
        .apply(this.contextRunner)
        .withBean(Early.class, Early::new, (definition) -> definition.setDependsOn("job"));
    assertThat(StartFailure.text(needy))
        .contains("bean 'job', method " + type.getName() + ".text()")
        .contains("a BeanPostProcessor or a similar bean needs it");
  }

  @Test
  void finishedObjectIsRefusedButForTests(CapturedOutput output) {
    ApplicationContextRunner runner = this.contextRunner.withInitializer(
        (context) -> context.getBeanFactory().registerSingleton("job", new Job()));
    assertThat(StartFailure.text(runner))
        .contains("bean 'job', method " + Job.class.getName() + ".text()")
        .contains("registered as a finished object");
    runner
        .withInitializer((context) -> context
            .getBeanFactory()
            .registerSingleton(LeaderOnlyValidator.TEST_OVERRIDES, new Object()))
        .withBean("texts", Texts.class)
        .run((context) -> {
          assertThat(context).hasNotFailed();
          assertThat(output)
              .contains("bean 'job', which a test may have replaced")
              .doesNotContain("bean 'texts', which");
        });
  }

  /** Spring prepares the instance of a test class as if it were a bean, but makes no proxy of it. */
  @Test
  void instanceOfATestClassIsLeftAlone() {
    this.contextRunner.run((context) -> {
      LeaderOnlyValidator check = context.getBean(LeaderOnlyValidator.class);
      Job test = new Job();
      String name = Job.class.getName() + AutowireCapableBeanFactory.ORIGINAL_INSTANCE_SUFFIX;
      assertThat(check.postProcessBeforeInitialization(test, name)).isSameAs(test);
      assertThat(check.postProcessAfterInitialization(test, name)).isSameAs(test);
    });
  }

  @Test
  void beanOfAChildWithoutAutoConfigurationIsRefused() {
    this.contextRunner.run((context) -> {
      AnnotationConfigApplicationContext child = new AnnotationConfigApplicationContext();
      child.setParent(context);
      child.registerBean("job", Job.class);
      assertThatExceptionOfType(ElectionSetupException.class)
          .isThrownBy(child::refresh)
          .withMessageContaining("does not guard bean 'job', method " + Job.class.getName())
          .withMessageContaining("has no auto-configuration, only its parent has");
    });
  }

  static Stream<Arguments> hidden() {
    return Stream.of(
        arguments("generic interface", interfaces(Monos.class), true),
        arguments("generic base", bean(InheritsMono.class), true),
        arguments("generic interface of a factory", factory(LateMonos.class, true), true),
        arguments("declared as anything", bean(Anything.class), false));
  }

  /** A publisher is checked and counted at each subscription, whatever hides its type. */
  @ParameterizedTest(name = "{0}")
  @MethodSource("hidden")
  void publishersOfHiddenTypesAreGuarded(
      String name, UnaryOperator<ApplicationContextRunner> beans, boolean known) {
    beans.apply(this.contextRunner).run((context) -> {
      Gen<?> job = context.getBean(Gen.class);
      LeaderOnlyCalls calls = context.getBean(LeaderOnlyCalls.class);
      if (known) {
        assertThat(((Mono<?>) job.work()).blockOptional()).isEmpty();
      } else {
        assertThat(job.work()).isNull();
      }
      this.election.becomeLeader();
      Mono<?> mono = (Mono<?>) job.work();
      assertThat(calls.isRunning("default")).isFalse();
      AtomicInteger within = new AtomicInteger();
      assertThat(mono.doOnNext((value) -> within.set(calls.running("default"))).block())
          .isEqualTo("ran");
      assertThat(within).hasValue(1);
      assertThat(calls.isRunning("default")).isFalse();
      this.election.lostLeader();
      assertThat(mono.blockOptional()).isEmpty();
    });
  }

  @Test
  void skippedCallOfAHiddenTypeReturnsNothingInItsShape() {
    interfaces(Optionals.class)
        .apply(this.contextRunner)
        .run(
            (context) -> assertThat(context.getBean(Gen.class).work()).isEqualTo(Optional.empty()));
    factory(LateFutures.class, false)
        .apply(this.contextRunner)
        .run((context) -> assertThat(
                (CompletableFuture<?>) context.getBean(Gen.class).work())
            .isCompletedWithValue(null));
  }

  private static <T> Arguments shape(
      String name, Class<T> type, Function<T, @Nullable Object> call) {
    return shape(name, bean(type), (context) -> call.apply(context.getBean(type)));
  }

  private static Arguments shape(
      String name, UnaryOperator<ApplicationContextRunner> beans, Class<? extends Plain> type) {
    return shape(name, beans, (context) -> context.getBean(type).text());
  }

  private static Arguments shape(
      String name,
      UnaryOperator<ApplicationContextRunner> beans,
      Function<ApplicationContext, @Nullable Object> call) {
    return arguments(name, beans, call);
  }

  private static UnaryOperator<ApplicationContextRunner> bean(Class<?> type) {
    return (runner) -> runner.withBean("job", type);
  }

  private static UnaryOperator<ApplicationContextRunner> interfaces(Class<?> type) {
    return (runner) ->
        runner.withPropertyValues("spring.aop.proxy-target-class=false").withBean("job", type);
  }

  private static UnaryOperator<ApplicationContextRunner> job(BeanDefinitionCustomizer how) {
    return (runner) -> runner.withBean("job", Job.class, Job::new, how);
  }

  /** A proxy of its interfaces, which the application makes. */
  private static UnaryOperator<ApplicationContextRunner> proxied(Late job) {
    return (runner) ->
        runner.withBean("job", Late.class, () -> (Late) new ProxyFactory(job).getProxy());
  }

  private static UnaryOperator<ApplicationContextRunner> factory(Class<?> type, boolean spring) {
    return (runner) -> runner.withBean("job", Proxies.class, () -> new Proxies(type, spring));
  }

  @SuppressWarnings("unchecked")
  private static @Nullable Object take(Taker<?> job, String text) {
    return ((Taker<Object>) job).take(text);
  }

  /** Creates proxies like those of service clients, or of repositories (with Spring's own proxies). */
  record Proxies(Class<?> type, boolean spring) implements FactoryBean<Object> {

    @Override
    public Object getObject() {
      InvocationHandler handler = (proxy, method, arguments) -> switch (method.getName()) {
        case "toString" -> "proxy";
        case "hashCode" -> 1;
        case "equals" -> proxy == arguments[0];
        default -> method.getReturnType() == String.class ? "ran" : Mono.just("ran");
      };
      Object proxy =
          Proxy.newProxyInstance(this.type.getClassLoader(), new Class<?>[] {this.type}, handler);
      if (!this.spring) {
        return proxy;
      }
      ProxyFactory factory = new ProxyFactory(this.type, (MethodInterceptor)
          (invocation) -> invocation.getMethod().invoke(proxy, invocation.getArguments()));
      factory.setTarget(proxy);
      return factory.getProxy(this.type.getClassLoader());
    }

    @Override
    public Class<?> getObjectType() {
      return this.type;
    }
  }

  interface Plain {
    @Nullable
    String text();
  }

  interface Late extends Plain {
    @Override
    @LeaderOnly
    @Nullable
    String text();
  }

  @LeaderOnly
  interface Typed extends Plain {}

  interface SubTyped extends Typed {}

  interface Gen<T> {
    T work();
  }

  interface LateMonos extends Gen<Mono<String>> {
    @Override
    @LeaderOnly
    Mono<String> work();
  }

  @LeaderOnly
  interface LateFutures extends Gen<CompletableFuture<String>> {}

  static class Job implements Plain {

    @Override
    @LeaderOnly
    public @Nullable String text() {
      return "ran";
    }
  }

  abstract static class Taker<T> {

    public abstract @Nullable Object take(T value);
  }

  static class Texts extends Taker<String> {

    @Override
    @LeaderOnly
    public @Nullable String take(String value) {
      return "ran";
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Scopes {

    @Bean
    static CustomScopeConfigurer threads() {
      CustomScopeConfigurer scopes = new CustomScopeConfigurer();
      scopes.addScope("thread", new SimpleThreadScope());
      return scopes;
    }

    @Bean
    @Scope(scopeName = "thread", proxyMode = ScopedProxyMode.TARGET_CLASS)
    Job job() {
      return new Job();
    }
  }

  static class MonoBase<T> {

    private final Object result = Mono.just("ran");

    @LeaderOnly
    @SuppressWarnings("unchecked")
    public T work() {
      return (T) this.result;
    }
  }

  public static class InheritsMono extends MonoBase<Mono<String>> implements Gen<Mono<String>> {}

  static class Monos implements Gen<Mono<String>> {

    @Override
    @LeaderOnly
    public Mono<String> work() {
      return Mono.just("ran");
    }
  }

  static class Anything implements Gen<Object> {

    @Override
    @LeaderOnly
    public Object work() {
      return Mono.just("ran");
    }
  }

  static class Optionals implements Gen<Optional<String>> {

    @Override
    @LeaderOnly
    public Optional<String> work() {
      return Optional.of("ran");
    }
  }

  static class Behind implements Late {

    @Override
    public @Nullable String text() {
      return "ran";
    }
  }

  static class More extends Behind implements Runnable {

    @Override
    @LeaderOnly
    public void run() {}
  }

  /** Makes objects on request: several, or one that has no guarded method. */
  record Unavailable(Class<?> type) implements FactoryBean<Object> {

    @Override
    public Object getObject() {
      throw new UnsupportedOperationException();
    }

    @Override
    public Class<?> getObjectType() {
      return this.type;
    }

    @Override
    public boolean isSingleton() {
      return this.type == Plain.class;
    }
  }

  static class Early implements BeanPostProcessor, PriorityOrdered {

    @Override
    public int getOrder() {
      return 0;
    }
  }
}
