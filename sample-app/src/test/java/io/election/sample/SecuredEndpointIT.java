package io.election.sample;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import ch.qos.logback.core.read.ListAppender;
import io.election.ElectionService;
import io.election.mysql.ElectionDatabase;
import io.election.mysql.MysqlLeaseStore;
import io.election.test.TestDatabase;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfSystemProperty;
import org.slf4j.LoggerFactory;
import org.springframework.boot.builder.SpringApplicationBuilder;
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
 * The sample behind Spring Security with all its endpoints exposed. It runs on a real database, as
 * a user with only the documented grants.
 */
@DisabledIfSystemProperty(
    named = "spring.aot.enabled",
    matches = "true",
    disabledReason = "it starts other beans than those of the processed application")
class SecuredEndpointIT {

  private static final Duration LONG = Duration.ofSeconds(60);

  private static final String LEADER = "/actuator/leader/sample-app";

  private static final String PASSWORD = "keep-this-to-yourself";

  private static final TestDatabase DATABASE = TestDatabase.newDatabase();

  private static final ListAppender<ILoggingEvent> LOGGED = new ListAppender<>();

  private static final HttpClient CLIENT = HttpClient.newHttpClient();

  private static String user;

  private static ConfigurableApplicationContext application;

  @BeforeAll
  static void start() throws Exception {
    new MysqlLeaseStore(
            new ElectionDatabase(DATABASE.dataSource(), DATABASE.jdbcUrl()),
            MysqlLeaseStore.SchemaMode.MIGRATE,
            Duration.ofSeconds(5),
            Duration.ofSeconds(5),
            false)
        .ensureTables();
    DATABASE.execute("""
        CREATE TABLE job_run (
            id      bigint       NOT NULL AUTO_INCREMENT PRIMARY KEY,
            node_id varchar(128) NOT NULL,
            term    bigint       NOT NULL,
            ran_at  timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6))
        """);
    user = DATABASE.newUser(
        "sample_" + DATABASE.name(),
        "SELECT, INSERT, UPDATE ON " + DATABASE.name() + ".leader_election",
        "SELECT, INSERT, UPDATE ON " + DATABASE.name() + ".leader_election_history",
        "INSERT ON " + DATABASE.name() + ".job_run");
    DATABASE.execute("ALTER USER '" + user + "'@'%' IDENTIFIED BY '" + PASSWORD + "'");
    application = run(PASSWORD);
  }

