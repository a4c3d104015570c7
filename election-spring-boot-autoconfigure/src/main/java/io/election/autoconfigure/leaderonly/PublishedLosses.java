package io.election.autoconfigure.leaderonly;

import io.election.LeadershipLostEvent;
import org.springframework.context.event.EventListener;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/** Interrupts calls of an application's own elections, whose losses are reported only by events. */
final class PublishedLosses {

  private final LeaderOnlyCalls calls;

  PublishedLosses(LeaderOnlyCalls calls) {
    this.calls = calls;
  }

  /** Ordered before listeners that may take long. */
  @Order(Ordered.HIGHEST_PRECEDENCE)
  @EventListener
  void on(LeadershipLostEvent event) {
    this.calls.onLeaseOver(event.serviceId(), event.term());
  }
}
