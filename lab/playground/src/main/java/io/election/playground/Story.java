package io.election.playground;

import io.election.support.process.Claim;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Tells what happened, in plain words, with figures that come from the claims. */
final class Story {

  private static final double SECOND = 1_000_000_000.0;

  private Story() {}

  /**
   * Something that happened to a node.
   *
   * @param node the node
   * @param what for example {@code was killed}
   * @param at when it began, by {@link System#nanoTime()}
   * @param deadline when the lease ends that the node had then; 0 if it did not lead
   */
  record Incident(String node, String what, long at, long deadline) {}

  /** Tells that an incident has happened, and what follows from it. */
  static String happened(Incident incident) {
    String text = "%s %s".formatted(incident.node(), incident.what());
    if (incident.deadline() == 0) {
      return text + ". It did not lead, so nothing else changes";
    }
    return "%s. Its lease ends in %s; no other node leads before that, unless it hands the lease back"
        .formatted(text, seconds(incident.deadline() - incident.at()));
  }

  /**
   * Tells that a node began to lead.
   *
   * @param claim its claim
   * @param before the claim before it; {@code null} if it is the first one that was seen
   * @param incident what happened last to the node that led before; {@code null} if nothing did
   */
  static String began(Claim claim, @Nullable Claim before, @Nullable Incident incident) {
    if (before == null) {
      return "%s leads in term %s. It is the first leader that the playground sees"
          .formatted(claim.node(), claim.term());
    }
    String overlap =
        "overlap %s ms".formatted(Math.round(before.overlap(claim, before.from()) / 1e6));
    if (incident == null) {
      return "%s leads in term %s, %s after the last claim of %s; %s"
          .formatted(
              claim.node(),
              claim.term(),
              seconds(claim.from() - before.to()),
              before.node(),
              overlap);
    }
    String lease = "";
    long origin = incident.at();
    String after = "after that";
    if (incident.deadline() != 0 && incident.deadline() - claim.from() <= 0) {
      lease = " its lease ended after %s;".formatted(seconds(incident.deadline() - incident.at()));
      origin = incident.deadline();
      after = "later";
    }
    return "%s %s;%s %s led %s %s in term %s; no node had led for %s; %s"
        .formatted(
            incident.node(),
            incident.what(),
            lease,
            claim.node(),
            seconds(claim.from() - origin),
            after,
            claim.term(),
            seconds(claim.from() - before.to()),
            overlap);
  }

  /**
   * Tells how a paused node woke up.
   *
   * @param incident its pause
   * @param resumedAt when it was resumed
   * @param leads whether it led at its first sample
   */
  static String woke(Incident incident, long resumedAt, boolean leads) {
    String text = "%s was paused for %s; when it woke it said %s at its first question"
        .formatted(incident.node(), seconds(resumedAt - incident.at()), leads ? "yes" : "no");
    if (incident.deadline() == 0) {
      return text + ". It did not lead before either";
    }
    long late = resumedAt - incident.deadline();
    return late > 0
        ? text + ": its lease had ended %s before".formatted(seconds(late))
        : text + ": its lease had %s left".formatted(seconds(-late));
  }

  static String seconds(long nanos) {
    double seconds = Math.max(0, nanos) / SECOND;
    return String.format(Locale.ROOT, seconds < 0.095 ? "%.3f s" : "%.1f s", seconds);
  }
}
