package io.election.autoconfigure;

import io.election.ElectionService;
import io.election.lease.Elector;
import io.election.lease.InvalidLeaseSettingException;
import io.election.lease.LeaseElectionService;
import io.election.lease.LeaseSettings;
import io.election.lease.LeaseStore;
import io.election.lease.StoreHealth;
import java.time.Duration;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.Collection;
import java.util.Objects;
import java.util.Optional;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.boot.convert.DurationStyle;
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
    try {
      return new LeaseSettings(
          properties.leaseDuration(),
          properties.renewInterval(),
          properties.operationTimeout(),
          properties.drainTimeout(environment),
          properties.eligible(),
          properties.historyRetention());
    } catch (InvalidLeaseSettingException ex) {
      String name = "as.election." + ex.setting();
      Object written = InvalidElectionPropertyFailureAnalyzer.asWritten(environment, name);
      throw new InvalidConfigurationPropertyValueException(
          name, written != null ? written : text(ex.value()), ex.rule(), ex);
    }
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
      ApplicationEventPublisher events) {
    String store = Objects.requireNonNull(ElectionAlgorithm.of(environment).storeBean(beanFactory));
    LocalNode node = new LocalNode(environment, properties.nodeId());
    Elector elector = new Elector(
        beanFactory.getBean(store, LeaseStore.class),
        settings,
        () -> node.lookedUp().id(),
        work,
        events::publishEvent,
        System::nanoTime,
        InstantSource.system());
    work.onEnd(elector::wakeUp);
    return elector;
  }

  @Bean
  ElectionBackend leaseElectionBackend(
      Elector elector, LeaseSettings settings, Environment environment) {
    return new Backend(ElectionAlgorithm.of(environment).name(), elector, settings.leaseDuration());
  }

  /** A default in the notation of the configuration. */
  private static String text(Duration duration) {
    return DurationStyle.SIMPLE.print(
        duration, duration.toMillisPart() == 0 ? ChronoUnit.SECONDS : ChronoUnit.MILLIS);
  }

  private record Backend(String algorithm, Elector elector, Duration lease)
      implements ElectionBackend {

    @Override
    public ElectionService create(String serviceId) {
      return new LeaseElectionService(serviceId, this.elector);
    }

    /**
     * Reports a failure only after it has lasted longer than a lease; a shorter one affects nobody.
     */
    @Override
    public Optional<String> problem() {
      return this.elector.storeHealth().flatMap(this::problem);
    }

    private Optional<String> problem(StoreHealth health) {
      if (health.silence().compareTo(this.lease) > 0) {
        return Optional.of("No answer from the store for %d s. %s"
            .formatted(
                health.silence().toSeconds(),
                health.failure() != null ? health.failure() : "A call to it has not returned."));
      }
      return health.failing().compareTo(this.lease) > 0
          ? Optional.of("The store answers, but some calls have failed for %d s. %s"
              .formatted(health.failing().toSeconds(), health.failure()))
          : Optional.empty();
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
