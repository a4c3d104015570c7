package io.election.autoconfigure;

import io.election.ElectionService;
import java.util.ArrayList;
import java.util.List;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.support.AutowireCandidateQualifier;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotationMetadata;

/**
 * Registers an {@link ElectionService} for each election that the configuration names, and the {@link
 * ElectionLifecycle} of all. Those beside the default one are injected by their name as {@link
 * Qualifier}, and never without.
 */
final class ElectionServicesRegistrar implements ImportBeanDefinitionRegistrar {

  static final String DEFAULT_BEAN_NAME = "electionService";

  private final Environment environment;

  private final BeanFactory beanFactory;

  ElectionServicesRegistrar(Environment environment, BeanFactory beanFactory) {
    this.environment = environment;
    this.beanFactory = beanFactory;
  }

  @Override
  public void registerBeanDefinitions(
      AnnotationMetadata importingClass, BeanDefinitionRegistry registry) {
    ElectionNames names = ElectionNames.from(this.environment);
    List<String> beanNames = new ArrayList<>();
    beanNames.add(DEFAULT_BEAN_NAME);
    registry.registerBeanDefinition(DEFAULT_BEAN_NAME, service(names.defaultName()));
    for (String name : names.further()) {
      RootBeanDefinition definition = service(name);
      definition.setDefaultCandidate(false);
      definition.addQualifier(new AutowireCandidateQualifier(Qualifier.class, name));
      String beanName = DEFAULT_BEAN_NAME + ":" + name;
      beanNames.add(beanName);
      registry.registerBeanDefinition(beanName, definition);
    }
    RootBeanDefinition lifecycle = new RootBeanDefinition(
        ElectionLifecycle.class, () -> lifecycle(this.beanFactory, beanNames));
    registry.registerBeanDefinition("electionLifecycle", lifecycle);
  }

  private RootBeanDefinition service(String name) {
    return new RootBeanDefinition(
        ElectionService.class,
        () -> this.beanFactory.getBean(ElectionDriver.class).create(name));
  }

  private static ElectionLifecycle lifecycle(BeanFactory beanFactory, List<String> beanNames) {
    List<ElectionService> services = beanNames.stream()
        .map((name) -> beanFactory.getBean(name, ElectionService.class))
        .toList();
    return new ElectionLifecycle(beanFactory.getBean(ElectionDriver.class), services);
  }
}
