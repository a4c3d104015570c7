package io.election.autoconfigure;

import io.election.ElectionOperations;
import io.election.ElectionService;
import io.election.autoconfigure.settings.ConditionalOnElectionSetting;
import io.election.autoconfigure.settings.ElectionNames;
import io.election.autoconfigure.settings.UnknownProperties;
import java.util.ArrayList;
import java.util.List;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.beans.factory.support.AutowireCandidateQualifier;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotationMetadata;

/**
 * Registers an {@link ElectionOperations} for each election that the configuration names, and one
 * {@link ElectionLifecycle} for all of them. Services other than the default one are injected only
 * with their name as {@link Qualifier}. Used within the auto-configuration.
 */
public final class ElectionServicesRegistrar implements ImportBeanDefinitionRegistrar {

  /** The name of the bean of the default election. */
  public static final String DEFAULT_BEAN_NAME = "electionService";

  /** Separates the default bean name from the name of a further election. */
  static final String SEPARATOR = ":";

  private final Environment environment;

  ElectionServicesRegistrar(Environment environment) {
    this.environment = environment;
  }

  @Override
  public void registerBeanDefinitions(
      AnnotationMetadata importingClass, BeanDefinitionRegistry registry) {
    UnknownProperties.warn(this.environment);
    UnknownProperties.warnOfUnknown(this.environment);
    boolean elects = importingClass
        .getAnnotations()
        .get(ConditionalOnElectionSetting.class)
        .getValue("on", Boolean.class)
        .orElse(true);
    ElectionNames names = ElectionNames.from(this.environment, elects);
    List<String> beanNames = new ArrayList<>();
    beanNames.add(DEFAULT_BEAN_NAME);
    registry.registerBeanDefinition(DEFAULT_BEAN_NAME, definition(names.defaultName()));
    for (String name : names.further()) {
      RootBeanDefinition definition = definition(name);
      definition.setDefaultCandidate(false);
      definition.addQualifier(new AutowireCandidateQualifier(Qualifier.class, name));
      String beanName = DEFAULT_BEAN_NAME + SEPARATOR + name;
      beanNames.add(beanName);
      registry.registerBeanDefinition(beanName, definition);
    }
    RootBeanDefinition lifecycle = madeBy(ElectionLifecycle.class, "lifecycle");
    lifecycle.getConstructorArgumentValues().addIndexedArgumentValue(0, beanNames);
    registry.registerBeanDefinition(ElectionBackend.LIFECYCLE, lifecycle);
  }

  private static RootBeanDefinition definition(String name) {
    RootBeanDefinition definition = madeBy(ElectionOperations.class, "service");
    definition.getConstructorArgumentValues().addIndexedArgumentValue(0, name);
    return definition;
  }

  /**
   * Uses a factory method of this class instead of a supplier, because ahead-of-time processing
   * must write it as code.
   */
  private static RootBeanDefinition madeBy(Class<?> type, String factoryMethod) {
    RootBeanDefinition definition = new RootBeanDefinition(ElectionServicesRegistrar.class);
    definition.setTargetType(type);
    definition.setFactoryMethodName(factoryMethod);
    definition.setAutowireMode(AbstractBeanDefinition.AUTOWIRE_CONSTRUCTOR);
    return definition;
  }

  static ElectionOperations service(String name, ElectionBackend backend) {
    return backend.create(name);
  }

  static ElectionLifecycle lifecycle(
      List<String> beanNames, ElectionBackend backend, BeanFactory beanFactory) {
    List<ElectionService> services = beanNames.stream()
        .map((name) -> beanFactory.getBean(name, ElectionService.class))
        .toList();
    return new ElectionLifecycle(backend, services);
  }
}
