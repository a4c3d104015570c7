package io.election.playground;

import io.election.support.process.Claim;
import io.election.support.process.SafetyJudge;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The last ten minutes: claims, marks and log lines. All numbers are milliseconds of
 * {@link Moments}. Thread-safe.
 */
final class Timeline {

  private static final double KEPT = 600_000;

  private static final int LINES = 500;

  private final Moments moments;
  private final Broadcaster broadcaster;
  private final Map<String, Span> spans = new LinkedHashMap<>();
  private final Map<Integer, Mark> marks = new LinkedHashMap<>();
  private final List<Line> lines = new ArrayList<>();
  private final Map<String, Long> overlaps = new HashMap<>();
  private final Map<String, Long> wrongOverlaps = new HashMap<>();
  private int ids;

  Timeline(Moments moments, Broadcaster broadcaster) {
    this.moments = moments;
    this.broadcaster = broadcaster;
  }

  /** A claim; without {@code to} while it continues. */
  record Span(
      int id, String node, long term, double from, @Nullable Double to) {}

  /** An event of a node or the database; without {@code to} while it continues. */
  record Mark(
      int id,
      String node,
      String kind,
      double from,
      @Nullable Double to,
      String text) {}

  record Line(int id, double at, String text, @Nullable String link, String level) {}

  /** Records the present state of a claim. */
  synchronized void claim(String node, Claim claim, boolean open) {
    String key = node + "@" + claim.from();
    Span known = spans.get(key);
    Double to = open ? null : Double.valueOf(moments.at(claim.to()));
    Span span = new Span(
        known != null ? known.id() : ++ids, node, claim.term(), moments.at(claim.from()), to);
    if (!span.equals(known)) {
      spans.put(key, span);
      broadcaster.send(new Broadcaster.Event("claims", List.of(span)));
    }
  }

  /** Adds a mark; returns its id. */
  synchronized int mark(String node, String kind, long from, @Nullable Long to, String text) {
    Mark mark = new Mark(
        ++ids,
        node,
        kind,
        moments.at(from),
        to != null ? Double.valueOf(moments.at(to)) : null,
        text);
    put(mark);
    return mark.id();
  }

  /** Ends the marks of some kind that continue. */
  synchronized void endMarks(String node, String kind, long to) {
    for (Mark mark : List.copyOf(marks.values())) {
      if (mark.node().equals(node) && mark.kind().startsWith(kind) && mark.to() == null) {
        put(new Mark(mark.id(), node, mark.kind(), mark.from(), moments.at(to), mark.text()));
      }
    }
  }

  private void put(Mark mark) {
    marks.put(mark.id(), mark);
    broadcaster.send(new Broadcaster.Event("marks", List.of(mark)));
  }

  /**
   * Adds a line to the log.
   *
   * @param level {@code info}, {@code change} or {@code warn}
   * @param page the page of the documentation that explains it
   */
  synchronized void tell(String level, String text, String page) {
    Line line = new Line(++ids, moments.now(), text, "docs/" + page, level);
    lines.add(line);
    if (lines.size() > LINES) {
      lines.remove(0);
    }
    broadcaster.send(new Broadcaster.Event("log", List.of(line)));
  }

  /** Forgets what is older than ten minutes. */
  synchronized void forget() {
    double oldest = moments.now() - KEPT;
    spans.values().removeIf((span) -> span.to() != null && span.to() < oldest);
    marks.values().removeIf((mark) -> mark.to() != null && mark.to() < oldest);
  }

  synchronized List<Broadcaster.Event> all() {
    return List.of(
        new Broadcaster.Event("claims", List.copyOf(spans.values())),
        new Broadcaster.Event("marks", List.copyOf(marks.values())),
        new Broadcaster.Event("log", List.copyOf(lines)));
  }

  /** Judges claims with the checker of the fault tests; reports and remembers the results. */
  synchronized void judge(List<Claim> claims, boolean wrong) {
    SafetyJudge judge = new SafetyJudge(claims);
    Map<String, Long> found = wrong ? wrongOverlaps : overlaps;
    for (SafetyJudge.Overlap overlap : judge.overlaps()) {
      String key = overlap.first().node() + overlap.first().from() + " "
          + overlap.second().node() + overlap.second().from();
      if (found.put(key, overlap.nanos()) == null) {
        tell(
            "warn",
            "%s: %s and %s led at the same time"
                .formatted(
                    wrong ? "The hand-written SQL" : "The promise is broken",
                    overlap.first().node(),
                    overlap.second().node()),
            "guarantees.md#the-promise");
      }
    }
  }

  synchronized int overlaps(boolean wrong) {
    return (wrong ? wrongOverlaps : overlaps).size();
  }

  synchronized double overlapMs(boolean wrong) {
    return (wrong ? wrongOverlaps : overlaps)
            .values().stream().mapToLong(Long::longValue).sum()
        / 1e6;
  }
}
