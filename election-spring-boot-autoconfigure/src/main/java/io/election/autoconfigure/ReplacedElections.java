package io.election.autoconfigure;

import io.election.ElectionService;
import java.util.Arrays;
import java.util.List;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;

/**
 * Removes the beans that drive the elections if a test has replaced all elections, for instance by
 * {@code @MockitoBean}, which takes effect after the conditions. Such a test needs no database.
 *
 * <p>Has no order, so that it runs after the processor of Spring's test context.
 */
final class ReplacedElections implements BeanFactoryPostProcessor {

  private static final List<String> DRIVING = List.of(
      "electionLifecycle",
      "leaseElectionBackend",
      "manualAllocationElectionBackend",
      "jointLeaseStore",
      "disabledElectionBackend",
      "elector",
      "mysqlLeaseStore",
      "postgresqlLeaseStore",
      "zookeeperLeaseStore",
      "etcdLeaseStore",
      "electionDatabases",
      "commitFenceInstaller",
      "fencedCalls",
      "electionMetrics",
      "electionHealthIndicator");

  @Override
  public void postProcessBeanFactory(ConfigurableListableBeanFactory beanFactory) {
    String[] services = beanFactory.getBeanNamesForType(ElectionService.class, true, false);
    // At this early stage the only singletons are those that replace a definition.
    if (beanFactory.containsBeanDefinition("electionLifecycle")
        && Arrays.stream(services)
            .filter((name) -> !PartBeans.contains(beanFactory, name))
            .allMatch(beanFactory::containsSingleton)
        && beanFactory instanceof BeanDefinitionRegistry registry) {
      DRIVING.stream()
          .filter(registry::containsBeanDefinition)
          .forEach(registry::removeBeanDefinition);
    }
  }
}
