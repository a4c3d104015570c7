package io.election.support.process;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Decides whether the promise was kept, from all claims, the oldest first, and from the events of
 * each process in their order. {@code ended} had time to publish all of theirs.
 */
public record SafetyJudge(List<Claim> claims, List<Announcement> announcements, Set<String> ended) {

  public SafetyJudge {
    claims = claims.stream().sorted(Comparator.comparingLong(Claim::from)).toList();
  }

  /** Creates a judge of claims only. */
  public SafetyJudge(List<Claim> claims) {
    this(claims, List.of(), Set.of());
  }

  /** Describes processes that led at once, terms that did not grow, and events out of order. */
  public List<String> violations() {
    List<String> violations = new ArrayList<>();
    overlaps()
        .forEach((pair) -> violations.add(pair.first() + " and " + pair.second() + " overlap"));
    for (int i = 0; i < this.claims.size(); i++) {
      Claim claim = this.claims.get(i);
      for (Claim later : this.claims.subList(i + 1, this.claims.size())) {
        boolean grows = later.term() > claim.term()
            || (later.term() == claim.term() && later.node().equals(claim.node()));
        if (claim.hasTerm() && later.hasTerm() && !grows) {
          violations.add(later + " has no higher term than " + claim);
        }
      }
    }
    addViolationsOfEvents(violations);
    return violations;
  }

  /** The pairs of claims that share an instant, which are violations. */
  public List<Overlap> overlaps() {
    List<Overlap> overlaps = new ArrayList<>();
    for (int i = 0; i < this.claims.size(); i++) {
      Claim claim = this.claims.get(i);
      for (Claim later : this.claims.subList(i + 1, this.claims.size())) {
        if (claim.overlaps(later)) {
          overlaps.add(new Overlap(claim, later));
        }
      }
    }
    return overlaps;
  }

  /** Two claims that share an instant; the first one began first. */
  public record Overlap(Claim first, Claim second) {

    /** The nanoseconds that they share. */
    public long nanos() {
      return this.first.overlap(this.second, this.first.from());
    }
  }

  private void addViolationsOfEvents(List<String> violations) {
    Map<String, Announcement> last = new HashMap<>();
    for (Announcement next : this.announcements) {
      Announcement before = last.put(next.node(), next);
      if (next.acquired()) {
        if (before != null && before.acquired()) {
          violations.add(next + " follows " + before + " without a loss");
        } else if (before != null && before.term() >= next.term()) {
          violations.add(next + " has no higher term than " + before);
        }
      } else if (before == null || !before.acquired()) {
        violations.add(next + " was never acquired");
      } else if (before.term() != next.term()) {
        violations.add(next + " is not the loss of " + before);
      }
    }
    last.forEach((node, announcement) -> {
      if (announcement.acquired() && this.ended.contains(node)) {
        violations.add("the loss of " + announcement + " was never announced");
      }
    });
  }
}
