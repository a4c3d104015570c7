package io.election.autoconfigure.actuate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.BDDMockito.willReturn;
import static org.mockito.BDDMockito.willThrow;
import static org.mockito.Mockito.CALLS_REAL_METHODS;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.never;
import static org.mockito.Mockito.reset;
import static org.mockito.Mockito.verify;

import io.election.AuditNote;
import io.election.ElectionOperations;
import io.election.ExpectedLeader;
import io.election.Leadership;
import io.election.Member;
import io.election.Names;
import io.election.OtherLeaderException;
import io.election.PastTerm;
import io.election.autoconfigure.SwitchedElection;
import io.election.autoconfigure.leaderonly.LeaderBoundBeans;
import io.election.store.LeaseStoreException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.security.Principal;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Stream;
import org.assertj.core.api.AbstractStringAssert;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.Show;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.security.autoconfigure.actuate.web.servlet.ManagementWebSecurityAutoConfiguration;
import org.springframework.boot.security.autoconfigure.web.servlet.ServletWebSecurityAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The endpoint on a real web server, with an application's own service. */
class LeaderEndpointTest {

  private static final String READ_ONLY = "as.election.expose-endpoint=true";

  private static final String WRITABLE = "management.endpoint.leader.access=unrestricted";

  private static final String DETAILS =
      "management.endpoint.leader.show-details=always,management.endpoints.access.default=unrestricted";

  private static final String THREE_METHODS = "three-methods=true," + DETAILS;

  private static final Instant TIME = Instant.parse("2026-11-21T03:04:05.678999Z");

  private static final String LEADER =
      "{\"leader\":true,\"leaderId\":\"host:8080:4711\",\"term\":3,\"since\":\"2026-11-21T03:04:05.678Z\",\"leaseRemaining\":\"PT8.213S\"}";

  private static final OwnElection ELECTION = mock(CALLS_REAL_METHODS);

  private static final Map<String, ConfigurableApplicationContext> APPLICATIONS = new HashMap<>();

  private static final HttpClient CLIENT = HttpClient.newHttpClient();

  @BeforeEach
  void forget() {
    reset(ELECTION);
  }

  @AfterAll
  static void stop() {
    APPLICATIONS.values().forEach(ConfigurableApplicationContext::close);
    APPLICATIONS.clear();
  }

  @Test
  void anonymousReaderSeesWhoLeadsSinceWhenAndNothingElse() throws Exception {
    lead(Duration.ofNanos(8_213_999_999L));
    pausedBy(new AuditNote("alice", "canary"));
    history(new PastTerm(2, "b", TIME, TIME, "EXPIRED", "RESIGNED", "alice", "a reason"));
    members("host:8081:1");
    assertThat(get(READ_ONLY, ""))
        .isEqualTo(
            "{\"nodeId\":\"host:8080:4711\",\"algorithm\":\"OwnElection\",\"elections\":{\"sample-app\":"
                + LEADER + "}}");
    assertThat(get(READ_ONLY, "/sample-app")).isEqualTo(LEADER);
    assertThat(get(DETAILS, "/sample-app"))
        .contains("\"pausedBy\":\"alice\"", "\"note\":\"a reason\"");
  }

  @Test
  void followerShowsWhatItKnowsAndNothingElse() throws Exception {
    assertThat(get(READ_ONLY, "/sample-app")).isEqualTo("{\"leader\":false}");
    see("other:8080:1");
    assertThat(get(READ_ONLY, "/sample-app"))
        .isEqualTo("{\"leader\":false,\"leaderId\":\"other:8080:1\",\"term\":3}");
    willReturn(Optional.of(Duration.ofSeconds(10))).given(ELECTION).leaderLease();
    assertThat(get(READ_ONLY, "/sample-app")).endsWith(",\"term\":3,\"lease\":\"PT10S\"}");
  }

