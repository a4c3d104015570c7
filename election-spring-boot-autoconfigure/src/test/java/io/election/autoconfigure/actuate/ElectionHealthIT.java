package io.election.autoconfigure.actuate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.election.ElectionService;
import io.election.Instruction;
import io.election.autoconfigure.ElectionAutoConfiguration;
import io.election.autoconfigure.leaderonly.LeaderOnlyAutoConfiguration;
import io.election.autoconfigure.mysql.MysqlElectionAutoConfiguration;
import io.election.test.TestDatabase;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.actuate.info.Info;
import org.springframework.boot.actuate.info.InfoContributor;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ApplicationContext;

/** The health and status that monitoring sees of a node on a real database. */
@ExtendWith(OutputCaptureExtension.class)
class ElectionHealthIT {

  private static final Duration LONG = Duration.ofSeconds(30);

  private final TestDatabase database = TestDatabase.newDatabase();

  private final ApplicationContextRunner application = new ApplicationContextRunner()
      .withConfiguration(AutoConfigurations.of(
          ElectionAutoConfiguration.class,
          MysqlElectionAutoConfiguration.class,
          ElectionHealthAutoConfiguration.class,
          ElectionInfoAutoConfiguration.class,
          LeaderOnlyAutoConfiguration.class,
          DataSourceAutoConfiguration.class))
      .withPropertyValues(
          "spring.application.name=orders",
          "as.election.node-id=a",
          "as.election.lease-duration=3s",
          "as.election.renew-interval=500ms",
          "spring.datasource.url=" + this.database.jdbcUrl(),
          "spring.datasource.username=" + this.database.username(),
          "spring.datasource.password=" + this.database.password());

  @Test
  void aFollowerIsAsHealthyAsALeader() {
    this.application.run((context) -> {
      assertThat(health(context).getStatus()).isEqualTo(Status.UP);
      await().atMost(LONG).until(() -> context.getBean(ElectionService.class).isLeader());
      assertThat(health(context))
          .isEqualTo(Health.up()
              .withDetail("algorithm", "Mysql")
              .withDetail("orders", "leader")
              .build());
      context.getBean(ElectionService.class).lostLeader();
      assertThat(health(context).getStatus()).isEqualTo(Status.UP);
      assertThat(health(context).getDetails()).containsEntry("orders", "follower");
      context.getBean(ElectionService.class).pause(new Instruction("alice", ""));
      assertThat(health(context).getStatus()).isEqualTo(Status.UP);
      assertThat(health(context).getDetails()).containsEntry("orders", "paused");
    });
  }

  @Test
  void aNodeThatCannotReachItsStoreForALeaseIsDownAndSaysWhy() {
    this.application.run((context) -> {
      await().atMost(LONG).until(() -> context.getBean(ElectionService.class).isLeader());
      this.database.execute("RENAME TABLE leader_election TO away");
      await().atMost(LONG).until(() -> health(context).getStatus().equals(Status.DOWN));
      assertThat(context.getBean(ElectionService.class).isLeader()).isFalse();
      assertThat(health(context).getDetails().get("problem").toString())
          .contains("No answer from the database for ")
          .contains("A table is missing")
          .doesNotContain(this.database.password() + "@");
      this.database.execute("RENAME TABLE away TO leader_election");
      await().atMost(LONG).until(() -> health(context).getStatus().equals(Status.UP));
    });
  }

  @Test
  void aNodeThatMayReadAndNotWriteIsDownAndSaysSoOnceAMinute(CapturedOutput output)
      throws Exception {
    // Creates the tables, and hands back.
    this.application.run((context) -> assertThat(context).hasNotFailed());
    String reader = this.database.name() + "_r";
    this.database.execute("CREATE USER '" + reader + "'@'%' IDENTIFIED BY 'reader'");
    this.database.execute("GRANT SELECT ON " + this.database.name() + ".* TO '" + reader + "'@'%'");
    this.application
        .withPropertyValues(
            "as.election.mysql.schema=none",
            "spring.datasource.username=" + reader,
            "spring.datasource.password=reader")
        .run((context) -> {
          await().atMost(LONG).until(() -> health(context).getStatus().equals(Status.DOWN));
          assertThat(health(context).getDetails().get("problem").toString())
              .contains("The database answers, but some calls have failed for ")
              .contains("denied");
        });
    // MariaDB's driver logs each refused login itself.
    assertThat(output.getAll().lines())
        .filteredOn((line) -> line.matches(".* WARN .*] i(o|\\.e).*denied.*"))
        .hasSizeBetween(1, 2);
    assertThat(output).doesNotContain("works again");
  }

  @Test
  void theLeaderIsNamedInTheInformationAboutTheApplication() {
    this.application.run((context) -> {
      await().atMost(LONG).until(() -> context.getBean(ElectionService.class).isLeader());
      Info.Builder builder = new Info.Builder();
      context.getBean(InfoContributor.class).contribute(builder);
      assertThat(builder.build().get("election"))
          .isEqualTo(Map.of("nodeId", "a", "leaders", Map.of("orders", "a")));
    });
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

  private static Health health(ApplicationContext context) {
    return context.getBean(HealthIndicator.class).health();
  }
}
