package io.election.autoconfigure.actuate;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.ElectionService;
import io.election.HistoryEntry;
import io.election.Instruction;
import io.election.Leadership;
import io.election.Member;
import io.election.Names;
import io.election.autoconfigure.SwitchedElection;
import io.election.lease.LeaseStoreException;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.security.Principal;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.ThrowingConsumer;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.Show;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The endpoint on a real web server, with an application's own service. */
class LeaderEndpointTest {

  private static final String DETAILS = "management.endpoint.leader.show-details=always";

  private static final String WRITABLE = "management.endpoint.leader.access=unrestricted";

  private final DecidableElection election = new DecidableElection();

  @Test
  void leaderShowsAllOfItsLeadershipInOrder() throws Throwable {
    this.election.leads = true;
    run((web) -> {
      HttpResponse<String> response = web.get("/actuator/leader");
      assertThat(response.statusCode()).isEqualTo(200);
      assertThat(response.body())
          .isEqualTo(
              "{\"nodeId\":\"host:8080:4711\",\"algorithm\":\"DecidableElection\",\"elections\":{\"sample-app\":{\"leader\":true,\"leaderId\":\"host:8080:4711\",\"term\":3,\"since\":\"2026-11-21T03:04:05.678Z\",\"leaseRemaining\":\"PT8.213S\"}}}");
      assertThat(web.get("/actuator/leader/sample-app").body())
          .isEqualTo(
              "{\"leader\":true,\"leaderId\":\"host:8080:4711\",\"term\":3,\"since\":\"2026-11-21T03:04:05.678Z\",\"leaseRemaining\":\"PT8.213S\"}");
    });
  }

  @Test
  void followerShowsWhatItKnowsAndNothingElse() throws Throwable {
    run((web) -> {
      assertThat(web.get("/actuator/leader/sample-app").body()).isEqualTo("{\"leader\":false}");
      this.election.seen = "other:8080:1";
      assertThat(web.get("/actuator/leader/sample-app").body())
          .isEqualTo("{\"leader\":false,\"leaderId\":\"other:8080:1\",\"term\":3}");
    });
  }

  @Test
  void oneElectionShowsItsLastTermsAndAllTogetherDoNot() throws Throwable {
    Instant time = Instant.parse("2026-11-21T03:04:05.678999Z");
    this.election.history = List.of(
        new HistoryEntry(4, "b", time, null, "DESIGNATED", null, null, null),
        new HistoryEntry(
            3,
            "a",
            time.minusSeconds(5),
            time,
            "EXPIRED",
            "HANDED_OVER",
            "alice",
            "a \"new\"\nversion"),
        new HistoryEntry(2, "b", time.minusSeconds(9), time, null, "STOPPED", "bob", ""));
    run(
        (web) -> {
          assertThat(web.get("/actuator/leader/sample-app").body()).isEqualTo("""
              {"leader":false,"history":[\
              {"term":4,"leaderId":"b","from":"2026-11-21T03:04:05.678Z","reason":"DESIGNATED"},\
              {"term":3,"leaderId":"a","from":"2026-11-21T03:04:00.678Z","until":"2026-11-21T03:04:05.678Z","reason":"EXPIRED","endReason":"HANDED_OVER","endedBy":"alice","note":"a \\"new\\"\\nversion"},\
              {"term":2,"leaderId":"b","from":"2026-11-21T03:03:56.678Z","until":"2026-11-21T03:04:05.678Z","endReason":"STOPPED","endedBy":"bob"}]}\
              """);
          assertThat(web.get("/actuator/leader").body()).doesNotContain("history");
        },
        DETAILS);
  }