  @Test
  void oneElectionShowsItsLastTermsAndAllTogetherDoNot() throws Exception {
    history(
        new PastTerm(4, "b", TIME, null, "DESIGNATED", null, null, null),
        new PastTerm(
            3,
            "a",
            TIME.minusSeconds(5),
            TIME,
            "EXPIRED",
            "HANDED_OVER",
            "alice",
            "a \"new\"\nversion"),
        new PastTerm(2, "b", TIME.minusSeconds(9), TIME, null, "STOPPED", "bob", ""));
    assertThat(get(DETAILS, "/sample-app")).isEqualTo("""
        {"leader":false,"history":[\
        {"term":4,"leaderId":"b","from":"2026-11-21T03:04:05.678Z","reason":"DESIGNATED"},\
        {"term":3,"leaderId":"a","from":"2026-11-21T03:04:00.678Z","until":"2026-11-21T03:04:05.678Z","reason":"EXPIRED","endReason":"HANDED_OVER","endedBy":"alice","note":"a \\"new\\"\\nversion"},\
        {"term":2,"leaderId":"b","from":"2026-11-21T03:03:56.678Z","until":"2026-11-21T03:04:05.678Z","endReason":"STOPPED","endedBy":"bob"}]}\
        """);
    assertThat(get(DETAILS, "")).doesNotContain("history");
  }

  @ParameterizedTest
  @CsvSource({
    "NEVER, '', operator, false",
    "ALWAYS, '', '', true",
    "WHEN_AUTHORIZED, '', '', false",
    "WHEN_AUTHORIZED, '', reader, true",
    "WHEN_AUTHORIZED, operator, reader, false",
    "WHEN_AUTHORIZED, operator, operator, true"
  })
  void detailsAreShownAsThePropertySays(Show show, String role, String user, boolean shown) {
    pausedBy(new AuditNote("alice", "canary"));
    DefaultListableBeanFactory beans = new DefaultListableBeanFactory();
    beans.registerSingleton("election", ELECTION);
    LeaderEndpoint endpoint = new LeaderEndpoint(
        SwitchedElection.registry(beans),
        null,
        mock(LeaderBoundBeans.class),
        new LeaderEndpointProperties(show, role.isEmpty() ? Set.of() : Set.of(role)));
    SecurityContext security = new SecurityContext() {
      @Override
      public Principal getPrincipal() {
        return user.isEmpty() ? null : () -> user;
      }

      @Override
      public boolean isUserInRole(String asked) {
        return asked.equals(user);
      }
    };
    assertThat(endpoint
            .election(new String[] {"sample-app"}, null, security)
            .getBody()
            .containsKey("pausedBy"))
        .isEqualTo(shown);
    assertThat(endpoint.elections(security).toString().contains("alice")).isEqualTo(shown);
  }

  @Test
  void leadershipWithoutALeaseShowsNoneRemaining() throws Exception {
    lead(Leadership.UNLIMITED);
    assertThat(get(READ_ONLY, "/sample-app"))
        .contains("\"since\"")
        .doesNotContain("leaseRemaining");
  }

  @ParameterizedTest
  @ValueSource(strings = {"GET", "HEAD"})
  void loadBalancersFindTheLeaderByTheStatusAlone(String method) throws Exception {
    assertAnswer(503, ask(READ_ONLY, method, "/sample-app/check", null)).isEmpty();
    lead(Leadership.UNLIMITED);
    assertThat(ask(READ_ONLY, method, "/sample-app/check", null).statusCode()).isEqualTo(200);
    assertThat(ask(READ_ONLY, method, "/other/check", null).statusCode()).isEqualTo(404);
    assertThat(ask(READ_ONLY, method, "/sample-app/chekc", null).statusCode()).isEqualTo(400);
  }

