package io.election.test;

import java.util.List;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.beans.factory.support.AutowireCandidateQualifier;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotationMetadata;

/**
 * Registers the elections of {@link AutoConfigureElection}, under the bean names used in
 * production.
 */
final class AutoConfigureElectionRegistrar implements ImportBeanDefinitionRegistrar {

  private static final String BEAN_NAME = "electionService";

  private final Environment environment;

  AutoConfigureElectionRegistrar(Environment environment) {
    this.environment = environment;
  }

  @Override
  public void registerBeanDefinitions(
      AnnotationMetadata importingClass, BeanDefinitionRegistry registry) {
    Binder binder = Binder.get(this.environment);
    String defaultName = binder
        .bind("as.election.service-id", String.class)
        .orElseGet(() -> this.environment.getProperty("spring.application.name", "default"));
    registry.registerBeanDefinition(BEAN_NAME, election(defaultName));
    List<String> names =
        binder.bind("as.election.services", Bindable.listOf(String.class)).orElse(List.of());
    for (String name : names) {
      RootBeanDefinition definition = election(name);
      definition.setDefaultCandidate(false);
      definition.addQualifier(new AutowireCandidateQualifier(Qualifier.class, name));
      registry.registerBeanDefinition(BEAN_NAME + ":" + name, definition);
    }
  }

  private static RootBeanDefinition election(String name) {
    RootBeanDefinition definition = new RootBeanDefinition(AutoConfigureElectionRegistrar.class);
    definition.setFactoryMethodName("create");
    definition.getConstructorArgumentValues().addIndexedArgumentValue(0, name);
    definition.setAutowireMode(AbstractBeanDefinition.AUTOWIRE_CONSTRUCTOR);
    return definition;
  }

  /** Called by Spring. */
  static ScriptedElection create(String name, ApplicationEventPublisher events) {
    return new ScriptedElection(name, events::publishEvent);
  }
}
