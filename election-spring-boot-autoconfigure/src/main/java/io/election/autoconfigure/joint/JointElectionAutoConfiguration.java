package io.election.autoconfigure.joint;

import io.election.ElectionService;
import io.election.autoconfigure.ElectionAutoConfiguration;
import io.election.autoconfigure.ManualAllocation;
import io.election.autoconfigure.PartBeans;
import io.election.autoconfigure.joint.ListedPart.Kind;
import io.election.autoconfigure.settings.ConditionalOnElectionSetting;
import io.election.autoconfigure.settings.ElectionAlgorithm;
import io.election.autoconfigure.settings.ElectionNames;
import io.election.autoconfigure.settings.ElectionProperties;
import io.election.autoconfigure.settings.LocalNode;
import io.election.store.JointLeaseStore;
import io.election.store.LeaseSettings;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.core.env.Environment;
import org.springframework.scheduling.concurrent.CustomizableThreadFactory;

/**
 * Auto-configuration of the store that is a list of parts, all of which a leader must hold. The
 * elections over it are those over any other store.
 */
@AutoConfiguration(
    before = ElectionAutoConfiguration.class,
    afterName = {
      "io.election.autoconfigure.etcd.EtcdElectionAutoConfiguration",
      "io.election.autoconfigure.jdbc.JdbcElectionAutoConfiguration",
      "io.election.autoconfigure.zookeeper.ZookeeperElectionAutoConfiguration"
    })
@ConditionalOnElectionSetting("as.election.enabled")
@Conditional(OnListCondition.class)
@ConditionalOnMissingBean(ElectionService.class)
@EnableConfigurationProperties(ElectionProperties.class)
public final class JointElectionAutoConfiguration {

  JointElectionAutoConfiguration() {}

  /**
   * Checks the parts before any of them is created, marks those that are services, and keeps the
   * context from closing the stores: the list closes them.
   */
  @Bean
  static BeanFactoryPostProcessor electionParts(Environment environment) {
    return (beanFactory) -> {
      List<ListedPart> parts = ListedPart.all(environment, beanFactory);
      refuseFurtherElections(parts, environment);
      for (ListedPart part : parts) {
        if (beanFactory.containsBeanDefinition(part.beanName())) {
          BeanDefinition definition = beanFactory.getBeanDefinition(part.beanName());
          if (part.kind() == Kind.SERVICE) {
            PartBeans.mark(definition);
          } else {
            definition.setDestroyMethodName("");
          }
        }
      }
    };
  }

  private static void refuseFurtherElections(List<ListedPart> parts, Environment environment) {
    List<String> further = ElectionNames.from(environment).further();
    parts.stream()
        .filter((part) -> part.kind() == Kind.SERVICE && !further.isEmpty())
        .findFirst()
        .ifPresent((part) -> {
          throw new InvalidConfigurationPropertyValueException(
              "as.election.services",
              String.join(", ", further),
              "part '%s' of as.election.algorithm is a bean, which serves one election alone; remove these elections, or that part"
                  .formatted(part.name()));
        });
  }

  @Bean(ElectionAlgorithm.LIST_BEAN)
  JointLeaseStore jointLeaseStore(
      ListableBeanFactory beanFactory,
      LeaseSettings settings,
      LocalNode node,
      ElectionProperties properties,
      Environment environment) {
    JointParts parts = new JointParts(
        ListedPart.all(environment, beanFactory),
        beanFactory,
        environment,
        () -> new ManualAllocation(properties, node),
        node);
    return JointLeaseStore.of(parts.all(), settings, node::id, System::nanoTime, threads());
  }

  /** Daemon threads, which exist only while there is a part to ask. */
  private static Executor threads() {
    CustomizableThreadFactory threads = new CustomizableThreadFactory("election-parts-");
    threads.setDaemon(true);
    return Executors.newCachedThreadPool(threads);
  }
}
