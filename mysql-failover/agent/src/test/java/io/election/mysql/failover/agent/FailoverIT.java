package io.election.mysql.failover.agent;

import static io.election.mysql.failover.agent.LocalAgents.patiently;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.etcd.EtcdProcess;
import io.election.mysql.failover.GtidSet;
import io.election.mysql.failover.agent.ReplicationSet.Server;
import io.election.mysql.failover.agent.Status.Role;
import io.election.mysql.failover.agent.Writer.Written;
import io.election.store.LeaseStoreException;
import io.election.support.Signal;
import io.election.support.process.TcpProxy;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Three servers with semi-synchronous replication, an agent for each, etcd, and a writer.
 */
@Tag("failover")
class FailoverIT {

  private static final String NOT_DRAINED =
      "a could not be made read-only within a second .*: wait for .*, or KILL them .*a is still the source and accepts writes again";

  private final EtcdProcess etcd = EtcdProcess.shared();

  /** The endpoints over which the agents elect. */
  private String endpoints = this.etcd.url();

  @TempDir
  private Path folder;

  private ReplicationSet set;

  private LocalAgents agents;

  @BeforeEach
  void startSet() throws SQLException {
    startSet(1, "a", "b", "c");
  }

  private void startSet(int acknowledging, String... servers) throws SQLException {
    startSet(new ReplicationSet(servers), acknowledging);
  }

  private void startSet(ReplicationSet set, int acknowledging) {
    this.set = set;
    this.agents = new LocalAgents(set, this.endpoints);
    this.agents.startAll(acknowledging);
  }

  @AfterEach
  void end() {
    if (this.agents != null) {
      this.agents.close();
    }
  }

  private void startAgent(Server server) {
    this.agents.start(server);
  }

  private Status status(String server) {
    return this.agents.status(server);
  }

  private Optional<Server> source() {
    return this.agents.source();
  }

  private void awaitSet(String source, String... replicas) {
    this.agents.awaitSet(source, replicas);
  }

  private static void awaitWrites(Writer writer, int more) {
    int before = writer.count();
    patiently().until(() -> writer.count() >= before + more);
  }

  @Test
  @Tag("faults")
  void theFreshestReplicaBecomesTheSourceAndNoAcknowledgedTransactionIsLost() throws Exception {
    this.agents.stop("a");
    startKillingAgent(this.set.get("a"));
    makeSource(this.set.get("a"));
    awaitSet("a", "b", "c");
    long term = Long.parseLong(promotions("a"));
    Writer writer = new Writer(this::source, 0);
    try (writer) {
      awaitWrites(writer, 100);
      // b falls behind, so only c acknowledges from now on. The agent of b would let it catch up.
      this.agents.stop("b");
      this.set.get("b").execute("STOP REPLICA IO_THREAD");
      awaitWrites(writer, 100);
      long killed = System.nanoTime();
      this.set.get("a").kill();
      startAgent(this.set.get("b"));
      patiently().until(() -> !writer.lastServer().equals("a"));
      double gap = writer.written().stream()
              .filter((each) -> each.at() > killed && !each.server().equals("a"))
              .mapToLong(Written::at)
              .min()
              .orElseThrow()
          - killed;
      awaitSet("c", "b");
      awaitWrites(writer, 100);
      System.out.printf("Measured: %.2f s without writes after the source was killed%n", gap / 1e9);
    }
    assertThat(this.set.get("c").ids())
        .containsAll(writer.written().stream().map(Written::id).toList());
    assertThat(promotions("c")).isEqualTo(Long.toString(term + 1));

    // The old source joins, unless it has transactions that no replica acknowledged.
    this.set.get("a").startAgain();
    patiently()
        .until(() -> status("a").role() == Role.REPLICA || status("a").role() == Role.REFUSED);
    if (status("a").role() == Role.REFUSED) {
      assertThat(status("a").reason()).contains("transactions that the source lacks");
      rebuild("a");
    }
  }

  @Test
  @Tag("faults")
  void aPlannedSwitchOverLosesNothing() throws Exception {
    awaitSet("a", "b", "c");
    List<Writer> writers = manyWriters(0);
    try {
      awaitWrites(writers.get(0), 100);
      assertThat(this.agents.bean("a", SourceDuty.class).switchOver("x"))
          .failsWithin(Duration.ofSeconds(10))
          .withThrowableThat()
          .withMessageContaining("no agent has announced a server 'x'");
      awaitWrites(writers.get(0), 100);
      this.agents.bean("a", SourceDuty.class).switchOver("b").get(20, TimeUnit.SECONDS);
      awaitSet("b", "a", "c");
      awaitWrites(writers.get(0), 100);
    } finally {
      writers.forEach(Writer::close);
    }
    List<Written> written = inOrder(writers);
    List<Written> before =
        written.stream().filter((each) -> each.server().equals("a")).toList();
    long last = before.get(before.size() - 1).at();
    long first = written.get(before.size()).at();
    System.out.printf(
        "Measured: %.2f s without writes in a planned switch-over under %.0f writes a second%n",
        (first - last) / 1e9, before.size() / ((last - before.get(0).at()) / 1e9));
    assertThat(written.subList(before.size(), written.size()))
        .allMatch((each) -> each.server().equals("b"));
    assertThat(this.set.get("b").ids())
        .containsAll(written.stream().map(Written::id).toList());
  }

