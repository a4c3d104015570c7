package io.election.autoconfigure.joint;

import io.election.ElectionService;
import io.election.autoconfigure.ElectionAutoConfiguration;
import io.election.autoconfigure.PartBeans;
import io.election.autoconfigure.settings.ConditionalOnElectionSetting;
import io.election.autoconfigure.settings.ElectionAlgorithm;
import java.util.List;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.HierarchicalBeanFactory;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotationMetadata;

/**
 * Marks the services of the application that a list names, before the conditions of other
 * auto-configurations take one of them for the election.
 */
@AutoConfiguration(
    before = ElectionAutoConfiguration.class,
    beforeName = {
      "io.election.autoconfigure.etcd.EtcdElectionAutoConfiguration",
      "io.election.autoconfigure.jdbc.JdbcElectionAutoConfiguration",
      "io.election.autoconfigure.zookeeper.ZookeeperElectionAutoConfiguration"
    })
@Conditional(OnListCondition.class)
@Import(ElectionPartsAutoConfiguration.Registrar.class)
public final class ElectionPartsAutoConfiguration {

  ElectionPartsAutoConfiguration() {}

  /** Checks the list, so that nothing is created for a bad one. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnElectionSetting("as.election.enabled")
  @Import(Check.class)
  static class CheckConfiguration {

    /** A service that a list misnames would replace the election, and its list would be ignored. */
    @Bean
    static BeanFactoryPostProcessor electionOfUnknownParts(Environment environment) {
      return (beanFactory) -> ListedPart.services(beanFactory).stream()
          .filter(
              (name) -> !PartBeans.contains(beanFactory, name) && !ListedPart.isOfElection(name))
          .findFirst()
          .ifPresent((name) -> ListedPart.refuseUnknown(environment, beanFactory, name));
    }
  }

  static final class Check implements ImportBeanDefinitionRegistrar {

    private final Environment environment;

    Check(Environment environment) {
      this.environment = environment;
    }

    @Override
    public void registerBeanDefinitions(
        AnnotationMetadata importingClass, BeanDefinitionRegistry registry) {
      List<String> names = ElectionAlgorithm.names(this.environment);
      ListedPart.check(names);
      if (registry instanceof HierarchicalBeanFactory beanFactory
          && beanFactory.getParentBeanFactory() instanceof ListableBeanFactory parent) {
        refuseServicesOf(parent, names, registry);
      }
    }

    /** A service of a parent context would be the election itself, unless that context has a list. */
    private static void refuseServicesOf(
        ListableBeanFactory parent, List<String> names, BeanDefinitionRegistry registry) {
      String[] services = BeanFactoryUtils.beanNamesForTypeIncludingAncestors(
          parent, ElectionService.class, true, false);
      for (String name : services) {
        if (names.contains(name)
            && !registry.containsBeanDefinition(name)
            && !PartBeans.contains(parent, name)) {
          throw ListedPart.invalid(
              names,
              "its part '%s' is a bean of a parent context; define the bean in the context that has this election"
                  .formatted(name));
        }
      }
    }
  }

  /** Marks beans even if the election is disabled: a part is not an election then either. */
  static final class Registrar implements ImportBeanDefinitionRegistrar {

    private final Environment environment;

    Registrar(Environment environment) {
      this.environment = environment;
    }

    @Override
    public void registerBeanDefinitions(
        AnnotationMetadata importingClass, BeanDefinitionRegistry registry) {
      if (registry instanceof ListableBeanFactory beanFactory) {
        List<String> listed = ElectionAlgorithm.names(this.environment);
        for (String name : ListedPart.services(beanFactory)) {
          if (listed.contains(name) && registry.containsBeanDefinition(name)) {
            PartBeans.mark(registry.getBeanDefinition(name));
          }
        }
      }
    }
  }
}