  @ParameterizedTest
  @ValueSource(strings = {"*/*", "text/plain", "text/html", "application/json"})
  void loadBalancerMayAcceptAnything(String accepted) throws Exception {
    HttpRequest request = request(READ_ONLY, "GET", "/sample-app/check", null)
        .setHeader("Accept", accepted)
        .build();
    assertAnswer(503, CLIENT.send(request, BodyHandlers.ofString())).isEmpty();
    request = request(READ_ONLY, "GET", "/other/check", null)
        .setHeader("Accept", accepted)
        .build();
    assertAnswer(404, CLIENT.send(request, BodyHandlers.ofString())).contains("'other'");
  }

  @Test
  void electionWithASlashInItsNameIsAskedForByTheQuery() throws Exception {
    willReturn("orders/eu")
        .given(ELECTION)
        .serviceId(); // of an application that is not started yet
    String slash = "spring.application.name=slash," + WRITABLE;
    assertThat(get(slash, "")).contains("\"orders/eu\":{\"leader\":false}");
    assertThat(get(slash, "/-?serviceId=orders/eu")).isEqualTo("{\"leader\":false}");
    String pause = "/-/pause?serviceId=orders/eu";
    assertThat(ask(slash, "POST", pause, "{}").statusCode()).isEqualTo(204);
    assertThat(ask(slash, "DELETE", pause, null).statusCode()).isEqualTo(204);
    assertAnswer(400, ask(slash, "POST", "/orders/eu", "{\"leaderId\":\"a\"}"))
        .contains("/-?serviceId=orders/eu");
    verify(ELECTION, never()).designate(any(), any());
  }

