package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.support.TestDatabase;
import io.election.support.TestServer;
import io.election.support.process.Node;
import io.election.support.process.NodeProcess;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Faults of a database server, started for the test, under three nodes. */
@Tag("faults")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class DatabaseFaultsContract {

  /** Longer than a restart of the server takes on a busy machine. */
  private static final Duration LONG_LEASE = Duration.ofSeconds(20);

  /** The extra time of a call beyond its time-out on a busy machine. */
  private static final Duration GRACE = Duration.ofSeconds(2);

  /** Each node has its own proxy and its own user. */
  @RegisterExtension
  final SharedCluster threeNodes;

  @RegisterExtension
  final SharedCluster longLeases = new SharedCluster(
      LONG_LEASE,
      Duration.ofSeconds(1),
      () -> this.server.newDatabase(),
      (database) -> Cluster.threeNodes());

  /** Is closed after the clusters. */
  @AutoClose
  TestServer server;

  private final TcpProxies proxies = new TcpProxies();

  private final Engine engine;

  DatabaseFaultsContract(Engine engine) {
    this.engine = engine;
    this.threeNodes = new SharedCluster(
        Cluster.LEASE,
        Cluster.RENEW,
        () -> this.server.newDatabase(),
        (database) -> this.proxies.between(
            database,
            Cluster.threeNodes((node) -> this.engine
                .withoutSignals(node)
                .with("spring.datasource.username="
                    + this.engine.newOwner(database, userOf(database, node.name()))))));
  }

  @BeforeAll
  void start() {
    this.server = this.engine.startOwn();
  }

  /** Ends a {@link Engine#lockOfTables() lock}. */
  abstract String unlock();

  /** Limits the connections of the server, or ends the limit. */
  abstract void limitConnections(Statement administrator, boolean limited) throws SQLException;

  @Test
  void fault_16_database_restarted_in_less_than_the_lease() throws Exception {
    restart("16 database restarted", this.server::stop);
  }

  @Test
  void fault_18_database_killed() throws Exception {
    restart("18 database killed and started", this.server::kill);
  }

  /** The leader keeps its leadership and term, since the server has lost nothing. */
  private void restart(String fault, Runnable end) throws Exception {
    this.longLeases.run((cluster, leader) -> {
      cluster.awaitWrites(1);
      long acknowledged = version();
      long begin = System.nanoTime();
      end.run();
      this.server.start();
      Duration away = Duration.ofNanos(System.nanoTime() - begin);
      Cluster.measured("%s: away for %.3f s", fault, away.toMillis() / 1e3);
      Assumptions.assumeTrue(
          away.multipliedBy(4).compareTo(LONG_LEASE.multipliedBy(3)) < 0,
          "here a database takes longer to start than a lease lasts: " + away);
      assertThat(version()).isGreaterThanOrEqualTo(acknowledged);
      cluster.awaitWrites(2);
      assertThat(cluster.awaitRecovery(fault, System.nanoTime())).isEqualTo(leader);
      assertThat(leader.claims()).hasSize(1);
      assertThat(cluster.nodes())
          .filteredOn((node) -> !node.claims().isEmpty())
          .containsExactly(leader);
    });
  }

  private long version() {
    return Long.parseLong(this.longLeases.database().query("SELECT version FROM leader_election"));
  }

  @Test
  void fault_17_database_away_for_longer_than_the_lease() throws Exception {
    this.threeNodes.run((cluster, leader) -> {
      outage("17 database away", this.server::stop, this.server::start, cluster, leader);
      for (NodeProcess node : cluster.nodes()) {
        assertThat(node.logLines(" WARN ").size()).as("warnings of %s", node).isLessThan(12);
        cluster.awaitLog(node, "the " + this.engine + " store works again");
      }
    });
  }

  @Test
  void fault_19_database_paused_for_longer_than_the_lease() throws Exception {
    this.threeNodes.run((cluster, leader) ->
        outage("19 database paused", this.server::pause, this.server::resume, cluster, leader));
  }

  /** The leader steps down, and when all is well a node leads in a later term. */
  static void outage(
      String fault, Runnable begin, Runnable end, Cluster cluster, NodeProcess leader) {
    long term = leader.lastClaim().term();
    begin.run();
    try {
      cluster.awaitNoLeader();
      cluster.awaitLoss(leader);
    } finally {
      end.run();
    }
    NodeProcess next = cluster.awaitRecovery(fault, System.nanoTime());
    assertThat(next.lastClaim().term()).isGreaterThan(term);
  }

  /** The row proves that no other node has led, so the leader need not wait for a lease. */
  @Test
  void fault_19_leader_leads_again_at_once_after_the_database_was_paused() throws Exception {
    Cluster.run(
        this.server.newDatabase(), Cluster.threeNodes().subList(0, 1), (cluster, leader) -> {
          for (int round = 0; round < 3; round++) {
            long term = leader.lastClaim().term();
            this.server.pause();
            long end;
            try {
              cluster.awaitNoLeader();
              cluster.awaitLoss(leader);
            } finally {
              this.server.resume();
              end = System.nanoTime(); // a busy engine takes its time
            }
            cluster.awaitRecovery("19 database paused under a leader alone", end);
            assertThat(leader.lastClaim().term()).isGreaterThan(term);
            assertThat(Duration.ofNanos(leader.lastClaim().from() - end)).isLessThan(Cluster.LEASE);
          }
        });
  }

  @Test
  void fault_20_row_lock_global_read_lock_and_alter_table() throws Exception {
    this.threeNodes.run((cluster, leader) -> {
      try (Connection holder = this.threeNodes.database().connect();
          Statement statement = holder.createStatement()) {
        holder.setAutoCommit(false);
        statement.executeQuery("SELECT * FROM leader_election FOR UPDATE").close();
        cluster.awaitNoLeader();
        holder.rollback();
        cluster.awaitRecovery("20 row lock held", System.nanoTime());

        statement.execute(this.engine.lockOfTables());
        cluster.awaitNoLeader();
        statement.execute(unlock());
        cluster.awaitRecovery("20 " + this.engine.lockOfTables(), System.nanoTime());

        statement.executeQuery("SELECT * FROM leader_election").close();
        // The ALTER waits for the transaction, and all others wait for the ALTER.
        CompletableFuture<Void> alter = CompletableFuture.runAsync(() -> this.threeNodes
            .database()
            .execute("ALTER TABLE leader_election ADD COLUMN note varchar(10)"));
        cluster.awaitNoLeader();
        assertThat(alter).isNotDone();
        holder.commit();
        alter.join();
        cluster.awaitRecovery("20 ALTER TABLE", System.nanoTime());
      }
      assertBounded(this.proxies);
      Cluster.measured(
          "20 locks: the leader waited at most %d ms for one answer (operation time-out 500 ms)",
          this.proxies.of(leader).longestWait().toMillis());
    });
  }

  /** MySQL hangs on a full disk and checks it once a minute; PostgreSQL ends itself. */
  @Test
  @Tag("long")
  void fault_20_disk_full() throws Exception {
    try (TestServer small = this.engine.startOnDisk()) {
      TestDatabase own = small.newDatabase();
      try (TcpProxies proxies = new TcpProxies()) {
        List<Node> nodes = Cluster.threeNodes(this.engine::withoutSignals);
        Cluster.run(own, proxies.between(own, nodes), (cluster, leader) -> {
          small.fillDisk();
          cluster.await("nobody leads on a full disk", () -> cluster.leader().isEmpty());
          cluster.awaitLoss(leader);
          small.freeDisk();
          cluster.awaitRecovery("20 disk full", System.nanoTime(), Duration.ofSeconds(120));
          assertBounded(proxies);
        });
      }
    }
  }

  static void assertBounded(TcpProxies proxies) {
    proxies.forEach((proxy) -> assertThat(proxy.longestWait())
        .as("the wait for one answer, with an operation time-out of 500 ms")
        .isLessThan(Duration.ofMillis(500).plus(GRACE)));
  }

  @Test
  void fault_22_max_connections_reached() throws Exception {
    this.threeNodes.run((cluster, leader) -> {
      NodeProcess follower = cluster.follower();
      List<Connection> taken = new ArrayList<>();
      try (Connection administrator = this.threeNodes.database().connect();
          Statement statement = administrator.createStatement()) {
        limitConnections(statement, true);
        try {
          cluster.await("a follower finds no connection", () -> {
            takeAll(taken);
            this.engine.killSessions(
                statement, userOf(this.threeNodes.database(), Cluster.place(follower)));
            takeAll(taken);
            return !follower.logLines("has no connection left").isEmpty();
          });
          long goal = version(administrator) + 8;
          cluster.await("renewals on a live connection", () -> version(administrator) >= goal);
          assertThat(cluster.awaitLeader()).isEqualTo(leader);
          assertThat(leader.claims()).hasSize(1);
        } finally {
          limitConnections(statement, false);
          for (Connection connection : taken) {
            connection.close();
          }
        }
        cluster.awaitLog(follower, "the " + this.engine + " store works again");
        cluster.awaitRecovery("22 max_connections reached", System.nanoTime());
        assertThat(leader.claims()).hasSize(1);
      }
    });
  }

  private static String userOf(TestDatabase database, String node) {
    return node + "_" + database.name();
  }

  /** Queries on an existing connection, since no other could be opened. */
  private static long version(Connection connection) throws SQLException {
    return Long.parseLong(TestServer.query(connection, "SELECT version FROM leader_election"));
  }

  private void takeAll(List<Connection> taken) {
    try {
      while (true) {
        taken.add(DriverManager.getConnection(
            this.threeNodes.database().jdbcUrl(),
            this.threeNodes.database().username(),
            this.threeNodes.database().password()));
      }
    } catch (SQLException ex) {
      // All connections are taken.
    }
  }
}
