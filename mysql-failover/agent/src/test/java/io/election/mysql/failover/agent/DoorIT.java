package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.election.mysql.failover.agent.ReplicationSet.Server;
import io.election.mysql.failover.agent.Writer.Written;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The end of a source that clients with all privileges write to. They connect again at once, and
 * get no answer to what no replica has.
 */
@Tag("failover")
class DoorIT {

  private static final int CLIENTS = 60;

  private static final long IDS_PER_CLIENT = 1_000_000;

  private ReplicationSet set;
  private Server source;
  private Server replica;
  private MysqlServer agent;

  @BeforeEach
  void openSource() throws SQLException {
    this.set = new ReplicationSet("a", "b");
    this.source = this.set.get("a");
    this.replica = this.set.get("b");
    this.agent = this.source.managed();
    open(Duration.ofMinutes(5));
  }

  private void open(Duration silence) throws SQLException {
    long until = System.nanoTime() + silence.toNanos();
    this.agent.openForWrites(1, "a", 1, until);
    try (MysqlServer other = this.replica.managed()) {
      other.replication().follow(this.source.host() + ":3306", "replica", ReplicationSet.PASSWORD);
    }
    patiently().until(() -> this.agent.state().acknowledging() == 1);
    patiently().until(() -> ServerGuardIT.ticks(this.source) > 0);
  }

  @AfterEach
  void close() {
    if (this.set != null) {
      this.agent.close();
      this.set.close();
    }
  }

