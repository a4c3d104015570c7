package io.election.mysql.failover.agent;

import static io.election.mysql.failover.agent.LocalAgents.patiently;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.etcd.EtcdProcess;
import io.election.mysql.failover.GtidSet;
import io.election.mysql.failover.agent.ReplicationSet.Server;
import io.election.mysql.failover.agent.Status.Role;
import io.election.support.process.TcpProxy;
import java.net.InetSocketAddress;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The second table of the design: a is the source and dies, and c, which has more than b, is late.
 * {@code FailoverIT} covers the other tables: c is the freshest replica, and d has missed
 * promotions. Also a case that the design does not have: no server has a transaction yet.
 */
@Tag("failover")
class SeedTablesIT {

  private final EtcdProcess etcd = EtcdProcess.shared();

  private ReplicationSet set;
  private LocalAgents agents;
  private Server a;
  private Server b;
  private Server c;

  @BeforeEach
  void startServers() throws SQLException {
    this.set = new ReplicationSet("a", "b", "c");
    this.agents = new LocalAgents(this.set, this.etcd.url());
    this.a = this.set.get("a");
    this.b = this.set.get("b");
    this.c = this.set.get("c");
  }

  @AfterEach
  void end() {
    if (this.agents != null) {
      this.agents.close();
    }
  }

  private void start(Server server) {
    this.agents.start(server);
  }

  private void stop(Server server) {
    this.agents.stop(server.name);
  }

  private Status status(Server server) {
    return this.agents.status(server.name);
  }

  private void awaitRole(Server server, Role role, String... reason) {
    patiently().untilAsserted(() -> {
      assertThat(status(server).role()).as(server.name).isEqualTo(role);
      assertThat(List.of(reason))
          .allSatisfy((part) -> assertThat(status(server).reason()).contains(part));
    });
  }

  /** Term 1: a is the source, all servers have the same data, and b stops receiving. */
  private void begin(int acknowledging) throws Exception {
    this.agents.startAll(acknowledging);
    awaitRole(this.a, Role.SOURCE);
    awaitRole(this.b, Role.REPLICA);
    awaitRole(this.c, Role.REPLICA);
    this.a.execute("INSERT INTO orders.written VALUES (9)");
    patiently().until(() -> this.b.ids().contains(9L));
    this.agents.awaitSet("a", "b", "c");
    stop(this.b);
    this.b.execute("STOP REPLICA IO_THREAD");
  }

  private void dies() {
    this.a.kill();
    stop(this.a);
  }

  private String term(Server server) throws SQLException {
    return server.query("SELECT MAX(term) FROM mysql_failover.promotion");
  }

  @Test
  void whatMayHaveBeenAcknowledgedIsWaitedFor() throws Exception {
    begin(1);
    this.a.execute("INSERT INTO orders.written VALUES (10)"); // acknowledged by c alone
    stop(this.c);
    dies();
    start(this.b);
    awaitRole(this.b, Role.WAITING, "missing: [c]");
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(6);
    while (System.nanoTime() < end) {
      assertThat(status(this.b).role()).isEqualTo(Role.WAITING);
      TimeUnit.MILLISECONDS.sleep(50);
    }
    assertThat(term(this.b)).isEqualTo("1");
    start(this.c);
    awaitRole(this.c, Role.SOURCE);
    awaitRole(this.b, Role.REPLICA);
    assertThat(term(this.c)).isEqualTo("2");
    patiently().until(() -> this.b.ids().contains(10L));
  }

  @Test
  void aLateReplicaWithMoreIsRefused() throws Exception {
    begin(2);
    FutureTask<Void> unacknowledged = new FutureTask<>(() -> {
      this.a.execute("INSERT INTO orders.written VALUES (10)");
      return null;
    });
    new Thread(unacknowledged, "client").start();
    patiently().until(() -> !received(this.b).contains(received(this.c)));
    stop(this.c);
    dies();
    assertThatThrownBy(() -> unacknowledged.get(20, TimeUnit.SECONDS))
        .as("the client got no acknowledgement")
        .hasCauseInstanceOf(SQLException.class);
    start(this.b);
    awaitRole(this.b, Role.SOURCE);
    assertThat(this.b.ids()).containsExactly(9L);
    // Nobody acknowledges it, so it is committed when b gives up waiting.
    patiently().ignoreExceptions().untilAsserted(() -> assertThat(term(this.b)).isEqualTo("2"));

    start(this.c);
    this.a.startAgain();
    start(this.a);
    for (Server server : List.of(this.c, this.a)) {
      awaitRole(server, Role.REFUSED, "transactions that the source lacks", "POST /rebuild");
      assertThat(term(server)).isEqualTo("1");
      assertThat(server.query("SELECT @@GLOBAL.super_read_only")).isEqualTo("1");
    }
    assertThat(this.b.ids()).containsExactly(9L);
  }

  /**
   * The agent loses its connection when it has recorded the first promotion, before the server has
   * its first transaction.
   */
  @Test
  void aFirstSourceIsFoundThoughNoServerHasATransaction() throws Exception {
    try (TcpProxy way =
        TcpProxy.to(new InetSocketAddress(this.a.host(), 3306), () -> (packet) -> 1)) {
      // Without TLS, so that the proxy can read the statements.
      String url = ReplicationSet.url("127.0.0.1", way.port()) + "&sslMode=DISABLED";
      TcpProxy.Trap trap = way.resetAfterAnswerTo("RESET REPLICA ALL", "SET PERSIST_ONLY");
      this.agents.start(this.a, "--as.failover.url=" + url);
      start(this.b);
      start(this.c);
      this.agents.initialize(1);
      patiently().until(trap::isSprung);
      patiently()
          .untilAsserted(() -> assertThat(this.agents.names())
              .extracting((name) -> status(this.set.get(name)).role())
              .containsExactlyInAnyOrder(Role.SOURCE, Role.REPLICA, Role.REPLICA));
      assertThat(term(this.b)).isEqualTo("1");
    }
  }

  private static GtidSet received(Server server) throws SQLException {
    return GtidSet.parse(
        server.query(
            "SELECT CONCAT(@@GLOBAL.gtid_executed, ',', received_transaction_set) FROM performance_schema.replication_connection_status"));
  }
}
