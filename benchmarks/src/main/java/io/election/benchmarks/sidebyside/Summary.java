package io.election.benchmarks.sidebyside;

import io.election.benchmarks.candidates.CandidateKind;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/** The figures as Markdown tables, which are also readable as plain text. */
public final class Summary {

  private final Results results;

  private final StringBuilder text = new StringBuilder();

  private Summary(Results results) {
    this.results = results;
  }

  static String of(Results results) {
    Summary summary = new Summary(results);
    for (Timing timing : Timing.values()) {
      summary.gaps(timing);
    }
    summary.outages();
    summary.loads();
    summary.crowd();
    summary.about();
    return summary.text.toString();
  }

  /** Returns whether our candidate never had two leaders and never failed. */
  static boolean isSound(Results results) {
    List<Row> faults = results.rows().stream()
        .filter((row) -> row.candidate().equals(CandidateKind.ELECTION.id()))
        .filter((row) -> row.measure().equals("failed_count")
            || (row.measure().equals("overlap_ms") && row.value() > 0))
        .toList();
    faults.forEach((row) -> System.out.println("Not to be: " + row));
    boolean measured = results.rows().stream()
        .anyMatch((row) -> row.candidate().equals(CandidateKind.ELECTION.id()));
    return faults.isEmpty() && measured;
  }

  private void gaps(Timing timing) {
    if (this.results.rows().stream().noneMatch((row) -> row.settings().equals(timing.id()))) {
      return;
    }
    line("### Without a leader, "
        + (timing == Timing.EQUAL ? "equal settings" : "defaults")
        + ": seconds, min / median / max");
    line("| candidate | lease | after `kill -9` | after SIGTERM | rounds |");
    line("| --- | --- | --- | --- | --- |");
    for (CandidateKind kind : CandidateKind.values()) {
      line("| " + kind.title()
          + " | " + lease(timing, kind)
          + " | " + seconds(values(timing, Scenario.KILL, kind, "gap_ms"))
          + " | " + seconds(values(timing, Scenario.STOP, kind, "gap_ms"))
          + " | " + values(timing, Scenario.KILL, kind, "gap_ms").size() + ", "
          + values(timing, Scenario.STOP, kind, "gap_ms").size() + " |");
    }
    line("");
  }

  private static String lease(Timing timing, CandidateKind kind) {
    return timing.lease(kind).isZero() ? "no default" : timing.lease(kind).toSeconds() + " s";
  }

  private void outages() {
    line(
        "### Two leaders at once, equal settings: rounds, and seconds min / median / max of those");
    line("| candidate | `kill -9` | SIGTERM | paused | server stalled | cut off |");
    line("| --- | --- | --- | --- | --- | --- |");
    for (CandidateKind kind : CandidateKind.values()) {
      List<String> cells = new ArrayList<>(List.of(kind.title()));
      for (Scenario scenario :
          List.of(Scenario.KILL, Scenario.STOP, Scenario.PAUSE, Scenario.STALL, Scenario.CUT)) {
        cells.add(overlaps(values(Timing.EQUAL, scenario, kind, "overlap_ms")));
      }
      line("| " + String.join(" | ", cells) + " |");
    }
    line("");
    line("### Outages, equal settings: seconds, min / median / max");
    line("| candidate | server stalled 8 s: claimed | then without a leader | leader changed"
        + " | cut off 10 s: claimed | gap | paused 8 s: gap |");
    line("| --- | --- | --- | --- | --- | --- | --- |");
    for (CandidateKind kind : CandidateKind.values()) {
      List<Double> changes = values(Timing.EQUAL, Scenario.STALL, kind, "changed_count");
      line("| "
          + String.join(
              " | ",
              kind.title(),
              seconds(values(Timing.EQUAL, Scenario.STALL, kind, "claimed_ms")),
              seconds(values(Timing.EQUAL, Scenario.STALL, kind, "recovery_ms")),
              changes.isEmpty()
                  ? "–"
                  : changes.stream().filter((value) -> value > 0).count() + " of " + changes.size(),
              seconds(values(Timing.EQUAL, Scenario.CUT, kind, "claimed_ms")),
              seconds(values(Timing.EQUAL, Scenario.CUT, kind, "gap_ms")),
              seconds(values(Timing.EQUAL, Scenario.PAUSE, kind, "gap_ms")))
          + " |");
    }
    line("");
  }

