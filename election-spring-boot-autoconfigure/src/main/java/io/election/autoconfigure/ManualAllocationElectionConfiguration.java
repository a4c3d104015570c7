package io.election.autoconfigure;

import io.election.ElectionService;
import io.election.ManualAllocationElectionService;
import io.election.Names;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
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

  private static final String LEADER_ID = "as.election.manual.leader-id";

  @Bean
  ElectionBackend manualAllocationElectionBackend(
      ElectionProperties properties,
      Environment environment,
      TrackedLeaderWork work,
      ApplicationEventPublisher events) {
    return new Backend(
        requireLeaderId(properties.manual().leaderId()),
        new LocalNode(environment, properties.nodeId()),
        work,
        properties.drainTimeout(environment),
        events);
  }

  private static String requireLeaderId(@Nullable String leaderId) {
    String remedy =
        "write the node id, host:port, host name or IP address of the node that should lead, the same on all nodes";
    if (leaderId == null) {
      throw new InvalidConfigurationPropertyValueException(
          LEADER_ID, null, "as.election.algorithm=ManualAllocation needs it; " + remedy);
    }
    String problem = Names.problem(leaderId);
    if (problem != null) {
      throw new InvalidConfigurationPropertyValueException(
          LEADER_ID, leaderId, "it " + problem + "; " + remedy);
    }
    return leaderId;
  }

  private static final class Backend implements ElectionBackend {

    private final String leaderId;

    private final LocalNode node;

    private final TrackedLeaderWork work;

    private final Duration drainTimeout;

    private final ApplicationEventPublisher events;

    private List<ManualAllocationElectionService> services = List.of();

    Backend(
        String leaderId,
        LocalNode node,
        TrackedLeaderWork work,
        Duration drainTimeout,
        ApplicationEventPublisher events) {
      this.leaderId = leaderId;
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
      return new ManualAllocationElectionService(
          serviceId,
          this.leaderId,
          this.node::id,
          this.node::isMeantBy,
          this.work.before(this.events::publishEvent),
          InstantSource.system());
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