  /** Starts writers that together write several hundred times a second. */
  private List<Writer> manyWriters(long firstId) {
    return IntStream.range(0, 10)
        .mapToObj((i) -> new Writer(this::source, firstId + i * 1_000_000L, Duration.ofMillis(10)))
        .toList();
  }

  private static List<Written> inOrder(List<Writer> writers) {
    return writers.stream()
        .flatMap((writer) -> writer.written().stream())
        .sorted(Comparator.comparingLong(Written::at))
        .toList();
  }

  /**
   * Counts the statements that an agent sends to its server: one a second, and on the source those
   * of a probe each five seconds.
   */
  @Test
  void anAgentSendsOneStatementASecond() throws Exception {
    awaitSet("a", "b", "c");
    // The source comes last, since its agent reconnects after the promotion.
    for (String name : List.of("c", "b", "a")) {
      try (Connection connection = this.set.get(name).connect();
          Statement statement = connection.createStatement()) {
        long began = System.nanoTime();
        long before = statements(statement);
        TimeUnit.SECONDS.sleep(20);
        double seconds = (System.nanoTime() - began) / 1e9;
        long sent = statements(statement) - before;
        System.out.printf(
            "Measured: the agent of %s sends %.2f statements a second%n", name, sent / seconds);
        assertThat(sent).isBetween((long) seconds / 2, (long) (seconds * 1.6));
      }
    }
  }

  /**
   * Returns the number of statements that the agent of a server has sent on its current
   * connections.
   */
  private static long statements(Statement statement) throws SQLException {
    try (ResultSet row = statement.executeQuery("""
        SELECT SUM(count_star)
        FROM performance_schema.events_statements_summary_by_thread_by_event_name
            JOIN performance_schema.threads USING (thread_id)
        WHERE name = 'thread/sql/one_connection' AND processlist_user = 'root'
            AND processlist_id <> CONNECTION_ID() AND event_name NOT LIKE 'statement/sp/%'
        """)) {
      row.next();
      return row.getLong(1);
    }
  }

  @Test
  void aServerWithUnsafeSettingsIsRefusedByTheirNames() throws Exception {
    awaitSet("a", "b", "c");
    this.agents.stop("c");
    this.set.get("c").execute("SET GLOBAL sync_binlog = 0", "SET GLOBAL event_scheduler = OFF");
    startAgent(this.set.get("c"));
    patiently().until(() -> status("c").role() == Role.REFUSED);
    assertThat(status("c").reason())
        .isEqualTo("event_scheduler is OFF: set it to ON; sync_binlog is 0: set it to 1");
    this.set.get("c").execute("SET GLOBAL sync_binlog = 1", "SET GLOBAL event_scheduler = ON");
    awaitSet("a", "b", "c");
    for (String seen : List.of(
        "setup_instruments SET enabled = '%s' WHERE name = 'wait/lock/metadata/sql/mdl'",
        "setup_consumers SET enabled = '%s' WHERE name = 'global_instrumentation'")) {
      String update = "UPDATE performance_schema." + seen;
      this.set.get("c").execute(update.formatted("NO"));
      patiently().until(() -> status("c").reason().startsWith("the guard sees no locks"));
      this.set.get("c").execute(update.formatted("YES"));
      awaitSet("a", "b", "c");
    }

    // The guard of the source stands still.
    Server server = this.set.get("a");
    server.execute("KILL "
        + server.query(
            "SELECT MAX(processlist_id) FROM performance_schema.threads WHERE " + Guard.RUNS));
    patiently().until(() -> source().filter((each) -> !each.name.equals("a")).isPresent());
    String source = source().orElseThrow().name;
    awaitSet(source, "a", source.equals("b") ? "c" : "b");
  }

  /** The agent stops a receiver that cannot connect, and the answer is lost. */
  @Test
  void aReplicaIsNotRefusedForAReceiverThatItsAgentHasStopped() throws Exception {
    awaitSet("a", "b", "c");
    this.agents.stop("b");
    Server replica = this.set.get("b");
    replica.execute("STOP REPLICA"); // so that the next agent starts it
    try (TcpProxy way =
        TcpProxy.to(new InetSocketAddress(replica.host(), 3306), () -> (packet) -> 1)) {
      this.agents.start(
          replica,
          "--as.failover.url=" + ReplicationSet.url("127.0.0.1", way.port()) + "&sslMode=DISABLED");
      awaitSet("a", "b", "c");
      TcpProxy.Trap trap = way.resetAfterAnswerTo("stop replica io_thread");
      this.set.get("a").pause();
      try {
        patiently().until(trap::isSprung);
        patiently().until(() -> {
          assertThat(status("b").role()).isNotEqualTo(Role.REFUSED);
          return source().filter((each) -> !each.name.equals("a")).isPresent();
        });
      } finally {
        this.set.get("a").resume();
      }
    }
  }

