package io.election.team;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

import io.election.AuditNote;
import io.election.ElectionService;
import io.election.LeadershipLostException;
import io.election.NotLeaderException;
import io.election.autoconfigure.MysqlNode;
import io.election.test.TestDatabase;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.flywaydb.core.Flyway;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;

/** The starter keeps its promises in a typical application on a real database. */
@ExtendWith(OutputCaptureExtension.class)
class TeamApplicationIT {

  private static final Duration LONG = Duration.ofSeconds(60);

  private static final AuditNote RESUMED = new AuditNote("alice", "");

  private static final TestDatabase DATABASE = TestDatabase.newDatabase();

  @AutoClose
  private static ConfigurableApplicationContext application;

  @BeforeAll
  static void start() {
    application = run(WebApplicationType.SERVLET, List.of("--as.election.node-id=team-node"));
  }

  @BeforeEach
  void awaitLeader() throws Exception {
    ElectionService election = election();
    election.resume(RESUMED);
    await().atMost(LONG).until(election::isLeader);
  }

  @Test
  void jobsRunOnTheLeaderAloneWhateverTheirClassesLookLike() throws Exception {
    Runs runs = application.getBean(Runs.class);
    assertGoesOn(runs.sendings);
    assertGoesOn(runs.cleanings);

    pause();
    awaitSkipped("InvoiceSending.send");
    awaitSkipped("Housekeeping.clean");
    int sendings = runs.sendings.get();
    int cleanings = runs.cleanings.get();
    awaitSkipped("InvoiceSending.send");
    awaitSkipped("Housekeeping.clean");
    assertGoesOn(runs.heartbeats);
    assertThat(runs.sendings).hasValue(sendings);
    assertThat(runs.cleanings).hasValue(cleanings);

    election().resume(RESUMED);
    assertGoesOn(runs.sendings);
    assertGoesOn(runs.cleanings);
  }

  @Test
  void repositoryIsGuarded() throws Exception {
    Invoices invoices = application.getBean(Invoices.class);
    DATABASE.execute("REPLACE INTO invoice (id, amount) VALUES (7, 1)");
    pause();
    assertThatExceptionOfType(NotLeaderException.class).isThrownBy(invoices::addFee);
    assertThat(DATABASE.query("SELECT amount FROM invoice WHERE id = 7")).isEqualTo("1");
    awaitLeader();
    assertThat(invoices.addFee()).isPositive();
    assertThat(DATABASE.query("SELECT amount FROM invoice WHERE id = 7")).isEqualTo("2");
  }

  @Test
  void workOfADeposedLeaderIsNotCommittedThroughAProxyOfThePool(CapturedOutput output)
      throws Exception {
    Billing billing = application.getBean(Billing.class);
    long before = application.getBean(TracingDataSources.class).calls();
    billing.bill(100, () -> {});
    assertThat(application.getBean(TracingDataSources.class).calls()).isGreaterThan(before);

    assertThatExceptionOfType(LeadershipLostException.class)
        .isThrownBy(() -> billing.bill(101, () -> MysqlNode.takeOver(DATABASE)));
    assertThat(DATABASE.query("SELECT COUNT(*) FROM invoice WHERE id IN (100, 101)"))
        .isEqualTo("1");
    assertThat(output).doesNotContain("not fenced");
    DATABASE.execute(
        "UPDATE leader_election SET leader_id = '', lease_millis = 0, version = version + 1 WHERE leader_id = 'b'");
  }

  @Test
  void migrationsAreApart() throws Exception {
    assertThat(application.getBeansOfType(Flyway.class)).hasSize(1);
    Flyway flyway = application.getBean(Flyway.class);
    assertThat(flyway.migrate().migrationsExecuted).isZero();
    flyway.validate();
    assertThat(DATABASE.query(
            "SELECT GROUP_CONCAT(script ORDER BY installed_rank) FROM flyway_schema_history"))
        .isEqualTo("V1__invoice.sql,V2__invoice_sent.sql");
    assertThat(
            DATABASE.query(
                "SELECT COUNT(*) FROM leader_election_schema_history WHERE description LIKE '%invoice%'"))
        .isEqualTo("0");
  }

  @Test
  void metersTellWhatRanAndBearNoLabelOfTheTarget() throws Exception {
    pause();
    awaitSkipped("InvoiceSending.send");
    assertThat(get("/actuator/prometheus").lines().filter((line) -> line.startsWith("election_")))
        .isNotEmpty()
        .anySatisfy((line) -> assertThat(line)
            .startsWith("election_calls_seconds_count{")
            .contains("election=\"team\"", "method=\"InvoiceSending.send\"", "outcome=\"skipped\""))
        .noneSatisfy((line) -> assertThat(line).containsPattern("[{,](service|node)=\""));
  }

  @Test
  void aTypingErrorDesignatesNobodyAndHostAndPortNameAMember() throws Exception {
    try (ConfigurableApplicationContext neighbour = neighbour("billing-7:8080:1")) {
      await()
          .atMost(LONG)
          .until(() -> election().members().stream()
              .flatMap(List::stream)
              .anyMatch((member) -> member.nodeId().equals("billing-7:8080:1")));
      long term = election().term().orElseThrow();

      HttpResponse<String> refused = designate("billing-7:8008");
      assertThat(refused.statusCode()).isEqualTo(409);
      assertThat(refused.body())
          .contains("no node 'billing-7:8008' stands for election 'team'", "\\\"force\\\": true")
          .contains("\"nodeId\":\"team-node\"", "\"nodeId\":\"billing-7:8080:1\"");
      assertThat(election().isLeader()).isTrue();
      assertThat(election().term()).hasValue(term);

      HttpResponse<String> accepted = designate("billing-7:8080");
      assertThat(accepted.statusCode()).isEqualTo(202);
      assertThat(accepted.body()).contains("\"designated\":\"billing-7:8080:1\"");
      await().atMost(LONG).until(neighbour.getBean(ElectionService.class)::isLeader);
    }
    awaitLeader();
  }

