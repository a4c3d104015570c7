package io.election.sample;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.election.ElectionService;
import io.election.support.TestDatabase;
import io.election.support.Tool;
import io.election.support.process.TcpProxy;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfSystemProperty;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.web.SecurityFilterChain;

/**
 * The runbooks of the alerts: their commands answer within their own bound while the database
 * hangs, and the answers say what the page says.
 */
@DisabledIfSystemProperty(
    named = "spring.aot.enabled",
    matches = "true",
    disabledReason = "it starts other beans than those of the processed application")
@Tag("faults")
class RunbookIT {

  private static final Duration LONG = Duration.ofSeconds(60);

  /** The bound of each command, and what a busy machine adds. */
  private static final Duration BOUND = Duration.ofSeconds(5 + 2);

  private static final String FIRST = "The first command";

  private static final String DETAILS = "curl -s -m 5 localhost:8080/actuator/leader/billing";

  private static final String NO_LEADER = "ElectionNoLeader";

  private static final Pattern SECTION = Pattern.compile("(?ms)^## (.*?)\n(.*?)(?=^## |\\z)");

  private static final Pattern REQUEST = Pattern.compile("curl [^`\n]*localhost[^`\n]*");

  private static final Pattern STATEMENT =
      Pattern.compile("(?s)(?<=`|```sql\n)(?:SELECT|SHOW) .*?(?=;\n|`)");

  private static final Pattern ROW = Pattern.compile("(?m)^\\| (`\".*?) \\| (.*) \\|$");

  /** A part of an answer, with or without a value. */
  private static final Pattern ANSWERED = Pattern.compile("`((\"\\w+\")[^`]*)`");

  private static final Pattern QUOTED = Pattern.compile("`([^`]*)`");

  private final Map<String, String> sections = sections();

  /** All that the commands of a section have answered. */
  private final Map<String, StringBuilder> answers = new LinkedHashMap<>();

  RunbookIT() throws IOException {}

  @Test
  void eachCommandAnswersAsThePageSaysWhileTheDatabaseHangs() throws Exception {
    Tool.CURL.assumeWorks();
    TestDatabase database = TestDatabase.newDatabase();
    try (TcpProxy link = TcpProxy.to(database);
        ConfigurableApplicationContext node = run(link, database)) {
      int port = node.getEnvironment().getRequiredProperty("local.server.port", int.class);
      String first = requests(FIRST).get(0);
      await().atMost(LONG).until(node.getBean(ElectionService.class)::isLeader);
      await().atMost(LONG).until(() -> answer(port, DETAILS).contains("\"members\":"));
      assertThat(meaning(FIRST, answer(port, first))).isEqualTo("this node leads");
      askAll(port);
      List<String> statements = found(STATEMENT, String.join("\n", this.sections.values()));
      assertThat(statements).hasSizeGreaterThan(3);
      statements.forEach((statement) -> database.query(statement));

      assertThat(
              answer(
                  port,
                  "curl -s -m 5 -X POST -H 'Content-Type: application/json' localhost:8080/actuator/leader/billing/pause?reason=canary"))
          .endsWith(" 204");
      // The history is read some time after the end of a term.
      await().atMost(LONG).until(() -> answer(port, DETAILS).contains("\"endReason\":"));
      assertThat(meaning(FIRST, answer(port, first))).startsWith("the database answers");
      assertThat(meaning(NO_LEADER, answer(port, first))).contains("/pause");
      askAll(port);

      link.cut();
      assertHangs(link);
      await().atMost(LONG).until(() -> answer(port, first).contains("\"healthy\":false"));
      askAll(port);
      assertThat(meaning(FIRST, answer(port, first))).contains("the database hangs");
      assertThat(meaning(NO_LEADER, answer(port, first))).startsWith("mend the database");
      assertThat(meaning(
              "ElectionRenewalsFailing",
              answer(port, requests("ElectionRenewalsFailing").get(0))))
          .startsWith("mend the database");
      changeAll(port);

      link.heal();
      await().atMost(LONG).until(() -> answer(port, first).contains("\"healthy\":true"));
    }
    this.sections.forEach((name, text) -> ANSWERED
        .matcher(text)
        .results()
        .forEach((part) -> assertThat(this.answers.get(name).toString())
            .as("what %s says of the answer", name)
            .contains(part.group(2))));
  }

  @Test
  void eachRunbookFitsOnAScreenAndBeginsWithABoundedRequest() {
    assertThat(this.sections).hasSizeGreaterThan(6).allSatisfy((name, text) -> {
      assertThat(text.lines().mapToInt((line) -> 1 + line.length() / 120).sum())
          .as("lines of 120 characters in %s", name)
          .isLessThanOrEqualTo(32);
      assertThat(found(REQUEST, text))
          .as(name)
          .allSatisfy((request) ->
              assertThat(request).startsWith("curl -s -m 5 ").doesNotContain("/health"));
      assertThat(text).as(name).contains("\n```\n");
    });
    assertThat(this.sections.keySet())
        .filteredOn((name) -> !name.equals(FIRST))
        .allSatisfy((name) -> assertThat(this.sections.get(name)).startsWith("**Means:** "));
  }

