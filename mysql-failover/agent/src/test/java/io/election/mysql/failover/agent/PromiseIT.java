package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.election.etcd.EtcdProcess;
import io.election.mysql.failover.agent.ReplicationSet.Server;
import io.election.mysql.failover.agent.Status.Role;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;

/** What an operator changes while the set runs, and what is said before a failover is needed. */
@Tag("failover")
class PromiseIT {

  private final EtcdProcess etcd = EtcdProcess.shared();
  private final String service = "set-" + UUID.randomUUID();
  private final Map<String, ConfigurableApplicationContext> agents = new ConcurrentHashMap<>();
  private ReplicationSet set;

  @BeforeEach
  void startSet() throws Exception {
    this.set = new ReplicationSet("a", "b", "c");
    this.set.servers.values().forEach(this::startAgent);
    patiently().ignoreExceptions().until(() -> {
      this.agents.get("a").getBean(Agent.class).initialize(1);
      return true;
    });
    awaitSet("a");
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
            .run(AgentProcess.arguments(
                    server, this.set.servers.values(), this.service, this.etcd.url())
                .toArray(String[]::new)));
  }

  private Status status(String server) {
    return this.agents.get(server).getBean(Agent.class).status();
  }

  private String problem(String server) {
    return this.agents.get(server).getBean(Rehearsal.class).problem();
  }

  private static ConditionFactory patiently() {
    return await().atMost(Duration.ofSeconds(90)).pollInterval(Duration.ofMillis(20));
  }

  private void awaitSet(String source) {
    patiently().untilAsserted(() -> {
      assertThat(status(source).role()).isEqualTo(Role.SOURCE);
      for (String each : this.agents.keySet()) {
        if (!each.equals(source)) {
          assertThat(status(each).role()).as(each).isEqualTo(Role.REPLICA);
          Position position =
              this.agents.get(source).getBean(Registry.class).read().positions().get(each);
          assertThat(position.proof().isEmpty()).as("%s is whole", each).isFalse();
        }
      }
    });
  }

  private String source() {
    return this.agents.keySet().stream()
        .filter((name) -> status(name).role() == Role.SOURCE)
        .findFirst()
        .orElse("");
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
      assertThat(this.agents.get(source).getBean(SourceDuty.class).failure())
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
