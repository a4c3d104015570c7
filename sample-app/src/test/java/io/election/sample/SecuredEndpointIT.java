package io.election.sample;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.election.ElectionService;
import io.election.test.TestDatabase;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Base64;
import java.util.Map;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfSystemProperty;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.http.HttpMethod;
import org.springframework.security.config.Customizer;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.userdetails.User;
import org.springframework.security.core.userdetails.UserDetailsService;
import org.springframework.security.provisioning.InMemoryUserDetailsManager;
import org.springframework.security.web.SecurityFilterChain;
import tools.jackson.databind.json.JsonMapper;

/**
 * The sample behind Spring Security. It runs on a real database, as a user with only the documented
 * grants.
 */
@ExtendWith(OutputCaptureExtension.class)
@DisabledIfSystemProperty(
    named = "spring.aot.enabled",
    matches = "true",
    disabledReason = "it starts other beans than those of the processed application")
class SecuredEndpointIT {

  private static final Duration LONG = Duration.ofSeconds(60);

  private static final String LEADER = "/actuator/leader/sample-app";

  private static final String PASSWORD = "keep-this-to-yourself";

  private static final TestDatabase DATABASE = TestDatabase.newDatabase();

  private static final HttpClient CLIENT = HttpClient.newHttpClient();

  private static String user;

  @AutoClose
  private static ConfigurableApplicationContext application;

  @BeforeAll
  static void start() {
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
    assertThat(status("", "GET", "/actuator/health/liveness", "")).isEqualTo(200);
    assertThat(status("", "GET", LEADER + "/check", "")).isEqualTo(200);
  }

  @ParameterizedTest
  @CsvSource({"'', 401", "operator:guessed, 401", "reader:reads, 403"})
  void othersThanTheOperatorChangeNothing(String credentials, int refused) throws Exception {
    int reading = refused == 403 ? 200 : 401;
    assertThat(status(credentials, "GET", "/actuator/leader", "")).isEqualTo(reading);
    assertThat(status(credentials, "GET", LEADER, "")).isEqualTo(reading);
    assertThat(status(credentials, "POST", LEADER, designation("other"))).isEqualTo(refused);
    assertThat(status(credentials, "DELETE", LEADER, "")).isEqualTo(refused);
    assertThat(status(credentials, "POST", LEADER + "/pause", "{}")).isEqualTo(refused);
    assertThat(status(credentials, "DELETE", LEADER + "/pause", "")).isEqualTo(refused);
    assertThat(leaderInDatabase()).isEqualTo(nodeId());
  }

  @Test
  void historyAndLogNameWhoHasLoggedInAndWhy(CapturedOutput output) throws Exception {
    String why = "O'Hara says \"canary\"; DROP TABLE leader_election_history; -- {} %s";
    String json = json(Map.of("leaderId", "other:8080:2", "reason", why, "by", "root"));
    assertThat(status("operator:writes", "POST", LEADER, json)).isEqualTo(202);
    await()
        .atMost(LONG)
        .until(() -> ("HANDED_OVER operator " + why).equals(lastEndIn("other:8080:2")));
    assertThat(output)
        .contains("election 'sample-app': node other:8080:2 was designated by operator: " + why);
    awaitLeader();
    assertThat(status("operator:writes", "DELETE", LEADER + "?reason=for%20a%20rest&by=root", ""))
        .isEqualTo(204);
    await().atMost(LONG).until(() -> "RESIGNED operator for a rest".equals(lastEndIn("")));
    assertThat(output)
        .contains("election 'sample-app': a new election was forced by operator: for a rest");
    awaitLeader();
    await()
        .atMost(LONG)
        .until(() -> ask("operator:writes", "GET", LEADER, "")
            .body()
            .contains(
                "\"endReason\":\"RESIGNED\",\"endedBy\":\"operator\",\"note\":\"for a rest\""));
    assertThat(ask("reader:reads", "GET", LEADER, "").body())
        .contains("\"term\":")
        .doesNotContain("history", "operator", "rest");
  }

  /** Returns the end of the last ended term when the record names the next leader, else {@code null}. */
  private static String lastEndIn(String leaderId) {
    return leaderId.equals(leaderInDatabase())
        ? DATABASE.query(
            "SELECT CONCAT_WS(' ', end_reason, ended_by, end_note) FROM leader_election_history WHERE service_id = 'sample-app' AND ended_at IS NOT NULL ORDER BY term DESC LIMIT 1")
        : null;
  }

  private static ConfigurableApplicationContext run() {
    return new SpringApplicationBuilder(SampleApplication.class, Security.class)
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

  private static int status(String credentials, String method, String path, String json)
      throws Exception {
    return ask(credentials, method, path, json).statusCode();
  }

  private static HttpResponse<String> ask(
      String credentials, String method, String path, String json) throws Exception {
    String port = application.getEnvironment().getProperty("local.server.port");
    HttpRequest.Builder request = HttpRequest.newBuilder(
            URI.create("http://localhost:" + port + path))
        .header("Content-Type", "application/json")
        .method(method, json.isEmpty() ? BodyPublishers.noBody() : BodyPublishers.ofString(json));
    if (!credentials.isEmpty()) {
      request.header(
          "Authorization",
          "Basic " + Base64.getEncoder().encodeToString(credentials.getBytes(UTF_8)));
    }
    return CLIENT.send(request.build(), BodyHandlers.ofString());
  }

  private static String designation(String leaderId) {
    return json(Map.of("leaderId", leaderId));
  }

  private static String json(Map<String, String> values) {
    return JsonMapper.builder().build().writeValueAsString(values);
  }

  private static String nodeId() {
    return application.getBean(ElectionService.class).nodeId();
  }

  private static String leaderInDatabase() {
    return DATABASE.query("SELECT leader_id FROM leader_election WHERE service_id = 'sample-app'");
  }

  /** The permissions of each user. Not a configuration class, so that component scanning skips it. */
  static class Security {

    @Bean
    SecurityFilterChain endpoints(HttpSecurity http) {
      return http.authorizeHttpRequests((requests) -> requests
              .requestMatchers("/actuator/health/**")
              .permitAll()
              .requestMatchers("/actuator/leader/*/check")
              .permitAll()
              .requestMatchers(HttpMethod.GET, "/actuator/**")
              .hasAnyRole("READER", "OPERATOR")
              .requestMatchers("/actuator/leader/**")
              .hasRole("OPERATOR")
              .anyRequest()
              .denyAll())
          .httpBasic(Customizer.withDefaults())
          // Each request carries its credentials; no cookie stores them.
          .csrf((csrf) -> csrf.disable())
          .build();
    }

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
