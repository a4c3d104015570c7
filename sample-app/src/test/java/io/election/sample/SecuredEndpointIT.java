package io.election.sample;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.election.ElectionService;
import io.election.support.TestDatabase;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfSystemProperty;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.http.HttpMethod;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.security.core.userdetails.User;
import org.springframework.security.core.userdetails.UserDetailsService;
import org.springframework.security.provisioning.InMemoryUserDetailsManager;
import org.springframework.util.StreamUtils;
import org.springframework.web.client.RestClient;

/**
 * The sample behind the Spring Security configuration of the docs. It runs on a real database, as a user with only the documented
 * grants.
 */
@ExtendWith(OutputCaptureExtension.class)
@DisabledIfSystemProperty(
    named = "spring.aot.enabled",
    matches = "true",
    disabledReason = "it starts other beans than those of the processed application")
@Tag("faults")
class SecuredEndpointIT {

  private static final Duration LONG = Duration.ofSeconds(60);

  private static final String LEADER = "/actuator/leader/sample-app";

  private static final String PASSWORD = "keep-this-to-yourself";

  private static final TestDatabase DATABASE = TestDatabase.newDatabase();

  private static final Map<String, String> NONE = Map.of();

  private static String user;

  @AutoClose
  private static ConfigurableApplicationContext application;

  @BeforeAll
  static void start() throws Exception {
    DATABASE.withTables();
    user = DATABASE.newUser(
        "sample_" + DATABASE.name(),
        "SELECT, INSERT, UPDATE ON " + DATABASE.name() + ".leader_election",
        "SELECT, INSERT, UPDATE ON " + DATABASE.name() + ".leader_election_history",
        "CREATE, INSERT ON " + DATABASE.name() + ".job_run");
    application = run();
  }

  @BeforeEach
  void awaitLeader() {
    await().atMost(LONG).until(application.getBean(ElectionService.class)::isLeader);
  }

  @Test
  void probesAndLoadBalancersNeedNotLogIn() throws Exception {
    assertThat(status("", "GET", "/actuator/health/liveness", NONE)).isEqualTo(200);
    assertThat(status("", "GET", LEADER + "/check", NONE)).isEqualTo(200);
  }

  @ParameterizedTest
  @CsvSource({"'', 401", "operator:guessed, 401", "reader:reads, 403"})
  void othersThanTheOperatorChangeNothing(String credentials, int refused) throws Exception {
    int reading = refused == 403 ? 200 : 401;
    Map<String, String> other = Map.of("leaderId", "other");
    assertThat(status(credentials, "GET", "/actuator/leader", NONE)).isEqualTo(reading);
    assertThat(status(credentials, "GET", LEADER, NONE)).isEqualTo(reading);
    assertThat(status(credentials, "POST", LEADER, other)).isEqualTo(refused);
    assertThat(status(credentials, "DELETE", LEADER, NONE)).isEqualTo(refused);
    assertThat(status(credentials, "POST", LEADER + "/pause", NONE)).isEqualTo(refused);
    assertThat(status(credentials, "DELETE", LEADER + "/pause", NONE)).isEqualTo(refused);
    assertThat(leaderInDatabase()).isEqualTo(nodeId());
  }

  @Test
  void historyAndLogNameWhoHasLoggedInAndWhy(CapturedOutput output) throws Exception {
    String why = "O'Hara says \"canary\"; DROP TABLE leader_election_history; -- {} %s";
    Map<String, String> json = Map.of("leaderId", "other:8080:2", "reason", why, "by", "root");
    assertThat(status("operator:writes", "POST", LEADER, json)).isEqualTo(202);
    await()
        .atMost(LONG)
        .until(() -> ("HANDED_OVER operator " + why).equals(lastEndIn("other:8080:2")));
    assertThat(output)
        .contains("election 'sample-app': node other:8080:2 was designated by operator: " + why);
    awaitLeader();
    assertThat(status("operator:writes", "DELETE", LEADER + "?reason=for a rest&by=root", NONE))
        .isEqualTo(204);
    await().atMost(LONG).until(() -> "RESIGNED operator for a rest".equals(lastEndIn("")));
    assertThat(output)
        .contains("election 'sample-app': a new election was forced by operator: for a rest");
    awaitLeader();
    await()
        .atMost(LONG)
        .until(() -> ask("operator:writes", "GET", LEADER, NONE)
            .getBody()
            .contains(
                "\"endReason\":\"RESIGNED\",\"endedBy\":\"operator\",\"note\":\"for a rest\""));
    assertThat(ask("reader:reads", "GET", LEADER, NONE).getBody())
        .contains("\"term\":")
        .doesNotContain("history", "operator", "rest");
  }