  /** Whatever overrides the path, by any name that an operation has, changes nothing. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "path=sample-app",
        "path=sample-app/pause",
        "path=sample-app&path=pause",
        "serviceId=sample-app",
        "serviceId=",
        "path=-&serviceId=sample-app"
      })
  void nothingOverridesThePath(String override) throws Exception {
    for (String path : List.of(
        "/sample-app",
        "/sample-app/pause",
        "/sample-app/check",
        "/other",
        "/other/pause",
        "/-",
        "/-/pause")) {
      for (String method : List.of("GET", "POST", "DELETE")) {
        String json = method.equals("POST") ? "{\"leaderId\":\"b\"}" : null;
        assertRefused(ask(WRITABLE, method, path + "?" + override, json));
      }
      if (override.indexOf("path=", 1) < 0) { // each name once
        String json = "{\"" + override.replace("=", "\":\"").replace("&", "\",\"") + "\"}";
        assertRefused(ask(WRITABLE, "POST", path, json));
      }
    }
    assertRefused(ask(WRITABLE, "POST", "/sample-app", "{\"path\":[\"sample-app\"]}"));
    verify(ELECTION, never()).designate(any(), any());
    verify(ELECTION, never()).forceElection(any());
    verify(ELECTION, never()).pause(any());
    verify(ELECTION, never()).resume(any());
  }

  private static void assertRefused(HttpResponse<String> answer) {
    assertAnswer(400, answer).isNotNull();
  }

  /** Names that were path variables once. */
  @ParameterizedTest
  @CsvSource({
    "POST, /sample-app/check?mode=pause, 400",
    "POST, /sample-app/chekc, 400",
    "POST, /sample-app/check?question=check, 400",
    "DELETE, /sample-app/check?mode=pause, 400",
    "DELETE, /sample-app/pause/check, 400",
    "DELETE, /sample-app/pause?leaderId=b, 400",
    "DELETE, /sample-app/pause?term=3, 400",
    "GET, /sample-app/pause?question=check, 400",
    "POST, '', 400",
    "DELETE, '', 400"
  })
  void pathNamesTheActionAndRefusesAnyOther(String method, String path, int status)
      throws Exception {
    assertAnswer(
            status,
            ask(WRITABLE, method, path, method.equals("POST") ? "{\"mode\":\"pause\"}" : null))
        .startsWith("{\"message\":\"");
    verify(ELECTION, never()).forceElection(any());
    verify(ELECTION, never()).pause(any());
    verify(ELECTION, never()).resume(any());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "POST   | /sample-app       | {\"leaderId\":\"a\"}",
        "DELETE | /sample-app       |",
        "POST   | /sample-app/pause | {}",
        "DELETE | /sample-app/pause |"
      })
  void endpointIsReadOnlyUnlessOpened(String method, String path, String body) throws Exception {
    assertThat(ask(READ_ONLY, method, path, body).statusCode()).isEqualTo(405);
    assertThat(ask(WRITABLE, method, path, body).statusCode()).isBetween(202, 204);
    assertThat(ask(DETAILS, method, path, body).statusCode()).isBetween(202, 204);
    assertThat(ask(WRITABLE, method, path.replace("sample-app", "other"), body).statusCode())
        .isEqualTo(404);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "GET  | /other            |                       | 404 | is not known to this node; it knows [sample-app]",
        "GET  | /sample-app/pause |                       | 400 | may only have /check, not 'pause'",
        "GET  | /sample-app/chekc |                       | 400 | may only have /check, not 'chekc'",
        "POST | /sample-app/check | {}                    | 400 | may only have /pause, not 'check'",
        "POST | /sample-app       | {}                    | 400 | leaderId is required",
        "POST | /sample-app       | {\"leaderId\":\"\"}   | 400 | leaderId is required",
        "POST | /sample-app       | {\"leaderId\":\" \"}  | 400 | leaderId is required",
        "POST | /sample-app       | {\"leaderId\":\"\",\"force\":true} | 400 | leaderId is required",
        "POST | /sample-app       | {\"leaderId\":\"LONG\"} | 400 | 999 characters",
        "POST | /sample-app       | {\"leaderId\":\"b\",\"reason\":\"LONG\"} | 400 | has 999 characters",
        "POST | /sample-app/pause | {\"reason\":\"LONG\"} | 400 | has 999 characters",
        "DELETE | /sample-app?term=three | | 400 | term is a number, not 'three'",
        "DELETE | /sample-app?leaderId= | | 400 | leader id",
        "POST | /sample-app       | {\"leaderId\":\"x\\nFORGED\"} | 400 | must not contain control characters",
        "POST | /sample-app       | {\"leaderId\":\"x\\u2028FORGED\"} | 400 | must not contain control characters",
        "POST | /sample-app       | {\"leaderId\":\"moved to x\",\"force\":true} | 400 | must not begin with 'moved to'",
        "POST | /sample-app       | {\"leaderId\":\"b\",\"reason\":\"x\\u202eFORGED\"} | 400 | must not contain control characters",
        "DELETE | /sample-app?reason=x%0A12:00:00%20INFO%20forged | | 400 | must not contain control characters"
      })
  void badRequestIsRefusedWithItsReason(
      String method, String path, String body, int status, String reason) throws Exception {
    String json = body != null ? body.replace("LONG", "x".repeat(999)) : null;
    assertAnswer(status, ask(WRITABLE, method, path, json))
        .contains(reason != null ? reason : "")
        .hasSizeLessThan(400);
    verify(ELECTION, never()).forceElection(any());
    verify(ELECTION, never()).forceElection(any(), any());
    verify(ELECTION, never()).pause(any());
  }

  @Test
  void operatorDesignatesAndForcesElections() throws Exception {
    see("b");
    assertAnswer(202, designate("b", ""))
        .isEqualTo("{\"leader\":false,\"leaderId\":\"b\",\"term\":3,\"designated\":\"b\"}");
    verify(ELECTION).designate("b", new AuditNote("endpoint", ""));
    assertThat(ask(WRITABLE, "DELETE", "/sample-app", null).statusCode()).isEqualTo(204);
    verify(ELECTION).forceElection(new AuditNote("endpoint", ""));
  }

  @ParameterizedTest
  @CsvSource({"leaderId=b&term=3, b, 3", "leaderId=b, b,", "term=3,, 3"})
  void electionIsForcedOnlyIfTheExpectedNodeLeads(String query, String leaderId, Long term)
      throws Exception {
    String path = "/sample-app?reason=upgrade&" + query;
    AuditNote upgrade = new AuditNote("endpoint", "upgrade");
    ExpectedLeader expected = new ExpectedLeader(leaderId, term);
    willThrow(new OtherLeaderException("sample-app", "c", OptionalLong.of(4)))
        .given(ELECTION)
        .forceElection(upgrade, expected);
    assertAnswer(409, ask(WRITABLE, "DELETE", path, null))
        .isEqualTo(
            "{\"message\":\"election 'sample-app' is led by 'c' in term 4, which is not the expected leader\",\"leaderId\":\"c\",\"term\":4}");
    willThrow(new OtherLeaderException("sample-app", null, OptionalLong.empty()))
        .given(ELECTION)
        .forceElection(upgrade, expected);
    assertThat(ask(WRITABLE, "DELETE", path, null).body())
        .isEqualTo("{\"message\":\"no node leads election 'sample-app' now\"}");
    reset(ELECTION);
    assertThat(ask(WRITABLE, "DELETE", path, null).statusCode()).isEqualTo(204);
    verify(ELECTION, never()).forceElection(any());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "POST   | /default       | {}                   | leaderId is required",
        "POST   | /default       | {\"leaderId\":\"b\"} | SwitchedElection cannot designate a leader at run time",
        "POST   | /default       | {\"leaderId\":\"b\",\"force\":true} | SwitchedElection cannot designate a leader at run time",
        "DELETE | /default       |                      | SwitchedElection cannot force an election at run time",
        "DELETE | /default?term=3 |                     | SwitchedElection cannot compare the leader when it forces an election",
        "POST   | /default/pause | {}                   | SwitchedElection cannot be paused",
        "DELETE | /default/pause |                      | SwitchedElection cannot be paused"
      })
  void electionOfThreeMethodsIsShownAndRefusesItsOperations(
      String method, String path, String body, String reason) throws Exception {
    assertThat(get(THREE_METHODS, "/default")).isEqualTo("{\"leader\":false}");
    assertAnswer(reason.startsWith("leaderId") ? 400 : 409, ask(THREE_METHODS, method, path, body))
        .startsWith("{\"message\":\"" + reason);
  }

  @ParameterizedTest
  @ValueSource(strings = {"typo", "host:808", "host", "host:8081", "HOST:8082:3"})
  void nodeThatIsNoMemberIsDesignatedOnlyByForce(String name) throws Exception {
    members("host:8081:1", "host:8081:22", "host:8082:3", "five", "host:9:x");
    assertAnswer(409, designate(name, ""))
        .startsWith("{\"message\":\"")
        .contains("'" + name + "'", "\\\"force\\\": true")
        .contains(
            "\"members\":[{\"nodeId\":\"host:8081:1\",\"since\":\"2026-11-21T03:04:05.678Z\",\"lastSeen\":\"2026-11-21T03:04:06.678Z\",\"eligible\":true,\"paused\":false,\"version\":\"1.0\",\"algorithm\":\"mysql\"},");
    assertThat(designate(name, ",\"force\":false").statusCode()).isEqualTo(409);
    verify(ELECTION, never()).designate(any(), any());
    assertThat(designate(name, ",\"force\":true").statusCode()).isEqualTo(202);
    verify(ELECTION).designate(name, new AuditNote("endpoint", ""));
  }

  /** This node, which is the last one, is not yet listed as a member. */
  @ParameterizedTest
  @CsvSource({
    "five, five",
    "host:8081:22, host:8081:22",
    "host:8082, host:8082:3",
    "host:8080:4711, host:8080:4711"
  })
  void memberIsDesignatedByItsIdOrByHostAndPort(String name, String nodeId) throws Exception {
    members("host:8081:1", "host:8081:22", "host:8082:3", "five");
    assertAnswer(202, designate(name, "")).contains("\"designated\":\"" + nodeId + "\"");
    verify(ELECTION).designate(nodeId, new AuditNote("endpoint", ""));
  }

  @Test
  void membersAreADetailOfOneElectionAndReadByNoReader() throws Exception {
    members("host:8081:1");
    assertThat(get(DETAILS, "/sample-app")).contains("\"members\":[{\"nodeId\":\"host:8081:1\",");
    assertThat(get(DETAILS, "")).doesNotContain("members", "candidates");
    verify(ELECTION, never()).currentMembers();
  }

  @Test
  void candidatesAreTheMembersThatMayLeadInTheOrderInWhichTheyCame() throws Exception {
    willReturn(Optional.of(List.of(
            new Member(
                "c",
                TIME,
                TIME,
                true,
                false,
                "",
                "mysql",
                "lag=3s \"late\"",
                Duration.ofSeconds(10),
                "prod"),
            new Member("paused", TIME, TIME, true, true, "", "mysql", "", Duration.ZERO, ""),
            new Member("a", TIME, TIME, true, false, "", "mysql", "", Duration.ZERO, ""),
            new Member(
                "not-eligible", TIME, TIME, false, false, "", "mysql", "", Duration.ZERO, ""))))
        .given(ELECTION)
        .members();
    assertThat(get(DETAILS, "/sample-app"))
        .startsWith("{\"leader\":false,\"candidates\":[\"c\",\"a\"],\"members\":[")
        .containsOnlyOnce(
            "\"paused\":false,\"lease\":\"PT10S\",\"label\":\"prod\",\"algorithm\":\"mysql\",\"position\":\"lag=3s \\\"late\\\"\"}")
        .containsOnlyOnce("position")
        .containsOnlyOnce("lease")
        .containsOnlyOnce("label");
    willReturn(Optional.empty()).given(ELECTION).members();
    assertThat(get(DETAILS, "/sample-app")).isEqualTo("{\"leader\":false}");
  }

  @Test
  void operatorPausesAndResumesTheNode() throws Exception {
    String pause = "/sample-app/pause";
    for (String[] request : new String[][] {
      {pause, "{\"reason\":\"canary\",\"by\":\"root\"}", "canary"},
      {pause, "", ""},
      {pause + "?reason=query", "", "query"}
    }) {
      assertThat(ask(WRITABLE, "POST", request[0], request[1]).statusCode()).isEqualTo(204);
      verify(ELECTION).pause(new AuditNote("endpoint", request[2]));
    }
    pausedBy(new AuditNote("endpoint", "canary"));
    String paused =
        "{\"leader\":false,\"paused\":true,\"pausedBy\":\"endpoint\",\"pausedReason\":\"canary\"}";
    assertThat(get(DETAILS, "/sample-app")).isEqualTo(paused);
    assertThat(get(DETAILS, "")).endsWith("{\"sample-app\":" + paused + "}}");
    pausedBy(new AuditNote("endpoint", ""));
    assertThat(get(DETAILS, "/sample-app"))
        .isEqualTo("{\"leader\":false,\"paused\":true,\"pausedBy\":\"endpoint\"}");
    assertThat(ask(WRITABLE, "DELETE", pause + "?reason=done", null).statusCode())
        .isEqualTo(204);
    verify(ELECTION).resume(new AuditNote("endpoint", "done"));
  }

  @Test
  void decisionThatCannotBeMadeIsAConflictAndASilentStoreIsUnavailable() throws Exception {
    willThrow(new IllegalStateException("has no record yet"))
        .given(ELECTION)
        .designate(any(), any());
    assertAnswer(409, designate("b", "")).isEqualTo("{\"message\":\"has no record yet\"}");
    willThrow(new UnsupportedOperationException("never")).given(ELECTION).pause(any());
    assertThat(ask(WRITABLE, "POST", "/sample-app/pause", "{}").statusCode()).isEqualTo(409);
    willThrow(new LeaseStoreException("no answer")).given(ELECTION).forceElection(any());
    assertAnswer(503, ask(WRITABLE, "DELETE", "/sample-app", null)).contains("no answer");
  }

  private static void lead(Duration remaining) {
    willReturn(true).given(ELECTION).isLeader();
    willReturn(Optional.of(new Leadership(3, TIME, remaining))).given(ELECTION).leadership();
  }

  private static void see(String leaderId) {
    willReturn(Optional.of(leaderId)).given(ELECTION).leaderId();
    willReturn(OptionalLong.of(3)).given(ELECTION).term();
  }

  private static void pausedBy(AuditNote auditNote) {
    willReturn(Optional.of(auditNote)).given(ELECTION).paused();
  }

  private static void history(PastTerm... entries) {
    willReturn(List.of(entries)).given(ELECTION).history();
  }

  private static void members(String... ids) {
    List<Member> members = Stream.of(ids)
        .map((id) -> new Member(
            id, TIME, TIME.plusSeconds(1), true, false, "1.0", "mysql", "", Duration.ZERO, ""))
        .toList();
    willReturn(Optional.of(members)).given(ELECTION).members();
  }

  private static AbstractStringAssert<?> assertAnswer(int status, HttpResponse<String> answer) {
    assertThat(answer.statusCode()).isEqualTo(status);
    return assertThat(answer.body());
  }

  private static HttpResponse<String> designate(String leaderId, String more) throws Exception {
    return ask(WRITABLE, "POST", "/sample-app", "{\"leaderId\":\"" + leaderId + "\"" + more + "}");
  }

  private static String get(String properties, String path) throws Exception {
    return ask(properties, "GET", path, null).body();
  }

  private static HttpResponse<String> ask(
      String properties, String method, String path, String json) throws Exception {
    return CLIENT.send(request(properties, method, path, json).build(), BodyHandlers.ofString());
  }

  private static HttpRequest.Builder request(
      String properties, String method, String path, String json) {
    String port = APPLICATIONS
        .computeIfAbsent(properties, LeaderEndpointTest::start)
        .getEnvironment()
        .getProperty("local.server.port");
    return HttpRequest.newBuilder(
            URI.create("http://localhost:" + port + "/actuator/leader" + path))
        .header("Content-Type", "application/json")
        .method(method, json != null ? BodyPublishers.ofString(json) : BodyPublishers.noBody());
  }

  private static ConfigurableApplicationContext start(String properties) {
    return new SpringApplicationBuilder(Application.class)
        .properties("server.port=0", "server.shutdown=immediate")
        .properties(properties.split(",", -1))
        .run();
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration(
      exclude = {
        DataSourceAutoConfiguration.class,
        ManagementWebSecurityAutoConfiguration.class,
        ServletWebSecurityAutoConfiguration.class
      })
  static class Application {

    @Bean
    OwnElection election() {
      return ELECTION;
    }

    @Bean
    @ConditionalOnBooleanProperty("three-methods")
    SwitchedElection electionOfThreeMethods() {
      return new SwitchedElection();
    }
  }

  static class OwnElection extends SwitchedElection implements ElectionOperations {

    @Override
    public String serviceId() {
      return "sample-app";
    }

    @Override
    public String nodeId() {
      return "host:8080:4711";
    }

    @Override
    public void designate(String leaderId) {
      Names.requireUsable("leader id", leaderId);
    }

    @Override
    public void forceElection() {}

    @Override
    public void forceElection(AuditNote auditNote, ExpectedLeader expected) {}

    @Override
    public void pause(AuditNote auditNote) {}

    @Override
    public void resume(AuditNote auditNote) {}
  }
}