  /** MySQL waits for space, with the binary log locked. */
  @Test
  @Tag("long")
  void aSourceWhoseDiskIsFullIsLostAndAcknowledgesNothing() throws Exception {
    end();
    startSet(
        new ReplicationSet(
            (container) -> container
                .withTmpFs(Map.of("/binlog", "rw,size=64m,mode=1777"))
                .withCommand(Stream.concat(
                        Stream.of(container.getCommandParts()), Stream.of("--log-bin=/binlog/bin"))
                    .toArray(String[]::new)),
            "a",
            "b",
            "c"),
        1);
    awaitSet("a", "b", "c");
    Writer writer = new Writer(this::source, 0);
    try (writer) {
      awaitWrites(writer, 100);
      long full = System.nanoTime();
      this.set.get("a").run("bash", "-c", "! cat /dev/zero 2>/dev/null > /binlog/rest");
      patiently().until(() -> !writer.lastServer().equals("a"));
      System.out.printf(
          "Measured: %.1f s until another server accepts writes after the disk of the source was full%n",
          (System.nanoTime() - full) / 1e9);
      awaitWrites(writer, 100);
      // Its guard shuts it down, since it cannot become read-only.
      patiently().until(() -> !this.set.get("a").isRunning());
    }
    assertThat(writer.written().stream().map(Written::server).distinct()).hasSize(2);
    assertThat(this.set.get(writer.lastServer()).ids())
        .containsAll(writer.written().stream().map(Written::id).toList());
  }

  /** Replaces the data of a refused server, which shuts down and must be restarted. */
  private void rebuild(String server) {
    this.agents.bean(server, Agent.class).rebuild();
    patiently().until(() -> !this.set.get(server).isRunning());
    this.set.get(server).startAgain();
    patiently().untilAsserted(() -> assertThat(status(server).role()).isEqualTo(Role.REPLICA));
  }

  /** A lock on tables prevents the source from being drained, and a replica from catching up. */
  @Test
  void aSwitchOverThatIsNotDoneInTimeLeavesTheSourceWhereItWas() throws Exception {
    awaitSet("a", "b", "c");
    Server source = this.set.get("a");
    source.execute("CREATE TABLE orders.other (id int)");
    Writer writer = new Writer(this::source, 0);
    try (writer) {
      awaitWrites(writer, 100);
      try (Connection lock = source.connect()) {
        lock.createStatement().execute("LOCK TABLES orders.other WRITE");
        refuseSwitchOver(NOT_DRAINED);
      }
      awaitWrites(writer, 100);
      for (String slow : List.of(
          "CREATE TABLE orders.slow AS SELECT SLEEP(4) AS slept",
          "INSERT INTO orders.other SELECT SLEEP(4)")) {
        FutureTask<Boolean> done = begin(source, slow);
        refuseSwitchOver(NOT_DRAINED);
        awaitWrites(writer, 100);
        assertThat(done.get(10, TimeUnit.SECONDS)).as(slow).isTrue();
      }
      try (Connection lock = this.set.get("b").connect()) {
        lock.createStatement().execute("LOCK TABLES orders.written READ");
        awaitWrites(writer, 10);
        refuseSwitchOver(
            "the target b has not caught up within PT2S: it lacks .*accepts writes again");
      }
      awaitWrites(writer, 100);
      patiently().until(() -> status("b").role() == Role.REPLICA);

      // An open transaction is rolled back, and its client gets an error.
      try (Connection open = source.connect()) {
        open.setAutoCommit(false);
        open.createStatement().execute("INSERT INTO orders.other VALUES (1000)");
        this.agents.bean("a", SourceDuty.class).switchOver("b").get(20, TimeUnit.SECONDS);
        assertThatThrownBy(open::commit).isInstanceOf(SQLException.class);
      }
      awaitSet("b", "a", "c");
      awaitWrites(writer, 100);
    }
    Server target = this.set.get("b");
    assertThat(target.ids())
        .containsAll(writer.written().stream().map(Written::id).toList());
    assertThat(target.query("SELECT COUNT(*) FROM orders.slow")).isEqualTo("1");
    assertThat(target.query("SELECT GROUP_CONCAT(id) FROM orders.other")).isEqualTo("0");
  }

  /** Starts a statement, and returns while it runs. */
  private static FutureTask<Boolean> begin(Server server, String statement) {
    FutureTask<Boolean> done = new FutureTask<>(() -> {
      server.execute(statement);
      return true;
    });
    new Thread(done, "slow").start();
    patiently()
        .until(() -> !server
            .query("SELECT COUNT(*) FROM performance_schema.processlist WHERE info LIKE '"
                + statement.substring(0, 20) + "%'")
            .equals("0"));
    return done;
  }

  private void refuseSwitchOver(String reason) {
    assertThat(this.agents.bean("a", SourceDuty.class).switchOver("b"))
        .failsWithin(Duration.ofSeconds(10))
        .withThrowableThat()
        .satisfies((ex) -> assertThat(ex.getMessage()).containsPattern(reason));
    assertThat(status("a").role()).isEqualTo(Role.SOURCE);
  }

