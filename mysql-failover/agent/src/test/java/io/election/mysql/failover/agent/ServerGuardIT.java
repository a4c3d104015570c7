package io.election.mysql.failover.agent;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.election.mysql.failover.agent.ReplicationSet.Server;
import io.election.support.process.TcpProxy;
import java.net.InetSocketAddress;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Pattern;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The guard: a server shuts itself down when its agent is dead or paused. */
@Tag("faults")
@Tag("failover")
class ServerGuardIT {

  private static final Duration SILENCE = Duration.ofSeconds(3);

  private static final Duration LONG_SILENCE = Duration.ofSeconds(5);

  private static ReplicationSet set;

  private Server server;

  private MysqlServer agent;

  @BeforeAll
  static void startServer() throws SQLException {
    set = new ReplicationSet("a");
  }

  @AfterAll
  static void end() {
    if (set != null) {
      set.close();
    }
  }

  @BeforeEach
  void connect() {
    this.server = set.get("a");
    this.agent = this.server.managed();
    awaitReadOnly();
  }

  @AfterEach
  void close() {
    this.agent.close();
    if (this.server.isRunning()) {
      this.server.kill();
    }
    this.server.startAgain();
  }

  private static ConditionFactory patiently() {
    return await().atMost(Duration.ofSeconds(30)).pollInterval(Duration.ofMillis(50));
  }

  private void awaitReadOnly() {
    patiently().ignoreExceptions().until(() -> this.agent.state().superReadOnly());
  }

  private void awaitEnd() {
    patiently().until(() -> !this.server.isRunning());
  }

  private static long in(Duration time) {
    return System.nanoTime() + time.toNanos();
  }

  /** Waits in real time, since the guard counts by the server's clock. */
  private static void pass(int millis) throws InterruptedException {
    TimeUnit.MILLISECONDS.sleep(millis);
  }

  @Test
  void aServerServesWhileItsAgentLives() throws Exception {
    this.agent.openForWrites(1, "a", 0, in(SILENCE));
    for (int i = 0; i < 10; i++) {
      pass(500);
      assertThat(this.agent.stateAndServe(in(SILENCE)).readOnly()).isFalse();
      assertThat(this.agent.guardStandsStill()).isFalse();
    }
    awaitEnd();
  }

  @Test
  void anAgentNoticesThatTheGuardOfItsServerDoesNotCount() throws Exception {
    this.server.execute("SET GLOBAL event_scheduler = OFF");
    Duration silence = Duration.ofMinutes(1);
    this.agent.openForWrites(1, "a", 0, in(silence));
    patiently().until(() -> {
      assertThat(this.agent.stateAndServe(in(silence)).readOnly()).isFalse();
      return this.agent.guardStandsStill();
    });
    // A promotion creates the guard anew.
    this.server.execute("SET GLOBAL event_scheduler = ON");
    this.agent.drain();
    this.agent.openForWrites(2, "a", 0, in(LONG_SILENCE));
    for (int i = 0; i < 10; i++) {
      pass(500);
      this.agent.stateAndServe(in(LONG_SILENCE));
      assertThat(this.agent.guardStandsStill()).isFalse();
    }
  }

  /** The agent died while promoting or demoting the server. */
  @Test
  @Tag("long")
  void aServerToWhichOnlyAnAdministratorCanWriteEndsToo() throws Exception {
    this.agent.openForWrites(1, "a", 0, in(LONG_SILENCE));
    this.server.execute("SET GLOBAL read_only = ON");
    ServerState state = this.agent.state();
    assertThat(state.superReadOnly()).isFalse();
    assertThat(state.readOnly()).isTrue();
    awaitEnd();
  }

  /** The client's transaction prevents the server from becoming read-only. */
  @Test
  @Tag("long")
  void aServerWhoseClientWaitsForAnAcknowledgementEndsToo() throws Exception {
    this.agent.openForWrites(1, "a", 1, in(SILENCE));
    FutureTask<Boolean> administrator = new FutureTask<>(() -> {
      this.server.execute("INSERT INTO orders.written VALUES (-1)");
      return true;
    });
    new Thread(administrator, "administrator").start();
    Writer writer = new Writer(() -> Optional.of(this.server), 0);
    try (writer) {
      awaitEnd();
    }
    assertThat(writer.count()).as("what nobody has acknowledged").isZero();
    assertThat(administrator)
        .failsWithin(Duration.ofSeconds(5))
        .withThrowableThat()
        .withCauseInstanceOf(SQLException.class);
  }

  /** The agent set the limit before it failed to renew its lease. */
  @Test
  void aServerEndsWhenItsAgentHasSaidLast() throws Exception {
    open(LONG_SILENCE);
    this.agent.stateAndServe(in(SILENCE));
    long until = in(LONG_SILENCE);
    this.agent.stateAndServe(until);
    assertServesAtMostUntil(until);
  }

  @Test
  @Tag("long")
  void aServerThatIsOpenedAgainServesForNoLongerThanItIsToldThen() throws Exception {
    open(LONG_SILENCE);
    this.agent.stateAndServe(in(Duration.ofMinutes(1)));
    this.agent.drain();
    long until = in(SILENCE);
    this.agent.openForWrites(1, "a", 0, until);
    assertServesAtMostUntil(until);
  }

  /** Its guard is still running. */
  @Test
  @Tag("long")
  void aServerThatIsOpenedAgainServesLongerThanItWasToldBefore() throws Exception {
    open(SILENCE);
    this.server.execute("SET GLOBAL super_read_only = ON");
    this.agent.openForWrites(1, "a", 0, in(Duration.ofMinutes(1)));
    pass((int) SILENCE.toMillis());
    assertThat(isWritable()).isTrue();
  }

