package io.election.autoconfigure;

import io.election.ElectionService;
import io.election.ManualAllocationElectionService;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.core.env.Environment;

/** Elections whose leader is named by the configuration. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnElectionAlgorithm(ElectionAlgorithm.MANUAL_ALLOCATION)
@ConditionalOnMissingBean(ElectionService.class)
@Import(ElectionServicesRegistrar.class)
class ManualAllocationElectionConfiguration {

  @Bean
  ElectionBackend manualAllocationElectionBackend(
      ElectionProperties properties,
      Environment environment,
      TrackedLeaderWork work,
      ApplicationEventPublisher events) {
    LocalNode node = new LocalNode(environment, properties.nodeId());
    return new Backend(
        new ManualAllocation(properties, node),
        node,
        work,
        properties.drainTimeout(environment),
        events);
  }

  private static final class Backend implements ElectionBackend {

    private final ManualAllocation allocation;

    private final LocalNode node;

    private final TrackedLeaderWork work;

    private final Duration drainTimeout;

    private final ApplicationEventPublisher events;

    private List<ManualAllocationElectionService> services = List.of();

    Backend(
        ManualAllocation allocation,
        LocalNode node,
        TrackedLeaderWork work,
        Duration drainTimeout,
        ApplicationEventPublisher events) {
      this.allocation = allocation;
      this.node = node;
      this.work = work;
      this.drainTimeout = drainTimeout;
      this.events = events;
    }

    @Override
    public String algorithm() {
      return ElectionAlgorithm.MANUAL_ALLOCATION;
    }

    @Override
    public ElectionService create(String serviceId) {
      return this.allocation.service(serviceId, this.work.before(this.events::publishEvent));
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
      this.work.awaitEnd(this.drainTimeout);
      this.services.forEach((service) -> this.work.onLeaseOver(service.serviceId(), 0));
    }
  }
}
