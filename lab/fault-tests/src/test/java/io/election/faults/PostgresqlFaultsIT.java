package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.support.PgBouncer;
import io.election.support.PostgresqlPrograms;
import io.election.support.PostgresqlServer;
import io.election.support.TestDatabase;
import io.election.support.process.Claim;
import io.election.support.process.NodeProcess;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Faults of processes, their network and their server, on PostgreSQL. */
@Order(2)
@Tag("faults")
class PostgresqlFaultsIT {

  /** Is closed after the cluster. */
  @AutoClose
  private static PostgresqlServer server;

  private static final TcpProxies PROXIES = new TcpProxies();

  @RegisterExtension
  static final SharedCluster THREE_NODES = new SharedCluster(
      Cluster.LEASE,
      Cluster.RENEW,
      () -> server.newDatabase(),
      (database) -> PROXIES.between(database, Cluster.threeNodes()));

  @BeforeAll
  static void start() {
    server = PostgresqlServer.launch(PostgresqlPrograms.V18);
  }

  @Test
  void fault_01_leader_is_killed() throws Exception {
    THREE_NODES.run((cluster, leader) -> {
      leader.kill();
      NodeProcess next = cluster.awaitLeaderOtherThan(leader);
      cluster.printGap("PostgreSQL: kill -9 of the leader", leader, next);
      assertThat(next.lastClaim().term()).isEqualTo(leader.lastClaim().term() + 1);
      cluster.awaitLog(next, "become leader by postgresql");
      assertThat(next.logLines("try acquire leader by postgresql with result: true"))
          .hasSize(1);
    });
  }

  @Test
  void fault_02_leader_is_stopped() throws Exception {
    THREE_NODES.run((cluster, leader) -> handOver("PostgreSQL", cluster, leader));
  }

  /** LISTEN receives nothing there, so that the nodes poll. */
  @Test
  void aLeaderBehindPgBouncerHandsOver() throws Exception {
    try (PgBouncer bouncer = PgBouncer.to(server)) {
      TestDatabase database = server.newDatabase();
      Cluster.run(
          database,
          Cluster.threeNodes(
              (node) -> node.with("spring.datasource.url=" + bouncer.jdbcUrl(database))),
          (cluster, leader) -> handOver("PgBouncer", cluster, leader));
    }
  }

  private static void handOver(String way, Cluster cluster, NodeProcess leader) {
    leader.stop();
    NodeProcess next = cluster.awaitLeaderOtherThan(leader);
    cluster.printGap(way + ": SIGTERM of the leader", leader, next);
    assertThat(leader.logLines("published LeadershipLostEvent")).hasSize(1);
    assertThat(
            leader.logLines("handed term %d back".formatted(leader.lastClaim().term())))
        .hasSize(1);
    cluster.awaitLog(next, "RELEASED");
  }

  @Test
  void fault_04_leader_is_paused_for_longer_than_its_lease() throws Exception {
    THREE_NODES.run((cluster, leader) -> {
      leader.pause();
      NodeProcess next = cluster.awaitLeaderOtherThan(leader);
      List<Claim> claims = leader.claims();
      leader.resume();
      cluster.await(
          "the woken node knows that it lost",
          () -> leader.logLines("published LeadershipLostEvent").size() == 1);
      assertThat(leader.claims()).isEqualTo(claims);
      cluster.staysLeader(next, Cluster.RENEW.multipliedBy(2));
    });
  }

  @Test
  void aLeaderThatIsCutOffIsFollowed() throws Exception {
    THREE_NODES.run((cluster, leader) -> {
      PROXIES.of(leader).cut();
      NodeProcess next = cluster.awaitLeaderOtherThan(leader);
      cluster.awaitLoss(leader);
      PROXIES.of(leader).heal();
      cluster.awaitLog(
          leader, "is held by " + next + " in term " + next.lastClaim().term());
      cluster.staysLeader(next, Cluster.RENEW.multipliedBy(2));
    });
  }

  @Test
  void fault_17_database_away_for_longer_than_the_lease() throws Exception {
    outage("stopped", server::stop, server::start);
  }

  @Test
  void fault_18_database_killed() throws Exception {
    outage("killed", server::kill, server::start);
  }

  @Test
  void fault_19_database_paused_for_longer_than_the_lease() throws Exception {
    outage("paused", server::pause, server::resume);
  }

  private static void outage(String how, Runnable begin, Runnable end) throws Exception {
    THREE_NODES.run((cluster, leader) -> {
      long term = leader.lastClaim().term();
      begin.run();
      try {
        cluster.awaitNoLeader();
        cluster.awaitLoss(leader);
      } finally {
        end.run();
      }
      NodeProcess next = cluster.awaitRecovery("PostgreSQL " + how, System.nanoTime());
      assertThat(next.lastClaim().term()).isGreaterThan(term);
    });
  }
}
