package io.election.sample;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.election.ElectionService;
import io.election.test.TestDatabase;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.support.JdbcTransactionManager;

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
      assertThat(ask(application, "GET", "/actuator/leader").body())
          .contains("\"sample-app\":{\"leader\":true,\"leaderId\":\"processed\",\"term\":1,");
      assertThat(
              application.getBean(JdbcTransactionManager.class).getTransactionExecutionListeners())
          .as("the commit fence")
          .hasSize(1);

      assertThat(ask(application, "POST", "/actuator/leader/sample-app/pause").statusCode())
          .isEqualTo(204);
      assertThat(election.isLeader()).isFalse();
      awaitSkipped(application);
      int before = runs("true");
      awaitSkipped(application);
      assertThat(runs("true")).isEqualTo(before);

      assertThat(ask(application, "DELETE", "/actuator/leader/sample-app/pause").statusCode())
          .isEqualTo(204);
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

  private static HttpResponse<String> ask(
      ConfigurableApplicationContext application, String method, String path) throws Exception {
    URI uri = URI.create(
        "http://localhost:" + application.getEnvironment().getProperty("local.server.port") + path);
    return HttpClient.newHttpClient()
        .send(
            HttpRequest.newBuilder(uri)
                .header("Content-Type", "application/json")
                .method(
                    method,
                    method.equals("POST") ? BodyPublishers.ofString("{}") : BodyPublishers.noBody())
                .build(),
            BodyHandlers.ofString());
  }
}
