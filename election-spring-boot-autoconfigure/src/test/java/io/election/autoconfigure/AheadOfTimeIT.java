package io.election.autoconfigure;

import static io.election.autoconfigure.MysqlNode.patiently;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.ElectionRegistry;
import io.election.ElectionService;
import io.election.LeaderBound;
import io.election.LeaderOnly;
import io.election.LeaderTask;
import io.election.autoconfigure.actuate.EndpointAccess;
import io.election.autoconfigure.leaderonly.LeaderBoundBeans;
import io.election.autoconfigure.settings.ElectionProperties;
import io.election.lease.LeaseElectionService;
import io.election.store.MemoryLeaseStore;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aot.generate.GeneratedFiles.Kind;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.aot.hint.TypeReference;
import org.springframework.aot.hint.annotation.Reflective;
import org.springframework.aot.hint.predicate.ReflectionHintsPredicates;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;
import org.springframework.aot.test.generate.TestGenerationContext;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceProperties;
import org.springframework.boot.test.util.TestPropertyValues;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.aot.ApplicationContextAotGenerator;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.io.support.SpringFactoriesLoader;
import org.springframework.core.test.tools.CompileWithForkedClassLoader;
import org.springframework.core.test.tools.TestCompiler;
import org.springframework.orm.jpa.hibernate.HibernateTransactionManager;
import org.springframework.util.ReflectionUtils;

/** The code that Spring generates at build time starts without the auto-configuration. */
@Tag("faults")
class AheadOfTimeIT {

  private static final String[] DISABLED = {
    "spring.application.name=default",
    "as.election.enabled=false",
    "as.election.services=reports",
    "as.election.node-id=a",
    "management.endpoints.web.exposure.include=leader"
  };

  @ParameterizedTest
  @CsvSource({
    "Mysql, JdbcElectionAutoConfiguration",
    "'Zookeeper,Mysql', JointElectionAutoConfiguration"
  })
  void electionsInADatabaseAndByAListCanBeProcessed(String algorithm, String configuration) {
    TestGenerationContext generated = process(
        "spring.application.name=default",
        "as.election.services=" + (algorithm.equals("Mysql") ? "reports" : ""),
        "as.election.algorithm=" + algorithm,
        "as.election.zookeeper.connect-string=127.0.0.1:1",
        "spring.datasource.url=jdbc:mysql://localhost/nowhere");
    assertThat(generated.getGeneratedFiles().getGeneratedFiles(Kind.SOURCE))
        .anySatisfy((path, source) -> assertThat(path).contains(configuration));
  }

  @Test
  @CompileWithForkedClassLoader
  void processedApplicationStarts() {
    start(Application.class, DISABLED, (context) -> {
      assertThat(context.getBean(ElectionService.class).serviceId()).isEqualTo("default");
      Job job = context.getBean(Job.class);
      assertThat(job.reports().serviceId()).isEqualTo("reports");
      assertThat(job.text()).isEqualTo("ran");
      LeaderBoundBeans bound = context.getBean(LeaderBoundBeans.class);
      patiently().until(() -> bound.of("reports").get(0).isRunning());
      job.reports().lostLeader();
      patiently().until(() -> !bound.of("reports").get(0).isRunning());
      assertThat(job.text()).isNull();
    });
  }

  @Test
  @CompileWithForkedClassLoader
  void processedApplicationOnAListLeads() {
    String[] properties = {
      "spring.application.name=orders",
      "as.election.algorithm=legacyElection,Memory",
      "as.election.node-id=a",
      "as.election.lease-duration=1500ms",
      "as.election.renew-interval=100ms",
      "as.election.operation-timeout=500ms"
    };
    start(ApplicationOnAList.class, properties, (context) -> {
      assertThat(MysqlNode.awaitLeader(context)).isInstanceOf(LeaseElectionService.class);
      patiently().until(() -> context.getBean(SwitchedElection.class).isLeader());
      assertThat(context.getBean(ElectionRegistry.class).all()).containsOnlyKeys("orders");
    });
  }

  @SuppressWarnings("unchecked")
  private static void start(
      Class<?> application, String[] properties, Consumer<ApplicationContext> test) {
    TestCompiler.forSystem().with(process(application, properties)).compile((compiled) -> {
      try (GenericApplicationContext context = new GenericApplicationContext()) {
        TestPropertyValues.of(properties).applyTo(context);
        compiled.getInstance(ApplicationContextInitializer.class).initialize(context);
        context.refresh();
        test.accept(context);
      }
    });
  }

