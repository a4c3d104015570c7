package io.election.autoconfigure.actuate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.election.LeaderOnly;
import io.election.autoconfigure.ElectionProperties;
import io.election.test.TestDatabase;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.yaml.snakeyaml.Yaml;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The dashboard and the alert rules query only what an application exposes. */
class DashboardAndAlertsIT {

  private static final Path DOCS = Path.of("..", "docs");

  private static final Pattern SERIES = Pattern.compile("([a-zA-Z_:][\\w:]*)(?:\\{(.*)})? \\S+");

  private static final Pattern LABEL = Pattern.compile("(\\w+)=\"((?:[^\"\\\\]|\\\\.)*)\"");

  /** Labels by which series are grouped or joined. After a word in group 1 each label must exist. */
  private static final Pattern GROUPING =
      Pattern.compile("\\b(?:(by|on)|without|ignoring|group_left|group_right)\\s*\\(([^)]*)\\)");

  /** A metric name, which no parenthesis follows, and its label matchers. */
  private static final Pattern SELECTOR =
      Pattern.compile("(?<![\\w:.])([a-zA-Z_:][\\w:]*+)(?!\\s*\\()(?:\\{([^}]*)})?");

  private static final Pattern MATCHER = Pattern.compile("(\\w+)\\s*(=~|!~|!=|=)\\s*\"([^\"]*)\"");

  private static final Set<String> OPERATORS = Set.of("and", "or", "unless", "bool");

  private static Map<String, List<Map<String, String>>> scraped;

  private static final ElectionProperties DEFAULTS = new Binder(
          new MapConfigurationPropertySource())
      .bindOrCreate("as.election", ElectionProperties.class);

  /** Labels that the scraped target adds. */
  private static final List<String> TARGET = List.of("instance", "environment", "namespace");

