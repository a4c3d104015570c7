package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.election.etcd.EtcdProcess;
import io.election.mysql.failover.agent.ReplicationSet.Server;
import io.election.mysql.failover.agent.Status.Role;
import io.election.mysql.failover.agent.Writer.Written;
import io.election.test.Signal;
import io.election.test.TestDatabase;
import io.election.zookeeper.Zookeeper;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;

/**
 * Three servers with semi-synchronous replication, an agent for each, etcd, and a writer.
 */
@Tag("failover")
class FailoverIT {

  private final EtcdProcess etcd = EtcdProcess.shared();

  private final String service = "set-" + UUID.randomUUID();

  private final Map<String, ConfigurableApplicationContext> agents = new ConcurrentHashMap<>();

  @TempDir
  private Path folder;

  private ReplicationSet set;

  /** Further arguments of agents that are started. */
  private final List<String> more = new ArrayList<>();

  @BeforeEach
  void startSet() throws SQLException {
    this.set = new ReplicationSet("a", "b", "c");
    this.set.servers.values().forEach(this::startAgent);
  }

  @AfterEach
  void end() {
    this.agents.values().forEach(ConfigurableApplicationContext::close);
    if (this.set != null) {
      this.set.close();
    }
  }

  private void startAgent(Server server) {
    this.agents.put(
        server.name,
        new SpringApplicationBuilder(FailoverAgentApplication.class)
            .properties("server.port=0")
            .run(Stream.concat(arguments(server).stream(), this.more.stream())
                .toArray(String[]::new)));
  }

  private List<String> arguments(Server server) {
    return AgentProcess.arguments(server, this.set.servers.keySet(), this.service, this.etcd.url());
  }

  private Status status(String server) {
    return this.agents.get(server).getBean(Agent.class).status();
  }

  /** The first of the servers whose agents run in this JVM that is a source. */
  private Optional<Server> source() {
    return this.set.servers.values().stream()
        .filter((server) -> this.agents.containsKey(server.name))
        .filter((server) -> status(server.name).role() == Role.SOURCE)
        .findFirst();
  }

  private static ConditionFactory patiently() {
    return await().atMost(Duration.ofSeconds(60)).pollInterval(Duration.ofMillis(20));
  }

  private void awaitSet(String source, String... replicas) {
    patiently().untilAsserted(() -> {
      assertThat(status(source).role()).isEqualTo(Role.SOURCE);
      for (String replica : replicas) {
        assertThat(status(replica).role()).as(replica).isEqualTo(Role.REPLICA);
      }
    });
  }

  private static void awaitWrites(Writer writer, int more) {
    int before = writer.count();
    patiently().until(() -> writer.count() >= before + more);
  }

