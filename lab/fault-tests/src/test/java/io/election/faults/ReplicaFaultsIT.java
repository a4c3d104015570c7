package io.election.faults;

import static io.election.faults.Cluster.LEASE;
import static io.election.faults.Cluster.RENEW;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.support.ReplicatedServers;
import io.election.support.TestDatabase;
import io.election.support.TestServer;
import io.election.support.process.Claim;
import io.election.support.process.Node;
import io.election.support.process.NodeProcess;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Three processes on a MySQL server with an asynchronous replica, which loses what it has not yet
 * received. The tests show what holds then. The last one shows what does not.
 */
@Order(1)
@Tag("faults")
class ReplicaFaultsIT {

  /** The servers of the tests in which both clocks agree. */
  @AutoClose
  private static ReplicatedServers shared;

  private TestDatabase database;

  @BeforeAll
  static void startServers() {
    shared = ReplicatedServers.start();
  }

  @BeforeEach
  void replicate() {
    shared.replicateAgain();
  }

  private void onThreeNodes(ReplicatedServers servers, Cluster.Start scenario) throws Exception {
    onThreeNodes(servers, LEASE, scenario);
  }

  private void onThreeNodes(ReplicatedServers servers, Duration lease, Cluster.Start scenario)
      throws Exception {
    this.database = servers.source().newDatabase();
    Cluster.prepare(this.database);
    List<Node> nodes = nodes(List.of(servers.source(), servers.replica()));
    Cluster.start(this.database, lease, RENEW, nodes, (cluster) -> {
      cluster.awaitLeader();
      servers.awaitSameData();
      scenario.run(cluster);
    });
  }

  private List<Node> nodes(List<TestServer> servers) {
    return Cluster.threeNodes((node) -> Cluster.on(this.database, servers, node));
  }

  @Test
  void fault_30_failover_to_a_replica_that_lost_the_last_writes() throws Exception {
    onThreeNodes(shared, (cluster) -> {
      NodeProcess first = cluster.awaitLeader();
      // This node sees only the replica, from before the failover.
      NodeProcess replicas = cluster.add(
          Cluster.on(this.database, List.of(shared.replica()), SamplingNode.named("replicas")));
      cluster.awaitUp();
      shared.stopReceiving();
      first.kill();
      NodeProcess second = cluster.awaitLeaderOtherThan(first);
      long lost = second.lastClaim().term();
      awaitReplicaStale(cluster);

      // At the failover the row on the replica has not changed for more than a lease. The second
      // leader leads by a write that is lost, and its lease still holds.
      shared.source().kill();
      long promoted = System.nanoTime();
      shared.promote();
      cluster.awaitNoLeader();
      NodeProcess third = cluster.awaitLeader();
      Claim claim = third.lastClaim();
      assertThat(claim.from() - promoted).isGreaterThan(LEASE.toNanos());
      if (third == replicas) {
        // This node has seen nothing of the lost term, cannot know of it, and may use it again.
        cluster.expectTermLost(second.lastClaim());
        assertThat(claim.term()).isGreaterThanOrEqualTo(lost);
      } else {
        assertThat(claim.term()).isGreaterThan(lost);
      }
      Cluster.measured(
          "failover to a replica that lost term %d: %s led term %d on the replica %.3f s after its promotion",
          lost, third, claim.term(), (claim.from() - promoted) / 1e9);
      assertThat(replicas.logLines("is read-only")).isNotEmpty();
    });
  }

  /** Waits until the replica has shown an older term, unchanged, for longer than a lease. */
  private void awaitReplicaStale(Cluster cluster) {
    String row = "SELECT CONCAT_WS(' ', leader_id, term, version) FROM %s.leader_election"
        .formatted(this.database.name());
    String stale = String.valueOf(shared.replica().query(row));
    cluster.letPass(LEASE.plus(RENEW));
    assertThat(shared.replica().query(row)).isEqualTo(stale);
    assertThat(shared.source().query(row)).isNotEqualTo(stale);
    assertThat(cluster.leader()).isPresent();
  }