  @Test
  void anonymousReaderSeesWhoLeadsSinceWhenAndNothingElse() throws Throwable {
    Instant time = Instant.parse("2026-11-21T03:04:05.678Z");
    this.election.leads = true;
    this.election.paused = new Instruction("alice", "canary");
    this.election.history =
        List.of(new HistoryEntry(2, "b", time, time, "EXPIRED", "RESIGNED", "alice", "a reason"));
    String one =
        "{\"leader\":true,\"leaderId\":\"host:8080:4711\",\"term\":3,\"since\":\"2026-11-21T03:04:05.678Z\",\"leaseRemaining\":\"PT8.213S\"}";
    String all =
        "{\"nodeId\":\"host:8080:4711\",\"algorithm\":\"DecidableElection\",\"elections\":{\"sample-app\":"
            + one + "}}";
    for (String shown : List.of("never", "when-authorized")) {
      run(
          (web) -> {
            assertThat(web.get("/actuator/leader").body()).isEqualTo(all);
            assertThat(web.get("/actuator/leader/sample-app").body()).isEqualTo(one);
          },
          "management.endpoint.leader.show-details=" + shown);
    }
    run((web) -> assertThat(web.get("/actuator/leader/sample-app").body()).isEqualTo(one));
    run(
        (web) -> assertThat(web.get("/actuator/leader/sample-app").body())
            .contains("\"pausedBy\":\"alice\"", "\"note\":\"a reason\""),
        DETAILS);
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
    this.election.paused = new Instruction("alice", "canary");
    DefaultListableBeanFactory beans = new DefaultListableBeanFactory();
    beans.registerSingleton("election", this.election);
    LeaderEndpoint endpoint = new LeaderEndpoint(
        SwitchedElection.registry(beans),
        null,
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
    assertThat(endpoint.election("sample-app", security).containsKey("pausedBy"))
        .isEqualTo(shown);
    assertThat(endpoint.elections(security).toString().contains("alice")).isEqualTo(shown);
  }

  @Test
  void leadershipWithoutALeaseShowsNoneRemaining() throws Throwable {
    this.election.leads = true;
    this.election.remaining = Leadership.UNLIMITED;
    run((web) -> assertThat(web.get("/actuator/leader/sample-app").body())
        .contains("\"since\"")
        .doesNotContain("leaseRemaining"));
  }

  @Test
  void loadBalancersFindTheLeaderByTheStatusAlone() throws Throwable {
    run((web) -> {
      for (String method : List.of("GET", "HEAD")) {
        this.election.leads = true;
        assertThat(web.ask(method, "/actuator/leader/sample-app/check").statusCode())
            .isEqualTo(200);
        this.election.leads = false;
        assertThat(web.ask(method, "/actuator/leader/sample-app/check").statusCode())
            .isEqualTo(503);
        assertThat(web.ask(method, "/actuator/leader/sample-app/check").body()).isEmpty();
        assertThat(web.ask(method, "/actuator/leader/other/check").statusCode()).isEqualTo(404);
        assertThat(web.ask(method, "/actuator/leader/sample-app/cheque").statusCode())
            .isEqualTo(400);
      }
    });
  }

  @Test
  void electionWithASlashInItsNameIsAskedForByTheQuery() throws Throwable {
    this.election.name = "orders/eu";
    run((web) -> {
      assertThat(web.get("/actuator/leader").body()).contains("\"orders/eu\":{\"leader\":false}");
      assertThat(web.get("/actuator/leader/-?serviceId=orders/eu").body())
          .isEqualTo("{\"leader\":false}");
    });
  }

  @Test
  void unknownElectionIsNotFound() throws Throwable {
    run(
        (web) -> {
          assertThat(web.get("/actuator/leader/other").statusCode()).isEqualTo(404);
          assertThat(web.post("/actuator/leader/other", "{\"leaderId\":\"a\"}").statusCode())
              .isEqualTo(404);
          assertThat(web.delete("/actuator/leader/other").statusCode()).isEqualTo(404);
        },
        WRITABLE);
  }

  @Test
  void endpointIsReadOnlyUnlessOpened() throws Throwable {
    run((web) -> {
      assertThat(web.post("/actuator/leader/sample-app", "{\"leaderId\":\"a\"}").statusCode())
          .isEqualTo(405);
      assertThat(web.delete("/actuator/leader/sample-app").statusCode()).isEqualTo(405);
    });
    run(
        (web) ->
            assertThat(web.delete("/actuator/leader/sample-app").statusCode()).isEqualTo(204),
        "management.endpoints.access.default=unrestricted");
  }

  @Test
  void operatorDesignatesAndForcesElections() throws Throwable {
    run(
        (web) -> {
          HttpResponse<String> designated =
              web.post("/actuator/leader/sample-app", "{\"leaderId\":\"b\"}");
          assertThat(designated.statusCode()).isEqualTo(202);
          assertThat(designated.body())
              .isEqualTo("{\"leader\":false,\"leaderId\":\"b\",\"term\":3,\"designated\":\"b\"}");
          assertThat(this.election.seen).isEqualTo("b");
          assertThat(web.delete("/actuator/leader/sample-app").statusCode()).isEqualTo(204);
          assertThat(this.election.seen).isEmpty();
        },
        WRITABLE);
  }

  @Test
  void nodeThatIsNoMemberIsDesignatedOnlyByForce() throws Throwable {
    members("host:8081:1", "host:8081:22", "host:8082:3", "five", "host:9:x");
    run(
        (web) -> {
          for (String name : List.of("typo", "host:808", "host", "host:8081", "HOST:8082:3")) {
            HttpResponse<String> refused = designate(web, name, "");
            assertThat(refused.statusCode()).as(name).isEqualTo(409);
            assertThat(refused.body())
                .startsWith("{\"message\":\"")
                .contains("'" + name + "'", "\\\"force\\\": true")
                .contains(
                    "\"members\":[{\"nodeId\":\"host:8081:1\",\"since\":\"2026-11-21T03:04:05.678Z\",\"lastSeen\":\"2026-11-21T03:04:06.678Z\",\"eligible\":true,\"paused\":false,\"version\":\"1.0\"},");
            assertThat(this.election.instruction).isNull();
          }
          assertThat(designate(web, "typo", ",\"force\":false").statusCode()).isEqualTo(409);
          assertThat(designate(web, "", ",\"force\":true").statusCode()).isEqualTo(400);
          assertThat(this.election.seen).isEmpty();

          assertThat(designate(web, "typo", ",\"force\":true").statusCode()).isEqualTo(202);
          assertThat(this.election.seen).isEqualTo("typo");
        },
        WRITABLE);
  }

  @Test
  void memberIsDesignatedByItsIdOrByHostAndPort() throws Throwable {
    members("host:8081:1", "host:8081:22", "host:8082:3", "five");
    run(
        (web) -> {
          for (String[] name : new String[][] {
            {"five", "five"},
            {"host:8081:22", "host:8081:22"},
            {"host:8082", "host:8082:3"},
            // This node is not yet listed as a member.
            {"host:8080:4711", "host:8080:4711"}
          }) {
            HttpResponse<String> accepted = designate(web, name[0], "");
            assertThat(accepted.statusCode()).isEqualTo(202);
            assertThat(accepted.body()).contains("\"designated\":\"" + name[1] + "\"");
            assertThat(this.election.seen).isEqualTo(name[1]);
          }
        },
        WRITABLE);
  }

  @Test
  void membersAreADetailOfOneElectionAndReadByNoReader() throws Throwable {
    members("host:8081:1");
    run((web) ->
        assertThat(web.get("/actuator/leader/sample-app").body()).isEqualTo("{\"leader\":false}"));
    run(
        (web) -> {
          assertThat(web.get("/actuator/leader/sample-app").body())
              .contains("\"members\":[{\"nodeId\":\"host:8081:1\",");
          assertThat(web.get("/actuator/leader").body()).doesNotContain("members");
          assertThat(this.election.readings).isZero();
        },
        DETAILS);
  }

  private void members(String... ids) {
    Instant since = Instant.parse("2026-11-21T03:04:05.678999Z");
    this.election.members = Optional.of(Stream.of(ids)
        .map((id) -> new Member(id, since, since.plusSeconds(1), true, false, "1.0"))
        .toList());
  }

  private static HttpResponse<String> designate(Web web, String leaderId, String more)
      throws IOException, InterruptedException {
    return web.post(
        "/actuator/leader/sample-app", "{\"leaderId\":\"" + leaderId + "\"" + more + "}");
  }

  @Test
  void reasonIsHandedOnInTheNameOfWhoHasLoggedInAlone() throws Throwable {
    run(
        (web) -> {
          web.post("/actuator/leader/sample-app", "{\"leaderId\":\"b\"}");
          assertThat(this.election.instruction).isEqualTo(new Instruction("endpoint", ""));
          String forged =
              "{\"leaderId\":\"b\",\"reason\":\"canary\",\"by\":\"root\",\"security\":\"root\"}";
          assertThat(web.post("/actuator/leader/sample-app?by=root", forged).statusCode())
              .isEqualTo(202);
          assertThat(this.election.instruction).isEqualTo(new Instruction("endpoint", "canary"));
          assertThat(web.delete("/actuator/leader/sample-app?reason=new%20'version'&by=root")
                  .statusCode())
              .isEqualTo(204);
          assertThat(this.election.instruction)
              .isEqualTo(new Instruction("endpoint", "new 'version'"));
        },
        WRITABLE);
  }

  @Test
  void reasonThatIsTooLongOrCouldForgeALogLineIsBad() throws Throwable {
    run(
        (web) -> {
          HttpResponse<String> tooLong = web.post(
              "/actuator/leader/sample-app",
              "{\"leaderId\":\"b\",\"reason\":\"" + "x".repeat(10_000) + "\"}");
          assertThat(tooLong.statusCode()).isEqualTo(400);
          assertThat(tooLong.body()).contains("has 10000 characters").hasSizeLessThan(200);
          HttpResponse<String> forged =
              web.delete("/actuator/leader/sample-app?reason=x%0A12:00:00%20INFO%20forged");
          assertThat(forged.statusCode()).isEqualTo(400);
          assertThat(forged.body()).contains("must not contain control characters");
          assertThat(this.election.instruction).isNull();
        },
        WRITABLE);
  }

  @Test
  void operatorPausesAndResumesTheNode() throws Throwable {
    String pause = "/actuator/leader/sample-app/pause";
    run(
        (web) -> {
          assertThat(web.post(pause, "{\"reason\":\"canary\",\"by\":\"root\"}").statusCode())
              .isEqualTo(204);
          assertThat(web.get("/actuator/leader/sample-app").body())
              .isEqualTo(
                  "{\"leader\":false,\"paused\":true,\"pausedBy\":\"endpoint\",\"pausedReason\":\"canary\"}");
          assertThat(web.get("/actuator/leader").body())
              .endsWith(
                  "{\"sample-app\":{\"leader\":false,\"paused\":true,\"pausedBy\":\"endpoint\",\"pausedReason\":\"canary\"}}}");
          assertThat(web.delete(pause + "?reason=done").statusCode()).isEqualTo(204);
          assertThat(this.election.instruction).isEqualTo(new Instruction("endpoint", "done"));
          assertThat(web.get("/actuator/leader/sample-app").body()).isEqualTo("{\"leader\":false}");

          assertThat(web.post(pause, "").statusCode()).as("without a body").isEqualTo(204);
          assertThat(web.get("/actuator/leader/sample-app").body())
              .isEqualTo("{\"leader\":false,\"paused\":true,\"pausedBy\":\"endpoint\"}");
          assertThat(web.post(pause + "?reason=canary", "").statusCode()).isEqualTo(204);
          assertThat(this.election.paused).isEqualTo(new Instruction("endpoint", "canary"));
          assertThat(web.post(pause, "{\"reason\":\"" + "x".repeat(256) + "\"}").statusCode())
              .isEqualTo(400);
          assertThat(web.post("/actuator/leader/other/pause", "{}").statusCode())
              .isEqualTo(404);
          assertThat(web.delete("/actuator/leader/other/pause").statusCode()).isEqualTo(404);
          assertThat(web.get(pause).statusCode()).isEqualTo(400);
          assertThat(web.post("/actuator/leader/sample-app/check", "{}").statusCode())
              .isEqualTo(400);
          this.election.failure = new UnsupportedOperationException("never");
          assertThat(web.post(pause, "{}").statusCode()).isEqualTo(409);
        },
        WRITABLE,
        DETAILS);
    run((web) -> {
      assertThat(web.post(pause, "{}").statusCode()).isEqualTo(405);
      assertThat(web.delete(pause).statusCode()).isEqualTo(405);
    });
  }

  @Test
  void requestWithoutAUsableNodeIsBad() throws Throwable {
    run(
        (web) -> {
          for (String body : new String[] {"{}", "{\"leaderId\":\"\"}", "{\"leaderId\":\" \"}"}) {
            HttpResponse<String> response = web.post("/actuator/leader/sample-app", body);
            assertThat(response.statusCode()).isEqualTo(400);
            assertThat(response.body()).contains("leaderId is required");
          }
          HttpResponse<String> tooLong =
              web.post("/actuator/leader/sample-app", "{\"leaderId\":\"" + "x".repeat(129) + "\"}");
          assertThat(tooLong.statusCode()).isEqualTo(400);
          assertThat(tooLong.body()).contains("129 characters");
        },
        WRITABLE);
  }

  @Test
  void decisionThatCannotBeMadeIsAConflict() throws Throwable {
    this.election.failure = new IllegalStateException("has no record yet");
    run(
        (web) -> {
          HttpResponse<String> response =
              web.post("/actuator/leader/sample-app", "{\"leaderId\":\"b\"}");
          assertThat(response.statusCode()).isEqualTo(409);
          assertThat(response.body()).isEqualTo("{\"message\":\"has no record yet\"}");
          this.election.failure = new UnsupportedOperationException("never");
          assertThat(web.delete("/actuator/leader/sample-app").statusCode()).isEqualTo(409);
        },
        WRITABLE);
  }

  @Test
  void storeThatDoesNotAnswerIsUnavailable() throws Throwable {
    this.election.failure = new LeaseStoreException("no answer");
    run(
        (web) -> {
          HttpResponse<String> response = web.delete("/actuator/leader/sample-app");
          assertThat(response.statusCode()).isEqualTo(503);
          assertThat(response.body()).contains("no answer");
        },
        WRITABLE);
  }

  @Test
  void endpointIsNotThereWhereTheApplicationSaysSo() throws Throwable {
    run(
        (web) -> {
          assertThat(web.get("/actuator/leader").statusCode()).isEqualTo(404);
          assertThat(web.get("/actuator/health").statusCode()).isEqualTo(200);
        },
        "as.election.expose-endpoint=false");
  }

  private void run(ThrowingConsumer<Web> test, String... properties) throws Throwable {
    String[] arguments = Stream.concat(
            Stream.of("server.port=0", "server.shutdown=immediate"), Stream.of(properties))
        .map((property) -> "--" + property)
        .toArray(String[]::new);
    try (ConfigurableApplicationContext context = new SpringApplicationBuilder(Application.class)
        .web(WebApplicationType.SERVLET)
        .initializers(
            (starting) -> starting.getBeanFactory().registerSingleton("election", this.election))
        .run(arguments)) {
      test.accept(new Web(context));
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration(exclude = DataSourceAutoConfiguration.class)
  static class Application {

    @Bean
    String anything() {
      return "";
    }
  }

  private static final class Web {

    private final HttpClient client = HttpClient.newHttpClient();

    private final String root;

    Web(ConfigurableApplicationContext context) {
      this.root = "http://localhost:" + context.getEnvironment().getProperty("local.server.port");
    }

    HttpResponse<String> get(String path) throws IOException, InterruptedException {
      return send(HttpRequest.newBuilder(URI.create(this.root + path)));
    }

    HttpResponse<String> post(String path, String json) throws IOException, InterruptedException {
      return send(HttpRequest.newBuilder(URI.create(this.root + path))
          .header("Content-Type", "application/json")
          .POST(BodyPublishers.ofString(json)));
    }

    HttpResponse<String> ask(String method, String path) throws IOException, InterruptedException {
      return send(HttpRequest.newBuilder(URI.create(this.root + path))
          .method(method, BodyPublishers.noBody()));
    }

    HttpResponse<String> delete(String path) throws IOException, InterruptedException {
      return send(HttpRequest.newBuilder(URI.create(this.root + path)).DELETE());
    }

    private HttpResponse<String> send(HttpRequest.Builder request)
        throws IOException, InterruptedException {
      return this.client.send(request.build(), BodyHandlers.ofString());
    }
  }

  /** An application's own service that provides everything the endpoint can show. */
  static final class DecidableElection implements ElectionService {

    volatile String name = "sample-app";

    volatile boolean leads;

    volatile String seen = "";

    volatile Duration remaining = Duration.ofNanos(8_213_999_999L);

    volatile Exception failure;

    volatile Instruction instruction;

    volatile Instruction paused;

    volatile List<HistoryEntry> history = List.of();

    volatile Optional<List<Member>> members = Optional.empty();

    volatile int readings;

    @Override
    public Optional<List<Member>> members() {
      return this.members;
    }

    @Override
    public Optional<List<Member>> currentMembers() {
      this.readings++;
      return this.members;
    }

    @Override
    public boolean isLeader() {
      return this.leads;
    }

    @Override
    public void becomeLeader() {}

    @Override
    public void lostLeader() {}

    @Override
    public String serviceId() {
      return this.name;
    }

    @Override
    public String nodeId() {
      return "host:8080:4711";
    }

    @Override
    public Optional<Leadership> leadership() {
      return this.leads
          ? Optional.of(
              new Leadership(3, Instant.parse("2026-11-21T03:04:05.678999Z"), this.remaining))
          : Optional.empty();
    }

    @Override
    public Optional<String> leaderId() {
      return Optional.of(this.seen).filter((id) -> !id.isEmpty());
    }

    @Override
    public OptionalLong term() {
      return this.seen.isEmpty() ? OptionalLong.empty() : OptionalLong.of(3);
    }

    @Override
    public void designate(String leaderId) throws Exception {
      Names.requireUsable("leader id", leaderId);
      decide(leaderId);
    }

    @Override
    public void forceElection() throws Exception {
      decide("");
    }

    @Override
    public void designate(String leaderId, Instruction instruction) throws Exception {
      designate(leaderId);
      this.instruction = instruction;
    }

    @Override
    public void forceElection(Instruction instruction) throws Exception {
      forceElection();
      this.instruction = instruction;
    }

    @Override
    public void pause(Instruction instruction) {
      if (this.failure instanceof UnsupportedOperationException unsupported) {
        throw unsupported;
      }
      this.paused = instruction;
    }

    @Override
    public void resume(Instruction instruction) {
      this.instruction = instruction;
      this.paused = null;
    }

    @Override
    public Optional<Instruction> paused() {
      return Optional.ofNullable(this.paused);
    }

    @Override
    public List<HistoryEntry> history() {
      return this.history;
    }

    private void decide(String leaderId) throws Exception {
      if (this.failure != null) {
        throw this.failure;
      }
      this.seen = leaderId;
    }
  }
}
