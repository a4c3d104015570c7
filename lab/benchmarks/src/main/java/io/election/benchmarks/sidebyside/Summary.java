package io.election.benchmarks.sidebyside;

import io.election.benchmarks.sidebyside.Results.Row;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.apache.commons.math3.stat.StatUtils;

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
      if (results.rows().stream().anyMatch((row) -> row.settings().equals(timing.id()))) {
        summary.handOvers(timing);
        summary.gaps(timing);
        if (timing != Timing.DEFAULTS) {
          summary.outages(timing);
          summary.loads(timing);
          summary.crowd(timing);
        }
      }
    }
    summary.about();
    return summary.text.toString();
  }

  /** Returns whether our candidate never had two leaders and never failed. */
  static boolean isSound(Results results) {
    List<Row> ours = results.rows().stream()
        .filter((row) -> CandidateKind.of(row.candidate()).isOurs())
        .toList();
    List<Row> faults = ours.stream()
        .filter((row) -> row.measure().equals("failed_count")
            || (row.measure().equals("overlap_ms") && row.value() > 0))
        .toList();
    faults.forEach((row) -> System.out.println("Not to be: " + row));
    return faults.isEmpty() && !ours.isEmpty();
  }

  /**
   * Returns the middle value, or the mean of the two middle values.
   *
   * @param values at least one, in any order
   * @return the median
   */
  public static double median(double... values) {
    return StatUtils.percentile(values, 50);
  }

  private void handOvers(Timing timing) {
    table(
        "Hand-over of a consumer whose stop takes 3 s, equal settings: rounds with two consumers,"
            + " and seconds min / median / max",
        "SIGTERM: two | none | resigned: two | none",
        CandidateKind::isConsumer,
        (kind) -> Stream.of(Scenario.STOP, Scenario.RESIGN)
            .flatMap((scenario) -> Stream.of(
                overlaps(values(timing, scenario, kind, "overlap_ms")),
                seconds(values(timing, scenario, kind, "gap_ms"))))
            .toList());
  }

  private void gaps(Timing timing) {
    table(
        "Without a leader, " + (timing == Timing.DEFAULTS ? "defaults" : "equal settings")
            + ": seconds, min / median / max",
        "lease | after `kill -9` | of that, later than a lease after the last renewal"
            + " | after SIGTERM | rounds",
        (kind) -> {
          double[] killed = values(timing, Scenario.KILL, kind, "gap_ms");
          double[] stopped = values(timing, Scenario.STOP, kind, "gap_ms");
          return List.of(
              timing.lease(kind).isZero() ? "no default" : timing.lease(kind).toSeconds() + " s",
              seconds(killed),
              seconds(values(timing, Scenario.KILL, kind, "late_ms")),
              seconds(stopped),
              killed.length + ", " + stopped.length);
        });
  }

  private void outages(Timing timing) {
    table(
        "Two leaders at once, equal settings: rounds, and seconds min / median / max of those",
        "`kill -9` | SIGTERM | paused | server stalled | cut off | server cut off",
        (kind) -> Stream.of(
                Scenario.KILL,
                Scenario.STOP,
                Scenario.PAUSE,
                Scenario.STALL,
                Scenario.CUT,
                Scenario.CUT_OFF_SERVER)
            .map((scenario) -> overlaps(values(timing, scenario, kind, "overlap_ms")))
            .toList());
    table(
        "Outages, equal settings: seconds, min / median / max",
        "server stalled 8 s: claimed | then without a leader | leader changed"
            + " | cut off 10 s: claimed | gap | paused 8 s: gap"
            + " | server cut off 20 s: claimed | gap",
        (kind) -> List.of(
            seconds(values(timing, Scenario.STALL, kind, "claimed_ms")),
            seconds(values(timing, Scenario.STALL, kind, "recovery_ms")),
            rounds(values(timing, Scenario.STALL, kind, "changed_count")),
            seconds(values(timing, Scenario.CUT, kind, "claimed_ms")),
            seconds(values(timing, Scenario.CUT, kind, "gap_ms")),
            seconds(values(timing, Scenario.PAUSE, kind, "gap_ms")),
            seconds(values(timing, Scenario.CUT_OFF_SERVER, kind, "claimed_ms")),
            seconds(values(timing, Scenario.CUT_OFF_SERVER, kind, "gap_ms"))));
  }

  private void loads(Timing timing) {
    List<String> loads = scenarios("load-");
    if (loads.isEmpty()) {
      return;
    }
    String titles = String.join(
        " | ",
        loads.stream()
            .map((load) -> load.substring(5) + (load.endsWith("-1") ? " election" : " elections"))
            .toList());
    table(
        "Requests to the server a second, leader / follower, equal settings, + to stay a"
            + " candidate and know the others; and isLeader()",
        titles + " | isLeader()",
        (kind) -> {
          List<String> cells = new ArrayList<>();
          for (String load : loads) {
            cells.add(
                load(timing, load, kind, "leader") + " / " + load(timing, load, kind, "follower"));
          }
          cells.add(middle(timing, "load-1", kind, "question_ns", "%.0f ns"));
          return cells;
        });
  }

  private String load(Timing timing, String scenario, CandidateKind kind, String who) {
    String requests = middle(timing, scenario, kind, who + "_per_s", "%.2f");
    String ofCandidates = middle(timing, scenario, kind, who + "_of_candidates_per_s", " + %.2f");
    return kind.isOurs() && ofCandidates.startsWith(" ") ? requests + ofCandidates : requests;
  }

  private void crowd(Timing timing) {
    for (String crowd : scenarios("crowd-")) {
      table(
          "One election with " + crowd.substring(6) + " followers, equal settings",
          "requests of a follower a second, + as a candidate | row-lock waits a second"
              + " | row-lock waits of a take-over | without a leader after `kill -9`",
          (kind) -> List.of(
              load(timing, crowd, kind, "follower"),
              middle(timing, crowd, kind, "row_lock_waits_per_s", "%.1f"),
              middle(timing, crowd, kind, "row_lock_waits_of_take_over", "%.1f"),
              middle(timing, crowd, kind, "gap_ms", "%.0f ms")));
    }
  }

  private void about() {
    new TreeMap<>(this.results.about()).forEach((name, value) -> line("* " + name + ": " + value));
    this.results.rows().stream()
        .filter((row) -> row.measure().matches("(failed|unsucceeded)_count"))
        .forEach((row) -> line("* " + row.measure().replace("_count", "") + ": "
            + row.candidate() + ", " + row.settings() + ", " + row.scenario() + ", round "
            + row.round()));
  }

  private List<String> scenarios(String prefix) {
    return this.results.rows().stream()
        .map(Row::scenario)
        .filter((scenario) -> scenario.startsWith(prefix))
        .distinct()
        .toList();
  }

  private double[] values(Timing timing, Scenario scenario, CandidateKind kind, String measure) {
    return this.results.values(timing, scenario.id(), kind, measure);
  }

  private String middle(
      Timing timing, String scenario, CandidateKind kind, String measure, String format) {
    double[] values = this.results.values(timing, scenario, kind, measure);
    return values.length == 0 ? "–" : format(format, median(values));
  }

  private static String rounds(double... values) {
    return values.length == 0 ? "–" : positive(values).length + " of " + values.length;
  }

  private static double[] positive(double... values) {
    return Arrays.stream(values).filter((value) -> value > 0).toArray();
  }

  private static String overlaps(double... millis) {
    double[] with = positive(millis);
    return rounds(millis) + (with.length == 0 ? "" : ": " + seconds("%.3f", with));
  }

  private static String seconds(double... millis) {
    return millis.length == 0 ? "–" : seconds("%.2f", millis);
  }

  private static String seconds(String format, double... millis) {
    return format(
        String.join(" / ", format, format, format),
        StatUtils.min(millis) / 1000,
        median(millis) / 1000,
        StatUtils.max(millis) / 1000);
  }

  private static String format(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }

  private void table(String title, String columns, Function<CandidateKind, List<String>> cells) {
    table(title, columns, (kind) -> !kind.isConsumer(), cells);
  }

  private void table(
      String title,
      String columns,
      Predicate<CandidateKind> who,
      Function<CandidateKind, List<String>> cells) {
    List<CandidateKind> kinds = this.results.kinds().stream().filter(who).toList();
    if (kinds.isEmpty()) {
      return;
    }
    line("### " + title);
    line("| candidate | " + columns + " |");
    line("|" + " --- |".repeat(columns.split("\\|").length + 1));
    for (CandidateKind kind : kinds) {
      line("| " + kind.title + " | " + String.join(" | ", cells.apply(kind)) + " |");
    }
    line("");
  }

  private void line(String line) {
    this.text.append(line).append('\n');
  }
}
