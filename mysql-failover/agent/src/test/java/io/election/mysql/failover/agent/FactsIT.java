package io.election.mysql.failover.agent;

import static io.election.mysql.failover.agent.LocalAgents.patiently;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.etcd.EtcdProcess;
import io.election.mysql.failover.GtidSet;
import io.election.mysql.failover.agent.ReplicationSet.Server;
import io.election.mysql.failover.agent.Status.Role;
import java.sql.SQLException;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * What the position of a server counts for, by the way in which the server came to be. In each case
 * one server alone has acknowledged a transaction, and the source is lost: nobody may be promoted
 * unless it has that transaction.
 */
@Tag("failover")
class FactsIT {

  private static final long ACKNOWLEDGED = 7;

  private final EtcdProcess etcd = EtcdProcess.shared();
  private ReplicationSet set;
  private LocalAgents agents;
  private Server source;
  private Server replica;
  private Server other;

  @BeforeEach
  void startSet() throws Exception {
    this.set = new ReplicationSet("a", "b", "c");
    this.source = this.set.get("a");
    this.replica = this.set.get("b");
    this.other = this.set.get("c");
    this.agents = new LocalAgents(this.set, this.etcd.url());
    this.agents.startAll(1);
    this.agents.awaitSet("a", "b", "c");
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

  private void stopAgent(Server server) {
    this.agents.stop(server.name);
  }

  private Status status(Server server) {
    return this.agents.status(server.name);
  }

  /** The replica alone acknowledges, and does not apply it. */
  private void acknowledgeBy(Server server, Server without) throws SQLException {
    stopAgent(without);
    without.execute("STOP REPLICA IO_THREAD");
    server.execute("STOP REPLICA SQL_THREAD");
    this.source.execute("INSERT INTO orders.written VALUES (" + ACKNOWLEDGED + ")");
  }

  private void loseSource() {
    this.source.kill();
    stopAgent(this.source);
  }

  private void assertNobodyIsPromoted() throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(12);
    while (System.nanoTime() < end) {
      assertThat(this.agents.names())
          .noneMatch((name) -> this.agents.status(name).role() == Role.SOURCE);
      TimeUnit.MILLISECONDS.sleep(50);
    }
  }

  /** When the source is back, it has what was acknowledged. */
  private void recover() throws Exception {
    this.source.startAgain();
    startAgent(this.source);
    patiently().until(() -> status(this.source).role() == Role.SOURCE);
    assertThat(this.source.ids()).contains(ACKNOWLEDGED);
  }

  /** What may happen to a replica that alone acknowledged a transaction. */
  enum Happens {
    RESTART("not counted") {
      @Override
      void to(Server replica) {
        replica.kill();
        replica.startAgain();
      }
    },
    RESET_REPLICA("not counted") {
      @Override
      void to(Server replica) throws SQLException {
        replica.execute("STOP REPLICA", "RESET REPLICA");
      }
    },
    RESET_REPLICA_ALL("not counted") {
      @Override
      void to(Server replica) throws SQLException {
        replica.execute("STOP REPLICA", "RESET REPLICA ALL");
      }
    },
    CHANGE_REPLICATION_SOURCE("not counted") {
      @Override
      void to(Server replica) throws SQLException {
        replica.execute(
            "STOP REPLICA",
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '192.0.2.1', SOURCE_AUTO_POSITION = 1");
      }
    },
    RESET_GTIDS("not counted") {
      @Override
      void to(Server replica) throws SQLException {
        replica.execute("STOP REPLICA", "RESET REPLICA ALL", "RESET BINARY LOGS AND GTIDS");
      }
    },
    ANOTHER_SERVER_UNDER_ITS_NAME("missing") {
      @Override
      void to(Server replica) {
        replica.changeUuid(UUID.randomUUID().toString());
        replica.kill();
        replica.startAgain();
      }
    };

    final String shown;

    Happens(String shown) {
      this.shown = shown;
    }

    abstract void to(Server replica) throws Exception;
  }

  @ParameterizedTest
  @EnumSource
  void aReplicaThatMayHaveLostWhatItAcknowledgedDoesNotCount(Happens happens) throws Exception {
    acknowledgeBy(this.replica, this.other);
    loseSource();
    happens.to(this.replica);
    startAgent(this.other);
    patiently()
        .untilAsserted(() -> assertThat(status(this.other).reason())
            .contains("replicas are needed", happens.shown, "b"));
    assertNobodyIsPromoted();
    System.out.printf("Shown after %s: %s%n", happens, status(this.other).reason());
    recover();
  }

