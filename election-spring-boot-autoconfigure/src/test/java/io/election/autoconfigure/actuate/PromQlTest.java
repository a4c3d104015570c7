package io.election.autoconfigure.actuate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.autoconfigure.actuate.PromQl.Selector;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What the check of the dashboard and the rules understands, and finds. */
class PromQlTest {

  private static final Map<String, List<Map<String, String>>> SCRAPED =
      Map.of("a_total", List.of(Map.of("node", "x", "outcome", "unknown")));

  @Test
  void metricsAreToldFromFunctionsKeywordsLabelsAndDurations() {
    PromQl parsed = PromQl.parse("""
        sum by (service, node) (increase(a_total{outcome="un}known", service=~"$service"}[5m] offset 15m)) > 1.5
        or on (zone) max(b) without (pod) unless group_left c / 4e3
        """);

    assertThat(parsed.selectors())
        .containsExactly(
            new Selector(
                "a_total", Map.of("outcome", "=\"un}known\"", "service", "=~\"$service\"")),
            new Selector("b", Map.of()),
            new Selector("c", Map.of()));
    assertThat(parsed.grouped()).containsExactlyInAnyOrder("service", "node", "zone");
  }

  @Test
  void whatIsNotThereIsFound() {
    assertThat(missing("rate(a_total{outcome=\"unknown\",node=~\"$node\"}[1m])"))
        .isEmpty();
    assertThat(missing("sum by (node) (a_total) > sum(b)")).containsExactly("b");
    assertThat(missing("sum by (service) (a_total)")).containsExactly("label service of a_total");
    assertThat(missing("a_total{reason=\"x\"}")).contains("label reason of a_total");
    assertThat(missing("a_total{outcome=\"unknwon\"}"))
        .containsExactly("value outcome=\"unknwon\" of a_total");
  }

  @Test
  void whatIsNotUnderstoodIsNoSuccess() {
    assertThatThrownBy(() -> PromQl.parse("a ? b")).hasMessageContaining("'?'");
    assertThatThrownBy(() -> PromQl.parse("{outcome=\"x\"}")).hasMessageContaining("metric");
  }

  private static List<String> missing(String expression) {
    return PromQl.parse(expression).missing(SCRAPED);
  }
}
