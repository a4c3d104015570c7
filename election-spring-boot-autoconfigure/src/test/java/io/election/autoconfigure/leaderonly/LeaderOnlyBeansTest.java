package io.election.autoconfigure.leaderonly;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.election.ElectionSetupException;
import io.election.LeaderOnly;
import io.election.LeaderOnly.OnFollower;
import io.election.NotLeaderException;
import io.election.autoconfigure.StartFailure;
import io.election.autoconfigure.SwitchedElection;
import io.election.autoconfigure.leaderonly.elsewhere.Neighbour;
import jakarta.annotation.PostConstruct;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import kotlin.coroutines.Continuation;
import org.aopalliance.intercept.MethodInterceptor;
import org.aspectj.lang.annotation.Aspect;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.config.BeanDefinitionCustomizer;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.CustomScopeConfigurer;
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
import org.springframework.messaging.Message;
import org.springframework.messaging.MessageHandler;
import org.springframework.messaging.handler.annotation.MessageMapping;
import org.springframework.scheduling.annotation.Scheduled;
import reactor.core.publisher.Mono;

/** Beans, proxies, contexts and return types of every kind are guarded, or refused by name. */
@ExtendWith(OutputCaptureExtension.class)
class LeaderOnlyBeansTest {

  private final SwitchedElection election = new SwitchedElection();

  private final ApplicationContextRunner contextRunner =
      LeaderOnlyTest.contexts().withBean(SwitchedElection.class, () -> this.election);

