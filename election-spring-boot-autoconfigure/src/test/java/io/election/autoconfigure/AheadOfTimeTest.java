package io.election.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.ElectionService;
import io.election.LeaderOnly;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.aot.generate.GeneratedFiles.Kind;
import org.springframework.aot.test.generate.TestGenerationContext;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.test.util.TestPropertyValues;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.aot.ApplicationContextAotGenerator;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.test.tools.CompileWithForkedClassLoader;
import org.springframework.core.test.tools.TestCompiler;

/** What Spring writes down as code at build time starts without the auto-configuration. */
class AheadOfTimeTest {

  private static final String[] DISABLED = {
    "spring.application.name=default",
    "as.election.enabled=false",
    "as.election.services=reports",
    "as.election.node-id=a"
  };

  @Test
  void electionsInADatabaseCanBeProcessed() {
    TestGenerationContext generated = process(
        "spring.application.name=default",
        "as.election.services=reports",
        "spring.datasource.url=jdbc:mysql://localhost/nowhere");
    assertThat(generated.getGeneratedFiles().getGeneratedFiles(Kind.SOURCE))
        .anySatisfy((path, source) -> assertThat(path).contains("MysqlElectionConfiguration"));
  }

  @Test
  @CompileWithForkedClassLoader
  @SuppressWarnings("unchecked")
  void processedApplicationStarts() {
    TestGenerationContext generated = process(DISABLED);
    TestCompiler.forSystem().with(generated).compile((compiled) -> {
      try (GenericApplicationContext context = new GenericApplicationContext()) {
        TestPropertyValues.of(DISABLED).applyTo(context);
        ApplicationContextInitializer<GenericApplicationContext> processed =
            compiled.getInstance(ApplicationContextInitializer.class);
        processed.initialize(context);
        context.refresh();
        assertThat(context.getBean(ElectionService.class).serviceId()).isEqualTo("default");
        Job job = context.getBean(Job.class);
        assertThat(job.reports().serviceId()).isEqualTo("reports");
        assertThat(job.text()).isEqualTo("ran");
        job.reports().lostLeader();
        assertThat(job.text()).isNull();
      }
    });
  }

  private static TestGenerationContext process(String... properties) {
    AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();
    TestPropertyValues.of(properties).applyTo(context);
    context.register(Application.class);
    TestGenerationContext generated = new TestGenerationContext();
    new ApplicationContextAotGenerator().processAheadOfTime(context, generated);
    generated.writeGeneratedContent();
    return generated;
  }

  @Configuration(proxyBeanMethods = false)
  @ImportAutoConfiguration({
    AopAutoConfiguration.class,
    DataSourceAutoConfiguration.class,
    ElectionAutoConfiguration.class,
    LeaderOnlyAutoConfiguration.class
  })
  static class Application {

    @Bean
    Job job(ElectionService election, @Qualifier("reports") ElectionService reports) {
      return new Job(reports);
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