  @Test
  @Tag("long")
  void fault_32_failover_to_a_server_whose_clock_is_an_hour_ahead() throws Exception {
    // The clock of the replica is a library that makes it slow.
    Duration lease = LEASE.multipliedBy(3);
    try (ReplicatedServers apart = ReplicatedServers.start(Duration.ofHours(1))) {
      onThreeNodes(apart, lease, (cluster) -> {
        long difference = seconds(apart.replica()) - seconds(apart.source());
        assertThat(difference).isBetween(3540L, 3660L);
        NodeProcess leader = cluster.awaitLeader();
        Claim before = leader.lastClaim();

        apart.source().execute("SET GLOBAL super_read_only = ON");
        apart.awaitSameData();
        apart.promote();

        // No decision reads the time: the leader finds its row and continues.
        cluster.await(
            "the leader has followed",
            () -> !leader.logLines("is another server now").isEmpty());
        assertThat(cluster.awaitLeader()).isEqualTo(leader);
        assertThat(leader.lastClaim().term()).isEqualTo(before.term());

        leader.kill();
        NodeProcess next = cluster.awaitLeaderOtherThan(leader);
        cluster.printGap(
            "kill -9 of the leader on a server whose clock is an hour ahead", leader, next);
        assertThat(cluster.gapSeconds(leader, next))
            .isLessThan(lease.multipliedBy(2).toSeconds());
      });
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"ordinary", "CONNECTION_ADMIN", "root"})
  void fault_55_planned_switch_over_under_an_account_that_may_write_on_a_read_only_server(
      String account) throws Exception {
    switchOver(shared, account);
  }

  /** MariaDB knows no {@code super_read_only}. */
  @Test
  @Tag("long")
  void
      fault_55_planned_switch_over_on_mariadb_under_an_account_that_may_write_on_a_read_only_server()
          throws Exception {
    try (ReplicatedServers servers = ReplicatedServers.startMariaDb()) {
      for (String account : List.of("ordinary", "READ_ONLY ADMIN", "root")) {
        switchOver(servers, account);
        servers.replicateAgain();
      }
    }
  }

  /** The leader hears nothing of the new source, and the other nodes nothing of the old one. */
  private void switchOver(ReplicatedServers servers, String account) throws Exception {
    this.database = servers.source().newDatabase();
    Cluster.prepare(this.database);
    if (account.endsWith("ADMIN")) {
      servers
          .source()
          .execute("GRANT %s ON *.* TO '%s'@'%%'".formatted(account, this.database.username()));
    }
    String username = account.equals("root") ? account : this.database.username();
    Cluster.start(
        this.database, LEASE, RENEW, List.of(on(servers.source(), "old", username)), (cluster) -> {
          NodeProcess leader = cluster.awaitLeader();
          cluster.join(on(servers.replica(), "a", username), on(servers.replica(), "b", username));
          assertThat(cluster.awaitLeader()).isEqualTo(leader);

          servers.source().execute("SET GLOBAL read_only = ON");
          long readOnly = System.nanoTime();
          servers.awaitSameData();
          servers.promote();

          NodeProcess next = cluster.awaitLeaderOtherThan(leader);
          cluster.letPass(LEASE);
          assertThat(leader.leads()).isFalse();
          assertThat(leader.lastClaim().to() - readOnly).isLessThan(LEASE.toNanos());
          assertThat(next.lastClaim().term()).isGreaterThan(leader.lastClaim().term());
          assertThat(leader.logLines("is read-only")).isNotEmpty();
          cluster.printGap("planned switch-over under the account " + account, leader, next);
        });
  }

  private Node on(TestServer server, String name, String username) {
    return Cluster.on(this.database, List.of(server), SamplingNode.named(name))
        .with("spring.datasource.username=" + username);
  }

