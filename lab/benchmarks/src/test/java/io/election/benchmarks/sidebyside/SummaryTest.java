package io.election.benchmarks.sidebyside;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SummaryTest {

  @TempDir
  private Path folder;

  private Results results;

  @BeforeEach
  void begin() throws IOException {
    this.results = Results.create(this.folder);
  }

  @Test
  void whatWasWrittenIsReadAgain() throws IOException {
    add("kill", "election", 1, "gap_ms", 4000);
    add("kill", "election", 2, "gap_ms", 5000);
    add("pause", "curator", 1, "overlap_ms", 226.6);
    this.results.about("machine", "two: cores");
    String summary = Summary.of(Results.read(this.folder));
    assertThat(summary)
        .isEqualTo(Summary.of(this.results))
        .contains("| election | 5 s | 4.00 / 4.50 / 5.00 | – |")
        .contains("| 1 of 1: 0.227 / 0.227 / 0.227 |")
        .contains("* machine: two: cores")
        .doesNotContain(CandidateKind.JETCD.title);
  }

  @Test
  void consumersHaveATableOfTheirOwn() {
    add("stop", "election-consumer", 1, "overlap_ms", 0);
    add("stop", "election-consumer", 1, "gap_ms", 50);
    add("resign", "spring-integration-consumer", 1, "overlap_ms", 3000);
    assertThat(Summary.of(this.results))
        .containsOnlyOnce("###")
        .contains("| election, @LeaderBound | 0 of 1 | 0.05 / 0.05 / 0.05 | – | – |")
        .contains("| Spring Integration, role | – | – | 1 of 1: 3.000 / 3.000 / 3.000 | – |");
  }

  @Test
  void twoLeadersOfOursAreAFaultAndTwoOfOthersAreAFigure() {
    add("pause", "election", 1, "overlap_ms", 0);
    add("pause", "curator", 1, "overlap_ms", 226.6);
    assertThat(Summary.isSound(this.results)).isTrue();
    add("pause", "election-etcd", 1, "overlap_ms", 0.001);
    assertThat(Summary.isSound(this.results)).isFalse();
  }

  @Test
  void aScenarioThatOursDidNotGetThroughIsAFault() {
    add("pause", "election", 1, "failed_count", 1);
    assertThat(Summary.isSound(this.results)).isFalse();
  }

  @Test
  void nothingMeasuredIsAFault() {
    add("pause", "curator", 1, "overlap_ms", 0);
    assertThat(Summary.isSound(this.results)).isFalse();
  }

  private void add(String scenario, String candidate, int round, String measure, double value) {
    this.results.add(Timing.EQUAL, scenario, CandidateKind.of(candidate), round, measure, value);
  }
}