  @Test
  void aServerWithOtherTransactionsIsRefusedUntilItIsRebuilt() throws Exception {
    awaitSet("a", "b", "c");
    assertThatThrownBy(() -> this.agents.bean("c", Agent.class).rebuild())
        .hasMessageContaining("c is REPLICA, and only a server that may not join");
    writeOnReplica("c");
    startAgent(this.set.get("c"));
    patiently().until(() -> status("c").role() == Role.REFUSED);
    assertThat(status("c").reason())
        .contains("transactions that the source lacks", "rebuild the server");
    rebuild("c");
    assertThat(this.set.get("c").query("SELECT COUNT(*) FROM orders.written WHERE id = -1"))
        .isEqualTo("0");
  }

  /** Writes on a replica while its agent is down. */
  private void writeOnReplica(String server) throws SQLException {
    this.agents.stop(server);
    this.set
        .get(server)
        .execute(
            "STOP REPLICA",
            "RESET REPLICA ALL",
            "SET GLOBAL super_read_only = OFF",
            "INSERT INTO orders.written VALUES (-1)",
            "SET GLOBAL super_read_only = ON");
  }

  /** The clone plugin would wait for transactions that wait for acknowledgements. */
  @Test
  void aSourceWithoutReplicasIsClosedSoThatTheyCanBeRebuilt() throws Exception {
    awaitSet("a", "b", "c");
    Server source = this.set.get("a");
    List<String> replicas = List.of("b", "c");
    Writer writer = new Writer(() -> Optional.of(source), 0);
    try (writer) {
      awaitWrites(writer, 100);
      for (String replica : replicas) {
        writeOnReplica(replica);
        startAgent(this.set.get(replica));
      }
      for (String replica : replicas) {
        patiently().until(() -> status(replica).role() == Role.REFUSED);
        // The clone does not finish before the source is closed for writes.
        this.set.get(replica).execute("SET GLOBAL clone_max_data_bandwidth = 1");
        this.agents.bean(replica, Agent.class).rebuild();
      }
      patiently().until(() -> {
        for (String replica : replicas) {
          if (status(replica).role() == Role.REFUSED
              && status(replica).reason().contains("Too many concurrent clone operations")) {
            return this.set
                .get(replica)
                .query("SELECT @@GLOBAL.super_read_only")
                .equals("1");
          }
        }
        return false;
      });
      patiently().until(() -> status("a").role() == Role.WAITING);
      assertThat(status("a").reason())
          .contains("1 replicas must acknowledge before it accepts writes; 0 do");
      for (String replica : replicas) {
        this.set.get(replica).execute("SET GLOBAL clone_max_data_bandwidth = 0");
      }
      patiently().until(() -> {
        for (String replica : replicas) {
          if (!this.set.get(replica).isRunning()) {
            this.set.get(replica).startAgain(); // it has been rebuilt
          }
        }
        for (String replica : replicas) {
          if (status(replica).role() == Role.REFUSED) {
            this.agents.bean(replica, Agent.class).rebuild(); // one clone at a time
          }
        }
        return replicas.stream().allMatch((replica) -> status(replica).role() == Role.REPLICA);
      });
      awaitWrites(writer, 100);
      assertThat(status("a").role()).isEqualTo(Role.SOURCE);
    }
  }

  /** A server that is down in the meantime has missed no promotion. */
  @Test
  void aSourceThatIsElectedAgainGoesOnWithItsPromotion() throws Exception {
    awaitSet("a", "b", "c");
    this.agents.stop("c");
    this.set.get("c").execute("STOP REPLICA");
    for (int again = 0; again < 3; again++) {
      this.agents.stop("b");
      this.agents.stop("a");
      startAgent(this.set.get("a"));
      startAgent(this.set.get("b"));
      awaitSet("a", "b");
    }
    startAgent(this.set.get("c"));
    awaitSet("a", "b", "c");
    assertThat(this.set.get("c").query("SELECT MAX(term) FROM mysql_failover.promotion"))
        .isEqualTo("1");
  }

  /** The replica's surplus transactions are those that the source is about to commit. */
  @Test
  void aReplicaJoinsASourceThatWaitsForItsAcknowledgement() throws Exception {
    awaitSet("a", "b", "c");
    Server source = this.set.get("a");
    Server replica = this.set.get("b");
    Writer writer = new Writer(() -> Optional.of(source), 0);
    try (writer) {
      awaitWrites(writer, 100);
      this.agents.stop("c");
      this.agents.stop("b");
      replica.execute(
          "STOP REPLICA IO_THREAD",
          "SET GLOBAL rpl_semi_sync_replica_enabled = OFF",
          "START REPLICA IO_THREAD");
      this.set.get("c").execute("STOP REPLICA");
      patiently()
          .until(() -> source
              .query("SELECT GTID_SUBSET('%s', @@GLOBAL.gtid_executed)"
                  .formatted(replica.query("SELECT @@GLOBAL.gtid_executed")))
              .equals("0"));
      System.out.println("In use: " + source.query("SELECT @@GLOBAL.gtid_owned"));
      replica.execute("STOP REPLICA", "SET GLOBAL rpl_semi_sync_replica_enabled = ON");
      startAgent(replica);
      awaitWrites(writer, 100);
      assertThat(status("b").role()).isEqualTo(Role.REPLICA);
    }
  }