  @Test
  void theFreshestReplicaBecomesTheSourceAndNoAcknowledgedTransactionIsLost() throws Exception {
    this.agents.remove("a").close();
    startKillingAgent(this.set.get("a"));
    patiently().ignoreExceptions().until(() -> {
      Server source = source().orElseThrow();
      return source.name.equals("a") || switchOver(source, "a");
    });
    awaitSet("a", "b", "c");
    long term = Long.parseLong(promotions("a"));
    Writer writer = new Writer(this::source, 0);
    try (writer) {
      awaitWrites(writer, 100);
      // b falls behind: only c acknowledges from now on. Its agent would let it catch up.
      this.agents.remove("b").close();
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

    // The old source joins, unless it has transactions that nobody acknowledged.
    this.set.get("a").startAgain();
    patiently()
        .until(() -> status("a").role() == Role.REPLICA || status("a").role() == Role.REFUSED);
    if (status("a").role() == Role.REFUSED) {
      assertThat(status("a").reason()).contains("transactions that the source lacks");
      rebuild("a");
    }
  }

  @Test
  void aPlannedSwitchOverLosesNothing() throws Exception {
    awaitSet("a", "b", "c");
    Writer writer = new Writer(this::source, 0);
    try (writer) {
      awaitWrites(writer, 100);
      assertThat(this.agents.get("a").getBean(SourceDuty.class).switchOver("x"))
          .failsWithin(Duration.ofSeconds(10))
          .withThrowableThat()
          .withMessageContaining("no agent has announced a server 'x'");
      awaitWrites(writer, 100);
      this.agents.get("a").getBean(SourceDuty.class).switchOver("b").get(20, TimeUnit.SECONDS);
      awaitSet("b", "a", "c");
      awaitWrites(writer, 100);
    }
    long gap = 0;
    List<Written> written = writer.written();
    for (int i = 1; i < written.size(); i++) {
      if (!written.get(i).server().equals(written.get(i - 1).server())) {
        gap = written.get(i).at() - written.get(i - 1).at();
      }
    }
    System.out.printf("Measured: %.2f s without writes in a planned switch-over%n", gap / 1e9);
    assertThat(this.set.get("b").ids())
        .containsAll(writer.written().stream().map(Written::id).toList());
  }

  /** The agent is dead or paused: the server itself ends its service. */
  @Test
  void theServersOwnGuardEndsItWithoutItsAgent() throws Exception {
    this.agents.values().forEach(ConfigurableApplicationContext::close);
    Server server = this.set.get("a");
    try (MysqlServer agent = new MysqlServer(server.url(), "root", ReplicationSet.PASSWORD)) {
      agent.noteTerm(1, "a", 2);
      agent.openForWrites(0);
      for (int i = 0; i < 40; i++) {
        agent.resetGuard();
        assertThat(agent.state().readOnly()).isFalse();
        TimeUnit.MILLISECONDS.sleep(100); // the guard counts seconds of the server
      }
      patiently().until(() -> !server.isRunning());
    }
  }

  @Test
  void aServerWithUnsafeSettingsIsRefusedByTheirNames() throws Exception {
    awaitSet("a", "b", "c");
    this.agents.get("c").close();
    this.set.get("c").execute("SET GLOBAL sync_binlog = 0", "SET GLOBAL event_scheduler = OFF");
    startAgent(this.set.get("c"));
    patiently().until(() -> status("c").role() == Role.REFUSED);
    assertThat(status("c").reason())
        .isEqualTo("event_scheduler is OFF: set it to ON; sync_binlog is 0: set it to 1");
    this.set.get("c").execute("SET GLOBAL sync_binlog = 1", "SET GLOBAL event_scheduler = ON");
    awaitSet("a", "b", "c");
  }

  /** Replaces the data of a refused server, which ends and must be started again. */
  private void rebuild(String server) {
    this.agents.get(server).getBean(Agent.class).rebuild();
    patiently().until(() -> !this.set.get(server).isRunning());
    this.set.get(server).startAgain();
    patiently().untilAsserted(() -> assertThat(status(server).role()).isEqualTo(Role.REPLICA));
  }

  @Test
  void aServerWithOtherTransactionsIsRefusedUntilItIsRebuilt() throws Exception {
    awaitSet("a", "b", "c");
    assertThatThrownBy(() -> this.agents.get("c").getBean(Agent.class).rebuild())
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

  /** Somebody writes on a replica while its agent does not run. */
  private void writeOnReplica(String server) throws SQLException {
    this.agents.remove(server).close();
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
    Writer writer = new Writer(() -> Optional.of(source), 0);
    try (writer) {
      awaitWrites(writer, 100);
      for (String replica : List.of("b", "c")) {
        writeOnReplica(replica);
        startAgent(this.set.get(replica));
        patiently().until(() -> status(replica).role() == Role.REFUSED);
      }
      patiently().until(() -> status("a").role() == Role.WAITING);
      assertThat(status("a").reason())
          .contains("1 replicas must acknowledge before it accepts writes; 0 do");
      patiently().until(() -> status("b").role() == Role.REFUSED);
      rebuild("b");
      awaitWrites(writer, 100);
      assertThat(status("a").role()).isEqualTo(Role.SOURCE);
    }
  }

  /** A server that sleeps meanwhile has missed no promotion. */
  @Test
  void aSourceThatIsElectedAgainGoesOnWithItsPromotion() throws Exception {
    awaitSet("a", "b", "c");
    this.agents.remove("c").close();
    this.set.get("c").execute("STOP REPLICA");
    for (int again = 0; again < 3; again++) {
      this.agents.remove("b").close();
      this.agents.remove("a").close();
      startAgent(this.set.get("a"));
      startAgent(this.set.get("b"));
      awaitSet("a", "b");
    }
    startAgent(this.set.get("c"));
    awaitSet("a", "b", "c");
    assertThat(this.set.get("c").query("SELECT MAX(term) FROM mysql_failover.promotion"))
        .isEqualTo("1");
  }

  /** What it has beyond the source is what the source is about to commit. */
  @Test
  void aReplicaJoinsASourceThatWaitsForItsAcknowledgement() throws Exception {
    awaitSet("a", "b", "c");
    Server source = this.set.get("a");
    Server replica = this.set.get("b");
    Writer writer = new Writer(() -> Optional.of(source), 0);
    try (writer) {
      awaitWrites(writer, 100);
      this.agents.remove("c").close();
      this.agents.remove("b").close();
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

  @Test
  void agentsElectOverAMysqlElsewhere() throws Exception {
    TestDatabase election = TestDatabase.newDatabase();
    electOver(
        "--as.election.algorithm=Mysql",
        "--spring.datasource.url=" + election.jdbcUrl(),
        "--spring.datasource.username=" + election.username(),
        "--spring.datasource.password=" + election.password());
  }

  @Test
  void agentsElectOverZookeeper() throws Exception {
    try (Zookeeper zookeeper = Zookeeper.start()) {
      electOver(
          "--as.election.algorithm=Zookeeper",
          "--as.election.zookeeper.connect-string=" + zookeeper.connectString());
    }
  }

  /** The election and the record of promotions are on a server that is none of the set. */
  private void electOver(String... arguments) throws Exception {
    this.agents.values().forEach(ConfigurableApplicationContext::close);
    this.agents.clear();
    this.set.close(); // its data may show a promotion
    this.set = new ReplicationSet("a", "b", "c");
    this.more.addAll(List.of(arguments));
    this.set.servers.values().forEach(this::startAgent);
    awaitSet("a", "b", "c");
    Writer writer = new Writer(this::source, 0);
    try (writer) {
      awaitWrites(writer, 100);
      this.set.get("a").kill();
      patiently().until(() -> !writer.lastServer().equals("a"));
      awaitWrites(writer, 100);
    }
    Server source = source().orElseThrow();
    assertThat(source.ids())
        .containsAll(writer.written().stream().map(Written::id).toList());
    Promotions promotions = this.agents.get(source.name).getBean(Promotions.class);
    Promotion last = promotions.last().orElseThrow();
    assertThat(last.term()).isEqualTo(2);
    assertThat(last.server()).isEqualTo(source.name);
    Promotion late = new Promotion(
        3,
        last.server(),
        last.uuid(),
        last.host(),
        last.port(),
        last.position(),
        last.electionTerm() - 1);
    assertThat(promotions.record(late)).as("in a term that has ended").isFalse();
    assertThat(promotions.last()).contains(last);
  }

  private String promotions(String server) throws SQLException {
    return this.set.get(server).query("SELECT MAX(term) FROM mysql_failover.promotion");
  }

  /** Starts an agent that kills its server if that does not become read-only. */
  private void startKillingAgent(Server server) {
    String kill = "docker kill %1$s; docker inspect -f {{.State.Running}} %1$s | grep -q false"
        .formatted(server.containerId());
    this.more.add("--as.failover.kill-server=sh,-c," + kill);
    startAgent(server);
    this.more.clear();
  }

  private boolean switchOver(Server source, String to) throws Exception {
    SourceDuty duty = this.agents.get(source.name).getBean(SourceDuty.class);
    return !duty.switchOver(to).get(20, TimeUnit.SECONDS).isEmpty();
  }

  /** A server that does not answer cannot be made read-only. */
  @Test
  void aSourceThatHangsIsKilled() throws Exception {
    awaitSet("a", "b", "c");
    this.agents.remove("a").close();
    Server hanging = this.set.get("a");
    startKillingAgent(hanging);
    patiently().ignoreExceptions().until(() -> {
      Server source = source().orElseThrow();
      return source == hanging || switchOver(source, "a"); // once a has announced itself
    });
    awaitSet("a", "b", "c");
    hanging.pause();
    patiently().until(() -> !hanging.isRunning());
    patiently().until(() -> source().filter((source) -> source != hanging).isPresent());
  }

  /** It has received what its new source wrote, over the old one, but has not applied it yet. */
  @Test
  void aReplicaIsNotRefusedForATermThatItHasNotAppliedYet() throws Exception {
    awaitSet("a", "b", "c");
    this.agents.remove("c").close();
    Server replica = this.set.get("c");
    try (Connection lock = replica.connect()) {
      lock.createStatement().execute("LOCK TABLES mysql_failover.promotion READ");
      this.agents.get("a").getBean(SourceDuty.class).switchOver("b").get(20, TimeUnit.SECONDS);
      awaitSet("b", "a");
      startAgent(replica);
      patiently()
          .until(() -> status("c").role() == Role.WAITING
              && status("c").reason().equals("it applies what it has received"));
    }
    awaitSet("b", "a", "c");
  }

  @ParameterizedTest
  @EnumSource(names = {"KILL", "STOP"})
  void anAgentThatIsDeadOrPausedLeavesNoSecondSource(Signal signal) throws Exception {
    this.agents.remove("a").close();
    AgentProcess agent =
        new AgentProcess(arguments(this.set.get("a")), this.folder.resolve("a.log"));
    Writer stubborn = new Writer(() -> Optional.of(this.set.get("a")), 1_000_000);
    Writer writer = new Writer(this::source, 0);
    try (agent;
        stubborn;
        writer) {
      patiently().until(() -> stubborn.count() > 0);
      awaitWrites(stubborn, 100);
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
  }
}