  @BeforeAll
  static void scrape() throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
    try (ConfigurableApplicationContext application = new SpringApplicationBuilder(
            Application.class)
        .run(
            "--server.port=0",
            "--server.shutdown=immediate",
            "--as.election.lease-duration=3s",
            "--as.election.renew-interval=500ms",
            "--spring.application.name=orders",
            "--as.election.node-id=orders-node",
            "--spring.datasource.url=" + database.jdbcUrl(),
            "--spring.datasource.username=" + database.username(),
            "--spring.datasource.password=" + database.password(),
            "--spring.flyway.enabled=false",
            "--spring.liquibase.enabled=false",
            "--management.endpoints.web.exposure.include=prometheus")) {
      URI metrics = URI.create("http://localhost:"
          + application.getEnvironment().getProperty("local.server.port")
          + "/actuator/prometheus");
      Job job = application.getBean(Job.class);
      // Wait until a leader has counted everything that a leader counts.
      await().atMost(Duration.ofSeconds(60)).until(() -> {
        job.run();
        scraped = read(HttpClient.newHttpClient()
            .send(HttpRequest.newBuilder(metrics).build(), BodyHandlers.ofString())
            .body());
        return hasOutcome("election_calls_seconds_count", "ran")
            && hasOutcome("election_renewals_seconds_count", "unknown")
            && scraped.containsKey("election_transitions_total");
      });
    }
  }

  private static boolean hasOutcome(String metric, String outcome) {
    return scraped.getOrDefault(metric, List.of()).stream()
        .anyMatch((labels) -> outcome.equals(labels.get("outcome")));
  }

  @AfterAll
  static void forget() {
    scraped = null;
  }

  /** Tests the check itself. */
  @Test
  void whatIsNotExposedIsFound() {
    assertThat(missing("rate(election_calls_seconds_count{outcome=\"ran\",method=~\"$m\"}[1m])"))
        .isEmpty();
    assertThat(missing("sum by (election) (election_leader offset 5m) > sum(elction_term) / 4e3"))
        .containsExactly("elction_term");
    assertThat(missing("sum by (service) (election_leader) and on (zone) vector(0)"))
        .containsExactlyInAnyOrder(
            "label service of election_leader", "label zone of election_leader");
    assertThat(missing("election_leader{reason!=\"x\"} unless election_leader without (pod)"))
        .containsExactly("label reason of election_leader");
    assertThat(missing("election_calls_seconds_count{outcome=\"rn\"}"))
        .containsExactly("value outcome=rn of election_calls_seconds_count");
  }

  @Test
  void applicationExposesWhatTheDashboardShows() throws IOException {
    JsonNode dashboard = dashboard();
    assertThat(dashboard.path("title").asString()).isNotBlank();
    assertThat(dashboard.path("uid").asString()).isNotBlank();
    Set<Integer> ids = new HashSet<>();
    List<String> expressions = new ArrayList<>();
    for (JsonNode panel : dashboard.path("panels")) {
      assertThat(ids.add(panel.path("id").asInt())).as("id of %s", panel).isTrue();
      assertThat(panel.path("title").asString()).isNotBlank();
      assertThat(panel.path("description").asString()).isNotBlank();
      assertThat(panel.path("datasource").path("uid").asString()).isEqualTo("${datasource}");
      assertThat(panel.path("targets")).isNotEmpty();
      for (JsonNode target : panel.path("targets")) {
        assertThat(target.path("datasource").path("uid").asString()).isEqualTo("${datasource}");
        expressions.add(target.path("expr").asString());
      }
    }
    for (JsonNode annotation : dashboard.path("annotations").path("list")) {
      expressions.add(annotation.path("expr").asString());
    }
    assertThat(expressions).hasSizeGreaterThan(10).allSatisfy(DashboardAndAlertsIT::isAnswered);
  }

  @Test
  void dashboardShowsAllThatTheElectionExposes() throws IOException {
    String dashboard = dashboard().toString();
    assertThat(scraped.keySet())
        .filteredOn((name) -> name.startsWith("election_"))
        .hasSizeGreaterThan(10)
        .allSatisfy((name) -> assertThat(dashboard).contains(name));
  }

  @Test
  void dashboardAsksForItsDataSourceAndItsElections() throws IOException {
    Map<String, JsonNode> variables = new HashMap<>();
    for (JsonNode variable : dashboard().path("templating").path("list")) {
      variables.put(variable.path("name").asString(), variable);
    }
    assertThat(variables).containsOnlyKeys("datasource", "election");
    assertThat(variables.get("datasource").path("type").asString()).isEqualTo("datasource");
    assertThat(variables.get("datasource").path("query").asString()).isEqualTo("prometheus");
    Matcher values = Pattern.compile("label_values\\((\\w+), (\\w+)\\)")
        .matcher(variables.get("election").path("query").path("query").asString());
    assertThat(values.matches()).isTrue();
    assertThat(scraped.get(values.group(1)))
        .isNotEmpty()
        .allSatisfy((labels) -> assertThat(labels).containsEntry(values.group(2), "orders"));
  }

  @Test
  void applicationExposesWhatTheAlertsWatch() throws IOException {
    Map<String, Object> recorded = new HashMap<>();
    rules("record").forEach((rule) -> recorded.put(rule.get("record").toString(), rule));
    assertThat(recorded).containsOnlyKeys("election:leaders", "election:term");
    assertThat(recorded.values())
        .extracting((rule) -> map(rule).get("expr").toString())
        .allSatisfy(DashboardAndAlertsIT::isAnswered);
    recorded.keySet().forEach((name) -> scraped.put(name, scraped.get("election_leader")));
    assertThat(alerts())
        .extracting((alert) -> alert.get("expr").toString())
        .allSatisfy(DashboardAndAlertsIT::isAnswered);
  }

  @Test
  void noSeriesNamesTheNode() {
    String node = "orders-node";
    assertThat(scraped).allSatisfy((name, series) -> {
      if (name.startsWith("election_")) {
        assertThat(series)
            .allSatisfy((labels) -> assertThat(labels)
                .containsEntry("election", "orders")
                .doesNotContainKeys("service", "node")
                .doesNotContainValue(node));
      }
    });
  }

  @Test
  void groupingLabelsStandInOnePlace() throws IOException {
    assertThat(alerts())
        .extracting((alert) -> alert.get("expr").toString())
        .allSatisfy((expression) -> assertThat(expression).doesNotContainPattern("\\b(by|on)\\b"));
  }

  @Test
  void alertsFireWhenTheyShouldAndNeverElse() throws Exception {
    assumeTrue(isInstalled("promtool"), "promtool is not installed: the alert rules are not run");
    Process promtool = new ProcessBuilder(
            "promtool",
            "test",
            "rules",
            Path.of("src", "test", "resources", "prometheus-alerts-test.yaml").toString())
        .redirectErrorStream(true)
        .start();
    String told = new String(promtool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(promtool.waitFor()).as(told).isZero();
  }

  private static boolean isInstalled(String command) {
    return Stream.of(System.getenv("PATH").split(File.pathSeparator))
        .anyMatch((folder) -> Files.isExecutable(Path.of(folder, command)));
  }

  @Test
  void everyAlertSaysWhatItIsAndWhatToDo() throws IOException {
    String operations = Files.readString(DOCS.resolve("operations.md"));
    assertThat(alerts()).extracting((alert) -> alert.get("alert")).doesNotHaveDuplicates();
    assertThat(alerts()).hasSizeGreaterThan(5).allSatisfy((alert) -> {
      String name = alert.get("alert").toString();
      assertThat(name).matches("Election[A-Z]\\w+");
      assertThat(alert.get("for").toString()).matches("\\d+[smh]");
      assertThat(map(alert.get("labels")).get("severity")).isIn("critical", "warning");
      Map<String, Object> annotations = map(alert.get("annotations"));
      assertThat(annotations.get("summary").toString()).isNotBlank();
      assertThat(annotations.get("description").toString()).containsPattern("[Ll]ook|Stop");
      assertThat(annotations)
          .containsEntry(
              "runbook_url", "https://docs.example/operations.md#" + name.toLowerCase(Locale.ROOT));
      assertThat(operations).contains("\n### " + name + "\n");
    });
  }

  @Test
  void noAlertIsOlderThanTheDefaults() throws IOException {
    Map<String, Map<String, Object>> alerts = new HashMap<>();
    alerts().forEach((alert) -> alerts.put(alert.get("alert").toString(), alert));

    Duration patience =
        DurationStyle.SIMPLE.parse(alerts.get("ElectionNoLeader").get("for").toString());
    assertThat(patience).isGreaterThan(DEFAULTS.leaseDuration().plus(DEFAULTS.renewInterval()));
    assertThat(alerts.get("ElectionRenewalsFailing").get("expr").toString())
        .contains("> " + DEFAULTS.renewInterval().multipliedBy(2).toSeconds() + " ");
  }

  private static void isAnswered(String expression) {
    assertThat(missing(expression)).as(expression).isEmpty();
  }

  /** Returns the metrics, labels and values that an expression uses and no series has. */
  private static List<String> missing(String expression) {
    List<String> missing = new ArrayList<>();
    Set<String> grouped = new HashSet<>();
    String rest = GROUPING
        .matcher(expression.replaceAll("\\[[^]]*]|\\boffset \\w+", ""))
        .replaceAll((grouping) -> {
          if (grouping.group(1) != null) {
            grouped.addAll(List.of(grouping.group(2).split(", *", -1)));
          }
          return "";
        });
    Matcher selector = SELECTOR.matcher(rest);
    boolean found = false;
    while (selector.find()) {
      if (!OPERATORS.contains(selector.group(1))) {
        found = true;
        addMissing(missing, selector.group(1), selector.group(2), grouped);
      }
    }
    assertThat(found).as("a metric in " + expression).isTrue();
    return missing;
  }

  private static void addMissing(
      List<String> missing, String metric, @Nullable String matchers, Set<String> grouped) {
    List<Map<String, String>> series = scraped.getOrDefault(metric, List.of());
    if (series.isEmpty()) {
      missing.add(metric);
      return;
    }
    Set<String> labels = new HashSet<>(grouped);
    Matcher matcher = MATCHER.matcher(matchers != null ? matchers : "");
    while (matcher.find()) {
      String label = matcher.group(1);
      String value = matcher.group(3);
      labels.add(label);
      if (matcher.group(2).equals("=")
          && !value.startsWith("$")
          && series.stream().noneMatch((one) -> value.equals(one.get(label)))) {
        missing.add("value " + label + "=" + value + " of " + metric);
      }
    }
    labels.removeAll(TARGET);
    labels.stream()
        .filter((label) -> series.stream().noneMatch((one) -> one.containsKey(label)))
        .forEach((label) -> missing.add("label " + label + " of " + metric));
  }

  private static JsonNode dashboard() throws IOException {
    return JsonMapper.builder()
        .build()
        .readTree(Files.readString(DOCS.resolve("grafana-dashboard.json")));
  }

  private static List<Map<String, Object>> alerts() throws IOException {
    return rules("alert");
  }

  private static List<Map<String, Object>> rules(String kind) throws IOException {
    Map<String, Object> file =
        new Yaml().load(Files.readString(DOCS.resolve("prometheus-alerts.yaml")));
    List<Map<String, Object>> rules = new ArrayList<>();
    for (Object group : (List<?>) file.get("groups")) {
      assertThat(map(group).get("name").toString()).isNotBlank();
      ((List<?>) map(group).get("rules")).forEach((rule) -> rules.add(map(rule)));
    }
    rules.removeIf((rule) -> !rule.containsKey(kind));
    return rules;
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> map(Object yaml) {
    return (Map<String, Object>) yaml;
  }

  private static Map<String, List<Map<String, String>>> read(String text) {
    Map<String, List<Map<String, String>>> series = new HashMap<>();
    text.lines().filter((line) -> !line.startsWith("#")).forEach((line) -> {
      Matcher matcher = SERIES.matcher(line);
      assertThat(matcher.matches()).as(line).isTrue();
      Map<String, String> labels = new HashMap<>();
      if (matcher.group(2) != null) {
        Matcher label = LABEL.matcher(matcher.group(2));
        while (label.find()) {
          labels.put(label.group(1), label.group(2));
        }
      }
      series.computeIfAbsent(matcher.group(1), (name) -> new ArrayList<>()).add(labels);
    });
    return series;
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  @Import(Job.class)
  static class Application {}

  static class Job {

    @LeaderOnly
    public void run() {}
  }
}
