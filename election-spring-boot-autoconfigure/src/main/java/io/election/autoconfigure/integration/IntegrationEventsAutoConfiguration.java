package io.election.autoconfigure.integration;

import io.election.ElectionRegistry;
import io.election.ElectionService;
import io.election.LeaderBound;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipEvent;
import io.election.autoconfigure.ElectionAutoConfiguration;
import io.election.autoconfigure.settings.ElectionProperties;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.event.EventListener;
import org.springframework.integration.leader.Context;
import org.springframework.integration.leader.event.OnGrantedEvent;
import org.springframework.integration.leader.event.OnRevokedEvent;

/**
 * Publishes changes of leadership as Spring Integration's events too, with the name of the election
 * as the role, for endpoints that its role controller starts and stops.
 *
 * <p>The controller hears of a loss when the leadership is over, and nobody waits for the end of
 * its stop: two nodes may run an endpoint at once. {@link LeaderBound} beans do not overlap.
 */
@AutoConfiguration(after = ElectionAutoConfiguration.class)
@ConditionalOnClass(OnGrantedEvent.class)
@ConditionalOnBean({ElectionRegistry.class, ElectionProperties.class})
public final class IntegrationEventsAutoConfiguration {

  private final ElectionRegistry elections;

  private final boolean publishes;

  private final ApplicationEventPublisher events;

  IntegrationEventsAutoConfiguration(
      ElectionRegistry elections, ElectionProperties properties, ApplicationEventPublisher events) {
    this.elections = elections;
    this.publishes = properties.integrationEvents();
    this.events = events;
  }

  @EventListener
  void on(LeadershipEvent event) {
    ElectionService election = this.elections.all().get(event.serviceId());
    if (this.publishes && election != null) {
      String role = event.serviceId();
      Context context = new RoleContext(role, election);
      this.events.publishEvent(
          event instanceof LeadershipAcquiredEvent
              ? new OnGrantedEvent(this, context, role)
              : new OnRevokedEvent(this, context, role));
    }
  }

  private record RoleContext(String role, ElectionService election) implements Context {

    @Override
    public boolean isLeader() {
      return this.election.isLeader();
    }

    @Override
    public void yield() {
      this.election.lostLeader();
    }

    @Override
    public String getRole() {
      return this.role;
    }
  }
}
