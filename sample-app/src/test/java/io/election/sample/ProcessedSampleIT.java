package io.election.sample;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.election.ElectionService;
import io.election.support.TestDatabase;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.web.client.RestClient;

/** The sample after ahead-of-time processing, on another database than at build time. */
@EnabledIfSystemProperty(
    named = "spring.aot.enabled",
    matches = "true",
    disabledReason = "the sample was not processed ahead of time: -Paot")
class ProcessedSampleIT {

  private static final Duration LONG = Duration.ofSeconds(60);

  private static final TestDatabase DATABASE = TestDatabase.newDatabase();

  @Test
  void leadsRunsItsJobAndObeysTheEndpoint() throws Exception {
    try (ConfigurableApplicationContext application = new SpringApplicationBuilder()
        .main(SampleApplication.class)
        .run(
            "--server.port=0",
            "--server.shutdown=immediate",
            "--spring.datasource.url=" + DATABASE.jdbcUrl(),
            "--spring.datasource.username=" + DATABASE.username(),
            "--spring.datasource.password=" + DATABASE.password(),
            "--as.election.node-id=processed",
            "--as.election.lease-duration=3s",
            "--as.election.renew-interval=500ms",
            "--management.endpoint.leader.access=unrestricted")) {
      ElectionService election = application.getBean(ElectionService.class);
      await().atMost(LONG).ignoreExceptions().until(() -> runs("term = 1") > 0);
      assertThat(runs("node_id <> 'processed'")).isZero();
      assertThat(ask(application, HttpMethod.GET, "/actuator/leader").getBody())
          .contains("\"sample-app\":{\"leader\":true,\"leaderId\":\"processed\",\"term\":1,");
      assertThat(
              application.getBean(JdbcTransactionManager.class).getTransactionExecutionListeners())
          .as("the commit fence")
          .hasSize(1);

      String pause = "/actuator/leader/sample-app/pause";
      assertThat(ask(application, HttpMethod.POST, pause).getStatusCode())
          .isEqualTo(HttpStatus.NO_CONTENT);
      assertThat(election.isLeader()).isFalse();
      awaitSkipped(application);
      int before = runs("true");
      awaitSkipped(application);
      assertThat(runs("true")).isEqualTo(before);

      assertThat(ask(application, HttpMethod.DELETE, pause).getStatusCode())
          .isEqualTo(HttpStatus.NO_CONTENT);
      await().atMost(LONG).until(() -> runs("term > 1") > 0);
    }
    assertThat(DATABASE.query("SELECT lease_millis FROM leader_election")).isEqualTo("0");
  }

  private static int runs(String condition) {
    return Integer.parseInt(
        String.valueOf(DATABASE.query("SELECT COUNT(*) FROM job_run WHERE " + condition)));
  }

  private static void awaitSkipped(ConfigurableApplicationContext application) {
    double before = skipped(application);
    await().atMost(LONG).until(() -> skipped(application) > before);
  }

  private static double skipped(ConfigurableApplicationContext application) {
    Timer timer = application
        .getBean(MeterRegistry.class)
        .find("election.calls")
        .tag("outcome", "skipped")
        .timer();
    return timer != null ? timer.count() : 0;
  }

  private static ResponseEntity<String> ask(
      ConfigurableApplicationContext application, HttpMethod method, String path) {
    return RestClient.create(
            "http://localhost:" + application.getEnvironment().getProperty("local.server.port"))
        .method(method)
        .uri(path)
        .contentType(MediaType.APPLICATION_JSON)
        .retrieve()
        .toEntity(String.class);
  }
}
