package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.Mockito.doAnswer;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.never;
import static org.mockito.Mockito.verify;
import static org.mockito.Mockito.when;

import io.election.ElectionOperations;
import io.election.Leadership;
import io.election.store.LeaseSettings;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.Test;

/** The duty of a source, without a server. */
class SourceDutyTest {

  static final LeaseSettings SETTINGS = new LeaseSettings(
      Duration.ofSeconds(5),
      Duration.ofSeconds(1),
      Duration.ofSeconds(1),
      Duration.ofSeconds(10),
      true);

  private final MysqlServer server = mock();
  private final Registry registry = mock();
  private final AgentState.Reference state = new AgentState.Reference(0);
  private final Standing standing =
      new Standing("b", mock(), this.state, new Semaphore(0), () -> 0);
  private final ElectionOperations election = mock();

  private final SourceDuty duty = new SourceDuty(
      new Site(
          CandidacyTest.properties("b", "a", "b"),
          this.server,
          this.registry,
          mock(),
          this.standing,
          this.election,
          this.state,
          () -> 0),
      SETTINGS);

  SourceDutyTest() {
    when(this.election.isLeader()).thenReturn(true);
    when(this.election.leadership())
        .thenReturn(Optional.of(new Leadership(9, Instant.EPOCH, Duration.ofSeconds(5))));
  }

  /** Its agent did not stand, or another promotion has withdrawn its decision. */
  @Test
  void nobodyIsPromotedWithoutADecisionToStand() throws Exception {
    when(this.server.another(any())).thenReturn(this.server);
    this.standing.stand(new AgentState.Stand(mock(), mock()));
    List<Status> fenced = new ArrayList<>();
    doAnswer((call) -> fenced.add(this.state.get().status())).when(this.server).fence();
    this.duty.serve();
    assertThat(fenced)
        .as("not the source any more, before it is read-only")
        .extracting(Status::role)
        .containsExactly(Status.Role.WAITING);
    assertThat(this.state.get().duty().failure()).isEqualTo("its last decision was not to stand");
    verify(this.registry, never()).record(any());
    verify(this.server, never()).replication();
    verify(this.server).fence();
    assertThat(this.state.get().ballot().stand()).isNull();
    verify(this.election).lostLeader();
  }

  /** The elector would wait for the end of its duty, which nothing would tell it. */
  @Test
  void nobodyIsPromotedByAnAgentThatIsStopping() {
    this.duty.end();
    this.duty.serve();
    verify(this.election, never()).lostLeader();
    assertThat(this.state.get().status().role()).isEqualTo(Status.Role.UNKNOWN);
  }

  @Test
  void aSourceIsNotHandedOverToItself() {
    this.state.change(
        (before) -> before.with(new AgentState.Shown(new Status(Status.Role.SOURCE, "", 0), 0)));
    assertThat(this.duty.switchOver("b"))
        .failsWithin(Duration.ZERO)
        .withThrowableThat()
        .withMessageContaining("b is the source already");
  }
}
