package io.election.sample;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.clearInvocations;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.mockingDetails;

import io.election.ElectionOperations;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.condition.DisabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Primary;
import org.springframework.security.core.userdetails.User;
import org.springframework.security.core.userdetails.UserDetailsService;

/**
 * Attacks the security configuration of the docs: every method, path and override, as each user.
 * Only requests without an override change an election, and only those of the operator. {@code
 * -Dthorough} combines every override with every path of every endpoint, and not only with some.
 */
@DisabledIfSystemProperty(
    named = "spring.aot.enabled",
    matches = "true",
    disabledReason = "it starts other beans than those of the processed application")
class DocumentedSecurityTest {

  private static final boolean THOROUGH = System.getProperty("thorough") != null;

  private static final List<String> METHODS =
      List.of("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE");

  private static final List<String> PATHS = List.of(
      "",
      "/orders",
      "/orders/check",
      "/orders/pause",
      "/orders/pause/check",
      "/orders/check/",
      "/orders/pause;/check",
      "/orders/check;/pause",
      "/orders/pause%2Fcheck",
      "/orders/pause/x/../check",
      "/-",
      "/-/pause",
      "/check",
      "/check?",
      "/check/");

  private static final List<String> QUERIES = List.of(
      "",
      "mode=pause",
      "serviceId=billing",
      "serviceId=orders",
      "path=billing",
      "path=billing/pause",
      "path=billing&path=pause",
      "_method=DELETE");

  private static final List<String> BODIES = List.of(
      "{\"leaderId\":\"b\"}",
      "{\"leaderId\":\"b\",\"serviceId\":\"billing\"}",
      "{\"leaderId\":\"b\",\"path\":\"billing\"}",
      "{\"mode\":\"pause\"}",
      "{\"path\":[\"billing\",\"pause\"]}");

  private static final Set<String> DECISIONS =
      Set.of("becomeLeader", "lostLeader", "designate", "forceElection", "pause", "resume");

  private static final ElectionOperations ORDERS = election("orders");

  private static final ElectionOperations BILLING = election("billing");

  /** Its path ends like that of an operation. */
  private static final ElectionOperations CHECK = election("check");

  private ConfigurableApplicationContext application;

  private int port;

  @BeforeEach
  void forget() {
    clearInvocations(ORDERS, BILLING, CHECK);
  }

  @AfterEach
  void stop() {
    this.application.close();
  }

  @ParameterizedTest
  @CsvSource({
    "/actuator/leader, local.server.port, management.server.port=",
    "/manage/who, local.server.port, management.endpoints.web.base-path=/manage management.endpoints.web.path-mapping.leader=who",
    "/app/actuator/leader, local.server.port, server.servlet.context-path=/app",
    "/leader, local.management.port, management.server.port=0 management.endpoints.web.base-path=/"
  })
  void onlyTheOperatorChangesAnElectionAndOnlyTheOneInThePath(
      String endpoint, String port, String properties) throws Exception {
    start(port, properties);
    boolean first = properties.endsWith("port=");
    List<String> paths = first || THOROUGH ? PATHS : PATHS.subList(0, 5);
    for (String method : METHODS) {
      for (String path : paths) {
        boolean all = first && (THOROUGH || path.equals("/orders") || path.equals("/orders/pause"));
        for (String query : all ? QUERIES : QUERIES.subList(0, 2)) {
          for (String json :
              method.equals("POST") ? all ? BODIES : BODIES.subList(0, 2) : List.of("")) {
            attack(endpoint, method, path, query, json);
          }
        }
      }
    }

    assertThat(ask("operator", "POST", endpoint + "/orders", "{\"leaderId\":\"b\"}"))
        .isEqualTo(202);
    assertThat(ask("operator", "POST", endpoint + "/orders/pause", "{}")).isEqualTo(204);
    assertThat(ask("operator", "DELETE", endpoint + "/orders/pause", "")).isEqualTo(204);
    assertThat(ask("operator", "DELETE", endpoint + "/orders", "")).isEqualTo(204);
    assertThat(decisions()).containsExactly("designate", "pause", "resume", "forceElection");
    assertThat(ask("", "GET", endpoint + "/orders/check", "")).isEqualTo(503);
    assertThat(ask("", "HEAD", endpoint + "/orders/check", "")).isEqualTo(503);
    assertThat(ask("", "GET", endpoint, "")).isEqualTo(401);
    assertThat(ask("reader", "GET", endpoint, "")).isEqualTo(200);
    assertThat(ask("reader", "GET", endpoint + "/orders", "")).isEqualTo(200);
  }

