package io.election.autoconfigure;

import io.election.ElectionOperations;
import io.election.ElectionService;
import io.election.autoconfigure.settings.ConditionalOnElectionSetting;
import io.election.autoconfigure.settings.ElectionAlgorithm;
import io.election.autoconfigure.settings.ElectionProperties;
import io.election.autoconfigure.settings.LocalNode;
import io.election.autoconfigure.settings.StoreSettings;
import io.election.lease.Elector;
import io.election.lease.LeaseElectionService;
import io.election.lease.Precedence;
import io.election.lease.RenewalListener;
import io.election.store.JointLeaseStore;
import io.election.store.LeaseSettings;
import io.election.store.LeaseStore;
import io.election.store.StoreHealth;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Collection;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Collectors;
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

/** Elections by a lease in the {@link LeaseStore} bean that the configuration names, or by a list. */
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
            ElectionAlgorithm.storeBean(environment, beanFactory))
        .filter(beanFactory::containsBeanDefinition)
        .map(beanFactory::getBeanDefinition)
        .ifPresent((store) -> store.setDestroyMethodName(""));
  }

  @Bean
  LocalNode electionNode(Environment environment, ElectionProperties properties) {
    return new LocalNode(environment, properties.nodeId());
  }

  /** Only the backend's life cycle decides when the elector and its services start and stop. */
  @Bean
  Elector elector(
      ListableBeanFactory beanFactory,
      LeaseSettings settings,
      ElectionProperties properties,
      Environment environment,
      LocalNode node,
      TrackedLeaderWork work,
      ObjectProvider<Precedence> precedence,
      ApplicationEventPublisher events) {
    Elector elector = new Elector(
        store(environment, beanFactory),
        settings,
        () -> node.lookedUp().id(),
        work,
        events::publishEvent,
        System::nanoTime,
        InstantSource.system(),
        StoreSettings.precedence(properties, precedence));
    work.onEnd(elector::wakeUp);
    return elector;
  }

  @Bean
  ElectionBackend leaseElectionBackend(
      Elector elector,
      LeaseSettings settings,
      Environment environment,
      ListableBeanFactory beanFactory) {
    LeaseStore store = store(environment, beanFactory);
    List<String> names = ElectionAlgorithm.isNamed(environment)
        ? ElectionAlgorithm.names(environment)
        : List.of(ElectionAlgorithm.of(store.name()).name());
    return new Backend(names, store, elector, settings.leaseDuration());
  }

  private static LeaseStore store(Environment environment, ListableBeanFactory beanFactory) {
    String beanName = Objects.requireNonNull(ElectionAlgorithm.storeBean(environment, beanFactory));
    return beanFactory.getBean(beanName, LeaseStore.class);
  }

  /**
   * Runs the elections over a store.
   *
   * @param names the algorithm, or the parts of a list, as the configuration names them
   */
  private record Backend(List<String> names, LeaseStore store, Elector elector, Duration lease)
      implements ElectionBackend {

    @Override
    public String algorithm() {
      return String.join(ElectionAlgorithm.SEPARATOR, this.names);
    }

    @Override
    public String memberAlgorithm() {
      return this.store.name();
    }

    @Override
    public ElectionOperations create(String serviceId) {
      return new LeaseElectionService(serviceId, this.elector);
    }

    @Override
    public Optional<String> problem() {
      if (!(this.store instanceof JointLeaseStore)) {
        return this.elector
            .storeHealth()
            .flatMap((health) -> StoreProblem.of("the store", health, this.lease))
            .map(StoreProblem::text);
      }
      String problems = partProblems().values().stream()
          .flatMap(Optional::stream)
          .map(StoreProblem::text)
          .collect(Collectors.joining(" "));
      return problems.isEmpty() ? Optional.empty() : Optional.of(problems);
    }

    @Override
    public Map<String, String> parts() {
      Map<String, String> parts = new LinkedHashMap<>();
      partProblems()
          .forEach((name, problem) -> parts.put(
              name, problem.map((each) -> each.silent() ? "silent" : "failing").orElse("answers")));
      return parts;
    }

    /** Returns the problem with each part of a list; empty if it has none, or is not called. */
    private Map<String, Optional<StoreProblem>> partProblems() {
      Map<String, Optional<StoreProblem>> problems = new LinkedHashMap<>();
      if (this.store instanceof JointLeaseStore list) {
        Map<String, StoreHealth> health = list.health();
        Iterator<String> listed = list.names().iterator();
        for (String name : this.names) {
          StoreHealth each = health.get(listed.next());
          problems.put(
              name,
              each != null
                  ? StoreProblem.of("part '%s'".formatted(name), each, this.lease)
                  : Optional.empty());
        }
      }
      return problems;
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
