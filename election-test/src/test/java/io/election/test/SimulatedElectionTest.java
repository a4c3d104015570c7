package io.election.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.Leadership;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipEvent;
import io.election.LeadershipLostEvent;
import io.election.test.SimulatedElection.Node;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class SimulatedElectionTest {

  private static final Duration LEASE = Duration.ofSeconds(10);

  private static final Duration RENEW_INTERVAL = Duration.ofSeconds(2);

  private final List<LeadershipEvent> events = new ArrayList<>();

  private final SimulatedElection election = new SimulatedElection("billing", LEASE);

  private final Node a = this.election.join("a", this.events::add);

  private final Node b = this.election.join("b", this.events::add);

  @Test
  void theFirstNodeLeadsAfterOneLeaseAndNotBefore() {
    this.election.advance(LEASE.minusNanos(1));
    assertThat(this.a.election().isLeader()).isFalse();
    this.election.advance(Duration.ofNanos(1));
    assertThat(this.a.election().isLeader()).isTrue();
    assertThat(this.b.election().isLeader()).isFalse();
    this.election.advance(RENEW_INTERVAL);
    assertThat(this.b.election().leaderId()).contains("a");
    assertThat(this.events)
        .containsExactly(
            new LeadershipAcquiredEvent("billing", "a", 1, LeadershipAcquiredEvent.Reason.CREATED));
  }

  /** Follows the example in docs/testing.md step by step. */
  @Test
  void theExampleOfTheDocumentationHolds() {
    this.election.advance(Duration.ofSeconds(10));
    assertThat(this.a.election().isLeader()).isTrue();
    this.a.pause();
    this.election.advance(Duration.ofSeconds(12));
    assertThat(this.b.election().isLeader()).isTrue();
    this.a.resume();
    this.b.stop();
    this.election.advance(Duration.ofMillis(3200));
    assertThat(this.a.election().isLeader()).isTrue();
  }

  @Test
  void aLeaderStaysForHours() {
    this.election.advance(LEASE);
    this.election.advance(Duration.ofHours(3));
    assertThat(this.a.election().leadership()).map(Leadership::term).contains(1L);
    assertThat(this.events).hasSize(1);
  }

  @Test
  void anotherLeadsWithinALeaseAndARenewIntervalAfterTheLeaderDied() {
    this.election.advance(LEASE);
    this.a.pause();
    Duration waited = Duration.ZERO;
    while (!this.b.election().isLeader()) {
      Duration tick = Duration.ofMillis(10);
      this.election.advance(tick);
      waited = waited.plus(tick);
      assertThat(this.a.election().isLeader() && this.b.election().isLeader()).isFalse();
      assertThat(waited).isLessThanOrEqualTo(LEASE.plus(RENEW_INTERVAL));
    }
    assertThat(waited).isGreaterThan(LEASE.minus(RENEW_INTERVAL));
    assertThat(this.b.election().leadership()).map(Leadership::term).contains(2L);
  }

  @Test
  void aNodeThatWakesAfterItsLeaseDoesNotLead() {
    this.election.advance(LEASE);
    this.a.pause();
    this.election.advance(LEASE.plus(RENEW_INTERVAL));
    assertThat(this.a.election().isLeader()).isFalse();
    assertThat(this.events).hasSize(2);
    this.a.resume();
    assertThat(this.events)
        .last()
        .isEqualTo(new LeadershipLostEvent("billing", "a", 1, LeadershipLostEvent.Reason.EXPIRED));
    assertThat(this.a.election().leaderId()).contains("b");
    this.election.advance(LEASE.multipliedBy(3));
    assertThat(this.b.election().isLeader()).isTrue();
  }

  @Test
  void aStopHandsBack() {
    this.election.advance(LEASE);
    this.a.stop();
    assertThat(this.a.election().isLeader()).isFalse();
    this.election.advance(RENEW_INTERVAL.multipliedBy(2));
    assertThat(this.events)
        .endsWith(
            new LeadershipLostEvent("billing", "a", 1, LeadershipLostEvent.Reason.STOPPED),
            new LeadershipAcquiredEvent(
                "billing", "b", 2, LeadershipAcquiredEvent.Reason.RELEASED));
  }

  @Test
  void theDesignatedNodeLeadsWithinARenewInterval() throws Exception {
    this.election.advance(LEASE);
    this.a.election().designate("b");
    this.election.advance(RENEW_INTERVAL.multipliedBy(2));
    assertThat(this.b.election().isLeader()).isTrue();
    this.a.election().forceElection();
    this.election.advance(RENEW_INTERVAL.multipliedBy(3));
    assertThat(this.a.election().isLeader()).isTrue();
  }

  @Test
  void anAttemptIsMadeAtOnce() throws Exception {
    this.election.advance(LEASE);
    this.a.stop();
    this.b.election().becomeLeader();
    assertThat(this.b.election().isLeader()).isTrue();
  }

  @Test
  void theSameHappensEachTime() {
    assertThat(story()).isEqualTo(story()).hasSizeGreaterThan(10);
  }

  private static List<String> story() {
    List<String> story = new ArrayList<>();
    SimulatedElection election = new SimulatedElection("story", LEASE);
    List<Node> nodes = new ArrayList<>();
    for (String id : List.of("a", "b", "c")) {
      nodes.add(election.join(id, (event) -> story.add(event.toString())));
    }
    for (int i = 0; i < 30; i++) {
      election.advance(Duration.ofMillis(7_777));
      Node node = nodes.get(i % 3);
      if (i % 2 == 0) {
        node.pause();
      } else {
        nodes.forEach(Node::resume);
        node.election().lostLeader();
      }
      story.add(nodes.stream().map((n) -> n.election().leaderId()).toList().toString());
    }
    return story;
  }

  @Test
  void aLeaseThatCannotBeUsedIsRefused() {
    assertThatThrownBy(() -> new SimulatedElection("billing", Duration.ofHours(2)))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> new SimulatedElection("billing", Duration.ofMillis(9)))
        .isInstanceOf(IllegalArgumentException.class);
  }
}