  @Test
  void nativeImageKeepsWhatIsLookedUpByName() {
    RuntimeHints hints = process(DISABLED).getRuntimeHints();
    ReflectionHintsPredicates reflection = RuntimeHintsPredicates.reflection();
    assertThat(hints)
        .as("settings")
        .matches(reflection.onType(ElectionProperties.class))
        .matches(constructor(ElectionProperties.class))
        .matches(constructor(ElectionProperties.Manual.class))
        .matches(constructor(ElectionProperties.Jdbc.class))
        .matches(constructor(EndpointAccess.PROPERTIES));
    assertThat(hints).as("endpoint").matches(reflection.onType(EndpointAccess.TYPE));
    for (Method operation : ReflectionUtils.getDeclaredMethods(EndpointAccess.TYPE)) {
      if (AnnotatedElementUtils.isAnnotated(operation, Reflective.class)) {
        assertThat(hints).matches(reflection.onMethodInvocation(operation));
      }
    }
    assertThat(hints)
        .as("classes whose presence is checked")
        .matches(reflection.onType(HibernateTransactionManager.class));
    assertThat(hints)
        .as("guarded methods, and where they are looked for")
        .matches(reflection.onMethodInvocation(Base.class, "inherited"))
        .matches(reflection.onMethodInvocation(Job.class, "text"))
        .matches(reflection.onMethodInvocation(Plan.class, "planned"))
        .matches(reflection.onType(Base.class))
        .matches(reflection.onType(Plan.class))
        .matches(RuntimeHintsPredicates.proxies()
            .forInterfaces(AopProxyUtils.completeJdkProxyInterfaces(Plan.class)));
  }

  @Test
  void nativeImageKeepsClassesThatAreLookedFor() throws Exception {
    RuntimeHints hints = new RuntimeHints();
    for (RuntimeHintsRegistrar registrar : SpringFactoriesLoader.forResourceLocation(
            "META-INF/spring/aot.factories")
        .load(RuntimeHintsRegistrar.class)) {
      if (registrar.getClass().getName().startsWith("io.election.")) {
        registrar.registerHints(hints, getClass().getClassLoader());
      }
    }
    ReflectionHintsPredicates reflection = RuntimeHintsPredicates.reflection();
    for (Class<?> driver : List.of(com.mysql.cj.jdbc.Driver.class, org.mariadb.jdbc.Driver.class)) {
      assertThat(hints).matches(reflection.onConstructorInvocation(driver.getConstructor()));
    }
    assertThat(hints)
        .matches(
            RuntimeHintsPredicates.resource().forResource("io/election/jdbc/leader-election.sql"))
        .matches(reflection.onMethodInvocation(DataSourceProperties.class, "setUrl"))
        .matches(
            reflection.onType(TypeReference.of("org.springframework.messaging.MessageHandler")));
    // Matches each class name that the sources look up.
    Pattern lookedFor = Pattern.compile("isPresent\\(\\s*\"([\\w.]*\\w)\"");
    Set<String> names = new TreeSet<>();
    try (Stream<Path> sources = Files.walk(Path.of("src", "main", "java"))) {
      for (Path source : sources.filter(Files::isRegularFile).toList()) {
        lookedFor
            .matcher(Files.readString(source))
            .results()
            .map((found) -> found.group(1))
            .map((name) -> name.startsWith("jpa.") ? "org.springframework.orm." + name : name)
            .forEach(names::add);
      }
    }
    assertThat(names)
        .hasSize(5)
        .allSatisfy((name) -> assertThat(hints).matches(reflection.onType(TypeReference.of(name))));
  }

  private static Predicate<RuntimeHints> constructor(Class<?> type) {
    return RuntimeHintsPredicates.reflection()
        .onConstructorInvocation(type.getDeclaredConstructors()[0]);
  }

  private static TestGenerationContext process(String... properties) {
    return process(Application.class, properties);
  }

  private static TestGenerationContext process(Class<?> application, String... properties) {
    AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();
    TestPropertyValues.of(properties).applyTo(context);
    context.register(application);
    TestGenerationContext generated = new TestGenerationContext();
    new ApplicationContextAotGenerator().processAheadOfTime(context, generated);
    generated.writeGeneratedContent();
    return generated;
  }

  @Configuration(proxyBeanMethods = false)
  @ImportAutoConfiguration({AopAutoConfiguration.class, DataSourceAutoConfiguration.class})
  @Import(MysqlNode.Starter.class)
  static class Application {

    @Bean
    Heir heir() {
      return new Heir();
    }

    @Bean
    @LeaderBound("reports")
    LeaderTask tail() {
      return () -> () -> {};
    }

    @Bean
    FactoryBean<Plan> plan() {
      return new PlanFactory();
    }

    @Bean
    Job job(ElectionService election, @Qualifier("reports") ElectionService reports) {
      return new Job(reports);
    }
  }

  @Configuration(proxyBeanMethods = false)
  @ImportAutoConfiguration(AopAutoConfiguration.class)
  @Import(MysqlNode.Starter.class)
  static class ApplicationOnAList {

    @Bean
    SwitchedElection legacyElection() {
      return new SwitchedElection();
    }

    @Bean
    MemoryLeaseStore memoryLeaseStore() {
      return new MemoryLeaseStore();
    }
  }

  static class Base {
    @LeaderOnly("reports")
    public void inherited() {}
  }

  public static class Heir extends Base {}

  public interface Plan {

    @LeaderOnly("reports")
    void planned();
  }

  static class PlanFactory implements FactoryBean<Plan> {

    @Override
    public Plan getObject() {
      return () -> {};
    }

    @Override
    public Class<?> getObjectType() {
      return Plan.class;
    }
  }

  static class Job {

    private final ElectionService reports;

    Job(ElectionService reports) {
      this.reports = reports;
    }

    ElectionService reports() {
      return this.reports;
    }

    @LeaderOnly("reports")
    public @Nullable String text() {
      return "ran";
    }
  }
}