  /**
   * The last renewal is lost. The followers' sessions outlive the failover, and the leader is cut
   * off from the new primary.
   */
  @Test
  @Tag("long")
  void fault_53_failover_behind_a_proxy_that_keeps_its_connections(@TempDir Path folder)
      throws Exception {
    Duration lease = Duration.ofSeconds(9);
    Duration renew = Duration.ofSeconds(3);
    this.database = shared.source().newDatabase();
    Cluster.prepare(this.database);
    String url = this.database.jdbcUrl(List.of(shared.source()));
    List<Node> nodes = new ArrayList<>();
    for (Node node : Cluster.threeNodes()) {
      Path file = Files.writeString(folder.resolve(node.name()), url);
      nodes.add(DataSources.KeepingProxy.on(
          Cluster.on(this.database, List.of(shared.source()), node), file));
    }
    Cluster.start(this.database, lease, renew, nodes, (cluster) -> {
      NodeProcess leader = cluster.awaitLeader();
      List<NodeProcess> followers =
          cluster.nodes().stream().filter((node) -> node != leader).toList();
      cluster.awaitWrites(3);
      long renewed = System.nanoTime();
      shared.awaitSameData();
      shared.stopReceiving();
      cluster.letPass(renew.dividedBy(2).minusNanos(System.nanoTime() - renewed));
      // Pauses the followers, but for less than their sessions may idle.
      followers.forEach(NodeProcess::pause);
      cluster.awaitWrites(1);
      shared.source().execute("SET GLOBAL super_read_only = ON");
      long promoted = System.nanoTime();
      shared.promote();
      for (NodeProcess follower : followers) {
        Files.writeString(
            folder.resolve(follower.name()), this.database.jdbcUrl(List.of(shared.replica())));
      }
      followers.forEach(NodeProcess::resume);

      NodeProcess next = cluster.awaitLeaderOtherThan(leader);
      assertThat(followers).contains(next);
      assertThat(next.logLines("leads to another server now")).isNotEmpty();
      assertThat(next.lastClaim().from() - promoted).isGreaterThan(lease.toNanos());
    });
  }

  private static long seconds(TestServer server) {
    return Long.parseLong(String.valueOf(server.query("SELECT UNIX_TIMESTAMP()")));
  }

  @Test
  @Tag("long")
  void fault_33_reads_from_a_lagging_replica() throws Exception {
    onThreeNodes(shared, (cluster) -> {
      NodeProcess leader = cluster.awaitLeader();
      NodeProcess lagging = cluster.add(
          Cluster.on(this.database, List.of(shared.replica()), SamplingNode.named("lagging")));
      cluster.awaitUp();
      shared.stopApplying();
      awaitReplicaLags(cluster);
      assertThat(lagging.claims()).isEmpty();
      assertThat(lagging.logLines("is read-only (")).isNotEmpty();

      // Even if no other node could lead, a row on a replica grants nothing.
      leader.kill();
      NodeProcess next = cluster.awaitLeaderOtherThan(leader);
      assertThat(next).isNotEqualTo(lagging);
      assertThat(lagging.claims()).isEmpty();
    });
  }

  private void awaitReplicaLags(Cluster cluster) {
    String version = "SELECT MAX(version) FROM %s.leader_election".formatted(this.database.name());
    cluster.await(
        "the replica is more than a lease behind",
        () -> Long.parseLong(String.valueOf(shared.source().query(version)))
                - Long.parseLong(String.valueOf(shared.replica().query(version)))
            > LEASE.dividedBy(RENEW) + 1);
  }

  @Test
  @Tag("long")
  void fault_31_a_on_the_old_primary_and_b_on_the_new() throws Exception {
    this.database = shared.source().newDatabase();
    Cluster.prepare(this.database);
    List<Node> nodes = nodes(List.of(shared.source()));
    Cluster.start(this.database, LEASE, RENEW, nodes, (cluster) -> {
      NodeProcess old = cluster.awaitLeader();
      NodeProcess moved = cluster.add(Cluster.on(
          this.database, List.of(shared.replica(), shared.source()), SamplingNode.named("moved")));
      cluster.awaitUp();
      cluster.await(
          "the node follows on the source",
          () -> !moved.logLines("is held by " + old).isEmpty());
      shared.awaitSameData();
      long promoted = System.nanoTime();
      shared.promote();
      Engine.killSessions(shared.source(), this.database.username());

      // Not promised: two servers that take writes are two databases, each with a leader.
      cluster.expectViolations();
      cluster.awaitLeads(moved);
      assertThat(old.leads()).isTrue();
      // But the node logs the change before, and waits for a lease.
      assertThat(moved.logLines("is another server now")).hasSize(1);
      assertThat(moved.lastClaim().from() - promoted).isGreaterThan(LEASE.toNanos());
      assertThat(old.logLines("is another server now")).isEmpty();
    });
  }
}
