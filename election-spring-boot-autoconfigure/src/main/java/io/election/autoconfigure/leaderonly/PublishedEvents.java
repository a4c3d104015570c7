package io.election.autoconfigure.leaderonly;

import io.election.LeadershipEvent;
import io.election.LeadershipLostEvent;
import org.springframework.context.event.EventListener;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/** Notifies leader work of an application's own elections, which report changes only by events. */
final class PublishedEvents {

  private final LeaderOnlyCalls calls;

  PublishedEvents(LeaderOnlyCalls calls) {
    this.calls = calls;
  }

  /** Ordered before listeners that may take long. */
  @Order(Ordered.HIGHEST_PRECEDENCE)
  @EventListener
  void on(LeadershipEvent event) {
    this.calls.onChange(event);
    if (event instanceof LeadershipLostEvent lost) {
      this.calls.onLeaseOver(lost.serviceId(), lost.term());
    }
  }
}