  private void attack(String endpoint, String method, String path, String query, String json)
      throws IOException {
    String target = endpoint + path;
    target += query.isEmpty() ? "" : (target.contains("?") ? "&" : "?") + query;
    String request = method + " " + target + " " + json;
    int status = ask("", method, target, json);
    assertThat(decisions()).as("anonymous %s: %s", request, status).isEmpty();
    boolean check = Set.of("GET", "HEAD").contains(method) && path.equals("/orders/check");
    if (!check) {
      assertThat(status).as("anonymous " + request).isGreaterThanOrEqualTo(400);
    }
    status = ask("reader", method, target, json);
    assertThat(decisions()).as("reader %s: %s", request, status).isEmpty();
    if (query.matches("(serviceId|path)=.*") || json.matches(".*(serviceId|path)\":.*")) {
      status = ask("operator", method, target, json);
      assertThat(decisions()).as("operator %s: %s", request, status).isEmpty();
      if (Set.of("GET", "POST", "DELETE").contains(method) && path.startsWith("/orders")) {
        assertThat(status).as("operator " + request).isEqualTo(400);
      }
    }
  }

  /** Returns the decisions since the last call. */
  private static List<String> decisions() {
    List<String> decisions = new ArrayList<>();
    for (ElectionOperations election : List.of(BILLING, CHECK, ORDERS)) {
      mockingDetails(election).getInvocations().stream()
          .map((invocation) -> invocation.getMethod().getName())
          .filter(DECISIONS::contains)
          .map((name) -> election == ORDERS ? name : name + " of " + election.serviceId())
          .forEach(decisions::add);
      clearInvocations(election);
    }
    return decisions;
  }

  private void start(String port, String properties) throws Exception {
    this.application = new SpringApplicationBuilder(Application.class, DocumentedSecurity.compile())
        .properties(
            "spring.config.name=none",
            "spring.application.name=orders",
            "spring.jmx.enabled=false",
            "server.port=0",
            "server.shutdown=immediate",
            "logging.level.root=error",
            "management.endpoint.leader.access=unrestricted")
        .properties(properties.split(" ", -1))
        .run();
    this.port = Integer.parseInt(this.application.getEnvironment().getProperty(port));
  }

  /** Sends a request as it is, since a client library would normalize the path. */
  private int ask(String user, String method, String target, String json) throws IOException {
    String credentials = user.isEmpty()
        ? ""
        : "Authorization: Basic "
            + Base64.getEncoder().encodeToString((user + ":secret").getBytes()) + "\r\n";
    String request = method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n" + credentials
        + "Content-Type: application/json\r\nContent-Length: " + json.length()
        + "\r\nConnection: close\r\n\r\n" + json;
    try (Socket socket = new Socket("localhost", this.port)) {
      OutputStream out = socket.getOutputStream();
      out.write(request.getBytes());
      out.flush();
      InputStream in = socket.getInputStream();
      String answer = new String(in.readAllBytes());
      return Integer.parseInt(answer.substring(9, 12));
    }
  }

  private static ElectionOperations election(String name) {
    ElectionOperations election = mock();
    given(election.serviceId()).willReturn(name);
    given(election.nodeId()).willReturn("a");
    given(election.leadership()).willReturn(Optional.empty());
    given(election.leaderId()).willReturn(Optional.empty());
    given(election.term()).willReturn(OptionalLong.empty());
    given(election.paused()).willReturn(Optional.empty());
    given(election.members()).willReturn(Optional.empty());
    try {
      given(election.currentMembers()).willReturn(Optional.empty());
    } catch (InterruptedException ex) {
      throw new AssertionError(ex);
    }
    given(election.history()).willReturn(List.of());
    return election;
  }

  @EnableAutoConfiguration(exclude = DataSourceAutoConfiguration.class)
  static class Application {

    @Bean
    @Primary
    ElectionOperations orders() {
      return ORDERS;
    }

    @Bean
    ElectionOperations billing() {
      return BILLING;
    }

    @Bean
    ElectionOperations check() {
      return CHECK;
    }

    /** Not in memory, since that would store slow hashes of the passwords. */
    @Bean
    UserDetailsService users() {
      return (name) -> User.withUsername(name)
          .password("{noop}secret")
          .roles(name.toUpperCase(Locale.ROOT))
          .build();
    }
  }
}