  @Test
  void aJobThatOutlastsTheStopOfItsNodeKeepsTheJobsOfOthersFromRunning(CapturedOutput output)
      throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch copied = new CountDownLatch(1);
    Runs runs = application.getBean(Runs.class);
    ConfigurableApplicationContext stopping =
        neighbour("stopping", "--as.election.drain-timeout=200ms");
    try {
      pause();
      await().atMost(LONG).until(stopping.getBean(ElectionService.class)::isLeader);
      election().resume(RESUMED);
      Housekeeping housekeeping = stopping.getBean(Housekeeping.class);
      Thread job = new Thread(() -> housekeeping.archive(() -> {
        begun.countDown();
        awaitEnd(copied);
      }));
      job.start();
      begun.await();

      stopping.close();
      int cleanings = runs.cleanings.get();
      long version = version();
      // The renewals last longer than a lease.
      await().atMost(LONG).until(() -> version() >= version + 8);
      assertGoesOn(runs.heartbeats);
      assertThat(runs.cleanings).hasValue(cleanings);
      assertThat(election().isLeader()).isFalse();
      assertThat(output)
          .contains(
              "node stopping was stopped, but leader work still runs: Housekeeping.archive since ");

      copied.countDown();
      job.join();
      assertGoesOn(runs.cleanings);
    } finally {
      copied.countDown();
      stopping.close();
    }
  }

  /** Starts another node of the service, without a web server. */
  private static ConfigurableApplicationContext neighbour(String nodeId, String... arguments) {
    List<String> own = new ArrayList<>(List.of(arguments));
    own.add("--as.election.node-id=" + nodeId);
    return run(WebApplicationType.NONE, own);
  }

  private static ConfigurableApplicationContext run(WebApplicationType web, List<String> own) {
    List<String> arguments = new ArrayList<>(own);
    arguments.addAll(List.of(
        "--server.port=0",
        "--server.shutdown=immediate",
        "--spring.application.name=team",
        "--spring.main.banner-mode=off",
        "--logging.level.io.election=info",
        "--as.election.lease-duration=3s",
        "--as.election.renew-interval=500ms",
        "--spring.datasource.url=" + DATABASE.jdbcUrl(),
        // These credentials are set for the pool only.
        "--spring.datasource.hikari.username=" + DATABASE.username(),
        "--spring.datasource.hikari.password=" + DATABASE.password(),
        "--spring.jpa.hibernate.ddl-auto=validate",
        "--spring.jpa.open-in-view=false",
        "--spring.liquibase.enabled=false",
        "--management.endpoint.leader.access=unrestricted",
        "--management.endpoints.web.exposure.include=health,leader,prometheus"));
    return new SpringApplicationBuilder(TeamApplication.class)
        .web(web)
        .run(arguments.toArray(String[]::new));
  }

  private static ElectionService election() {
    return application.getBean(ElectionService.class);
  }

  /** Waits until the lease is handed back. A node that resumes earlier stands aside for a lease. */
  private static void pause() throws Exception {
    election().pause(new AuditNote("alice", "canary"));
    await()
        .atMost(LONG)
        .until(
            () -> "0"
                .equals(
                    DATABASE.query(
                        "SELECT COUNT(*) FROM leader_election WHERE leader_id = 'team-node' AND lease_millis > 0")));
  }

  private static void assertGoesOn(AtomicInteger runs) {
    int before = runs.get();
    await().atMost(LONG).until(() -> runs.get() > before + 1);
  }

  /** Waits for two skipped calls: the second one began after this method was called. */
  private static void awaitSkipped(String method) {
    long before = skipped(method);
    await().atMost(LONG).until(() -> skipped(method) > before + 1);
  }

  private static long skipped(String method) {
    Timer timer = application
        .getBean(MeterRegistry.class)
        .find("election.calls")
        .tags("method", method, "outcome", "skipped")
        .timer();
    return timer != null ? timer.count() : 0;
  }

  private static String get(String path) throws IOException, InterruptedException {
    return send(request(path)).body();
  }

  private static HttpResponse<String> designate(String leaderId)
      throws IOException, InterruptedException {
    return send(request("/actuator/leader/team")
        .header("Content-Type", "application/json")
        .POST(BodyPublishers.ofString("{\"leaderId\":\"" + leaderId + "\"}")));
  }

  private static HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create("http://localhost:"
        + application.getEnvironment().getProperty("local.server.port")
        + path));
  }

  private static HttpResponse<String> send(HttpRequest.Builder request)
      throws IOException, InterruptedException {
    return HttpClient.newHttpClient().send(request.build(), BodyHandlers.ofString());
  }

  private static long version() throws Exception {
    return Long.parseLong(String.valueOf(
        DATABASE.query("SELECT version FROM leader_election WHERE service_id = 'team'")));
  }

  private static void awaitEnd(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException ex) {
      throw new IllegalStateException(ex);
    }
  }
}
