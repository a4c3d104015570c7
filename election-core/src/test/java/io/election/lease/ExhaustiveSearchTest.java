package io.election.lease;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.lease.ExhaustiveSearch.Bounds;
import io.election.lease.ExhaustiveSearch.Result;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * Checks every state that the production decisions can reach within bounds.
 *
 * <p>{@code -Dthorough} adds the bounds with more than a million states.
 * {@code -Dsearch.states=20000000} searches deeper where the normal build stops early; a state
 * takes some 300 bytes of heap.
 */
class ExhaustiveSearchTest {

  private static final int DEEPER = Integer.getInteger("search.states", 0);

  private static final List<String> TWO = List.of("a", "b");

  private static final List<String> THREE = List.of("a", "b", "c");

  private static final List<String> TWINS = List.of("a", "a");

  @Test
  void twoNodesThatLoseRequestsAndAnswersAndArePausedNeverBothLead() {
    search(true, new Bounds(TWO, List.of(2, 2), 3, 500_000, 0, 0, 0, 0, false, false));
  }

  @Test
  void twoNodesThatCrashNeverBothLead() {
    search(true, new Bounds(TWO, List.of(2, 2), 2, 500_000, 0, 2, 0, 0, false, false));
  }

  @Test
  @Thorough
  void twoNodesThatStepDownAndHandOverNeverBothLead() {
    search(true, new Bounds(TWO, List.of(2, 2), 2, 4_000_000, 0, 0, 1, 0, false, false));
  }

  @Test
  @Thorough
  void twoNodesWhoseRowIsEditedReplacedOrDeletedNeverBothLead() {
    search(true, new Bounds(TWO, List.of(2, 2), 2, 3_000_000, 0, 0, 0, 1, true, false));
  }

  @Test
  @Thorough
  void twoNodesOfDifferentLeasesNeverBothLead() {
    search(true, new Bounds(TWO, List.of(2, 3), 2, 4_000_000, 0, 0, 0, 1, true, false));
  }

  @Test
  @Thorough
  void twoNodesWithALateRequestEachNeverBothLead() {
    search(true, new Bounds(TWO, List.of(2, 2), 2, 4_000_000, 1, 0, 0, 0, false, false));
  }

  @Test
  void twoNodesWithAllOfItNeverBothLead() {
    search(false, new Bounds(TWO, List.of(2, 3), 3, 400_000, 1, 1, 1, 1, true, false));
  }

  @Test
  @Thorough
  void twinsNeverBothLeadNorBlockEachOther() {
    search(true, new Bounds(TWINS, List.of(2, 2), 2, 4_000_000, 0, 1, 0, 1, true, false));
  }

  @Test
  void threeNodesNeverLeadTogether() {
    search(false, new Bounds(THREE, List.of(2, 2, 2), 2, 300_000, 0, 0, 0, 0, false, false));
  }

  @Test
  void twoNodesWhoseTablesAreEmptiedNeverBothLead() {
    search(false, new Bounds(TWO, List.of(2, 2), 3, 400_000, 0, 0, 0, 2, false, true));
  }

  @Test
  void twinsWhoseTablesAreEmptiedNeverBothLead() {
    search(false, new Bounds(TWINS, List.of(2, 2), 3, 300_000, 0, 0, 0, 1, false, true));
  }

  @Retention(RetentionPolicy.RUNTIME)
  @EnabledIfSystemProperty(
      named = "thorough",
      matches = ".*",
      disabledReason = "-Dthorough runs it: it has millions of states")
  @interface Thorough {}

  private static void search(boolean complete, Bounds normal) {
    Bounds bounds = DEEPER > 0 ? normal.upTo(DEEPER) : normal;
    long began = System.nanoTime();
    Result result = new ExhaustiveSearch(bounds, Rules.PRODUCTION, 8).run();
    System.out.printf(
        Locale.ROOT,
        "search of %s: %d states, %s, with a leader in %d, %.1f s%n",
        bounds,
        result.states(),
        result.complete()
            ? "all there are"
            : "all that %d moves lead to and some beyond".formatted(result.moves()),
        result.led(),
        (System.nanoTime() - began) / 1e9);
    assertThat(result.broken()).isNull();
    assertThat(result.led()).as("states in which somebody leads").isPositive();
    if (complete) {
      assertThat(result.complete())
          .as("no state within the bounds was left out")
          .isTrue();
    }
  }
}
