package io.election.autoconfigure.joint;

import io.election.ElectionService;
import io.election.autoconfigure.ConditionalOnElectionSetting;
import io.election.autoconfigure.ElectionAutoConfiguration;
import io.election.autoconfigure.ElectionBackend;
import io.election.autoconfigure.ElectionNames;
import io.election.autoconfigure.ElectionProperties;
import io.election.autoconfigure.ElectionServicesRegistrar;
import io.election.autoconfigure.LocalNode;
import io.election.autoconfigure.ManualAllocation;
import io.election.autoconfigure.PartBeans;
import io.election.autoconfigure.StoreSettings;
import io.election.autoconfigure.TrackedLeaderWork;
import io.election.autoconfigure.joint.ListedPart.Kind;
import io.election.joint.JointElector;
import io.election.lease.LeaseSettings;
import io.election.lease.Precedence;
import java.time.InstantSource;
import java.util.List;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Import;
import org.springframework.core.env.Environment;

/** Auto-configuration of elections by a list of parts, all of which a leader must hold. */
@AutoConfiguration(
    before = ElectionAutoConfiguration.class,
    afterName = {
      "io.election.autoconfigure.etcd.EtcdElectionAutoConfiguration",
      "io.election.autoconfigure.mysql.MysqlElectionAutoConfiguration",
      "io.election.autoconfigure.zookeeper.ZookeeperElectionAutoConfiguration"
    })
@ConditionalOnElectionSetting("as.election.enabled")
@Conditional(OnListCondition.class)
@ConditionalOnMissingBean(ElectionService.class)
@EnableConfigurationProperties(ElectionProperties.class)
@Import(ElectionServicesRegistrar.class)
public final class JointElectionAutoConfiguration {

  JointElectionAutoConfiguration() {}

  @Bean
  LeaseSettings electionLeaseSettings(ElectionProperties properties, Environment environment) {
    return StoreSettings.lease(properties, environment);
  }

  /**
   * Checks the parts before any of them is created, marks those that are services, and keeps the
   * context from closing the stores: their electors close them.
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

  @Bean
  ElectionBackend jointElectionBackend(
      ListableBeanFactory beanFactory,
      LeaseSettings settings,
      ElectionProperties properties,
      Environment environment,
      TrackedLeaderWork work,
      ObjectProvider<Precedence> precedence,
      ApplicationEventPublisher events) {
    LocalNode node = new LocalNode(environment, properties.nodeId());
    PartSources sources = new PartSources(
        ListedPart.all(environment, beanFactory),
        beanFactory,
        () -> new ManualAllocation(properties, node),
        work);
    JointElector elector = new JointElector(
        sources.all(),
        settings,
        () -> node.lookedUp().id(),
        work,
        events::publishEvent,
        System::nanoTime,
        InstantSource.system(),
        StoreSettings.precedence(properties, precedence));
    work.onEnd(elector::wakeUp);
    return new JointElectionBackend(sources.names(), sources, elector, settings.leaseDuration());
  }
}
