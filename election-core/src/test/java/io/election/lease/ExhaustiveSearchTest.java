package io.election.lease;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.election.lease.ExhaustiveSearch.Bounds;
import io.election.lease.ExhaustiveSearch.Result;
import io.election.store.JointMutant;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Checks every state that the production decisions can reach within bounds.
 *
 * <p>{@code -Dthorough} adds the bounds with more than a million states, and searches the others
 * four times as deep.
 * {@code -Dsearch.states=20000000} searches deeper where the normal build stops early; a state
 * takes some 300 bytes of heap.
 */
class ExhaustiveSearchTest {

  private static final boolean THOROUGH = System.getProperty("thorough") != null;

  private static final int DEEPER = Integer.getInteger("search.states", 0);

  /** The states of a search that ends before it has reached all. */
  private static final int SOME = THOROUGH ? 400_000 : 100_000;

  private static final List<String> TWO = List.of("a", "b");

  private static final List<String> TWINS = List.of("a", "a");

  private static final List<Integer> EQUAL = List.of(2, 2);

  private static final List<Integer> UNEQUAL = List.of(2, 3);

  private static Stream<Arguments> twoNeverLead() {
    return Stream.concat(bounds(), THOROUGH ? thoroughBounds() : Stream.empty());
  }

  private static Stream<Arguments> bounds() {
    return Stream.of(
        arguments(
            "pauses, precedence",
            true,
            500_000,
            new Bounds(TWO, EQUAL, 3, 0, 0, 0, 0, false, false, true)),
        arguments(
            "crashes",
            THOROUGH,
            THOROUGH ? 500_000 : SOME,
            new Bounds(TWO, EQUAL, 2, 0, 2, 0, 0, false, false)),
        arguments("all", false, SOME, new Bounds(TWO, UNEQUAL, 3, 1, 1, 1, 1, true, false)),
        arguments(
            "three nodes",
            false,
            SOME,
            new Bounds(List.of("a", "b", "c"), List.of(2, 2, 2), 2, 0, 0, 0, 0, false, false)),
        arguments("emptied", false, SOME, new Bounds(TWO, EQUAL, 3, 0, 0, 0, 2, false, true)),
        arguments(
            "emptied, twins", false, SOME, new Bounds(TWINS, EQUAL, 3, 0, 0, 0, 1, false, true)));
  }

  private static Stream<Arguments> thoroughBounds() {
    return Stream.of(
        arguments("commands", true, 4_000_000, new Bounds(TWO, EQUAL, 2, 0, 0, 1, 0, false, false)),
        arguments("edits", true, 3_000_000, new Bounds(TWO, EQUAL, 2, 0, 0, 0, 1, true, false)),
        arguments(
            "edits, leases differ",
            true,
            4_000_000,
            new Bounds(TWO, UNEQUAL, 2, 0, 0, 0, 1, true, false)),
        arguments("late", true, 4_000_000, new Bounds(TWO, EQUAL, 2, 1, 0, 0, 0, false, false)),
        arguments("twins", true, 4_000_000, new Bounds(TWINS, EQUAL, 2, 0, 1, 0, 1, true, false)));
  }

  /** In all searches, requests and answers are lost, and nodes are paused. */
  @ParameterizedTest(name = "{0}")
  @MethodSource
  void twoNeverLead(String what, boolean complete, int maxStates, Bounds bounds) {
    search(what, complete, maxStates, bounds, new ExhaustiveSearch(bounds, Rules.PRODUCTION, 8));
  }

  private static Stream<Arguments> twoOnListsNeverLead() {
    return Stream.concat(
        Stream.of(
            arguments(
                List.of("ab", "ba"), THOROUGH, new Bounds(TWO, EQUAL, 2, 0, 0, 0, 0, false, false)),
            arguments(
                List.of("ab", "b"), THOROUGH, new Bounds(TWO, EQUAL, 2, 0, 0, 0, 0, false, false))),
        Stream.of(
                arguments(
                    List.of("ab", "ba"),
                    false,
                    new Bounds(TWO, UNEQUAL, 2, 1, 0, 0, 0, false, false)),
                arguments(
                    List.of("ab", "b"),
                    false,
                    new Bounds(TWO, UNEQUAL, 3, 1, 1, 1, 0, false, false)),
                arguments(
                    List.of("ab", "b"), false, new Bounds(TWO, EQUAL, 2, 0, 0, 0, 1, true, false)))
            .filter((deep) -> THOROUGH));
  }

  /** The same for each call to a part of a list. */
  @ParameterizedTest(name = "{0} {2}")
  @MethodSource
  void twoOnListsNeverLead(List<String> lists, boolean complete, Bounds bounds) {
    search(
        "the lists %s".formatted(lists),
        complete,
        complete ? 1_000_000 : THOROUGH ? SOME : 10_000,
        bounds,
        new ExhaustiveSearch(bounds, 32, lists, JointMutant.NONE));
  }

  private static void search(
      String what, boolean complete, int maxStates, Bounds bounds, ExhaustiveSearch search) {
    long began = System.nanoTime();
    Result result = search.run(DEEPER > 0 ? DEEPER : maxStates);
    System.out.printf(
        Locale.ROOT,
        "search, %s, %s: %d states, %s, with a leader in %d, %.1f s%n",
        what,
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

  private static Stream<Arguments> aMistakeInListsIsFound() {
    Bounds plain = new Bounds(TWO, EQUAL, 2, 0, 0, 0, 0, false, false);
    return Stream.of(
        arguments(JointMutant.THE_FIRST_PART_IS_LED_ALONE, List.of("ab", "b"), plain),
        arguments(JointMutant.ONE_PART_THAT_IS_RENEWED_IS_ENOUGH, List.of("ab", "b"), plain),
        arguments(JointMutant.WHAT_IS_FOUND_IS_ACQUIRED, List.of("ab", "ba"), plain),
        arguments(
            JointMutant.THE_LEASE_OF_THE_FIRST_PART_COUNTS,
            List.of("ab", "b"),
            new Bounds(TWO, UNEQUAL, 3, 0, 0, 0, 0, false, false)));
  }

  @ParameterizedTest
  @MethodSource
  void aMistakeInListsIsFound(JointMutant mutant, List<String> lists, Bounds bounds) {
    Result result = new ExhaustiveSearch(bounds, 32, lists, mutant).run(100_000);

    System.out.printf(Locale.ROOT, "%s: the search, state %d%n", mutant, result.states());
    assertThat(result.broken()).startsWith("Two leaders");
  }
}
