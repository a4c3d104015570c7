package io.election.autoconfigure;

import io.election.ElectionService;
import java.util.Collection;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.core.env.Environment;

/** Configuration without an election: this process counts as leader. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnElectionSetting(value = "as.election.enabled", on = false)
@ConditionalOnMissingBean(ElectionService.class)
@Import(ElectionServicesRegistrar.class)
class DisabledElectionConfiguration {

  private static final Logger log = LoggerFactory.getLogger(DisabledElectionConfiguration.class);

  @Bean
  ElectionBackend disabledElectionBackend(
      ElectionProperties properties,
      Environment environment,
      TrackedLeaderWork work,
      ApplicationEventPublisher events) {
    log.warn(
        "leader election is disabled by as.election.enabled=false: this process counts as leader, regardless of others");
    LocalNode node = new LocalNode(environment, properties.nodeId(), HostName.LOCAL::unasked);
    return new Backend(node, work, events);
  }

  private static final class Backend implements ElectionBackend {

    private final LocalNode node;

    private final TrackedLeaderWork work;

    private final ApplicationEventPublisher events;

    private List<DisabledElectionService> services = List.of();

    Backend(LocalNode node, TrackedLeaderWork work, ApplicationEventPublisher events) {
      this.node = node;
      this.work = work;
      this.events = events;
    }

    @Override
    public String algorithm() {
      return "Disabled";
    }

    @Override
    public ElectionService create(String serviceId) {
      return new DisabledElectionService(
          serviceId, this.node::id, this.work.before(this.events::publishEvent));
    }

    @Override
    public void start(Collection<ElectionService> services) {
      this.node.lookedUp();
      this.services = services.stream()
          .filter(DisabledElectionService.class::isInstance)
          .map(DisabledElectionService.class::cast)
          .toList();
      this.services.forEach(DisabledElectionService::start);
    }

    @Override
    public void stop() {
      this.services.forEach(DisabledElectionService::stop);
    }
  }
}