  /** Sends the requests of each section that change nothing. */
  private void askAll(int port) throws Exception {
    for (String section : this.sections.keySet()) {
      StringBuilder answered = this.answers.computeIfAbsent(section, (name) -> new StringBuilder());
      for (String request : requests(section)) {
        if (!request.contains(" -X ")) {
          String answer = answer(port, request);
          assertThat(answer).as("%s of %s", request, section).endsWith(" 200");
          answered.append(answer);
        }
      }
    }
  }

  /** Sends those that change something; they say so if they need the database. */
  private void changeAll(int port) throws Exception {
    String ended = answer(port, requests("ElectionNodePaused").get(1));
    assertThat(ended).endsWith(" 204");
    assertThat(answer(port, requests(FIRST).get(0))).doesNotContain("paused");
    for (Map.Entry<String, String> section : this.sections.entrySet()) {
      for (String request : requests(section.getKey())) {
        if (request.contains(" -X ")) {
          int status = request.endsWith("/pause") ? 204 : 503;
          assertThat(answer(port, request)).as(request).endsWith(" " + status);
          if (status == 503) {
            assertThat(section.getValue())
                .contains(request + "` (503: the database did not answer)");
          }
        }
      }
    }
  }

  /** Returns what the first row of a section's table that fits an answer says about it. */
  private String meaning(String section, String answer) {
    return ROW.matcher(this.sections.get(section))
        .results()
        .filter((row) -> fits(found(QUOTED, row.group(1)), answer))
        .map((row) -> row.group(2))
        .findFirst()
        .orElseThrow(() -> new AssertionError("no row of " + section + " for " + answer));
  }

  /** Whether an answer has all the parts of a row, and one of the reasons that the row names. */
  private static boolean fits(List<String> quoted, String answer) {
    Map<Boolean, List<String>> parts =
        quoted.stream().collect(Collectors.partitioningBy((text) -> text.startsWith("\"")));
    List<String> reasons = parts.get(false);
    return parts.get(true).stream().allMatch(answer::contains)
        && (reasons.isEmpty() || reasons.stream().anyMatch(answer::contains));
  }

  private List<String> requests(String section) {
    return found(REQUEST, this.sections.get(section));
  }

  private static List<String> found(Pattern pattern, String text) {
    return pattern
        .matcher(text)
        .results()
        .map((found) -> found.groupCount() > 0 ? found.group(1) : found.group())
        .distinct()
        .toList();
  }

  private static Map<String, String> sections() throws IOException {
    Map<String, String> sections = new LinkedHashMap<>();
    SECTION
        .matcher(Files.readString(Path.of("..", "docs", "alerts.md")))
        .results()
        .forEach((section) -> sections.put(section.group(1), section.group(2)));
    return sections;
  }

  /** Returns what a command of the page answers within its bound, and its status. */
  private static String answer(int port, String command) throws Exception {
    Process process = new ProcessBuilder(
            "sh",
            "-c",
            command
                    .replace("localhost:8080", "localhost:" + port)
                    .replace("/billing", "/sample-app")
                + " -w ' %{http_code}'")
        .start();
    boolean ended = process.waitFor(BOUND.toMillis(), TimeUnit.MILLISECONDS);
    assertThat(ended).as("ends in time: %s", command).isTrue();
    String answer = new String(process.getInputStream().readAllBytes(), UTF_8);
    assertThat(process.exitValue()).as("exit of %s", command).isZero();
    return answer;
  }

  private static void assertHangs(TcpProxy link) throws IOException {
    try (Socket client = new Socket(InetAddress.getLoopbackAddress(), link.port())) {
      client.setSoTimeout(200);
      assertThatThrownBy(client.getInputStream()::read)
          .as("the database hangs, and refuses nothing")
          .isInstanceOf(SocketTimeoutException.class);
    }
  }

  private static ConfigurableApplicationContext run(TcpProxy link, TestDatabase database) {
    return new SpringApplicationBuilder(SampleApplication.class, Open.class)
        .run(
            "--server.port=0",
            "--server.shutdown=immediate",
            "--spring.jmx.enabled=false",
            "--management.endpoint.leader.access=unrestricted",
            "--management.endpoint.leader.show-details=always",
            "--spring.datasource.url=" + link.jdbcUrl(),
            "--spring.datasource.username="
                + database.newUser(
                    "runbook_" + database.name(), "ALL ON " + database.name() + ".*"),
            "--spring.datasource.password=" + database.password(),
            "--as.election.lease-duration=3s",
            "--as.election.renew-interval=500ms");
  }

  /** Everyone may do everything, as on a management port that only operators reach. */
  static class Open {

    @Bean
    SecurityFilterChain open(HttpSecurity http) throws Exception {
      return http.csrf((csrf) -> csrf.disable()).build();
    }
  }
}
