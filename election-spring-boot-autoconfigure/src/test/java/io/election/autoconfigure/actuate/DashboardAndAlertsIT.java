package io.election.autoconfigure.actuate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.LeaderOnly;
import io.election.autoconfigure.MysqlNode;
import io.election.autoconfigure.settings.ElectionProperties;
import io.election.support.Tool;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
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
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.boot.convert.DurationStyle;
import org.yaml.snakeyaml.Yaml;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The dashboard and the alert rules query only what an application exposes. */
class DashboardAndAlertsIT {

  private static final Path DOCS = Path.of("..", "docs");

  /** The rows of a dashboard that are visible at once. */
  private static final int SCREEN = 24;

  private static final String SINCE = "Seconds since somebody led";

  private static final String AGE = "Age of each job's last run";

  private static final Pattern SERIES = Pattern.compile("([a-zA-Z_:][\\w:]*)(?:\\{(.*)})? \\S+");

  private static final Pattern LABEL = Pattern.compile("(\\w+)=\"((?:[^\"\\\\]|\\\\.)*)\"");

  /** Labels by which series are grouped or joined. */
  private static final Pattern GROUPING = Pattern.compile("\\b(?:by|on)\\s*\\(([^)]*)\\)");

  /** A metric of ours and its label matchers. */
  private static final Pattern METRIC = Pattern.compile("\\b(election[_:]\\w+)(?:\\{([^}]*)})?");

  private static final Pattern MATCHER = Pattern.compile("(\\w+)\\s*(=~|!~|!=|=)\\s*\"([^\"]*)\"");

  private static Map<String, List<Map<String, String>>> scraped;

  private static final ElectionProperties DEFAULTS = new Binder(
          new MapConfigurationPropertySource())
      .bindOrCreate("as.election", ElectionProperties.class);

  /** Labels that the scraped target adds. */
  private static final List<String> TARGET = List.of("instance", "environment", "namespace");

  @BeforeAll
  static void scrape() {
    MysqlNode.on(MysqlNode.newDatabase())
        .withBean(
            PrometheusMeterRegistry.class,
            () -> new PrometheusMeterRegistry(PrometheusConfig.DEFAULT))
        .withBean(Job.class)
        // Wait until a leader has counted everything that a leader counts.
        .run((context) -> MysqlNode.patiently().until(() -> {
          context.getBean(Job.class).run();
          scraped = read(context.getBean(PrometheusMeterRegistry.class).scrape());
          return hasOutcome("election_calls_seconds_count", "ran")
              && hasOutcome("election_renewals_seconds_count", "unknown")
              && scraped.containsKey("election_transitions_total");
        }));
  }

  private static boolean hasOutcome(String metric, String outcome) {
    return scraped.getOrDefault(metric, List.of()).stream()
        .anyMatch((labels) -> outcome.equals(labels.get("outcome")));
  }

  /** Tests the check itself. */
  @Test
  void whatIsNotExposedIsFound() {
    assertThat(missing("rate(election_calls_seconds_count{outcome=\"ran\",method=~\"$m\"}[1m])"))
        .isEmpty();
    assertThat(missing("sum by (service) (election_leader) > sum(election_trm) / 4e3"))
        .containsExactly("label service of election_leader", "election_trm");
    assertThat(missing("election_leader{reason!=\"x\"} unless election_leader without (pod)"))
        .containsExactly("label reason of election_leader");
    assertThat(missing("election_calls_seconds_count{outcome=\"rn\"}"))
        .containsExactly("value outcome=rn of election_calls_seconds_count");
    assertThatThrownBy(() -> missing("sum(elction_term)")).isInstanceOf(AssertionError.class);
  }