  /** Nobody would look for what it acknowledges: it was replaced, and no agent keeps it out. */
  @Test
  void aServerThatIsNotInTheRecordIsDisconnected() throws Exception {
    stopAgent(this.replica);
    this.replica.execute("STOP REPLICA IO_THREAD");
    stopAgent(this.other);
    this.other.changeUuid(UUID.randomUUID().toString());
    this.other.kill();
    this.other.startAgain();
    patiently().ignoreExceptions().until(() -> {
      this.other.execute("START REPLICA");
      return true;
    });
    patiently()
        .until(() -> "ON"
            .equals(this.other.query(
                "SELECT service_state FROM performance_schema.replication_connection_status")));

    patiently()
        .until(
            () -> "0"
                .equals(
                    this.source.query(
                        "SELECT variable_value FROM performance_schema.global_status WHERE variable_name = 'Rpl_semi_sync_source_clients'")));
  }

  /** Its agent restarts as well: what it proved is in etcd. */
  @Test
  void aReplicaWhoseReceiverAndAgentRestartCounts() throws Exception {
    acknowledgeBy(this.replica, this.other);
    stopAgent(this.replica);
    this.replica.execute("STOP REPLICA IO_THREAD", "START REPLICA IO_THREAD");
    loseSource();
    this.replica.execute("STOP REPLICA IO_THREAD");
    startAgent(this.replica);
    startAgent(this.other);
    this.replica.execute("START REPLICA SQL_THREAD");
    patiently().until(() -> status(this.replica).role() == Role.SOURCE);
    assertThat(this.replica.ids()).contains(ACKNOWLEDGED);
  }

  /** A clone is what a backup of the source is: all data and GTIDs, and no relay log. */
  @Test
  void aBackupOfTheSourceUnderTheNameOfAReplicaDoesNotCount() throws Exception {
    stopAgent(this.replica);
    try (MysqlServer server = this.replica.managed()) {
      server
          .replication()
          .rebuild(this.source.host() + ":3306", "replica", ReplicationSet.PASSWORD);
    } catch (SQLException ex) {
      // It shuts down.
    }
    patiently().until(() -> !this.replica.isRunning());
    this.source.execute("INSERT INTO orders.written VALUES (" + ACKNOWLEDGED + ")");
    stopAgent(this.other); // it publishes no final position
    this.other.kill();
    loseSource();
    this.replica.startAgain();
    startAgent(this.replica);
    patiently()
        .untilAsserted(() -> assertThat(status(this.replica).reason())
            .contains("replicas are needed", "missing: [c]", "not counted"));
    assertNobodyIsPromoted();
    this.other.startAgain();
    startAgent(this.other);
    recover();
  }

  /** Also if the others could not form a set without it. */
  @Test
  void aFormerSourceWithOlderDataIsRefused() throws Exception {
    GtidSet before = GtidSet.parse(this.source.query("SELECT @@GLOBAL.gtid_executed"));
    this.source.execute("INSERT INTO orders.written VALUES (" + ACKNOWLEDGED + ")");
    GtidSet after = GtidSet.parse(this.source.query("SELECT @@GLOBAL.gtid_executed"));
    patiently()
        .until(() -> this.agents.position("b", "a").orElseThrow().received().contains(after));
    stopAgent(this.replica);
    stopAgent(this.other);
    this.other.kill();
    loseSource();
    this.source.startAgain();
    patiently().ignoreExceptions().until(() -> {
      this.source.execute(
          "SET GLOBAL super_read_only = OFF",
          "SET SESSION sql_log_bin = 0",
          "DELETE FROM orders.written",
          "RESET BINARY LOGS AND GTIDS",
          "SET GLOBAL gtid_purged = '%s'".formatted(before),
          "SET GLOBAL super_read_only = ON");
      return true;
    });
    startAgent(this.source);
    patiently().untilAsserted(() -> {
      assertThat(status(this.source).role()).isEqualTo(Role.REFUSED);
      assertThat(status(this.source).reason())
          .contains("it is the last source, but lacks transactions that it had");
    });
    assertNobodyIsPromoted();
    this.other.startAgain();
    startAgent(this.other);
    startAgent(this.replica);
    assertNobodyIsPromoted(); // c has restarted, and b alone is not enough
  }
}