  private static ConditionFactory patiently() {
    return await().atMost(Duration.ofSeconds(60)).pollInterval(Duration.ofMillis(20));
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void nobodyIsAnsweredByASourceThatItsAgentFences(boolean withoutReplicas) throws Exception {
    try (Administrators administrators = new Administrators();
        MysqlServer fence = this.agent.another(Duration.ofSeconds(2))) {
      if (withoutReplicas) {
        administrators.wait(this.replica);
      }
      fence.fence();
      assertThat(this.source.query("SELECT @@GLOBAL.super_read_only")).isEqualTo("1");
      administrators.assertHasAcknowledged(this.replica);
    }
    // The guard has ended too.
    assertThat(ServerGuardIT.ticks(this.source)).isZero();
  }

  /** The agent is dead. */
  @Test
  void nobodyIsAnsweredByASourceThatItsGuardShutsDown() throws Exception {
    this.agent.drain();
    open(Duration.ofSeconds(20));
    try (Administrators administrators = new Administrators()) {
      administrators.wait(this.replica);
      patiently().until(() -> !this.source.isRunning());
      administrators.assertHasAcknowledged(this.replica);
    }
  }

  /** They write as soon as the server lets them, before its term is written. */
  @Test
  void nobodyIsAnsweredByAServerThatBecomesTheSourceBeforeAReplicaHasIt() throws Exception {
    try (Administrators administrators = new Administrators()) {
      this.agent.drain();
      this.replica.execute("STOP REPLICA");
      this.agent.openForWrites(2, "a", 1, System.nanoTime() + TimeUnit.MINUTES.toNanos(5));
      administrators.wait(this.replica);
      administrators.assertHasAcknowledged(this.replica);
    }
  }

  /** The server must be open to administrators while its data are dropped. */
  @Test
  void nobodyIsAnsweredByAServerThatIsRebuilt() throws Exception {
    try (Administrators administrators = new Administrators()) {
      this.agent.fence();
      this.replica.execute("STOP REPLICA IO_THREAD");
      assumeTrue(this.source.cutOffFrom(this.replica), "no packet filter");
      Future<Void> rebuilt = VitalThread.start("rebuild", () -> {
        this.agent
            .replication()
            .rebuild(this.replica.host() + ":3306", "replica", ReplicationSet.PASSWORD);
        return null;
      });
      patiently()
          .ignoreExceptions()
          .until(() -> this.source.query("SELECT @@GLOBAL.super_read_only").equals("0"));
      TimeUnit.SECONDS.sleep(3); // the time for clients to connect again
      this.source.reachAll();
      patiently().until(rebuilt::isDone);
      administrators.assertHasAcknowledged(this.replica);
    }
  }

  @Test
  void theUsersThatNoSettingKeepsOutAreKnownWhileTheyAreConnected() throws Exception {
    assertThat(this.agent.state().administrators()).isEmpty();
    this.source.execute(
        "CREATE USER boss IDENTIFIED BY '%1$s', chief IDENTIFIED BY '%1$s', clerk IDENTIFIED BY '%1$s', b_ss IDENTIFIED BY '%1$s', porter IDENTIFIED BY '%1$s'"
            .formatted(ReplicationSet.PASSWORD),
        "GRANT CONNECTION_ADMIN ON *.* TO boss",
        "GRANT SUPER ON *.* TO chief",
        "GRANT ALL ON orders.* TO clerk",
        "CREATE ROLE keeper, guardian",
        "GRANT CONNECTION_ADMIN ON *.* TO guardian",
        "GRANT guardian TO keeper",
        "GRANT keeper TO porter");
    connect("b_ss");
    assertThat(this.agent.state().administrators()).isEmpty();
    Connection boss = connect("boss");
    connect("clerk");
    assertThat(this.agent.state().administrators()).isEqualTo("boss");
    connect("chief");
    assertThat(this.agent.state().administrators()).isEqualTo("boss, chief");
    boss.close();
    patiently().until(() -> this.agent.state().administrators().equals("chief"));
    connect("porter");
    assertThat(this.agent.state().administrators()).isEqualTo("chief, porter");
  }

  private Connection connect(String user) throws SQLException {
    return DriverManager.getConnection(this.source.url(), user, ReplicationSet.PASSWORD);
  }

  /** A statement that cannot be ended keeps the server from becoming read-only. */
  @Test
  void theGuardDoesNotShutDownASourceThatIsNotReadOnly() throws Exception {
    this.source.execute(
        "CREATE EVENT orders.slow ON SCHEDULE AT CURRENT_TIMESTAMP ON COMPLETION PRESERVE DISABLE DO INSERT INTO orders.written SELECT -1 - SLEEP(40)");
    this.agent.drain();
    open(Duration.ofSeconds(20));
    this.source.execute("ALTER EVENT orders.slow ON SCHEDULE AT CURRENT_TIMESTAMP ENABLE");
    try (Administrators administrators = new Administrators()) {
      administrators.wait(this.replica);
      String slow =
          "SELECT COUNT(*) FROM performance_schema.threads WHERE processlist_info LIKE '%SLEEP(40)%' AND name = 'thread/sql/event_worker'";
      patiently()
          .ignoreExceptions()
          .until(() ->
              this.source.query("SELECT @@GLOBAL.rpl_semi_sync_source_enabled").equals("0")
                  && this.source.query(slow).equals("1"));
      TimeUnit.SECONDS.sleep(3); // the time for a shutdown
      assertThat(this.source.isRunning()).isTrue();
      patiently().until(() -> !this.source.isRunning());
      administrators.assertHasAcknowledged(this.replica);
    }
  }

  /** The statement waits for a transaction that waits for an acknowledgement. */
  @ParameterizedTest
  @ValueSource(strings = {"FLUSH TABLES WITH READ LOCK", "SET GLOBAL super_read_only = ON"})
  void theGuardCountsWhileAStatementWaitsForTheGlobalReadLock(String statement) throws Exception {
    this.replica.execute("STOP REPLICA IO_THREAD");
    VitalThread.start("client", () -> {
      this.source.execute("INSERT INTO orders.written VALUES (-1)");
      return null;
    });
    String waiting =
        "SELECT COUNT(*) FROM performance_schema.threads WHERE processlist_state = '%s'";
    patiently()
        .until(() -> this.source
            .query(waiting.formatted("Waiting for semi-sync ACK from replica"))
            .equals("1"));
    Future<Void> closing = VitalThread.start("operator", () -> {
      this.source.execute(statement);
      return null;
    });
    patiently()
        .until(() ->
            this.source.query(waiting.formatted("Waiting for global read lock")).equals("1"));
    long ticks = ServerGuardIT.ticks(this.source);
    TimeUnit.SECONDS.sleep(4); // the guard counts by the server's clock
    assertThat(ServerGuardIT.ticks(this.source) - ticks).isBetween(12L, 18L);
    assertThat(closing).isNotDone();
  }

  /** Clients that no setting keeps out. */
  private final class Administrators implements AutoCloseable {

    private final List<Writer> writers = LongStream.range(0, CLIENTS)
        .mapToObj(
            (i) -> Writer.administrator(DoorIT.this.source, i * IDS_PER_CLIENT, Duration.ZERO))
        .toList();

    Administrators() {
      patiently().until(() -> this.writers.stream().allMatch((writer) -> writer.count() > 1));
    }

    /** Ends the acknowledgements, and returns when all clients wait for one. */
    void wait(Server replica) throws SQLException {
      replica.execute("STOP REPLICA IO_THREAD");
      patiently()
          .until(() -> Integer.parseInt(
                  DoorIT.this.source.query(
                      "SELECT COUNT(*) FROM performance_schema.threads WHERE processlist_state IN ('Waiting for semi-sync ACK from replica', 'waiting for handler commit')"))
              >= CLIENTS);
    }

    /** The replica acknowledged what it received. It may not have applied all of that yet. */
    void assertHasAcknowledged(Server replica) throws Exception {
      this.writers.forEach(Writer::close);
      String received = replica.query(
          "SELECT received_transaction_set FROM performance_schema.replication_connection_status WHERE channel_name = ''");
      replica.execute("START REPLICA SQL_THREAD");
      assertThat(replica.query("SELECT WAIT_FOR_EXECUTED_GTID_SET('%s', 60)".formatted(received)))
          .isEqualTo("0");
      assertThat(replica.ids())
          .containsAll(this.writers.stream()
              .flatMap((writer) -> writer.written().stream())
              .map(Written::id)
              .toList());
    }

    @Override
    public void close() {
      this.writers.forEach(Writer::close);
    }
  }
}