  @ParameterizedTest
  @ValueSource(strings = {"README.md", "README.zh-CN.md"})
  void aFollowerAnswersAsTheReadmeShows(String readme) throws Exception {
    String shown = found(
            "\\$ curl -s localhost:8081/actuator/leader\n(.*)\n",
            Files.readString(Path.of("..", readme)))
        .get(0);
    assertThat(status("operator:writes", "POST", LEADER + "/pause", NONE)).isEqualTo(204);
    try {
      await().atMost(LONG).until(SecuredEndpointIT::isReleased);
      DATABASE.execute(
          "UPDATE leader_election SET leader_id = 'host:8080:4711', lease_millis = 10000 WHERE service_id = 'sample-app'");
      await()
          .atMost(LONG)
          .untilAsserted(() -> assertThat(
                  shape(ask("reader:reads", "GET", "/actuator/leader", NONE).getBody()))
              .isEqualTo(shape(shown)));
    } finally {
      status("operator:writes", "DELETE", LEADER + "/pause", NONE);
    }
  }

  private static boolean isReleased() {
    return "0"
        .equals(DATABASE.query(
            "SELECT lease_millis FROM leader_election WHERE service_id = 'sample-app'"));
  }

  /** Returns an answer without the values that differ between any two nodes. */
  private static String shape(String answer) {
    return answer
        .replaceFirst("\"elections\":\\{\"[^\"]*\"", "\"elections\":{\"text\"")
        .replaceAll(":\"(?!Mysql|PT)[^\"]*\"", ":\"text\"")
        .replaceAll(":\\d+", ":number");
  }

  private static List<String> found(String pattern, String text) {
    return Pattern.compile(pattern)
        .matcher(text)
        .results()
        .map((match) -> match.group(1))
        .distinct()
        .toList();
  }

  /** Returns the end of the last ended term when the record names the next leader, else {@code null}. */
  private static String lastEndIn(String leaderId) {
    return leaderId.equals(leaderInDatabase())
        ? DATABASE.query(
            "SELECT CONCAT_WS(' ', end_reason, ended_by, end_note) FROM leader_election_history WHERE service_id = 'sample-app' AND ended_at IS NOT NULL ORDER BY term DESC LIMIT 1")
        : null;
  }

  private static ConfigurableApplicationContext run() throws Exception {
    return new SpringApplicationBuilder(
            SampleApplication.class, DocumentedSecurity.compile(), Users.class)
        .run(
            "--server.port=0",
            "--server.shutdown=immediate",
            "--spring.jmx.enabled=false",
            "--management.endpoint.leader.access=unrestricted",
            "--management.endpoint.leader.roles=OPERATOR",
            "--spring.datasource.url=" + DATABASE.jdbcUrl(),
            "--spring.datasource.username=" + user,
            "--spring.datasource.password=" + DATABASE.password(),
            "--as.election.mysql.schema=validate",
            "--as.election.lease-duration=3s",
            "--as.election.renew-interval=500ms");
  }

  private static int status(
      String credentials, String method, String path, Map<String, String> json) {
    return ask(credentials, method, path, json).getStatusCode().value();
  }

  private static ResponseEntity<String> ask(
      String credentials, String method, String path, Map<String, String> json) {
    return RestClient.create(
            "http://localhost:" + application.getEnvironment().getProperty("local.server.port"))
        .method(HttpMethod.valueOf(method))
        .uri(path)
        .headers((headers) -> {
          if (!credentials.isEmpty()) {
            String[] login = credentials.split(":", 2);
            headers.setBasicAuth(login[0], login[1]);
          }
        })
        .contentType(MediaType.APPLICATION_JSON)
        .body(json)
        .exchange((request, response) -> ResponseEntity.status(response.getStatusCode())
            .body(StreamUtils.copyToString(response.getBody(), UTF_8)));
  }

  private static String nodeId() {
    return application.getBean(ElectionService.class).nodeId();
  }

  private static String leaderInDatabase() {
    return DATABASE.query("SELECT leader_id FROM leader_election WHERE service_id = 'sample-app'");
  }

  /** The users. Not a configuration class, so that component scanning skips it. */
  static class Users {

    @Bean
    UserDetailsService users() {
      return new InMemoryUserDetailsManager(
          User.withUsername("reader").password("{noop}reads").roles("READER").build(),
          User.withUsername("operator")
              .password("{noop}writes")
              .roles("OPERATOR")
              .build());
    }
  }
}
