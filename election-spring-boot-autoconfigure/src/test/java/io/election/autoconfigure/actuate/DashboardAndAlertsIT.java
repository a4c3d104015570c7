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
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.boot.convert.DurationStyle;
import org.yaml.snakeyaml.Yaml;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The dashboard and the alert rules query only what an application exposes. */
class DashboardAndAlertsIT {

  private static final Path DOCS = Path.of("..", "docs");

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
    List<String> expressions = new ArrayList<>();
    for (JsonNode panel : dashboard.path("panels")) {
      assertThat(ids.add(panel.path("id").asInt())).as("id of %s", panel).isTrue();
      assertThat(text(panel, "title")).isNotBlank();
      assertThat(text(panel, "description")).isNotBlank();
      assertThat(panel.path("datasource").path("uid").asString()).isEqualTo("${datasource}");
      assertThat(panel.path("targets")).isNotEmpty();
      for (JsonNode target : panel.path("targets")) {
        assertThat(target.path("datasource").path("uid").asString()).isEqualTo("${datasource}");
        expressions.add(text(target, "expr"));
      }
    }
    for (JsonNode annotation : dashboard.path("annotations").path("list")) {
      expressions.add(text(annotation, "expr"));
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
      variables.put(text(variable, "name"), variable);
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
  void alertsFireWhenTheyShouldAndNeverElse() throws Exception {
    Tool.PROMTOOL.assumeWorks();
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

  private static List<String> expressions(List<JsonNode> rules) {
    return rules.stream().map((rule) -> text(rule, "expr")).toList();
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
