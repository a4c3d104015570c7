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
import io.election.mysql.failover.GtidSet;
import io.election.store.LeaseSettings;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
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
  private final Promotions promotions = mock();
  private final ElectionOperations election = mock();

  /** The positions were compared before the other promotion, and may not be final any more. */
  @Test
  void nobodyIsPromotedByPositionsFromBeforeAnotherPromotion() throws Exception {
    FreshestFirst freshest =
        new FreshestFirst(FreshestFirstTest.properties("b", 1, Duration.ofSeconds(1), "a", "b"));
    SourceDuty duty = new SourceDuty(
        FreshestFirstTest.properties("b", 1, Duration.ofSeconds(1), "a", "b"),
        this.server,
        this.promotions,
        freshest,
        this.election,
        SETTINGS);
    when(this.server.another(any())).thenReturn(this.server);
    when(this.election.isLeader()).thenReturn(true);
    when(this.election.leadership())
        .thenReturn(Optional.of(new Leadership(9, Instant.EPOCH, Duration.ofSeconds(5))));
    when(this.promotions.last())
        .thenReturn(
            Optional.of(new Promotion(1, "a", "uuid-a", "a.example:3306", GtidSet.EMPTY, 8, 1)));
    List<Status> fenced = new ArrayList<>();
    doAnswer((call) -> fenced.add(duty.status())).when(this.server).fence();
    duty.serve();
    assertThat(fenced)
        .as("not the source any more, before it is read-only")
        .extracting(Status::role)
        .containsExactly(Status.Role.WAITING);
    assertThat(duty.failure()).contains("has changed since this server stood");
    verify(this.promotions, never()).record(any());
    verify(this.server, never()).stopReplicating();
    verify(this.server).fence();
    verify(this.election).lostLeader();
  }
}
