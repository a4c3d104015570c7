package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.etcd.EtcdProcess;
import io.election.mysql.failover.agent.ReplicationSet.Server;
import io.election.mysql.failover.agent.Status.Role;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What an operator changes while the set runs, and what is said before a failover is needed. */
@Tag("failover")
class PromiseIT {

  private final EtcdProcess etcd = EtcdProcess.shared();
  private ReplicationSet set;
  private LocalAgents agents;

  @BeforeEach
  void startSet() throws Exception {
    this.set = new ReplicationSet("a", "b", "c");
    this.agents = new LocalAgents(this.set, this.etcd.url());
    this.agents.startAll(1);
    awaitSet("a");
  }

  @AfterEach
  void end() {
    if (this.agents != null) {
      this.agents.close();
    }
  }

  private Status status(String server) {
    return this.agents.status(server);
  }

  private String problem(String server) {
    return this.agents.bean(server, Agent.class).state().rehearsal().problem();
  }

  private static ConditionFactory patiently() {
    return LocalAgents.patiently().atMost(Duration.ofSeconds(90));
  }

  private void awaitSet(String source) {
    this.agents.awaitSet(
        source,
        this.agents.names().stream().filter((name) -> !name.equals(source)).toArray(String[]::new));
  }

  private String source() {
    return this.agents.source().map((server) -> server.name).orElse("");
  }

  /** Each was seen to lose acknowledged transactions when nobody looked again. */
  @Test
  void aSettingThatBreaksThePromiseClosesTheSource() throws Exception {
    for (String setting : List.of(
        "rpl_semi_sync_source_enabled = OFF",
        "rpl_semi_sync_source_timeout = 1000",
        "rpl_semi_sync_source_wait_no_replica = OFF",
        "sync_binlog = 0")) {
      String source = source();
      Server server = this.set.get(source);
      long changed = System.nanoTime();
      server.execute("SET GLOBAL " + setting);
      patiently().until(() -> status(source).role() != Role.SOURCE);
      long closed = System.nanoTime() - changed;
      System.out.printf("Measured: %.2f s until %s closed the source%n", closed / 1e9, setting);
      assertThat(closed).isLessThan(TimeUnit.SECONDS.toNanos(4));
      assertThat(this.agents.bean(source, Agent.class).state().duty().failure())
          .contains("what its promise rests on was changed", setting.split(" ")[0]);
      patiently().ignoreExceptions().until(() -> {
        server.execute("SET GLOBAL sync_binlog = 1");
        return true;
      });
      patiently().until(() -> !source().isEmpty());
      awaitSet(source());
    }
  }

  private void delay(String server, int seconds) throws SQLException {
    this.set
        .get(server)
        .execute(
            "STOP REPLICA SQL_THREAD",
            "CHANGE REPLICATION SOURCE TO SOURCE_DELAY = " + seconds,
            "START REPLICA SQL_THREAD");
  }

  @Test
  void aDelayedReplicaDoesNotStandAndTwoAreSaidBefore() throws Exception {
    delay("b", 300);
    patiently().until(() -> status("b").lagSeconds() >= 300);
    this.set.get("a").kill();
    patiently().until(() -> source().equals("c"));
    this.set.get("a").startAgain();
    awaitRole("a", Role.REPLICA);
    delay("a", 300);
    delay("b", 300);
    patiently().until(() -> problem("c").contains("delayed by 300 s"));
    System.out.println("Shown: " + problem("c"));
    this.set.get("c").kill();
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(15);
    while (System.nanoTime() < end) {
      assertThat(source()).isNotIn("a", "b");
      TimeUnit.MILLISECONDS.sleep(100);
    }
    // They have not applied anything of this source, so they are not proven to have everything.
    this.set.get("c").startAgain();
    patiently().until(() -> source().equals("c"));
  }

  private void awaitRole(String server, Role role) {
    patiently().until(() -> status(server).role() == role);
  }

  /** The positions have more than 16,000 characters beyond what the servers have in common. */
  @Test
  void aSetWithFourThousandGapsFailsOver() throws Exception {
    try (Connection connection = this.set.get("a").connect();
        Statement statement = connection.createStatement()) {
      String uuid = UUID.randomUUID().toString();
      for (int i = 1; i <= 4_000; i++) {
        statement.execute("SET SESSION gtid_next = '%s:%s'".formatted(uuid, 2 * i));
        statement.execute("BEGIN");
        statement.execute("COMMIT");
      }
      statement.execute("SET SESSION gtid_next = AUTOMATIC");
    }
    this.set.get("a").execute("INSERT INTO orders.written VALUES (1)");
    awaitSet("a");
    assertThat(this.set.get("a").query("SELECT @@GLOBAL.gtid_executed")).hasSizeGreaterThan(16_000);
    this.set.get("a").kill();
    patiently().until(() -> List.of("b", "c").contains(source()));
    assertThat(this.set.get(source()).ids()).contains(1L);
  }
}
