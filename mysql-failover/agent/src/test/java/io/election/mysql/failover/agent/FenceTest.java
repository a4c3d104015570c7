package io.election.mysql.failover.agent;

import static org.mockito.ArgumentMatchers.any;
import static org.mockito.Mockito.doAnswer;
import static org.mockito.Mockito.doThrow;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.never;
import static org.mockito.Mockito.verify;
import static org.mockito.Mockito.when;

import io.election.lease.LeaseElectionService;
import java.net.ConnectException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** How long the agent waits for its server before it kills it. No real server is used. */
class FenceTest {

  private final MysqlServer server = mock();
  private final LeaseElectionService election = mock();
  private final KillCommand kill = mock();

  private final Fence fence = new Fence(
      "a", this.server, this.election, SourceDutyTest.SETTINGS, this.kill, System::nanoTime);

  /** The server takes longer to become read-only than the margin, a tenth of the lease. */
  @BeforeEach
  void makeServerSlow() throws Exception {
    when(this.server.another(any())).thenReturn(this.server);
    doAnswer((call) -> {
          TimeUnit.MILLISECONDS.sleep(1_000);
          return null;
        })
        .when(this.server)
        .fence();
    when(this.kill.run()).thenReturn(true);
    when(this.election.leadership()).thenReturn(Optional.empty());
  }

  /** An operator has designated another server. The lease is renewed until this one is read-only. */
  @Test
  void aServerIsNotKilledWhileTheLeaseIsRenewed() {
    when(this.election.leaseRemaining()).thenReturn(Optional.of(Duration.ofSeconds(4)));
    this.fence.run();
    verify(this.kill, never()).run();
  }

  /** It refuses connections, but commits what waits for acknowledgements. */
  @Test
  void aServerThatIsBeingShutDownIsKilled() throws Exception {
    when(this.election.leaseRemaining()).thenReturn(Optional.of(Duration.ofSeconds(4)));
    doThrow(new SQLException("no connection", new ConnectException("Connection refused")))
        .when(this.server)
        .fence();
    this.fence.run();
    verify(this.kill).run();
    verify(this.server, never()).fenceWithoutAcknowledgements();
  }

  @Test
  void aFailureIsNotTheLastWordWhileTheLeaseIsRenewed() throws Exception {
    when(this.election.leaseRemaining()).thenReturn(Optional.of(Duration.ofSeconds(4)));
    doThrow(new SQLException("Too many connections", "08004", 1040))
        .doNothing()
        .when(this.server)
        .fence();
    this.fence.run();
    verify(this.kill, never()).run();
  }

  @Test
  void aServerIsKilledBeforeTheLeaseEnds() {
    when(this.election.leaseRemaining()).thenReturn(Optional.of(Duration.ofMillis(400)));
    this.fence.run();
    verify(this.kill).run();
  }
}
