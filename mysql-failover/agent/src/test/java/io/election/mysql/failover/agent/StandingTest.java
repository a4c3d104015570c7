package io.election.mysql.failover.agent;

import static io.election.mysql.failover.agent.CandidacyTest.last;
import static io.election.mysql.failover.agent.CandidacyTest.position;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.lease.Precedence.Kind;
import io.election.lease.Precedence.OpenElection;
import io.election.lease.Precedence.Turn;
import io.election.mysql.failover.agent.Registry.Snapshot;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.Test;

class StandingTest {

  private long now = 5_000_000_000L;
  private final AgentState.Reference state = new AgentState.Reference(this.now);
  private final Semaphore wake = new Semaphore(0);
  private final Standing standing = new Standing(
      "b",
      new Candidacy(Set.of("a", "b", "c"), Duration.ofSeconds(2), Duration.ofSeconds(2)),
      this.state,
      this.wake,
      () -> this.now);

  private Candidacy.Decision decision() {
    return this.state.get().ballot().decision();
  }

  private Turn turn() {
    return this.standing.turn(new OpenElection("set", Duration.ZERO, false, Optional.empty()));
  }

  @Test
  void aServerWithoutAFinalPositionStandsAside() {
    assertThat(decision()).isNull();
    assertThat(turn().reason()).isEqualTo("its own position is not known yet");
    assertThat(this.wake.availablePermits()).isEqualTo(1);
    Position b = position("b", "a:1-5");
    Snapshot read =
        new Snapshot(Optional.of(last(1, "abc")), Map.of("c", position("c", "a:1")), "");
    this.standing.stand(new AgentState.Stand(read, b));
    assertThat(turn().kind()).isEqualTo(Kind.AT_ONCE);
    assertThat(this.wake.availablePermits()).isEqualTo(1);
    assertThat(decision()).matches(Candidacy.Decision::stands);
    this.standing.stand(null);
    assertThat(decision()).as("until it is asked again").isNotNull();
    assertThat(turn().kind()).isEqualTo(Kind.ASIDE);
    assertThat(decision()).isNull();
    assertThat(this.wake.availablePermits()).isEqualTo(2);
  }

  @Test
  void theElectionIsOpenForAWhileAfterItAsked() {
    assertThat(this.standing.isOpen(Duration.ofMinutes(1))).isFalse();
    turn();
    assertThat(this.standing.isOpen(Duration.ofSeconds(1))).isTrue();
    assertThat(this.standing.hasOpenedSince(this.now - 1)).isTrue();
    assertThat(this.standing.hasOpenedSince(this.now)).isFalse();
    this.now += 1_000_000_000;
    assertThat(this.standing.isOpen(Duration.ofSeconds(1))).isFalse();
  }

  @Test
  void itShowsWhatTheAgentSays() {
    assertThat(this.standing.position("set")).startsWith("server=b role=UNKNOWN");
    this.state.change((before) ->
        before.with(new AgentState.Shown(new Status(Status.Role.REPLICA, "why", 3), this.now)));
    assertThat(this.standing.position("set")).isEqualTo("server=b role=REPLICA lag=3s reason=why");
    this.now += 4_000_000_000L;
    assertThat(this.standing.position("set")).startsWith("server=b role=UNKNOWN");
  }
}
