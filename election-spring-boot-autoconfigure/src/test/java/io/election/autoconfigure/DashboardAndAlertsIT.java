package io.election.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.test.TestDatabase;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
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
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.yaml.snakeyaml.Yaml;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The dashboard and the alert rules ask for nothing that an application does not expose. */
class DashboardAndAlertsIT {

  private static final Path DOCS = Path.of("..", "docs");

  private static final Pattern SERIES = Pattern.compile("([a-zA-Z_:][\\w:]*)(?:\\{(.*)})? \\S+");

  private static final Pattern LABEL = Pattern.compile("(\\w+)=\"((?:[^\"\\\\]|\\\\.)*)\"");

  private static Map<String, List<Map<String, String>>> scraped;

  private static ElectionProperties defaults;

  @BeforeAll
  static void scrape() throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
    try (ConfigurableApplicationContext application = new SpringApplicationBuilder(
            Application.class)
        .run(
            "--server.port=0",
            "--server.shutdown=immediate",
            "--spring.application.name=orders",
            "--spring.datasource.url=" + database.jdbcUrl(),
            "--spring.datasource.username=" + database.username(),
            "--spring.datasource.password=" + database.password(),
            "--spring.flyway.enabled=false",
            "--spring.liquibase.enabled=false",
            "--management.endpoints.web.exposure.include=prometheus")) {
      defaults = application.getBean(ElectionProperties.class);
      URI metrics = URI.create("http://localhost:"
          + application.getEnvironment().getProperty("local.server.port")
          + "/actuator/prometheus");
      String text = HttpClient.newHttpClient()
          .send(HttpRequest.newBuilder(metrics).build(), BodyHandlers.ofString())
          .body();
      scraped = read(text);
    }
  }

  @AfterAll
  static void forget() {
    scraped = null;
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
    assertThat(variables).containsOnlyKeys("datasource", "service");
    assertThat(variables.get("datasource").path("type").asString()).isEqualTo("datasource");
    assertThat(variables.get("datasource").path("query").asString()).isEqualTo("prometheus");
    Matcher values = Pattern.compile("label_values\\((\\w+), (\\w+)\\)")
        .matcher(variables.get("service").path("query").path("query").asString());
    assertThat(values.matches()).isTrue();
    assertThat(scraped.get(values.group(1)))
        .isNotEmpty()
        .allSatisfy((labels) -> assertThat(labels).containsEntry(values.group(2), "orders"));
  }

  @Test
  void applicationExposesWhatTheAlertsWatch() throws IOException {
    assertThat(alerts())
        .extracting((alert) -> alert.get("expr").toString())
        .allSatisfy(DashboardAndAlertsIT::isAnswered);
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
          .containsEntry("runbook", "docs/operations.md#" + name.toLowerCase(Locale.ROOT));
      assertThat(operations).contains("\n### " + name + "\n");
    });
  }

  @Test
  void noAlertIsOlderThanTheDefaults() throws IOException {
    Map<String, Map<String, Object>> alerts = new HashMap<>();
    alerts().forEach((alert) -> alerts.put(alert.get("alert").toString(), alert));

    Duration patience =
        DurationStyle.SIMPLE.parse(alerts.get("ElectionNoLeader").get("for").toString());
    assertThat(patience).isGreaterThan(defaults.leaseDuration().plus(defaults.renewInterval()));
    assertThat(alerts.get("ElectionRenewalsFailing").get("expr").toString())
        .contains("> " + defaults.renewInterval().multipliedBy(2).toSeconds() + " ");
  }

  private static void isAnswered(String expression) {
    PromQl parsed = PromQl.parse(expression);
    assertThat(parsed.selectors()).as(expression).isNotEmpty();
    assertThat(parsed.missing(scraped)).as(expression).isEmpty();
  }

  private static JsonNode dashboard() throws IOException {
    return JsonMapper.builder()
        .build()
        .readTree(Files.readString(DOCS.resolve("grafana-dashboard.json")));
  }

  private static List<Map<String, Object>> alerts() throws IOException {
    Map<String, Object> file =
        new Yaml().load(Files.readString(DOCS.resolve("prometheus-alerts.yaml")));
    List<Map<String, Object>> alerts = new ArrayList<>();
    for (Object group : (List<?>) file.get("groups")) {
      assertThat(map(group).get("name").toString()).isNotBlank();
      ((List<?>) map(group).get("rules")).forEach((rule) -> alerts.add(map(rule)));
    }
    return alerts;
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
  static class Application {}
}