  static Stream<Arguments> guarded() {
    return Stream.of(
        shape("method of a package-private base", Inherits.class, Inherits::text),
        shape("package-private base with an annotation", InheritsType.class, InheritsType::text),
        shape("annotation within another", Nightly.class, Nightly::text),
        shape("method of an interface", Implementation.class, Implementation::text),
        shape("inherited method of a class with an annotation", OnHeir.class, OnHeir::text),
        shape("implementation of a generic class", Texts.class, (Texts job) -> job.take("x")),
        shape("bridge of a generic class", Texts.class, (Texts job) -> take(job, "x")),
        shape("inherited method of a generic class", Longs.class, (Longs job) -> job.give()),
        shape("default method", HasDefault.class, HasDefault::text),
        shape("default method, JDK proxy", interfaces(HasDefault.class), Defaults.class),
        shape("interface with an annotation", IsTyped.class, IsTyped::text),
        shape("interface with an annotation, JDK proxy", interfaces(IsTyped.class), Typed.class),
        shape("class behind a JDK proxy", interfaces(Job.class), Plain.class),
        shape(
            "lambda",
            (runner) -> runner.withBean("job", Late.class, () -> () -> "ran"),
            Late.class),
        shape("configuration class", ConfigurationClass.class, ConfigurationClass::text),
        shape("package-private method of a class", Unpublic.class, Unpublic::packagePrivate),
        shape("protected method of a class", Unpublic.class, Unpublic::text),
        shape("inherited protected method", UnpublicHeir.class, UnpublicHeir::text),
        shape("factory's JDK proxy", factory(Late.class, false), Late.class),
        shape("factory's Spring proxy", factory(Late.class, true), Late.class),
        shape("factory's interface with an annotation", factory(Typed.class, true), Typed.class),
        shape("factory's inherited interface", factory(SubTyped.class, false), Plain.class),
        shape("prototype", job((definition) -> definition.setScope("prototype")), Job.class),
        shape("scoped proxy", (runner) -> runner.withUserConfiguration(Scopes.class), Job.class),
        shape("lazy bean", job((definition) -> definition.setLazyInit(true)), Job.class),
        shape("placeholder", Placeholder.class, Placeholder::text));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource
  void guarded(
      String name,
      UnaryOperator<ApplicationContextRunner> beans,
      Function<ApplicationContext, @Nullable Object> call) {
    beans.apply(this.contextRunner).run((context) -> {
      assertThat(context).hasNotFailed();
      assertThat(call.apply(context)).isNull();
      this.election.becomeLeader();
      assertThat(call.apply(context)).isEqualTo("ran");
    });
  }

  static Stream<Arguments> refused() {
    return Stream.of(
        refusal(
            "primitive",
            Primitive.class,
            "count(): it returns the primitive type int",
            "return Integer, Optional or void, or use onFollower = THROW"),
        refusal("primitive of a class", PrimitiveOnType.class, "the primitive type int"),
        refusal("final method", FinalMethod.class, "it is final, so that no proxy"),
        refusal("private method", PrivateMethod.class, "it is private"),
        refusal("static method", StaticMethod.class, "it is static"),
        refusal("final method of a class", FinalOnType.class, "it is final"),
        refusal("final class", FinalClass.class, "FinalClass is final"),
        refusal("method that makes a bean", BeanMethod.class, "it creates a bean"),
        refusal("aspect", AspectJob.class, "it is an aspect"),
        refusal("method of another package", FromElsewhere.class, "another package"),
        refusal("scheduled method of another package", TicksElsewhere.class, "another package"),
        refusal("private scheduled method of a class", PrivateTick.class, "it is private"),
        refusal("final scheduled method of a class", FinalTick.class, "it is final"),
        refusal("callback", Callback.class, "Spring calls it when it creates or destroys"),
        refusal("message handler", Handler.class, "(MessageHandler)"),
        refusal("message listener", Listener.class, "it consumes its input (@MessageMapping)"),
        refusal("suspending function", Suspending.class, "it is a suspending function"),
        refusal(
            "generic publisher",
            InterruptibleMono.class,
            "it returns the reactive type Mono",
            "no thread of its own that interruptOnLoss could interrupt"),
        refusal(
            "unknown election",
            Unknown.class,
            "run() names election 'reports', but this node only knows [default]",
            "Add 'reports' to as.election.services"),
        refusal("unknown placeholder", Nowhere.class, "election '${nowhere}'"));
  }

  private static Arguments refusal(String name, Class<?> type, String... messages) {
    return arguments(name, type, messages);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource
  void refused(String name, Class<?> type, String[] messages) {
    assertThat(StartFailure.text(this.contextRunner.withBean("job", type)))
        .contains("@LeaderOnly", "bean 'job'", type.getName())
        .contains(messages);
  }

  @Test
  void lazyBeanIsRefusedWhenItIsMade() {
    this.contextRunner
        .withBean("job", Unknown.class, Unknown::new, (bean) -> bean.setLazyInit(true))
        .run((context) -> assertThatExceptionOfType(BeanCreationException.class)
            .isThrownBy(() -> context.getBean("job"))
            .havingRootCause()
            .withMessageContaining("names election 'reports'"));
  }

  @Test
  void methodThatNoInterfaceOfTheProxyHasIsRefused() {
    assertThat(StartFailure.text(interfaces(Hidden.class).apply(this.contextRunner)))
        .contains("Hidden.text()", "only the methods of its interfaces");
  }

  @Test
  void consumersThatThrowAreAccepted() {
    this.contextRunner.withBean(ThrowingListener.class).run((context) -> {
      ThrowingListener listener = context.getBean(ThrowingListener.class);
      assertThatExceptionOfType(NotLeaderException.class).isThrownBy(listener::on);
    });
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
        .run((context) -> {
          assertThat(context).hasNotFailed();
          assertThat(output).contains("@LeaderOnly does not guard bean 'job'");
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

  interface Defaults extends Plain {
    @Override
    @LeaderOnly
    default @Nullable String text() {
      return "ran";
    }
  }

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

  public static class Inherits extends Job {}

  @LeaderOnly
  static class AbstractTypedJob {

    public @Nullable String text() {
      return "ran";
    }
  }

  public static class InheritsType extends AbstractTypedJob {}

  @LeaderOnly
  @Retention(RetentionPolicy.RUNTIME)
  @interface OncePerNight {}

  static class Nightly {

    @OncePerNight
    public @Nullable String text() {
      return "ran";
    }
  }

  static class Implementation implements Late {

    @Override
    public @Nullable String text() {
      return "ran";
    }
  }

  static class PlainJob {

    public @Nullable String text() {
      return "ran";
    }
  }

  @LeaderOnly
  public static class OnHeir extends PlainJob {}

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

  static class Giver<T> {

    @LeaderOnly
    public @Nullable Object give() {
      return "ran";
    }
  }

  public static class Longs extends Giver<Long> {}

  static class HasDefault implements Defaults {}

  static class IsTyped implements Typed {

    @Override
    public @Nullable String text() {
      return "ran";
    }
  }

  @Configuration
  static class ConfigurationClass {

    @LeaderOnly
    public @Nullable String text() {
      return "ran";
    }
  }

  @LeaderOnly
  static class Unpublic {

    @Nullable
    String packagePrivate() {
      return "ran";
    }

    protected @Nullable String text() {
      return hidden();
    }

    private String hidden() {
      return "ran";
    }
  }

  static class UnpublicHeir extends Unpublic {}

  static class Placeholder {

    @LeaderOnly("${which:default}")
    public @Nullable String text() {
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

  static class Unknown {

    @LeaderOnly("reports")
    public void run() {}
  }

  @Aspect
  static class AspectJob {

    @LeaderOnly
    public void run() {}
  }

  static class FromElsewhere extends Neighbour {}

  @LeaderOnly
  static class TicksElsewhere extends Neighbour.Ticking {}

  @LeaderOnly
  static class PrivateTick {

    @Scheduled(fixedDelay = 1000)
    private void tick() {}
  }

  @LeaderOnly
  static class FinalTick {

    @Scheduled(fixedDelay = 1000)
    final void tick() {}
  }

  @LeaderOnly
  static class PrimitiveOnType {

    int count() {
      return 1;
    }
  }

  static class Callback {

    @LeaderOnly
    @PostConstruct
    public void begin() {}
  }

  static class Listener {

    @LeaderOnly
    @MessageMapping("orders")
    public void on(String order) {}
  }

  static class Suspending {

    @LeaderOnly
    public Object run(Continuation<? super String> continuation) {
      return "ran";
    }
  }

  static class ThrowingListener {

    @LeaderOnly(onFollower = OnFollower.THROW)
    @MessageMapping
    public void on() {}
  }

  static class Handler implements MessageHandler {

    @Override
    @LeaderOnly
    public void handleMessage(Message<?> message) {}
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

  static class InterruptibleBase<T> {

    @LeaderOnly(interruptOnLoss = true)
    public @Nullable T work() {
      return null;
    }
  }

  static class InterruptibleMono extends InterruptibleBase<Mono<String>> {}

  static class Nowhere {

    @LeaderOnly("${nowhere}")
    public void run() {}
  }

  static class Hidden implements Runnable {

    @Override
    public void run() {}

    @LeaderOnly
    public @Nullable String text() {
      return "ran";
    }
  }

  static class Early implements BeanPostProcessor, PriorityOrdered {

    @Override
    public int getOrder() {
      return 0;
    }
  }
}
