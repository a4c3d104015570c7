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
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Faults of a database server, started for the test, under three nodes. */
@Order(2)
@Tag("faults")
class DatabaseFaultsIT {

  /** Longer than a restart of the server takes on a busy machine. */
  private static final Duration LONG_LEASE = Duration.ofSeconds(20);

  /** The extra time of a call beyond its time-out on a busy machine. */
  private static final Duration GRACE = Duration.ofSeconds(2);

  /** Is closed after the clusters. */
  @AutoClose
  private static TestServer server;

  private static final TcpProxies PROXIES = new TcpProxies();

  /** Each node has its own proxy and its own user. */
  @RegisterExtension
  static final SharedCluster THREE_NODES = new SharedCluster(
      Cluster.LEASE,
      Cluster.RENEW,
      () -> server.newDatabase(),
      (database) -> PROXIES.between(
          database,
          Cluster.threeNodes((node) -> node.with(TcpProxies.WITHOUT_SIGNALS)
              .with("spring.datasource.username="
                  + database.newUser(
                      userOf(database, node.name()), "ALL ON " + database.name() + ".*")))));

  @RegisterExtension
  static final SharedCluster LONG_LEASES = new SharedCluster(
      LONG_LEASE,
      Duration.ofSeconds(1),
      () -> server.newDatabase(),
      (database) -> Cluster.threeNodes());

  @BeforeAll
  static void start() {
    server = TestServer.startOwn();
  }

  @Test
  void fault_16_database_restarted_in_less_than_the_lease() throws Exception {
    restart("16 database restarted", server::stop);
  }

  @Test
  void fault_18_database_killed() throws Exception {
    restart("18 database killed and started", server::kill);
  }