  /** The replicas acknowledge what the source is committing, within a second. */
  @Test
  void aSourceThatStepsDownAwaitsItsReplicas() throws Exception {
    awaitSet("a", "b", "c");
    Server source = this.set.get("a");
    List<Server> replicas = List.of(this.set.get("b"), this.set.get("c"));
    replicas.forEach(Server::pause);
    Future<Void> committing = VitalThread.start("client", () -> {
      source.execute("INSERT INTO orders.written VALUES (-9)");
      return null;
    });
    patiently()
        .until(() -> source
            .query(
                "SELECT variable_value FROM performance_schema.global_status WHERE variable_name = 'Rpl_semi_sync_source_wait_sessions'")
            .equals("1"));
    try (MysqlServer server = source.managed()) {
      Future<Void> fenced = VitalThread.start("fence", () -> {
        server.fence();
        return null;
      });
      assertThat(committing).as("a client").failsWithin(Duration.ofSeconds(10));
      replicas.forEach(Server::resume);
      assertThat(fenced).succeedsWithin(Duration.ofSeconds(10));
      assertThat(source.query("SELECT @@GLOBAL.rpl_semi_sync_source_enabled"))
          .as("acknowledgements are awaited")
          .isEqualTo("1");
    }
    patiently()
        .until(
            () -> replicas.get(0).ids().contains(-9L) || replicas.get(1).ids().contains(-9L));
  }

  /**
   * Before MySQL stops an applier, it waits up to a minute for the rest of a partial transaction.
   */
  @Test
  @Tag("long")
  void aReplicaThatHasReceivedPartOfATransactionJoins() throws Exception {
    awaitSet("a", "b", "c");
    Server source = this.set.get("a");
    Server replica = this.set.get("b");
    for (Server each : List.of(replica, this.set.get("c"))) {
      patiently().until(() -> !proof(each.name).isEmpty());
    }
    source.execute("CREATE TABLE orders.large (content longblob)");
    this.agents.stop("b"); // otherwise the replica would receive the rest
    this.agents.stop("c");
    this.set.get("c").execute("STOP REPLICA IO_THREAD"); // no other replica acknowledges it
    replica.execute(
        "STOP REPLICA IO_THREAD",
        "SET GLOBAL replica_max_allowed_packet = 1048576", // the receiver stops at the second row
        "START REPLICA IO_THREAD");
    Future<Void> large = VitalThread.start("client", () -> {
      source.execute("INSERT INTO orders.large VALUES ('x'), (REPEAT('x', 2000000))");
      return null;
    });
    patiently()
        .until(() -> replica
            .query("SELECT service_state FROM performance_schema.replication_connection_status")
            .equals("OFF"));
    String applying =
        "SELECT COUNT(*) FROM performance_schema.replication_applier_status_by_worker WHERE applying_transaction <> ''";
    patiently().until(() -> replica.query(applying).equals("1"));
    replica.execute(
        "SET GLOBAL replica_max_allowed_packet = DEFAULT",
        "SET GLOBAL long_query_time = 4321"); // lasts until the server is shut down
    source.kill();
    assertThat(large).failsWithin(Duration.ofSeconds(10));
    startAgent(replica);
    startAgent(this.set.get("c"));
    patiently().until(() -> source().filter((each) -> each != source).isPresent());
    String next = source().orElseThrow().name;
    awaitSet(next, next.equals("b") ? "c" : "b");
    assertThat(replica.query("SELECT @@GLOBAL.long_query_time")).startsWith("4321");
  }

  /**
   * At start-up, MySQL discards transactions that were received and acknowledged but not applied.
   */
  @Test
  @Tag("faults")
  void nobodyIsPromotedByAServerThatMayHaveLostWhatItAcknowledged() throws Exception {
    awaitSet("a", "b", "c");
    Server source = this.set.get("a");
    Server replica = this.set.get("b");
    for (Server each : List.of(replica, this.set.get("c"))) {
      patiently().until(() -> !proof(each.name).isEmpty());
    }
    this.agents.stop("c");
    this.set.get("c").execute("STOP REPLICA IO_THREAD");
    replica.execute("STOP REPLICA SQL_THREAD");
    source.execute("INSERT INTO orders.written VALUES (-7)"); // b alone acknowledges it
    source.kill();
    replica.kill();
    replica.startAgain();
    startAgent(this.set.get("c"));
    patiently()
        .until(() -> source().filter((each) -> each != source).isPresent()
            || status("c").reason().contains("may lack acknowledged transactions: [b]"));
    assertThat(source().filter((each) -> each != source)).isEmpty();
    source.startAgain();
    awaitSet("a", "b", "c");
    assertThat(source.ids()).contains(-7L);
  }