  @Test
  void applicationExposesWhatTheDashboardShows() throws IOException {
    JsonNode dashboard = dashboard();
    assertThat(text(dashboard, "title")).isNotBlank();
    assertThat(text(dashboard, "uid")).isNotBlank();
    Set<Integer> ids = new HashSet<>();
    for (JsonNode panel : dashboard.path("panels")) {
      assertThat(ids.add(panel.path("id").asInt())).as("id of %s", panel).isTrue();
      assertThat(text(panel, "title")).isNotBlank();
      assertThat(text(panel, "description")).isNotBlank();
      assertThat(panel.path("datasource").path("uid").asString()).isEqualTo("${datasource}");
      assertThat(panel.path("targets")).isNotEmpty();
      for (JsonNode target : panel.path("targets")) {
        assertThat(target.path("datasource").path("uid").asString()).isEqualTo("${datasource}");
      }
    }
    assertThat(queries()).hasSizeGreaterThan(10).allSatisfy(DashboardAndAlertsIT::isAnswered);
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
      variables.put(text(variable, "name"), variable);
    }
    assertThat(variables).containsOnlyKeys("datasource", "environment", "namespace", "election");
    assertThat(text(variables.get("datasource"), "query")).isEqualTo("prometheus");
    variables.remove("datasource");
    variables.forEach((name, variable) -> {
      Matcher values = Pattern.compile("label_values\\((\\w+)(?:\\{[^}]*})?, (\\w+)\\)")
          .matcher(text(variable.path("query"), "query"));
      assertThat(values.matches()).as(name).isTrue();
      assertThat(scraped).containsKey(values.group(1));
      assertThat(values.group(2)).isEqualTo(name);
      assertThat(text(variable, "allValue")).as("also without the label").isEqualTo(".*");
    });
    assertThat(scraped.get("election_leader"))
        .allSatisfy((labels) -> assertThat(labels).containsEntry("election", "orders"));
    assertThat(queries())
        .allSatisfy(
            (query) -> assertThat(METRIC.matcher(query).results())
                .allSatisfy(
                    (metric) -> assertThat(metric.group(2))
                        .contains(
                            "environment=~\"$environment\", namespace=~\"$namespace\", election=~\"$election\"")));
  }

  @Test
  void firstScreenAnswersWhatAnOperatorAsks() throws IOException {
    Map<String, String> firstScreen = new HashMap<>();
    for (JsonNode panel : dashboard().path("panels")) {
      JsonNode place = panel.path("gridPos");
      if (place.path("y").asInt() + place.path("h").asInt() <= SCREEN) {
        firstScreen.put(
            text(panel, "title"), String.join("\n", expressions(panel.path("targets"))));
      }
    }
    assertThat(firstScreen.get(SINCE)).contains("election_leader{");
    assertThat(firstScreen.get("Candidates now")).contains("election_candidates{");
    assertThat(firstScreen.get("The holder's lease"))
        .contains("election_lease_duration_seconds{", "election_lease_remaining_seconds{");
    assertThat(firstScreen.get(AGE)).contains("election_calls_seconds_count{");
    assertThat(firstScreen.get("Renewals' p99 against the operation time-out"))
        .contains("quantile=\"0.99\"", "election_operation_timeout_seconds{");
  }

  @Test
  void dashboardTellsWhenSomebodyLedAndJobsRanLast(@TempDir Path folder) throws Exception {
    String since = query(SINCE);
    String age = query(AGE);
    Path tests = folder.resolve("dashboard-test.yaml");
    Files.writeString(
        tests,
        JsonMapper.shared()
            .writeValueAsString(Map.of(
                "tests",
                List.of(Map.of(
                    "interval",
                    "15s",
                    "input_series",
                    List.of(
                        series("election_leader{election='orders',namespace='shop'}", "1x20 0x60"),
                        series("election_leader{election='billing'}", "0x400"),
                        series(
                            "election_calls_seconds_count{method='a',outcome='ran'}", "_x8 1x72"),
                        series("election_calls_seconds_count{method='b',outcome='ran'}", "1+1x80"),
                        series(
                            "election_calls_seconds_count{method='c',outcome='skipped'}",
                            "1+1x80")),
                    "promql_expr_test",
                    List.of(
                        result(
                            since,
                            "4m",
                            Map.of(
                                "{election='orders',namespace='shop'}",
                                0,
                                "{election='billing'}",
                                3600)),
                        result(
                            since,
                            "10m",
                            Map.of(
                                "{election='orders',namespace='shop'}",
                                300,
                                "{election='billing'}",
                                3600)),
                        result(
                            age,
                            "10m",
                            Map.of(
                                "{method='a'}",
                                480,
                                "{method='b'}",
                                0,
                                "{method='c'}",
                                90000))))))));
    promtool(tests);
  }

  private static String query(String title) throws IOException {
    return dashboard()
        .path("panels")
        .valueStream()
        .filter((panel) -> text(panel, "title").equals(title))
        .map((panel) -> text(panel.path("targets").path(0), "expr").replaceAll("\\$\\w+", ".*"))
        .findFirst()
        .orElseThrow();
  }

  private static Map<String, Object> series(String series, String values) {
    return Map.of("series", series, "values", values);
  }

  private static Map<String, Object> result(
      String query, String at, Map<String, Integer> expected) {
    return Map.of(
        "expr",
        query,
        "eval_time",
        at,
        "exp_samples",
        expected.entrySet().stream()
            .map((sample) -> Map.of("labels", sample.getKey(), "value", sample.getValue()))
            .toList());
  }

  @Test
  void applicationExposesWhatTheAlertsWatch() throws IOException {
    List<JsonNode> recorded = rules("record");
    assertThat(recorded)
        .extracting((rule) -> text(rule, "record"))
        .containsExactlyInAnyOrder(
            "election:leaders", "election:term", "election:candidates", "election:last_seen");
    recorded.forEach((rule) -> scraped.put(text(rule, "record"), scraped.get("election_leader")));
    assertThat(expressions(recorded)).allSatisfy(DashboardAndAlertsIT::isAnswered);
    assertThat(expressions(rules("alert"))).allSatisfy(DashboardAndAlertsIT::isAnswered);
  }

  @Test
  void groupingLabelsStandInOnePlace() throws IOException {
    assertThat(expressions(rules("alert")))
        .allSatisfy((expression) -> assertThat(expression).doesNotContainPattern("\\b(by|on)\\b"));
  }

  @Test
  @Tag("faults")
  void alertsFireWhenTheyShouldAndNeverElse() throws Exception {
    promtool(Path.of("src", "test", "resources", "prometheus-alerts-test.yaml"));
  }

  private static void promtool(Path tests) throws Exception {
    Tool.PROMTOOL.assumeWorks();
    Process promtool = new ProcessBuilder("promtool", "test", "rules", tests.toString())
        .redirectErrorStream(true)
        .start();
    String told = new String(promtool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(promtool.waitFor()).as(told).isZero();
  }

  @Test
  void everyAlertSaysWhatItIsAndWhatToDo() throws IOException {
    String runbooks = Files.readString(DOCS.resolve("alerts.md"));
    List<JsonNode> alerts = rules("alert");
    assertThat(alerts).extracting((alert) -> text(alert, "alert")).doesNotHaveDuplicates();
    assertThat(alerts).hasSizeGreaterThan(5).allSatisfy((alert) -> {
      String name = text(alert, "alert");
      assertThat(name).matches("Election[A-Z]\\w+");
      assertThat(text(alert, "for")).matches("\\d+[smh]");
      assertThat(text(alert.path("labels"), "severity")).isIn("critical", "warning");
      JsonNode annotations = alert.path("annotations");
      assertThat(text(annotations, "summary")).isNotBlank();
      assertThat(text(annotations, "description")).containsPattern("[Ll]ook|Stop");
      assertThat(text(annotations, "runbook_url"))
          .isEqualTo("https://docs.example/alerts.md#" + name.toLowerCase(Locale.ROOT));
      assertThat(runbooks).contains("\n## " + name + "\n");
    });
  }

  @Test
  void noAlertIsOlderThanTheDefaults() throws IOException {
    Map<String, JsonNode> alerts = new HashMap<>();
    rules("alert").forEach((alert) -> alerts.put(text(alert, "alert"), alert));

    Duration patience = DurationStyle.SIMPLE.parse(text(alerts.get("ElectionNoLeader"), "for"));
    assertThat(patience).isGreaterThan(DEFAULTS.leaseDuration().plus(DEFAULTS.renewInterval()));
    assertThat(text(alerts.get("ElectionRenewalsFailing"), "expr"))
        .contains("> " + DEFAULTS.renewInterval().multipliedBy(2).toSeconds() + " ");
  }

  private static void isAnswered(String expression) {
    assertThat(missing(expression)).as(expression).isEmpty();
  }

  /** Returns the metrics, labels and values that an expression uses and no series has. */
  private static List<String> missing(String expression) {
    List<MatchResult> metrics = METRIC.matcher(expression).results().toList();
    assertThat(metrics).as("metrics in " + expression).isNotEmpty();
    List<String> missing = new ArrayList<>();
    for (MatchResult metric : metrics) {
      String name = metric.group(1);
      List<Map<String, String>> series = scraped.getOrDefault(name, List.of());
      if (series.isEmpty()) {
        missing.add(name);
        continue;
      }
      Set<String> labels = GROUPING
          .matcher(expression)
          .results()
          .flatMap((grouping) -> Stream.of(grouping.group(1).split(", *", -1)))
          .collect(Collectors.toSet());
      String matchers = metric.group(2) != null ? metric.group(2) : "";
      MATCHER.matcher(matchers).results().forEach((matcher) -> {
        String label = matcher.group(1);
        String value = matcher.group(3);
        labels.add(label);
        if (matcher.group(2).equals("=")
            && series.stream().noneMatch((one) -> value.equals(one.get(label)))) {
          missing.add("value " + label + "=" + value + " of " + name);
        }
      });
      TARGET.forEach(labels::remove);
      labels.stream()
          .filter((label) -> series.stream().noneMatch((one) -> one.containsKey(label)))
          .forEach((label) -> missing.add("label " + label + " of " + name));
    }
    return missing;
  }

  private static JsonNode dashboard() throws IOException {
    return JsonMapper.shared().readTree(Files.readString(DOCS.resolve("grafana-dashboard.json")));
  }

  private static List<JsonNode> rules(String kind) throws IOException {
    Object file = new Yaml().load(Files.readString(DOCS.resolve("prometheus-alerts.yaml")));
    JsonNode groups = JsonMapper.shared().valueToTree(file).path("groups");
    assertThat(groups).allSatisfy((group) -> assertThat(text(group, "name")).isNotBlank());
    return groups
        .valueStream()
        .flatMap((group) -> group.path("rules").valueStream())
        .filter((rule) -> rule.has(kind))
        .toList();
  }

  /** Returns the queries of all panels and annotations of the dashboard. */
  private static List<String> queries() throws IOException {
    JsonNode dashboard = dashboard();
    return Stream.concat(
            dashboard
                .path("panels")
                .valueStream()
                .flatMap((panel) -> expressions(panel.path("targets")).stream()),
            expressions(dashboard.path("annotations").path("list")).stream())
        .toList();
  }

  private static List<String> expressions(Iterable<JsonNode> rules) {
    return StreamSupport.stream(rules.spliterator(), false)
        .map((rule) -> text(rule, "expr"))
        .toList();
  }

  private static String text(JsonNode node, String name) {
    return node.path(name).asString();
  }

  private static Map<String, List<Map<String, String>>> read(String text) {
    return text.lines()
        .map(SERIES::matcher)
        .filter(Matcher::matches)
        .collect(Collectors.groupingBy(
            (line) -> line.group(1),
            HashMap::new,
            Collectors.mapping((line) -> labels(line.group(2)), Collectors.toList())));
  }

  private static Map<String, String> labels(@Nullable String text) {
    return LABEL
        .matcher(text != null ? text : "")
        .results()
        .collect(Collectors.toMap((label) -> label.group(1), (label) -> label.group(2)));
  }

  static class Job {

    @LeaderOnly
    public void run() {}
  }
}