  @Test
  @Tag("long")
  void theGuardCountsAtOnceWhenAServerIsOpenedAgain() throws Exception {
    open(LONG_SILENCE);
    this.agent.drain();
    String guards = "SELECT COUNT(*) FROM performance_schema.threads WHERE " + Guard.RUNS;
    patiently().until(() -> this.server.query(guards).equals("0"));
    this.agent.openForWrites(1, "a", 0, in(LONG_SILENCE));
    this.server.query("SELECT SLEEP(0.4)");
    this.agent.stateAndServe(in(Duration.ofMinutes(1)));
    pass((int) LONG_SILENCE.toMillis());
    assertThat(isWritable()).isTrue();
  }

  /** Opens the server, and returns when its guard counts. */
  private void open(Duration silence) throws SQLException {
    this.agent.openForWrites(1, "a", 0, in(silence));
    patiently().until(() -> ticks(this.server) > 0);
  }

  /** Returns the tick of a server's guard. */
  static long ticks(Server server) throws SQLException {
    return Long.parseLong(
        server.query(
            "SELECT COALESCE(MAX(CAST(SUBSTRING_INDEX(object_name, '.', -1) AS SIGNED)), 0) FROM performance_schema.metadata_locks WHERE object_name LIKE 'mysql_failover.%.tick.%'"));
  }

  private void assertServesAtMostUntil(long until) {
    long writable = System.nanoTime();
    while (isWritable()) {
      writable = System.nanoTime();
    }
    assertThat(Duration.ofNanos(until - writable)).isBetween(Duration.ZERO, Duration.ofSeconds(2));
    awaitEnd();
  }

  private boolean isWritable() {
    try {
      return this.server.query("SELECT @@GLOBAL.super_read_only").equals("0");
    } catch (SQLException ex) {
      return false; // it accepts no connections any more
    }
  }

  /** It was not set to start read-only. */
  @Test
  @Tag("long")
  void aServerThatWasOpenedIsReadOnlyWhenItStartsAgain() throws Exception {
    this.server.execute("RESET PERSIST super_read_only");
    this.agent.openForWrites(1, "a", 0, in(LONG_SILENCE));
    this.server.kill();
    this.server.startAgain();
    awaitReadOnly();
  }

  /** An administrator opens a former source by hand. */
  @Test
  @Tag("long")
  void theGuardDoesNothingAfterARestartUntilAnAgentOpensTheServer() throws Exception {
    this.agent.openForWrites(1, "a", 0, in(SILENCE));
    awaitEnd();
    this.server.startAgain();
    awaitReadOnly();
    String transactions = this.server.query("SELECT @@GLOBAL.gtid_executed");
    this.server.execute("SET GLOBAL super_read_only = OFF");
    pass(2_500); // two runs of the guard
    assertThat(this.server.query("SELECT @@GLOBAL.gtid_executed")).isEqualTo(transactions);

    this.agent.drain();
    this.agent.openForWrites(1, "a", 0, in(SILENCE));
    awaitEnd();
  }

  /** The agent sent the request before it died. */
  @Test
  void aRequestThatTheNetworkDelaysDoesNotExtendTheTime() throws Exception {
    open(LONG_SILENCE);
    try (Late late = new Late("[.]until[.]\\d")) {
      late.agent.openForWrites(2, "a", 0, in(LONG_SILENCE));
      patiently().until(() -> ticks(this.server) > 0);
      long until = in(LONG_SILENCE);
      VitalThread.start("late", () -> late.agent.stateAndServe(until));
      pass(2_000);
      late.network.heal();
      assertServesAtMostUntil(until);
    }
  }

  @Test
  @Tag("long")
  void anAgentThatWasLateIsHeardAgain() throws Exception {
    this.agent.openForWrites(1, "a", 0, in(LONG_SILENCE));
    pass(2_500);
    for (int i = 0; i < 5; i++) {
      assertThat(this.agent.stateAndServe(in(LONG_SILENCE)).readOnly()).isFalse();
      pass(1_000);
    }
  }

  /** The opening was late because the agent was paused or the network was slow. */
  @Test
  void aServerIsNotOpenedWhenAnotherOneMayBeTheSource() throws Exception {
    try (Late late = new Late("super_read_only = IF")) {
      long until = in(SILENCE);
      Future<Void> opened = VitalThread.start("late", () -> {
        late.agent.openForWrites(1, "a", 0, until);
        return null;
      });
      patiently().until(() -> opened.isDone() || System.nanoTime() - until > 0);
      late.network.heal();
      assertThat(opened)
          .failsWithin(Duration.ofSeconds(5))
          .withThrowableThat()
          .withMessageContaining("too late");
      assertThat(this.agent.state().superReadOnly()).isTrue();
    }
  }

  /** An agent whose requests the network holds from a given one on. */
  private final class Late implements AutoCloseable {

    final TcpProxy network;
    final MysqlServer agent;

    Late(String request) {
      AtomicReference<TcpProxy> held = new AtomicReference<>();
      Pattern pattern = Pattern.compile(request);
      this.network = TcpProxy.to(
          new InetSocketAddress(ServerGuardIT.this.server.host(), 3306), () -> (packet) -> {
            if (pattern.matcher(new String(packet, ISO_8859_1)).find()) {
              held.get().loseRequests();
            }
            return 1;
          });
      held.set(this.network);
      this.agent = new MysqlServer(
          ReplicationSet.url("127.0.0.1", this.network.port()) + "&sslMode=DISABLED",
          "root",
          ReplicationSet.PASSWORD,
          ReplicationSet.TLS,
          System::nanoTime);
    }

    @Override
    public void close() {
      this.network.close();
      this.agent.close();
    }
  }
}