  private void loads() {
    List<String> loads = this.results.rows().stream()
        .map(Row::scenario)
        .filter((scenario) -> scenario.startsWith("load-"))
        .distinct()
        .toList();
    if (loads.isEmpty()) {
      return;
    }
    line("### Requests to the server a second, leader / follower, equal settings; and isLeader()");
    line("| candidate | "
        + String.join(
            " | ",
            loads.stream()
                .map((load) ->
                    load.substring(5) + (load.endsWith("-1") ? " election" : " elections"))
                .toList())
        + " | isLeader() |");
    line("| --- |" + " --- |".repeat(loads.size()) + " --- |");
    for (CandidateKind kind : CandidateKind.values()) {
      List<String> cells = new ArrayList<>(List.of(kind.title()));
      for (String load : loads) {
        cells.add(rate(load, kind, "leader_per_s")
            + " / "
            + rate(load, kind, "follower_per_s")
            + missing(load, kind));
      }
      List<Double> nanos = this.results.values("equal", "load-1", kind.id(), "question_ns");
      cells.add(nanos.isEmpty() ? "–" : String.format(Locale.ROOT, "%.0f ns", median(nanos)));
      line("| " + String.join(" | ", cells) + " |");
    }
    line("");
  }

  private void crowd() {
    Optional<String> crowd = this.results.rows().stream()
        .map(Row::scenario)
        .filter((scenario) -> scenario.startsWith("crowd-"))
        .findFirst();
    if (crowd.isEmpty()) {
      return;
    }
    line("### One election with " + crowd.get().substring(6) + " followers, equal settings");
    line("| candidate | requests of a follower a second | row-lock waits a second"
        + " | row-lock waits of a take-over | without a leader after `kill -9` |");
    line("| --- | --- | --- | --- | --- |");
    for (CandidateKind kind : CandidateKind.values()) {
      List<Double> gaps = this.results.values("equal", crowd.get(), kind.id(), "gap_ms");
      line("| "
          + String.join(
              " | ",
              kind.title(),
              rate(crowd.get(), kind, "follower_per_s"),
              rate(crowd.get(), kind, "row_lock_waits_per_s"),
              rate(crowd.get(), kind, "row_lock_waits_of_take_over"),
              gaps.isEmpty() ? "–" : String.format(Locale.ROOT, "%.2f s", median(gaps) / 1000))
          + " |");
    }
    line("");
  }

  /** Reports the number of elections led, if a leader without rivals did not lead all. */
  private String missing(String load, CandidateKind kind) {
    List<Double> led = this.results.values("equal", load, kind.id(), "led_count");
    int elections = Integer.parseInt(load.substring(5));
    return led.isEmpty() || led.get(0) >= elections || kind == CandidateKind.SHEDLOCK
        ? ""
        : String.format(Locale.ROOT, " (leads in %.0f)", led.get(0));
  }

  private String rate(String load, CandidateKind kind, String measure) {
    List<Double> rates = this.results.values("equal", load, kind.id(), measure);
    return rates.isEmpty() ? "–" : String.format(Locale.ROOT, "%.1f", median(rates));
  }

  private void about() {
    this.results.about().entrySet().stream()
        .sorted(Map.Entry.comparingByKey())
        .forEach((entry) -> line("* " + entry.getKey() + ": " + entry.getValue()));
    this.results.rows().stream()
        .filter((row) ->
            row.measure().equals("failed_count") || row.measure().equals("unsucceeded_count"))
        .forEach((row) -> line("* " + row.measure().replace("_count", "") + ": "
            + row.candidate() + ", " + row.settings() + ", " + row.scenario() + ", round "
            + row.round()));
  }

  private List<Double> values(
      Timing timing, Scenario scenario, CandidateKind kind, String measure) {
    return this.results.values(timing.id(), scenario.id(), kind.id(), measure);
  }

  private static String overlaps(List<Double> millis) {
    if (millis.isEmpty()) {
      return "–";
    }
    List<Double> with = millis.stream().filter((value) -> value > 0).toList();
    String rounds = with.size() + " of " + millis.size();
    return with.isEmpty() ? rounds : rounds + ": " + seconds(with, "%.3f");
  }

  private static String seconds(List<Double> millis) {
    return seconds(millis, "%.2f");
  }

  private static String seconds(List<Double> millis, String format) {
    if (millis.isEmpty()) {
      return "–";
    }
    List<Double> sorted = millis.stream().sorted().toList();
    return String.format(
        Locale.ROOT,
        String.join(" / ", format, format, format),
        sorted.get(0) / 1000,
        median(sorted) / 1000,
        sorted.get(sorted.size() - 1) / 1000);
  }

  /**
   * Returns the middle value, or the mean of the two middle values.
   *
   * @param values at least one, in any order
   * @return the median
   */
  public static double median(List<Double> values) {
    List<Double> sorted = values.stream().sorted().toList();
    int half = sorted.size() / 2;
    return sorted.size() % 2 == 1
        ? sorted.get(half)
        : (Objects.requireNonNull(sorted.get(half - 1)) + sorted.get(half)) / 2;
  }

  private void line(String line) {
    this.text.append(line).append('\n');
  }
}
