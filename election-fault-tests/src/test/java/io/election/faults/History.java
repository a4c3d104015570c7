package io.election.faults;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Decides from what the processes claimed whether the promise was kept. */
final class History {

  private final List<Claim> claims;

  History(List<Claim> claims) {
    this.claims = claims.stream().sorted(Comparator.comparingLong(Claim::from)).toList();
  }

  List<Claim> claims() {
    return this.claims;
  }

  /**
   * What was broken: two processes that claimed to lead at one instant, or a term that did not grow.
   *
   * @return a sentence for each violation; empty if the promise was kept
   */
  List<String> violations() {
    List<String> violations = new ArrayList<>();
    for (int i = 0; i < this.claims.size(); i++) {
      Claim claim = this.claims.get(i);
      for (Claim later : this.claims.subList(i + 1, this.claims.size())) {
        if (claim.overlaps(later)) {
          violations.add(claim + " and " + later + " overlap");
        }
        if (later.term() < claim.term()
            || (later.term() == claim.term() && !later.node().equals(claim.node()))) {
          violations.add(later + " has no higher term than " + claim);
        }
      }
    }
    return violations;
  }
}
