package io.election;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

class ManualAllocationElectionServiceTest {

  private static final Instant NOW = Instant.parse("2026-11-21T03:04:05.678Z");

  private final List<LeadershipEvent> events = new ArrayList<>();

  private ManualAllocationElectionService service(String leaderId) {
    return service(leaderId, this.events::add);
  }

  private static ManualAllocationElectionService service(
      String leaderId, Consumer<LeadershipEvent> listener) {
    return new ManualAllocationElectionService(
        "jobs", leaderId, () -> "a:8080:1", "a"::equals, listener, () -> NOW);
  }

  @Test
  void leadsFromStartToStopIfThisNodeIsTheAllocatedOne() {
    ManualAllocationElectionService service = service("a");
    assertThat(service.isLeader()).isFalse();
    service.start();
    assertThat(service.isLeader()).isTrue();
    assertThat(service.leaderId()).contains("a:8080:1");
    assertThat(service.leadership()).contains(new Leadership(0, NOW, Leadership.UNLIMITED));
    service.stop();
    assertThat(service.isLeader()).isFalse();
    assertThat(this.events)
        .containsExactly(
            new LeadershipAcquiredEvent(
                "jobs", "a:8080:1", 0, LeadershipAcquiredEvent.Reason.ALLOCATED),
            new LeadershipLostEvent("jobs", "a:8080:1", 0, LeadershipLostEvent.Reason.STOPPED));
  }

  @Test
  void followsIfAnotherNodeIsTheAllocatedOne() {
    ManualAllocationElectionService service = service("b");
    service.start();
    service.becomeLeader();
    assertThat(service.isLeader()).isFalse();
    assertThat(service.leaderId()).contains("b");
    assertThat(service.leadership()).isEmpty();
    assertThat(this.events).isEmpty();
  }

  @Test
  void stepsDownUntilItIsToldToLeadAgain() {
    ManualAllocationElectionService service = service("a");
    service.start();
    service.lostLeader();
    service.lostLeader();
    assertThat(service.isLeader()).isFalse();
    service.becomeLeader();
    service.becomeLeader();
    assertThat(service.isLeader()).isTrue();
    assertThat(this.events).hasSize(3);
  }

  @Test
  void cannotLeadWhileItIsNotRunning() {
    assertThatThrownBy(service("a")::becomeLeader).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void cannotBeDecidedAtRunTime() {
    assertThatThrownBy(() -> service("a").designate("b"))
        .isInstanceOf(UnsupportedOperationException.class)
        .hasMessageContaining("as.election.manual.leader-id (a)");
    assertThatThrownBy(() -> service("a").pause(new AuditNote("alice", "")))
        .isInstanceOf(UnsupportedOperationException.class)
        .hasMessageContaining("as.election.manual.leader-id (a)");
  }

  @Test
  void aListenerThatThrowsHarmsNothing() {
    ManualAllocationElectionService service = service("a", (event) -> {
      throw new IllegalStateException("listener");
    });
    service.start();
    assertThat(service.isLeader()).isTrue();
  }

  /** No other process can lead. */
  @Test
  void disabledElectionCountsThisProcessAsLeaderWhetherItRunsOrNot() {
    ManualAllocationElectionService service =
        ManualAllocationElectionService.disabled("jobs", () -> "a", this.events::add, () -> NOW);
    assertThat(service.leadership()).contains(new Leadership(0, NOW, Leadership.UNLIMITED));
    service.lostLeader();
    assertThat(service.isLeader()).isFalse();
    assertThat(service.leaderId()).isEmpty();
    service.becomeLeader();
    assertThat(this.events).isEmpty();

    service.start();
    service.lostLeader();
    service.becomeLeader();
    service.stop();
    assertThat(service.leaderId()).contains("a");
    assertThat(this.events)
        .containsExactly(
            acquired(),
            lost(LeadershipLostEvent.Reason.RESIGNED),
            acquired(),
            lost(LeadershipLostEvent.Reason.STOPPED));

    service.lostLeader();
    service.start();
    assertThat(service.isLeader()).isTrue();
    assertThat(this.events).hasSize(5).last().isEqualTo(acquired());
    assertThatThrownBy(() -> service.designate("b"))
        .isInstanceOf(UnsupportedOperationException.class)
        .hasMessage("Election 'jobs' is disabled: this process counts as leader");
  }

  private static LeadershipEvent acquired() {
    return new LeadershipAcquiredEvent("jobs", "a", 0, LeadershipAcquiredEvent.Reason.ALLOCATED);
  }

  private static LeadershipEvent lost(LeadershipLostEvent.Reason reason) {
    return new LeadershipLostEvent("jobs", "a", 0, reason);
  }
}
