package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.Mockito.doAnswer;
import static org.mockito.Mockito.doThrow;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.never;
import static org.mockito.Mockito.verify;
import static org.mockito.Mockito.when;

import io.election.ElectionOperations;
import io.election.Leadership;
import io.election.lease.LeaseElectionService;
import io.election.store.LeaseSettings;
import java.net.ConnectException;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** How long the agent waits for its server before it kills it. No real server is used. */
@ExtendWith(OutputCaptureExtension.class)
class FenceTest {

  private final MysqlServer server = mock();
  private final LeaseElectionService election = mock();
  private final KillCommand kill = mock();

  private final Fence fence = fence(this.election, SourceDutyTest.SETTINGS, System::nanoTime);

  private Fence fence(ElectionOperations election, LeaseSettings settings, LongSupplier clock) {
    Site site = new Site(
        CandidacyTest.properties("a", "a", "b"),
        this.server,
        mock(),
        mock(),
        mock(),
        election,
        new AgentState.Reference(0),
        clock);
    return new Fence(site, settings, this.kill);
  }

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
  void aFailureIsNotTheLastWordWhileTheLeaseIsRenewed(CapturedOutput output) throws Exception {
    when(this.election.leaseRemaining()).thenReturn(Optional.of(Duration.ofSeconds(4)));
    doThrow(new SQLException("Too many connections", "08004", 1040))
        .doNothing()
        .when(this.server)
        .fence();
    this.fence.run();
    verify(this.kill, never()).run();
    assertThat(output)
        .contains("a is not read-only yet: Too many connections")
        .containsPattern("a is read-only, [1-9]?[0-9]{2} ms after it began");
  }

  @Test
  void aServerIsKilledBeforeTheLeaseEnds() {
    when(this.election.leaseRemaining()).thenReturn(Optional.of(Duration.ofMillis(400)));
    this.fence.run();
    verify(this.kill).run();
  }

  /** Reads a clock that moves by 50 ms with each reading. */
  private Fence moving(AtomicLong clock, ElectionOperations election, LeaseSettings settings) {
    return fence(election, settings, () -> clock.getAndAdd(50_000_000));
  }

  private void hang() throws SQLException {
    doAnswer((call) -> {
          new CountDownLatch(1).await();
          return null;
        })
        .when(this.server)
        .fence();
  }

  /** The answer of the killing command tells when it ran. */
  private AtomicLong killedAt(AtomicLong clock, boolean succeeds) {
    AtomicLong at = new AtomicLong(-1);
    when(this.kill.run()).thenAnswer((call) -> {
      at.set(clock.get());
      return succeeds;
    });
    return at;
  }

  @Test
  void aServerThatHangsIsKilledAfterFourSecondsWhileTheLeaseIsRenewed() throws Exception {
    when(this.election.leaseRemaining()).thenReturn(Optional.of(Duration.ofSeconds(4)));
    hang();
    AtomicLong clock = new AtomicLong();
    AtomicLong killed = killedAt(clock, true);
    moving(clock, this.election, SourceDutyTest.SETTINGS).run();
    assertThat(Duration.ofNanos(killed.get()))
        .isBetween(Duration.ofSeconds(4), Duration.ofMillis(4_200));
    verify(this.server).abort();
    verify(this.server, never()).guardActsBy();
  }

  /** Another kind of election says only how long the node leads. */
  @Test
  void aServerThatHangsIsKilledAtOnceWhenTheLeaseMayEnd() throws Exception {
    ElectionOperations other = mock();
    when(other.leadership()).thenReturn(leadership(1, 500));
    hang();
    AtomicLong clock = new AtomicLong();
    AtomicLong killed = killedAt(clock, true);
    moving(clock, other, SourceDutyTest.SETTINGS).run();
    assertThat(Duration.ofNanos(killed.get()))
        .isBetween(Duration.ofMillis(500), Duration.ofMillis(700));
  }

  /** A server that is paused may resume before its guard has acted. */
  @Test
  void theLeaseIsKeptUntilTheGuardHasActedOnAServerThatCannotBeKilled(CapturedOutput output)
      throws Exception {
    when(this.election.leaseRemaining()).thenReturn(Optional.of(Duration.ZERO));
    when(this.server.guardActsBy()).thenReturn(Duration.ofSeconds(3).toNanos());
    hang();
    AtomicLong clock = new AtomicLong();
    killedAt(clock, false);
    moving(clock, this.election, SourceDutyTest.SETTINGS).run();
    assertThat(Duration.ofNanos(clock.get()))
        .isBetween(Duration.ofSeconds(3), Duration.ofMillis(3_200));
    verify(this.server).abort();
    assertThat(output).contains("a could not be made read-only in time", "a is left to its guard");
  }

  @Test
  void aServerIsKilledByAnAgentThatIsInterrupted() throws Exception {
    when(this.election.leaseRemaining()).thenReturn(Optional.of(Duration.ofSeconds(4)));
    hang();
    Thread.currentThread().interrupt();
    this.fence.run();
    assertThat(Thread.interrupted()).isTrue();
    verify(this.kill).run();
  }

  private static Optional<Leadership> leadership(long term, long remainingMillis) {
    return Optional.of(new Leadership(term, Instant.EPOCH, Duration.ofMillis(remainingMillis)));
  }

  /** It must have acted before the lease ends, and soon enough if its agent dies. */
  @Test
  void theGuardActsBeforeTheLeaseEnds() {
    Fence fence = fence(this.election, SourceDutyTest.SETTINGS, () -> 1_000);
    when(this.election.leadership()).thenReturn(leadership(1, 3_749));
    assertThat(fence.guardMustActBy()).isEqualTo(1_000 + 3_749_000_000L);
    when(this.election.leadership()).thenReturn(leadership(1, 5_000));
    assertThat(fence.guardMustActBy()).isEqualTo(1_000 + 3_750_000_000L);
    when(this.election.leadership()).thenReturn(Optional.empty());
    assertThat(fence.guardMustActBy()).isEqualTo(1_000);
  }

  @ParameterizedTest
  @CsvSource({"2000, 1750, 200", "3000, 1750, 300", "3001, 1751, 300", "10000, 8750, 1000"})
  void theSilenceOfAnAgentIsBoundedByTheLease(long lease, long silence, long margin) {
    Duration second = Duration.ofMillis(400);
    LeaseSettings settings =
        new LeaseSettings(Duration.ofMillis(lease), second, second, Duration.ofSeconds(10), true);
    Fence fence = moving(new AtomicLong(), this.election, settings);
    assertThat(fence.silence()).hasMillis(silence);
    assertThat(fence.margin().toMillis()).isEqualTo(margin);
  }

  @Test
  void anAgentLeadsWhileThereIsTimeToFenceItsServer() {
    when(this.election.leadership()).thenReturn(leadership(7, 1_501));
    assertThat(this.fence.leads(7)).isTrue();
    assertThat(this.fence.leads(8)).isFalse();
    when(this.election.leadership()).thenReturn(leadership(7, 1_500));
    assertThat(this.fence.leads(7)).isFalse();
    when(this.election.leadership()).thenReturn(Optional.empty());
    assertThat(this.fence.leads(7)).isFalse();
  }

  @Test
  void anAgentWaitsForEtcdWhileItsLeaseIsRenewed() {
    when(this.election.leadership()).thenReturn(leadership(7, 3_001));
    assertThat(this.fence.canWait()).isTrue();
    when(this.election.leadership()).thenReturn(leadership(7, 3_000));
    assertThat(this.fence.canWait()).isFalse();
  }
}
