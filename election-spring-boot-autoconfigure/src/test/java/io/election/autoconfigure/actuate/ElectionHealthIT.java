package io.election.autoconfigure.actuate;

import static io.election.autoconfigure.MysqlNode.awaitLeader;
import static io.election.autoconfigure.MysqlNode.patiently;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.AuditNote;
import io.election.ElectionOperations;
import io.election.ElectionService;
import io.election.autoconfigure.ElectionBackend;
import io.election.autoconfigure.Elections;
import io.election.autoconfigure.MysqlNode;
import io.election.autoconfigure.leaderonly.LeaderBoundBeans;
import io.election.support.TestDatabase;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.sql.Connection;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.actuate.info.Info;
import org.springframework.boot.actuate.info.InfoContributor;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ApplicationContext;

/** The health and status that monitoring sees of a node on a real database. */
@ExtendWith(OutputCaptureExtension.class)
class ElectionHealthIT {

  private final TestDatabase database = MysqlNode.newDatabase();

  private final ApplicationContextRunner application = MysqlNode.on(this.database);

  @Test
  void aFollowerIsAsHealthyAsALeader() {
    this.application.run((context) -> {
      assertThat(health(context).getStatus()).isEqualTo(Status.UP);
      awaitLeader(context);
      assertThat(health(context))
          .isEqualTo(Health.up()
              .withDetail("algorithm", "Mysql")
              .withDetail("orders", "leader")
              .build());
      Info.Builder info = new Info.Builder();
      context.getBean(InfoContributor.class).contribute(info);
      assertThat(info.build().get("election"))
          .isEqualTo(Map.of("nodeId", "a", "leaders", Map.of("orders", "a")));
      context.getBean(ElectionService.class).lostLeader();
      assertThat(health(context).getStatus()).isEqualTo(Status.UP);
      assertThat(health(context).getDetails()).containsEntry("orders", "follower");
      context.getBean(ElectionOperations.class).pause(new AuditNote("alice", ""));
      assertThat(health(context).getStatus()).isEqualTo(Status.UP);
      assertThat(health(context).getDetails()).containsEntry("orders", "paused");
    });
  }

  @Test
  void aNodeThatCannotReachItsStoreForALeaseIsDownAndSaysWhy() {
    this.application.run((context) -> {
      awaitLeader(context);
      this.database.execute("RENAME TABLE leader_election TO away");
      patiently().until(() -> health(context).getStatus().equals(Status.DOWN));
      assertThat(context.getBean(ElectionService.class).isLeader()).isFalse();
      assertThat(health(context).getDetails().get("problem").toString())
          .contains("No call to the store has succeeded for ", "missing in ")
          .doesNotContain(this.database.password() + "@");
      assertThat(endpoint(context, true))
          .containsEntry("healthy", false)
          .containsEntry("problem", health(context).getDetails().get("problem"));
      assertThat(endpoint(context, false))
          .containsEntry("healthy", false)
          .doesNotContainKey("problem");
      this.database.execute("RENAME TABLE away TO leader_election");
      patiently().until(() -> health(context).getStatus().equals(Status.UP));
      assertThat(endpoint(context, true))
          .containsEntry("healthy", true)
          .doesNotContainKey("problem");
    });
  }

  @Test
  void aNodeThatCannotTakeAnOpenElectionBecauseItsRowIsLockedIsDownAndSaysWhere(
      CapturedOutput output) {
    this.application.run((context) -> {
      awaitLeader(context);
      try (Connection locker = this.database.begin("SELECT * FROM leader_election FOR UPDATE")) {
        patiently()
            .until(
                () -> health(context).getDetails().getOrDefault("problem", "").toString(),
                (problem) -> problem.matches(
                    "The store answers, but some calls have failed for \\d+ s\\. Taking election 'orders' over failed\\. Another transaction .*information_schema\\.innodb_trx\\."));
        assertThat(endpoint(context, true))
            .containsEntry("healthy", false)
            .containsEntry("problem", health(context).getDetails().get("problem"));
        locker.rollback();
      }
      awaitLeader(context);
      assertThat(health(context).getStatus()).isEqualTo(Status.UP);
    });
    assertThat(output.getAll().lines())
        .filteredOn((line) -> line.matches(".* WARN .*Taking election 'orders' over failed.*"))
        .hasSize(1);
    assertThat(output.getAll().lines())
        .filteredOn((line) -> line.contains("with result: false"))
        .hasSize(1);
  }

  @Test
  void aNodeWhoseElectionWasMovedIsUnhealthyWhereverOneLooks() {
    this.application.withBean(SimpleMeterRegistry.class).run((context) -> {
      awaitLeader(context);
      assertThat(healthy(context)).isEqualTo(1);
      this.database.execute("UPDATE leader_election SET leader_id = 'moved to Etcd'");
      patiently().until(() -> health(context).getStatus().equals(Status.DOWN));
      assertThat(healthy(context)).isZero();
      assertThat(endpoint(context, true)).containsEntry("healthy", false);
      assertThat(endpoint(context, true).get("problem").toString()).contains("moved to Etcd");
    });
  }

  @Test
  void aNodeThatMayReadAndNotWriteIsDownAndSaysSoOnceAMinute(CapturedOutput output) {
    String reader = this.database.name() + "_r";
    this.database.newUser(reader, "SELECT ON " + this.database.name() + ".*");
    this.application
        .withPropertyValues("as.election.mysql.schema=none", "spring.datasource.username=" + reader)
        .run((context) -> {
          patiently().until(() -> health(context).getStatus().equals(Status.DOWN));
          assertThat(health(context).getDetails().get("problem").toString())
              .contains("The store answers, but some calls have failed for ", "denied");
        });
    // MariaDB's driver logs each refused login itself.
    assertThat(output.getAll().lines())
        .filteredOn((line) -> line.matches(".* WARN .*] i(o|\\.e).*denied.*"))
        .hasSizeBetween(1, 2);
    assertThat(output).doesNotContain("works again");
  }

  @Test
  void bothCanBeSwitchedOffOrBeMissing() {
    this.application
        .withPropertyValues(
            "management.health.election.enabled=false", "management.info.election.enabled=false")
        .run((context) -> assertThat(context)
            .doesNotHaveBean(HealthIndicator.class)
            .doesNotHaveBean(InfoContributor.class));
    this.application
        .withClassLoader(new FilteredClassLoader(HealthIndicator.class, InfoContributor.class))
        .run((context) -> assertThat(context).hasNotFailed().hasSingleBean(ElectionService.class));
  }

  private static Map<String, Object> endpoint(ApplicationContext context, boolean details) {
    return new ElectionDescriber(
            context.getBean(Elections.class),
            context.getBean(ElectionBackend.class),
            context.getBean(LeaderBoundBeans.class))
        .node(details);
  }

  private static double healthy(ApplicationContext context) {
    return context
        .getBean(SimpleMeterRegistry.class)
        .get("election.healthy")
        .gauge()
        .value();
  }

  private static Health health(ApplicationContext context) {
    return context.getBean(HealthIndicator.class).health();
  }
}
