package io.election.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.AuditNote;
import io.election.ExpectedLeader;
import io.election.Leadership;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipEvent;
import io.election.LeadershipLostEvent;
import io.election.OtherLeaderException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class ScriptedElectionTest {

  private final List<LeadershipEvent> events = new ArrayList<>();

  private final ScriptedElection election = new ScriptedElection("billing", this.events::add);

  @Test
  void nobodyLeadsAtFirst() {
    assertThat(this.election.isLeader()).isFalse();
    assertThat(this.election.leadership()).isEmpty();
    assertThat(this.election.leaderId()).isEmpty();
    assertThat(this.election.term()).isEmpty();
    assertThat(this.election.serviceId()).isEqualTo("billing");
  }

  @Test
  void eachLeadershipHasAGreaterTerm() {
    this.election.lead();
    this.election.lead();
    assertThat(this.election.isLeader()).isTrue();
    assertThat(this.election.leadership()).map(Leadership::term).contains(1L);
    this.election.lose(LeadershipLostEvent.Reason.EXPIRED);
    this.election.lose(LeadershipLostEvent.Reason.EXPIRED);
    assertThat(this.election.isLeader()).isFalse();
    assertThat(this.election.term()).isEmpty();
    this.election.lead();
    assertThat(this.election.term()).hasValue(2);
    assertThat(this.events)
        .containsExactly(
            acquired(1, LeadershipAcquiredEvent.Reason.EXPIRED),
            lost(1, LeadershipLostEvent.Reason.EXPIRED),
            acquired(2, LeadershipAcquiredEvent.Reason.EXPIRED));
  }

  @Test
  void theTermsOfOtherNodesCountToo() {
    this.election.lead();
    this.election.follow("b");
    assertThat(this.election.isLeader()).isFalse();
    assertThat(this.election.leaderId()).contains("b");
    assertThat(this.election.term()).hasValue(2);
    this.election.follow("c");
    this.election.lead();
    assertThat(this.election.leadership()).map(Leadership::term).contains(4L);
    assertThat(this.events)
        .containsExactly(
            acquired(1, LeadershipAcquiredEvent.Reason.EXPIRED),
            lost(1, LeadershipLostEvent.Reason.DISPLACED),
            acquired(4, LeadershipAcquiredEvent.Reason.EXPIRED));
    assertThatThrownBy(() -> this.election.follow(ScriptedElection.THIS_NODE))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void theApplicationStandsAndStepsDownByItself() {
    this.election.becomeLeader();
    assertThat(this.election.isLeader()).isTrue();
    this.election.lostLeader();
    assertThat(this.election.isLeader()).isFalse();
    this.election.follow("b");
    this.election.becomeLeader();
    assertThat(this.election.isLeader()).isFalse();
    assertThat(this.events).last().isEqualTo(lost(1, LeadershipLostEvent.Reason.RESIGNED));
  }

  @Test
  void anOperatorDecidesAtOnce() {
    this.election.designate(ScriptedElection.THIS_NODE);
    this.election.designate("b");
    assertThat(this.election.leaderId()).contains("b");
    this.election.forceElection();
    assertThat(this.election.leaderId()).isEmpty();
    assertThat(this.events)
        .containsExactly(
            acquired(1, LeadershipAcquiredEvent.Reason.DESIGNATED),
            lost(1, LeadershipLostEvent.Reason.HANDED_OVER));
  }

  @Test
  void anElectionIsForcedOnlyIfTheExpectedNodeLeads() {
    AuditNote alice = new AuditNote("alice", "");
    this.election.follow("b");
    for (ExpectedLeader other :
        List.of(new ExpectedLeader("c", null), new ExpectedLeader("b", 2L))) {
      assertThatThrownBy(() -> this.election.forceElection(alice, other))
          .isInstanceOf(OtherLeaderException.class)
          .hasMessageContaining("is led by 'b' in term 1");
    }
    assertThat(this.election.leaderId()).contains("b");
    this.election.forceElection(alice, new ExpectedLeader("b", 1L));
    assertThat(this.election.leaderId()).isEmpty();
    assertThatThrownBy(() -> this.election.forceElection(alice, new ExpectedLeader(null, 1L)))
        .hasMessage("no node leads election 'billing' now");
  }

  @Test
  void theEventsOfAListenerThatDecidesFollowItsOwn() {
    List<LeadershipEvent> heard = new ArrayList<>();
    ScriptedElection[] self = new ScriptedElection[1];
    self[0] = new ScriptedElection("billing", (event) -> {
      if (event instanceof LeadershipAcquiredEvent) {
        self[0].lostLeader();
      }
      heard.add(event);
    });
    self[0].lead();
    assertThat(heard)
        .containsExactly(
            acquired(1, LeadershipAcquiredEvent.Reason.EXPIRED),
            lost(1, LeadershipLostEvent.Reason.RESIGNED));
  }

  @Test
  void whatAListenerThrowsComesToTheTestAndLosesNoEvent() {
    ScriptedElection failing = new ScriptedElection("billing", (event) -> {
      this.events.add(event);
      throw new IllegalStateException("listener");
    });
    assertThatThrownBy(failing::lead).hasMessage("listener");
    assertThat(failing.isLeader()).isTrue();
    assertThatThrownBy(failing::lostLeader).hasMessage("listener");
    assertThat(this.events).hasSize(2);
  }

  @Test
  void eventsAlternateWhoeverDecides() {
    IntStream.range(0, 4_000).parallel().forEach((i) -> {
      this.election.lead();
      this.election.lostLeader();
    });
    assertThat(this.events).hasSizeGreaterThanOrEqualTo(2_000);
    for (int i = 0; i < this.events.size(); i++) {
      assertThat(this.events.get(i))
          .isInstanceOf(i % 2 == 0 ? LeadershipAcquiredEvent.class : LeadershipLostEvent.class);
      assertThat(this.events.get(i).term()).isEqualTo(i / 2 + 1);
    }
  }

  private static LeadershipAcquiredEvent acquired(
      long term, LeadershipAcquiredEvent.Reason reason) {
    return new LeadershipAcquiredEvent("billing", "this-node", term, reason);
  }

  private static LeadershipLostEvent lost(long term, LeadershipLostEvent.Reason reason) {
    return new LeadershipLostEvent("billing", "this-node", term, reason);
  }
}
