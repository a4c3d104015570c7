package io.election.autoconfigure;

import io.election.ElectionService;
import io.election.lease.Elector;
import io.election.lease.LeaseElectionService;
import io.election.lease.LeaseSettings;
import io.election.lease.LeaseStore;
import io.election.lease.Precedence;
import io.election.lease.RenewalListener;
import io.election.lease.StandingCondition;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Collection;
import java.util.Objects;
import java.util.Optional;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.core.env.Environment;

/** Elections by a lease in the {@link LeaseStore} bean that the configuration names. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnElectionSetting("as.election.enabled")
@Conditional(OnLeaseStoreCondition.class)
@ConditionalOnMissingBean(ElectionService.class)
@Import(ElectionServicesRegistrar.class)
class LeaseElectionConfiguration {

  @Bean
  LeaseSettings electionLeaseSettings(ElectionProperties properties, Environment environment) {
    return StoreSettings.lease(properties, environment);
  }

  /**
   * Keeps the context from closing the store. The elector closes it, and may still use it for a
   * while after the context is closed.
   */
  @Bean
  static BeanFactoryPostProcessor electorClosesLeaseStore(Environment environment) {
    return (beanFactory) -> Optional.ofNullable(
            ElectionAlgorithm.of(environment).storeBean(beanFactory))
        .filter(beanFactory::containsBeanDefinition)
        .map(beanFactory::getBeanDefinition)
        .ifPresent((store) -> store.setDestroyMethodName(""));
  }

  /** Only the backend's life cycle decides when the elector and its services start and stop. */
  @Bean
  Elector elector(
      ListableBeanFactory beanFactory,
      LeaseSettings settings,
      ElectionProperties properties,
      Environment environment,
      TrackedLeaderWork work,
      ObjectProvider<Precedence> precedence,
      ApplicationEventPublisher events) {
    LocalNode node = new LocalNode(environment, properties.nodeId());
    Elector elector = new Elector(
        store(ElectionAlgorithm.of(environment), beanFactory),
        settings,
        () -> node.lookedUp().id(),
        work,
        events::publishEvent,
        System::nanoTime,
        InstantSource.system(),
        StandingCondition.of(StoreSettings.precedence(properties, precedence)));
    work.onEnd(elector::wakeUp);
    return elector;
  }

  @Bean
  ElectionBackend leaseElectionBackend(
      Elector elector,
      LeaseSettings settings,
      Environment environment,
      ListableBeanFactory beanFactory) {
    ElectionAlgorithm algorithm = ElectionAlgorithm.of(environment);
    return new Backend(
        algorithm.name(), store(algorithm, beanFactory).name(), elector, settings.leaseDuration());
  }

  private static LeaseStore store(ElectionAlgorithm algorithm, ListableBeanFactory beanFactory) {
    String beanName = Objects.requireNonNull(algorithm.storeBean(beanFactory));
    return beanFactory.getBean(beanName, LeaseStore.class);
  }

  private record Backend(String algorithm, String memberAlgorithm, Elector elector, Duration lease)
      implements ElectionBackend {

    @Override
    public ElectionService create(String serviceId) {
      return new LeaseElectionService(serviceId, this.elector);
    }

    @Override
    public Optional<String> problem() {
      return this.elector
          .storeHealth()
          .flatMap((health) -> StoreProblem.of("the store", health, this.lease))
          .map(StoreProblem::text);
    }

    @Override
    public boolean onRenewal(RenewalListener listener) {
      this.elector.onRenewal(listener);
      return true;
    }

    @Override
    public void start(Collection<ElectionService> services) {
      this.elector.start(services.stream()
          .filter(LeaseElectionService.class::isInstance)
          .map(LeaseElectionService.class::cast)
          .toList());
    }

    @Override
    public void stop() {
      this.elector.stop();
    }
  }
}
