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
import org.junit.jupiter.api.Test;

class StandingTest {

  private long now = 5_000_000_000L;
  private int asked;
  private final Standing standing = new Standing(
      new Candidacy(Set.of("a", "b", "c"), Duration.ofSeconds(2), Duration.ofSeconds(2)),
      () -> this.now);

  private Turn turn() {
    return this.standing.turn(new OpenElection("set", Duration.ZERO, false, Optional.empty()));
  }

  @Test
  void aServerWithoutAFinalPositionStandsAside() {
    this.standing.onAsked(() -> this.asked++);
    assertThat(this.standing.decision()).isNull();
    assertThat(turn().reason()).isEqualTo("its own position is not known yet");
    assertThat(this.asked).isEqualTo(1);
    Position b = position("b", "a:1-5");
    Snapshot read =
        new Snapshot(Optional.of(last(1, "abc")), Map.of("c", position("c", "a:1")), "");
    this.standing.see(read, b);
    assertThat(turn().kind()).isEqualTo(Kind.AT_ONCE);
    assertThat(this.asked).isEqualTo(1);
    assertThat(this.standing.decision()).matches(Candidacy.Decision::stands);
    this.standing.withdraw();
    assertThat(this.standing.decision()).as("until it is asked again").isNotNull();
    assertThat(turn().kind()).isEqualTo(Kind.ASIDE);
    assertThat(this.standing.decision()).isNull();
    assertThat(this.asked).isEqualTo(2);
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
    assertThat(this.standing.position("set")).isEmpty();
    this.standing.show("server=b");
    assertThat(this.standing.position("set")).isEqualTo("server=b");
  }
}