  @AfterAll
  static void stop() {
    root().detachAppender(LOGGED);
    if (application != null) {
      application.close();
    }
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

  @Test
  void anonymousIsTurnedAway() throws Exception {
    assertThat(status("", "GET", "/actuator/leader", "")).isEqualTo(401);
    assertThat(status("", "GET", LEADER, "")).isEqualTo(401);
    assertThat(status("", "POST", LEADER, designation("other"))).isEqualTo(401);
    assertThat(status("", "DELETE", LEADER, "")).isEqualTo(401);
    assertThat(status("operator:guessed", "DELETE", LEADER, "")).isEqualTo(401);
    assertThat(status("", "POST", LEADER + "/pause", "{}")).isEqualTo(401);
    assertThat(status("", "DELETE", LEADER + "/pause", "")).isEqualTo(401);
    assertThat(leaderInDatabase()).isEqualTo(nodeId());
  }

  @Test
  void readerMayLookAndNoMore() throws Exception {
    assertThat(status("reader:reads", "GET", "/actuator/leader", "")).isEqualTo(200);
    assertThat(status("reader:reads", "GET", LEADER + "/check", "")).isIn(200, 503);
    assertThat(status("reader:reads", "POST", LEADER, designation("other"))).isEqualTo(403);
    assertThat(status("reader:reads", "DELETE", LEADER, "")).isEqualTo(403);
    assertThat(status("reader:reads", "POST", LEADER + "/pause", "{}")).isEqualTo(403);
    assertThat(status("reader:reads", "DELETE", LEADER + "/pause", "")).isEqualTo(403);
    assertThat(leaderInDatabase()).isEqualTo(nodeId());
  }

  @Test
  void operatorMayDesignateAndForceElections() throws Exception {
    assertThat(status("operator:writes", "GET", LEADER, "")).isEqualTo(200);
    assertThat(status("operator:writes", "POST", LEADER, designation("other:8080:1")))
        .isEqualTo(202);
    await().atMost(LONG).until(() -> "other:8080:1".equals(leaderInDatabase()));
    assertThat(status("operator:writes", "DELETE", LEADER, "")).isEqualTo(204);
    await().atMost(LONG).until(() -> !"other:8080:1".equals(leaderInDatabase()));
  }

  @Test
  void historyAndLogNameWhoHasLoggedInAndWhy() throws Exception {
    String why = "O'Hara says \"canary\"; DROP TABLE leader_election_history; -- {} %s";
    String json = JsonMapper.builder()
        .build()
        .writeValueAsString(Map.of("leaderId", "other:8080:2", "reason", why, "by", "root"));
    assertThat(status("operator:writes", "POST", LEADER, json)).isEqualTo(202);
    await()
        .atMost(LONG)
        .until(() -> ("HANDED_OVER operator " + why).equals(lastEndIn("other:8080:2")));
    assertThat(log())
        .contains("election 'sample-app': node other:8080:2 was designated by operator: " + why);
    awaitLeader();
    assertThat(status("operator:writes", "DELETE", LEADER + "?reason=for%20a%20rest&by=root", ""))
        .isEqualTo(204);
    await().atMost(LONG).until(() -> "RESIGNED operator for a rest".equals(lastEndIn("")));
    assertThat(log())
        .contains("election 'sample-app': a new election was forced by operator: for a rest");
  }

  /** Returns the end of the last ended term when the record names the next leader, else {@code null}. */
  private static String lastEndIn(String leaderId) {
    return leaderId.equals(leaderInDatabase())
        ? DATABASE.query(
            "SELECT CONCAT_WS(' ', end_reason, ended_by, end_note) FROM leader_election_history WHERE service_id = 'sample-app' AND ended_at IS NOT NULL ORDER BY term DESC LIMIT 1")
        : null;
  }

  @Test
  void operatorPausesAndResumesTheNode() throws Exception {
    assertThat(status("operator:writes", "POST", LEADER + "/pause", "{\"reason\":\"canary\"}"))
        .isEqualTo(204);
    assertThat(ask("operator:writes", "GET", LEADER, "").body())
        .contains("\"leader\":false")
        .contains("\"paused\":true,\"pausedBy\":\"operator\",\"pausedReason\":\"canary\"");
    assertThat(ask("reader:reads", "GET", LEADER, "").body())
        .contains("\"leader\":false")
        .doesNotContain("paused", "canary");
    await().atMost(LONG).until(() -> "PAUSED operator canary".equals(lastEndIn("")));
    assertThat(status("operator:writes", "DELETE", LEADER + "/pause", "")).isEqualTo(204);
    awaitLeader();
    await()
        .atMost(LONG)
        .until(() -> ask("operator:writes", "GET", LEADER, "")
            .body()
            .contains("\"endReason\":\"PAUSED\",\"endedBy\":\"operator\",\"note\":\"canary\""));
    assertThat(ask("operator:writes", "GET", LEADER, "").body()).doesNotContain("\"paused\":");
    assertThat(ask("reader:reads", "GET", LEADER, "").body())
        .contains("\"term\":")
        .doesNotContain("history", "operator", "canary");
  }

  @Test
  void reasonThatCouldForgeALogLineIsRefused() throws Exception {
    for (String reason : List.of(
        "x\nbecome leader by FORGED-WHY",
        "x\u0000FORGED-WHY",
        "x\u001b[31mFORGED-WHY",
        "x\u202eFORGED-WHY",
        "FORGED-WHY".repeat(1_000))) {
      String json = JsonMapper.builder()
          .build()
          .writeValueAsString(Map.of("leaderId", "other:8080:3", "reason", reason));
      HttpResponse<String> response = ask("operator:writes", "POST", LEADER, json);
      assertThat(response.statusCode()).as(response.body()).isEqualTo(400);
      assertThat(response.body())
          .containsPattern("must not contain control characters|has 10000 characters")
          .doesNotContainPattern("\\p{Cntrl}|\u2028|\u202e");
    }
    assertThat(log()).noneMatch((text) -> text.contains("FORGED-WHY"));
    assertThat(leaderInDatabase()).isEqualTo(nodeId());
  }

  @Test
  void idThatCouldForgeALogLineIsRefused() throws Exception {
    for (String id : List.of(
        "x\nbecome leader by FORGED",
        "x\r\nbecome leader by FORGED",
        "x\u0000FORGED",
        "x\u001b[31mFORGED",
        "x\u2028FORGED",
        "x\u202eFORGED",
        "FORGED" + "x".repeat(123))) {
      HttpResponse<String> response = ask("operator:writes", "POST", LEADER, designation(id));
      assertThat(response.statusCode()).as(response.body()).isEqualTo(400);
      assertThat(response.body())
          .containsPattern("must not contain control characters|has 129 characters")
          .doesNotContainPattern("\\p{Cntrl}|\u2028|\u202e");
    }
    assertThat(log()).noneMatch((text) -> text.contains("FORGED"));
    assertThat(leaderInDatabase()).isEqualTo(nodeId());
  }

  @Test
  void nameThatWasForgedByHandStaysOnItsLineOfTheLog() throws Exception {
    DATABASE.execute(
        "INSERT INTO leader_election (service_id, leader_id, lease_millis) VALUES ('watched', 'x\\n12:00:00 INFO BYHAND', 5000)");
    try (ConfigurableApplicationContext watcher =
        run(PASSWORD, "--as.election.service-id=watched", "--as.election.eligible=false")) {
      await()
          .atMost(LONG)
          .until(() -> log().stream()
              .anyMatch((text) -> text.contains("is held by x\\u000a12:00:00 INFO BYHAND")));
      assertThat(ask(watcher, "reader:reads", "GET", "/actuator/leader/watched", "")
              .body())
          .contains("BYHAND")
          .doesNotContain("\\n", "\n");
    }
    assertThat(log())
        .filteredOn((text) -> text.contains("BYHAND"))
        .allSatisfy((text) -> assertThat(text).doesNotContain("\n"));
  }

  @Test
  void idThatLooksLikeSqlIsJustAName() throws Exception {
    // The first designation takes the leader's path, the others take the follower's.
    for (String id : List.of("'; DROP TABLE leader_election; -- x", "x' OR '1'='1", "\\'\"`%s{}")) {
      assertThat(status("operator:writes", "POST", LEADER, designation(id))).isEqualTo(202);
      await().atMost(LONG).until(() -> id.equals(leaderInDatabase()));
      assertThat(log()).anyMatch((text) -> text.contains("designated node '" + id + "'"));
    }
    assertThat(status("operator:writes", "DELETE", "/actuator/leader/x'%20OR%20'1'='1", ""))
        .isEqualTo(404);
    awaitLeader();
    assertThat(
            DATABASE.query("SELECT COUNT(*) FROM leader_election WHERE service_id = 'sample-app'"))
        .isEqualTo("1");
  }

  @Test
  void nothingThatIsShownOrLoggedHoldsAPassword() throws Exception {
    List<String> shown = new ArrayList<>();
    try (ConfigurableApplicationContext refused = run("wrong-" + PASSWORD)) {
      await()
          .atMost(LONG)
          .until(() -> ask(refused, "operator:writes", "GET", "/actuator/health", "")
              .body()
              .contains("refuses the user"));
      for (ConfigurableApplicationContext node : List.of(application, refused)) {
        for (String path : List.of("leader", "leader/sample-app", "health", "info", "prometheus")) {
          shown.add(ask(node, "operator:writes", "GET", "/actuator/" + path, "").body());
        }
      }
      HttpResponse<String> failed = ask(refused, "operator:writes", "DELETE", LEADER, "");
      assertThat(failed.statusCode()).isEqualTo(503);
      shown.add(failed.body());
    }
    shown.addAll(log());
    assertThat(shown)
        .hasSizeGreaterThan(11)
        .allSatisfy((text) ->
            assertThat(text).isNotBlank().doesNotContain(PASSWORD, "allowPublicKeyRetrieval"));
  }

  private static ConfigurableApplicationContext run(String password, String... more) {
    return new SpringApplicationBuilder(SampleApplication.class, Security.class)
        .initializers((starting) -> listen())
        .run(Stream.concat(
                Stream.of(
                    "--server.port=0",
                    "--server.shutdown=immediate",
                    "--spring.jmx.enabled=false",
                    "--spring.datasource.url=" + DATABASE.jdbcUrl(),
                    "--spring.datasource.username=" + user,
                    "--spring.datasource.password=" + password,
                    "--as.election.mysql.schema=validate",
                    "--management.endpoint.leader.access=unrestricted",
                    "--management.endpoint.leader.roles=OPERATOR",
                    "--management.endpoint.health.show-details=always",
                    "--management.endpoints.web.exposure.include=*"),
                Stream.of(more))
            .toArray(String[]::new));
  }

  private static int status(String credentials, String method, String path, String json)
      throws Exception {
    return ask(credentials, method, path, json).statusCode();
  }

  private static HttpResponse<String> ask(
      String credentials, String method, String path, String json) throws Exception {
    return ask(application, credentials, method, path, json);
  }

  private static HttpResponse<String> ask(
      ConfigurableApplicationContext node,
      String credentials,
      String method,
      String path,
      String json)
      throws Exception {
    String port = node.getEnvironment().getProperty("local.server.port");
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
    return JsonMapper.builder().build().writeValueAsString(Map.of("leaderId", leaderId));
  }

  private static String nodeId() {
    return application.getBean(ElectionService.class).nodeId();
  }

  private static String leaderInDatabase() {
    return DATABASE.query("SELECT leader_id FROM leader_election WHERE service_id = 'sample-app'");
  }

  private static List<String> log() {
    List<ILoggingEvent> events;
    synchronized (LOGGED) {
      events = List.copyOf(LOGGED.list);
    }
    return events.stream()
        .flatMap((event) -> Stream.of(
            event.getFormattedMessage(),
            event.getThrowableProxy() != null
                ? ThrowableProxyUtil.asString(event.getThrowableProxy())
                : "no exception"))
        .toList();
  }

  /** Repeated for each application, since Spring Boot may have set up logging again for it. */
  private static void listen() {
    LOGGED.start();
    root().addAppender(LOGGED);
  }

  private static Logger root() {
    return (Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
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