  /** The set takes more than 1,024 bytes, the limit of GROUP_CONCAT. */
  @Test
  void aLongSetOfReceivedTransactionsIsReadCompletely() throws Exception {
    awaitSet("a", "b", "c");
    Server source = this.set.get("a");
    Server replica = this.set.get("b");
    replica.execute("STOP REPLICA SQL_THREAD");
    List<String> statements = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      statements.addAll(List.of(
          "SET SESSION gtid_next = '%s:1'".formatted(UUID.randomUUID()), "BEGIN", "COMMIT"));
    }
    statements.add("SET SESSION gtid_next = AUTOMATIC");
    source.execute(statements.toArray(String[]::new));
    GtidSet written = GtidSet.parse(source.query("SELECT @@GLOBAL.gtid_executed"));
    try (MysqlServer server = replica.managed()) {
      patiently().until(() -> server.state().received().contains(written));
      assertThat(server.state().executed().contains(written)).isFalse();
    }
    replica.execute("START REPLICA SQL_THREAD");
    awaitSet("a", "b", "c");
  }

  /** MySQL discards what the replica has received but not applied when it joins again. */
  @Test
  void aReplicaThatJoinsAgainCountsWhenItHasReceivedAllOnceMore() throws Exception {
    awaitSet("a", "b", "c");
    Server source = this.set.get("a");
    Server replica = this.set.get("b");
    patiently().until(() -> !proof("b").isEmpty());
    this.agents.stop("b");
    replica.execute("STOP REPLICA SQL_THREAD");
    source.execute("INSERT INTO orders.written VALUES (-8)");
    GtidSet written = GtidSet.parse(source.query("SELECT @@GLOBAL.gtid_executed"));
    GtidSet proof = proof("b");
    assertThat(proof.isEmpty()).isFalse();
    try (MysqlServer server = replica.managed()) {
      patiently().until(() -> server.state().received().contains(written));
      assertThat(server.state().receiver().received().contains(proof)).isTrue();
      server.replication().follow(source.host() + ":3306", "replica", "wrong");
      assertThat(server.state().received().contains(written)).isFalse();
      assertThat(server.state().receiver().received().contains(proof)).isFalse();
    }
    startAgent(replica);
    awaitSet("a", "b", "c");
    patiently().until(() -> !proof("b").isEmpty() && !proof("b").equals(proof));
    assertThat(GtidSet.parse(replica.query("SELECT @@GLOBAL.gtid_executed")).contains(written))
        .isTrue();
  }

  private GtidSet proof(String server) throws LeaseStoreException {
    return this.agents.proof("a", server);
  }

  /** With two members lost, no agent can be elected, and the source steps down in time. */
  @Test
  void membersOfEtcdAreLost() throws Exception {
    List<EtcdProcess> cluster = EtcdProcess.startCluster(3);
    try {
      this.endpoints = cluster.stream().map(EtcdProcess::url).collect(Collectors.joining(","));
      startOver(1, "a", "b", "c");
      awaitSet("a", "b", "c");
      EtcdProcess first =
          cluster.stream().filter(EtcdProcess::leads).findFirst().orElseThrow();
      Writer writer = new Writer(this::source, 0);
      try (writer) {
        awaitWrites(writer, 100);
        first.kill();
        awaitWrites(writer, 1_000);
        String killed = writer.lastServer();
        this.set.get(killed).kill();
        patiently().until(() -> !writer.lastServer().equals(killed));
        awaitWrites(writer, 100);
        EtcdProcess second =
            cluster.stream().filter((each) -> each != first).findFirst().orElseThrow();
        second.kill();
        patiently().until(() -> source().isEmpty());
        for (Server server : this.set.servers.values()) {
          if (!server.name.equals(killed) && server.isRunning()) {
            // The agent says that it is no source before its server is read-only, and the fence
            // ends the connection of this question, too.
            patiently()
                .atMost(Duration.ofSeconds(2))
                .ignoreExceptions()
                .until(() -> server.query("SELECT @@GLOBAL.super_read_only").equals("1"));
          }
        }
        Server replica = this.set.servers.values().stream()
            .filter((server) -> !List.of(killed, writer.lastServer()).contains(server.name))
            .findFirst()
            .orElseThrow();
        replica.execute("SET GLOBAL super_read_only = OFF");
        patiently()
            .ignoreExceptions() // the agent ends all connections
            .until(() -> replica.query("SELECT @@GLOBAL.super_read_only").equals("1"));
        second.run();
        int before = writer.count();
        patiently().until(() -> {
          // A commit that waits for a replica holds the agent up, so that the guard may be faster.
          this.set.servers.values().stream()
              .filter((server) -> !server.name.equals(killed) && !server.isRunning())
              .forEach(Server::startAgain);
          return writer.count() >= before + 100;
        });
      }
      assertThat(source().orElseThrow().ids())
          .containsAll(writer.written().stream().map(Written::id).toList());
    } finally {
      cluster.forEach(EtcdProcess::close);
    }
  }

  private String members() throws SQLException {
    List<String> members = new ArrayList<>();
    for (Server each : this.set.servers.values()) {
      members.add("\"%s\": \"%s\"".formatted(each.name, each.query("SELECT @@GLOBAL.server_uuid")));
    }
    return String.join(",", members);
  }

  /** No server is promoted until an operator has restored the record of the last promotion. */
  @Test
  void theDataOfEtcdAreDeleted() throws Exception {
    awaitSet("a", "b", "c");
    Server source = this.set.get("a");
    Writer writer = new Writer(this::source, 0);
    try (writer) {
      awaitWrites(writer, 100);
      this.etcd.ctl("del", "", "--from-key");
      patiently().until(() -> source().isEmpty());
      // The lease was lost without warning, so the agent has made the server read-only or the guard
      // has shut it down.
      TimeUnit.SECONDS.sleep(10);
      if (!source.isRunning()) {
        source.startAgain();
      }
      patiently().until(() -> status("a").role() == Role.WAITING);
      TimeUnit.SECONDS.sleep(10);
      System.out.println("Waiting: " + status("a").reason());
      assertThat(this.agents.names()).allSatisfy((name) -> {
        assertThat(status(name).role()).isEqualTo(Role.WAITING);
        assertThat(this.set.get(name).query("SELECT @@GLOBAL.super_read_only")).isEqualTo("1");
      });
      // The source may have committed transactions that no other server has received.
      GtidSet least = GtidSet.parse(source.query("SELECT @@GLOBAL.gtid_executed"));
      for (String name : this.agents.names()) {
        GtidSet each = GtidSet.parse(this.set.get(name).query("SELECT @@GLOBAL.gtid_executed"));
        least = each.contains(least) ? least : each;
      }
      this.etcd.ctl("put", "/mysql-failover/" + this.agents.service, """
          {"term": 1, "server": "a", "uuid": "%s", "position": "%s", "electionTerm": 0,
           "acknowledging": 1, "members": {%s}}
          """.formatted(
              source.query("SELECT @@GLOBAL.server_uuid"), least, members()));
      awaitWrites(writer, 100);
      patiently().untilAsserted(() -> {
        Status last = status("a");
        List<Role> roles =
            Stream.of(last, status("b"), status("c")).map(Status::role).toList();
        if (last.role() == Role.REFUSED) {
          // Another server was faster, and no replica acknowledged the last source's surplus.
          assertThat(last.reason()).startsWith("it has transactions that the source lacks: ");
          assertThat(roles).containsExactlyInAnyOrder(Role.SOURCE, Role.REPLICA, Role.REFUSED);
        } else {
          assertThat(roles).containsExactlyInAnyOrder(Role.SOURCE, Role.REPLICA, Role.REPLICA);
        }
      });
    }
    // The source is the last one, or another server with every acknowledged transaction.
    assertThat(source().orElseThrow().ids())
        .containsAll(writer.written().stream().map(Written::id).toList());
  }

  /**
   * A server that was down has missed too many promotions for a comparison. A server that was
   * paused may catch up over its open connection.
   */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aServerSleepsDuringThreeFailovers(boolean down) throws Exception {
    startOver(2, "a", "b", "c", "d");
    awaitSet("a", "b", "c", "d");
    patiently().ignoreExceptions().until(() -> promotions("d").equals("1"));
    this.agents.stop("d");
    if (down) {
      this.set.get("d").kill();
    } else {
      this.set.get("d").pause();
    }
    List<Long> written = new ArrayList<>();
    for (int failover = 0; failover < 3; failover++) {
      written.addAll(write(failover * 1_000_000L));
      Server source = source().orElseThrow();
      source.kill();
      patiently().until(() -> source().filter((each) -> each != source).isPresent());
      source.startAgain();
      patiently().until(() -> status(source.name).role() == Role.REPLICA);
    }
    written.addAll(write(3_000_000));
    Server source = source().orElseThrow();
    assertThat(promotions(source.name)).isEqualTo("4");
    if (down) {
      this.set.get("d").startAgain();
    } else {
      this.set.get("d").resume();
    }
    startAgent(this.set.get("d"));
    patiently()
        .until(() -> status("d").role() == Role.REPLICA || status("d").role() == Role.REFUSED);
    System.out.printf(
        "Afterwards d is %s: %s%n", status("d").role(), status("d").reason());
    if (down || status("d").role() == Role.REFUSED) {
      assertThat(status("d").reason()).contains("term 1");
      rebuild("d");
    }
    assertThat(source.ids()).containsAll(written);
    patiently().untilAsserted(() -> assertThat(this.set.get("d").ids()).containsAll(written));
  }

  private List<Long> write(long firstId) {
    Writer writer = new Writer(this::source, firstId);
    try (writer) {
      awaitWrites(writer, 100);
    }
    return writer.written().stream().map(Written::id).toList();
  }

  @Test
  void aPromotionIsNotRecordedInATermThatHasEnded() throws Exception {
    awaitSet("a", "b", "c");
    Registry registry = this.agents.bean("a", Registry.class);
    Promotion last = registry.read().last().orElseThrow();
    Promotion late = new Promotion(
        3,
        last.server(),
        last.uuid(),
        last.position(),
        last.electionTerm() - 1,
        last.acknowledging(),
        last.members());
    assertThat(registry.record(late)).isFalse();
    assertThat(registry.initialize(late)).isFalse();
    assertThat(registry.read().last()).contains(last);
  }

  /** Starts another set, whose data show no promotion. */
  private void startOver(int acknowledging, String... servers) throws SQLException {
    this.agents.close();
    startSet(acknowledging, servers);
  }

  private String promotions(String server) throws SQLException {
    return this.set.get(server).query("SELECT MAX(term) FROM mysql_failover.promotion");
  }

  /** Starts an agent that kills its server if the server does not become read-only. */
  private void startKillingAgent(Server server) {
    String kill = "docker kill %1$s; docker inspect -f {{.State.Running}} %1$s | grep -q false"
        .formatted(server.containerId());
    this.agents.start(server, "--as.failover.kill-server=sh,-c," + kill);
  }

  /**
   * Hands over until a server is the source. On a busy machine, its guard may have shut it down when
   * its agent was replaced, and another server may be faster.
   */
  private void makeSource(Server server) {
    patiently().ignoreExceptions().until(() -> {
      if (!server.isRunning()) {
        server.startAgain();
      }
      Server source = source().orElseThrow();
      if (source != server) {
        this.agents
            .bean(source.name, SourceDuty.class)
            .switchOver(server.name)
            .get(20, TimeUnit.SECONDS);
      }
      return source == server;
    });
  }

  /** A server that does not answer cannot be made read-only. */
  @Test
  void aSourceThatHangsIsKilled() throws Exception {
    awaitSet("a", "b", "c");
    this.agents.stop("a");
    Server hanging = this.set.get("a");
    startKillingAgent(hanging);
    makeSource(hanging);
    awaitSet("a", "b", "c");
    hanging.pause();
    patiently().until(() -> !hanging.isRunning());
    patiently().until(() -> source().filter((source) -> source != hanging).isPresent());
  }

  /**
   * The replica received the new source's transactions through the old source, but has not applied
   * them yet.
   */
  @Test
  void aReplicaIsNotRefusedForATermThatItHasNotAppliedYet() throws Exception {
    awaitSet("a", "b", "c");
    this.agents.stop("c");
    Server replica = this.set.get("c");
    try (Connection lock = replica.connect()) {
      lock.createStatement().execute("LOCK TABLES mysql_failover.promotion READ");
      this.agents.bean("a", SourceDuty.class).switchOver("b").get(20, TimeUnit.SECONDS);
      awaitSet("b", "a");
      startAgent(replica);
      patiently()
          .until(() -> status("c").role() == Role.WAITING
              && status("c").reason().equals("it is applying the received transactions"));
    }
    awaitSet("b", "a", "c");
  }

  @ParameterizedTest
  @EnumSource(names = {"KILL", "STOP"})
  void anAgentThatIsDeadOrPausedLeavesNoSecondSource(Signal signal) throws Exception {
    this.agents.stop("a");
    AgentProcess agent =
        new AgentProcess(this.agents.arguments(this.set.get("a")), this.folder.resolve("a.log"));
    Writer stubborn = new Writer(() -> Optional.of(this.set.get("a")), 1_000_000);
    Writer writer = new Writer(this::source, 0);
    try (agent;
        stubborn;
        writer) {
      patiently().until(() -> stubborn.count() > 0);
      awaitWrites(stubborn, 100);
      occupy(this.set.get("a"));
      long faulted = System.nanoTime();
      agent.send(signal);
      awaitWrites(writer, 100);
      long first = writer.written().get(0).at();
      long last = stubborn.written().get(stubborn.count() - 1).at();
      System.out.printf(
          "Measured: kill -%s of the agent: the old source acknowledged for %.2f s more, the new one from %.2f s on%n",
          signal, (last - faulted) / 1e9, (first - faulted) / 1e9);
      assertThat(last).isLessThan(first);
      patiently().until(() -> !this.set.get("a").isRunning());
    }
    Server source = source().orElseThrow();
    assertThat(source.ids())
        .containsAll(stubborn.written().stream().map(Written::id).toList())
        .containsAll(writer.written().stream().map(Written::id).toList());
    assertNothingWasHalfDone(source);
  }

  /** Lets clients hold a lock on a table, run a DDL statement, and keep a transaction open. */
  private void occupy(Server server) throws SQLException {
    server.execute("CREATE TABLE orders.locked (id int)");
    server.execute("CREATE TABLE orders.open (id int)");
    server.connect().createStatement().execute("LOCK TABLES orders.locked WRITE");
    Connection open = server.connect();
    open.setAutoCommit(false);
    open.createStatement().execute("INSERT INTO orders.open VALUES (1)");
    FutureTask<Boolean> unused =
        begin(server, "CREATE TABLE orders.slow AS SELECT SLEEP(60) AS slept");
  }

  private static void assertNothingWasHalfDone(Server source) throws SQLException {
    assertThat(source.query("SELECT COUNT(*) FROM orders.open")).isEqualTo("0");
    assertThat(source.query(
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'slow'"))
        .isEqualTo("0");
  }
}
