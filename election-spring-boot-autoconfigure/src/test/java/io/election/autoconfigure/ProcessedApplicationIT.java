package io.election.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.LeaderOnly;
import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.batch.core.job.Job;
import org.springframework.batch.core.job.builder.JobBuilder;
import org.springframework.batch.core.repository.JobRepository;
import org.springframework.batch.core.step.builder.StepBuilder;
import org.springframework.batch.infrastructure.repeat.RepeatStatus;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.support.BeanDefinitionBuilder;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringApplicationAotProcessor;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.persistence.autoconfigure.EntityScan;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.core.type.AnnotationMetadata;
import org.springframework.data.jpa.repository.JpaRepository;
import org.springframework.data.jpa.repository.config.EnableJpaRepositories;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.security.config.annotation.method.configuration.EnableMethodSecurity;

/** A servlet application with all that services commonly have is processed ahead of time. */
@Tag("faults")
class ProcessedApplicationIT {

  @TempDir
  Path folder;

  @Test
  void anApplicationWithSecurityJpaFlywayKafkaAndBatchIsProcessed() throws Exception {
    SpringApplicationAotProcessor.Settings settings =
        SpringApplicationAotProcessor.Settings.builder()
            .sourceOutput(this.folder.resolve("sources"))
            .resourceOutput(this.folder.resolve("resources"))
            .classOutput(this.folder.resolve("classes"))
            .groupId("test")
            .artifactId("application")
            .build();
    new SpringApplicationAotProcessor(Application.class, settings, new String[0]).process();
    assertThat(this.folder.resolve("sources"))
        .isDirectoryRecursivelyContaining("glob:**ApplicationContextInitializer.java")
        .isDirectoryRecursivelyContaining(
            "glob:**LeaderOnlyAutoConfiguration__BeanDefinitions.java");
    assertThat(Files.readString(this.folder.resolve(
            "resources/META-INF/native-image/test/application/reachability-metadata.json")))
        .as("guarded methods of inner beans")
        .contains("\"" + Inner.class.getName() + "\"", "\"" + Plan.class.getName() + "\"");
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @EnableScheduling
  @Import(InnerBeans.class)
  @EnableMethodSecurity
  @EntityScan(basePackageClasses = ProcessedApplicationIT.class)
  @EnableJpaRepositories(considerNestedRepositories = true)
  static class Application {

    public static void main(String[] args) {
      SpringApplication application = new SpringApplication(Application.class);
      application.run(
          "--spring.application.name=orders",
          "--spring.datasource.url=jdbc:mysql://127.0.0.1:1/orders");
    }

    @KafkaListener(topics = "orders")
    void onOrder(String order) {}

    @Scheduled(fixedDelay = 1000)
    @LeaderOnly
    void bill() {}

    @Bean
    Job job(JobRepository jobs) {
      return new JobBuilder("job", jobs)
          .start(new StepBuilder("step", jobs)
              .tasklet((contribution, chunk) -> RepeatStatus.FINISHED)
              .build())
          .build();
    }
  }

  /** Registers a bean within which two more are defined: an object, and what a factory creates. */
  static final class InnerBeans implements ImportBeanDefinitionRegistrar {

    @Override
    public void registerBeanDefinitions(
        AnnotationMetadata importing, BeanDefinitionRegistry registry) {
      registry.registerBeanDefinition(
          "outer",
          BeanDefinitionBuilder.rootBeanDefinition(Outer.class)
              .addPropertyValue("inner", new RootBeanDefinition(Inner.class))
              .addPropertyValue("plan", new RootBeanDefinition(PlanFactory.class))
              .getBeanDefinition());
    }
  }

  public static class Outer {

    public void setInner(Inner inner) {}

    public void setPlan(Plan plan) {}
  }

  public static class Inner {
    @LeaderOnly
    public void run() {}
  }

  public interface Plan {

    @LeaderOnly
    void planned();
  }

  public static class PlanFactory implements FactoryBean<Plan> {

    @Override
    public Plan getObject() {
      return () -> {};
    }

    @Override
    public Class<?> getObjectType() {
      return Plan.class;
    }
  }

  @Entity
  static class Invoice {
    @Id
    long id;
  }

  interface Invoices extends JpaRepository<Invoice, Long> {}
}
