package io.election.autoconfigure;

import io.election.ElectionOperations;
import io.election.ElectionService;
import io.election.ManualAllocationElectionService;
import io.election.autoconfigure.settings.ConditionalOnElectionAlgorithm;
import io.election.autoconfigure.settings.ConditionalOnElectionSetting;
import io.election.autoconfigure.settings.ElectionAlgorithm;
import io.election.autoconfigure.settings.ElectionProperties;
import io.election.autoconfigure.settings.LocalNode;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Collection;
import java.util.List;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.core.env.Environment;

/** Elections that the configuration decides. */
final class FixedElectionConfiguration {

  private static final Logger log = LoggerFactory.getLogger(FixedElectionConfiguration.class);

  private FixedElectionConfiguration() {}

  /** Configuration without an election: this process counts as leader. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnElectionSetting(value = "as.election.enabled", on = false)
  @ConditionalOnMissingBean(ElectionService.class)
  @Import(ElectionServicesRegistrar.class)
  static class Disabled {

    @Bean
    ElectionBackend disabledElectionBackend(
        ElectionProperties properties,
        Environment environment,
        TrackedLeaderWork work,
        ApplicationEventPublisher events) {
      if (properties.enabled()) {
        log.info(
            "this is a test whose database is in memory: there is no election, and this process counts as leader. as.election.algorithm or as.election.enabled=true changes that");
      } else {
        log.warn(
            "leader election is disabled by as.election.enabled=false: this process counts as leader, regardless of others");
      }
      LocalNode node = LocalNode.ofDisabled(environment, properties.nodeId());
      return new Backend(
          "Disabled",
          node,
          (serviceId) -> ManualAllocationElectionService.disabled(
              serviceId, node::id, work.before(events::publishEvent), InstantSource.system()));
    }
  }

  /** Elections whose leader is named by the configuration. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnElectionAlgorithm(ElectionAlgorithm.MANUAL_ALLOCATION)
  @ConditionalOnMissingBean(ElectionService.class)
  @Import(ElectionServicesRegistrar.class)
  static class Allocated {

    @Bean
    ElectionBackend manualAllocationElectionBackend(
        ElectionProperties properties,
        Environment environment,
        TrackedLeaderWork work,
        ApplicationEventPublisher events) {
      LocalNode node = new LocalNode(environment, properties.nodeId());
      ManualAllocation allocation = new ManualAllocation(properties, node);
      Duration drainTimeout = properties.drainTimeout(environment);
      return new Backend(
          ElectionAlgorithm.MANUAL_ALLOCATION,
          node,
          (serviceId) -> allocation.service(serviceId, work.before(events::publishEvent))) {

        @Override
        public void stop() {
          super.stop();
          work.awaitEnd(drainTimeout);
          this.services.forEach((service) -> work.onLeaseOver(service.serviceId(), 0));
        }
      };
    }
  }

  private static class Backend implements ElectionBackend {

    private final String algorithm;

    private final LocalNode node;

    private final Function<String, ManualAllocationElectionService> creates;

    List<ManualAllocationElectionService> services = List.of();

    Backend(
        String algorithm,
        LocalNode node,
        Function<String, ManualAllocationElectionService> creates) {
      this.algorithm = algorithm;
      this.node = node;
      this.creates = creates;
    }

    @Override
    public String algorithm() {
      return this.algorithm;
    }

    @Override
    public ElectionOperations create(String serviceId) {
      return this.creates.apply(serviceId);
    }

    @Override
    public void start(Collection<ElectionService> services) {
      this.node.lookedUp();
      this.services = services.stream()
          .filter(ManualAllocationElectionService.class::isInstance)
          .map(ManualAllocationElectionService.class::cast)
          .toList();
      this.services.forEach(ManualAllocationElectionService::start);
    }

    @Override
    public void stop() {
      this.services.forEach(ManualAllocationElectionService::stop);
    }
  }
}