  /** The leader keeps its leadership and term, since the server has lost nothing. */
  private void restart(String fault, Runnable end) throws Exception {
    LONG_LEASES.run((cluster, leader) -> {
      cluster.awaitWrites(1);
      long acknowledged = version();
      long begin = System.nanoTime();
      end.run();
      server.start();
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

  private static long version() {
    return Long.parseLong(LONG_LEASES.database().query("SELECT version FROM leader_election"));
  }

  @Test
  void fault_17_database_away_for_longer_than_the_lease() throws Exception {
    THREE_NODES.run((cluster, leader) -> {
      outage("17 database away", server::stop, server::start, cluster, leader);
      for (NodeProcess node : cluster.nodes()) {
        assertThat(node.logLines(" WARN ").size()).as("warnings of %s", node).isLessThan(12);
        cluster.awaitLog(node, "the mysql store works again");
      }
    });
  }

  @Test
  void fault_19_database_paused_for_longer_than_the_lease() throws Exception {
    THREE_NODES.run((cluster, leader) ->
        outage("19 database paused", server::pause, server::resume, cluster, leader));
  }

  /** The leader steps down, and when all is well a node leads in a later term. */
  private static void outage(
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
    Cluster.run(server.newDatabase(), Cluster.threeNodes().subList(0, 1), (cluster, leader) -> {
      for (int round = 0; round < 3; round++) {
        long term = leader.lastClaim().term();
        server.pause();
        long end;
        try {
          cluster.awaitNoLeader();
          cluster.awaitLoss(leader);
        } finally {
          server.resume();
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
    THREE_NODES.run((cluster, leader) -> {
      try (Connection holder = THREE_NODES.database().connect();
          Statement statement = holder.createStatement()) {
        holder.setAutoCommit(false);
        statement.executeQuery("SELECT * FROM leader_election FOR UPDATE").close();
        cluster.awaitNoLeader();
        holder.rollback();
        cluster.awaitRecovery("20 row lock held", System.nanoTime());

        holder.setAutoCommit(true);
        statement.execute("FLUSH TABLES WITH READ LOCK");
        cluster.awaitNoLeader();
        statement.execute("UNLOCK TABLES");
        cluster.awaitRecovery("20 FLUSH TABLES WITH READ LOCK", System.nanoTime());

        holder.setAutoCommit(false);
        statement.executeQuery("SELECT * FROM leader_election").close();
        // The ALTER waits for the transaction, and all others wait for the ALTER.
        CompletableFuture<Void> alter = CompletableFuture.runAsync(() -> THREE_NODES
            .database()
            .execute("ALTER TABLE leader_election ADD COLUMN note varchar(10)"));
        cluster.awaitNoLeader();
        assertThat(alter).isNotDone();
        holder.commit();
        alter.join();
        cluster.awaitRecovery("20 ALTER TABLE", System.nanoTime());
      }
      assertBounded(PROXIES);
      Cluster.measured(
          "20 locks: the leader waited at most %d ms for one answer (operation time-out 500 ms)",
          PROXIES.of(leader).longestWait().toMillis());
    });
  }

  /** The behaviour on a full disk depends on the server: MySQL hangs and checks once a minute. */
  @Test
  void fault_20_disk_full() throws Exception {
    try (TestServer small = TestServer.startOnDisk(500)) {
      TestDatabase own = small.newDatabase();
      try (TcpProxies proxies = new TcpProxies()) {
        List<Node> nodes = Cluster.threeNodes((node) -> node.with(TcpProxies.WITHOUT_SIGNALS));
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

  private static void assertBounded(TcpProxies proxies) {
    proxies.forEach((proxy) -> assertThat(proxy.longestWait())
        .as("the wait for one answer, with an operation time-out of 500 ms")
        .isLessThan(Duration.ofMillis(500).plus(GRACE)));
  }

  @Test
  void fault_22_max_connections_reached() throws Exception {
    THREE_NODES.run((cluster, leader) -> {
      NodeProcess follower = cluster.follower();
      List<Connection> taken = new ArrayList<>();
      try (Connection administrator = server.connectAsRoot();
          Statement statement = administrator.createStatement()) {
        statement.execute("SET GLOBAL max_connections = 20");
        try {
          cluster.await("a follower finds no connection", () -> {
            takeAll(taken);
            Sessions.kill(statement, userOf(THREE_NODES.database(), Cluster.place(follower)));
            takeAll(taken);
            return !follower.logLines("has no connection left").isEmpty();
          });
          long goal = version(administrator) + 8;
          cluster.await("renewals on a live connection", () -> version(administrator) >= goal);
          assertThat(cluster.awaitLeader()).isEqualTo(leader);
          assertThat(leader.claims()).hasSize(1);
        } finally {
          statement.execute("SET GLOBAL max_connections = 151");
          for (Connection connection : taken) {
            connection.close();
          }
        }
        cluster.awaitLog(follower, "the mysql store works again");
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
    return Long.parseLong(TestServer.query(
        connection, "SELECT version FROM " + THREE_NODES.database().name() + ".leader_election"));
  }

  private static void takeAll(List<Connection> taken) {
    try {
      while (true) {
        taken.add(DriverManager.getConnection(
            THREE_NODES.database().jdbcUrl(),
            THREE_NODES.database().username(),
            THREE_NODES.database().password()));
      }
    } catch (SQLException ex) {
      // All connections are taken.
    }
  }

  @Test
  void fault_29_read_only_and_super_read_only() throws Exception {
    THREE_NODES.run((cluster, leader) -> {
      readOnly("read_only", cluster, leader);
      if (!server.isMariaDb()) {
        readOnly("super_read_only", cluster, cluster.awaitLeader());
      }
    });
  }

  private static void readOnly(String variable, Cluster cluster, NodeProcess leader) {
    outage(
        "29 " + variable,
        () -> server.execute("SET GLOBAL " + variable + " = 1"),
        () -> server.execute("SET GLOBAL read_only = 0"),
        cluster,
        leader);
    cluster.awaitLog(leader, "is read-only (");
  }
}
