package io.election.lease;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.lease.ExhaustiveSearch.Bounds;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Shows that each rule is needed: without it the simulation or the search finds a broken promise.
 *
 * <p>{@code -Dthorough} adds the mutants that take a hundred schedules or more to find.
 */
class MutationTest {

  /** Bounds for mutants that take few but exact steps to find. */
  private static final Bounds PLAIN =
      new Bounds(List.of("a", "b"), List.of(2, 2), 2, 0, 0, 0, 0, false, false);

  private static final int SCHEDULES = 15_000;

  /** Those that take a hundred schedules or more to find, or seconds. */
  private static final Set<Mutant> RARE = EnumSet.of(
      Mutant.THE_ADVANCES_OF_THE_CLOCKS_ARE_NOT_COMPARED,
      Mutant.WHO_CREATES_THE_FIRST_TERM_LEADS_AT_ONCE,
      Mutant.ONES_OWN_LEASE_COUNTS_WHILE_KEEPING_WARM,
      Mutant.AN_UNKNOWN_LEASE_COUNTS_AS_ONES_OWN,
      Mutant.A_TAKE_THAT_WAS_UNDER_WAY_ENDS_A_PAUSE,
      Mutant.A_ROW_IS_NOT_READ_AGAIN_AFTER_A_FAILURE,
      Mutant.A_ROWS_SHORTER_LEASE_COUNTS_AS_IT_IS,
      Mutant.THE_DEADLINE_HAS_NO_MARGIN,
      Mutant.WHAT_WAS_SEEN_TO_BE_OVER_IS_FORGOTTEN,
      Mutant.THE_PROMISE_THAT_WAS_SEEN_IS_FORGOTTEN,
      Mutant.WHO_IS_RESTORED_FROM_ONE_CHECKPOINT_HAS_ONE_TOKEN,
      Mutant.A_SEAL_OUTLASTS_WHAT_OTHERS_WRITE,
      Mutant.THE_HISTORYS_LEASE_IS_IGNORED,
      Mutant.THE_SERVER_IS_NOT_COMPARED,
      Mutant.THE_HISTORY_OF_A_ROW_BY_HAND_IS_NOT_COMPARED,
      Mutant.A_RELEASE_DOES_NOT_NAME_ITS_TERM,
      Mutant.A_RELEASE_IS_NOT_OF_WHO_LED_LAST,
      Mutant.A_RELEASE_IS_NOT_OF_THE_NEWEST_TERM);

  private static final int BLOCK = 50;

  /** Patterns of the violations where it is not that two processes lead. */
  private static final Map<Mutant, String> OTHERWISE = Map.of(
      Mutant.A_RENEWAL_DOES_NOT_NAME_ITS_TERM, "which the history has ended|after a clean stop",
      Mutant.A_LATE_ANSWER_REVIVES_A_LEADERSHIP, "was told",
      Mutant.THE_HISTORYS_TERM_IS_IGNORED, "was granted",
      Mutant.A_CREATED_TERM_IS_LED_WITHOUT_COMPARING, "A term was granted",
      Mutant.THE_ROW_IS_KEPT_WARM_AGAINST_A_TWIN, "No leader",
      Mutant.A_ROW_IS_NOT_READ_AGAIN_AFTER_A_FAILURE, "No leader",
      Mutant.A_TAKE_THAT_WAS_UNDER_WAY_ENDS_A_PAUSE, "leads although it was paused",
      Mutant.A_RELEASE_DELETES_THE_ROW, "Nobody leads",
      Mutant.WHO_KEEPS_THE_ROW_WARM_SEALS_IT, "Two leaders|No leader",
      Mutant.WHAT_WAS_SEEN_TO_BE_OVER_IS_FORGOTTEN, "after it was seen to be over");

  private static Stream<Mutant> aRuleThatIsBrokenOnPurposeIsFoundOut() {
    boolean thorough = System.getProperty("thorough") != null;
    return Stream.of(Mutant.values()).filter((mutant) -> thorough || !RARE.contains(mutant));
  }

  @ParameterizedTest
  @MethodSource
  void aRuleThatIsBrokenOnPurposeIsFoundOut(Mutant mutant) {
    String expected = OTHERWISE.getOrDefault(mutant, "Two leaders");
    // Most mutants are found at once. The search takes a second.
    String found = Stream.<Supplier<Optional<String>>>of(
            () -> inSimulation(mutant, OlderTool.NONE, 0, BLOCK, expected),
            () -> inSimulation(mutant, OlderTool.OLDER_TOOL, 0, 3 * BLOCK, expected),
            () -> inSearch(mutant),
            () -> inSimulation(mutant, OlderTool.NONE, BLOCK, SCHEDULES, expected),
            () -> inSimulation(mutant, OlderTool.OLDER_TOOL, 3 * BLOCK, SCHEDULES / 4, expected))
        .flatMap((attempt) -> attempt.get().stream())
        .findFirst()
        .orElse("nothing is broken");
    System.out.printf(Locale.ROOT, "%s: %s%n", mutant, found);
    assertThat(found).containsPattern(expected);
  }

  /** The settings rule of a rolling upgrade. */
  @Test
  void aLeaseLongerThanTheIntervalOfAnOlderToolIsFoundOut() {
    assertThat(inSimulation(
            Rules.PRODUCTION, Set.of(), OlderTool.HASTY_OLDER_TOOL, 0, SCHEDULES, "Two leaders"))
        .hasValueSatisfying((found) -> assertThat(found).contains("of an older tool"));
  }

  private static Optional<String> inSearch(Mutant mutant) {
    ExhaustiveSearch.Result result = new ExhaustiveSearch(PLAIN, mutant.rules, 8).run(100_000);
    return Optional.ofNullable(result.broken())
        .map((broken) -> "the search, state %d: %s"
            .formatted(result.states(), broken.lines().findFirst().orElseThrow().replace(":", "")));
  }

  private static Optional<String> inSimulation(
      Mutant mutant, OlderTool company, int from, int to, String expected) {
    return inSimulation(mutant.rules, without(mutant), company, from, to, expected);
  }

  /** The violation in the first schedule that finds one, of those from a number up to another. */
  private static Optional<String> inSimulation(
      Rules rules, Set<Fault> without, OlderTool company, int from, int to, String expected) {
    Pattern pattern = Pattern.compile(expected);
    // Runs the schedules in blocks: all at once, half of them would run in vain.
    return IntStream.iterate(from, (first) -> first < to, (first) -> first + BLOCK)
        .mapToObj((first) -> IntStream.range(first, first + BLOCK)
            .parallel()
            .mapToObj((seed) -> inSchedule(seed, rules, without, company, pattern))
            .flatMap(Optional::stream)
            .findFirst())
        .flatMap(Optional::stream)
        .findFirst();
  }

  /** A rule may also prevent other violations: finding one of those proves nothing here. */
  private static Optional<String> inSchedule(
      int seed, Rules rules, Set<Fault> without, OlderTool company, Pattern expected) {
    try {
      new Simulation(seed, rules, without, Drive.CALL_BY_CALL, company, false).run();
      return Optional.empty();
    } catch (AssertionError violation) {
      return Optional.ofNullable(violation.getMessage())
          .filter(expected.asPredicate())
          .map((message) -> "the simulation%s, schedule %d: %s"
              .formatted(company == OlderTool.NONE ? "" : " beside an older tool", seed, message));
    }
  }

  private static Set<Fault> without(Mutant mutant) {
    return switch (mutant) {
      // Summer time alone must be enough.
      case NOW_TELLS_WHEN_A_LEASE_IS_OVER -> Set.of(Fault.DATABASE_CLOCK_STEPS);
      // Rare among all faults, less rare among only the faults that it needs.
      case A_RELEASE_IS_NOT_OF_WHO_LED_LAST ->
        only(
            Fault.PAUSE,
            Fault.DESIGNATED_BY_SQL,
            Fault.DESIGNATED_AND_BACK,
            Fault.TERM_LOWERED,
            Fault.RESIGN,
            Fault.HAND_OVER,
            Fault.STOP);
      case WHO_IS_RESTORED_FROM_ONE_CHECKPOINT_HAS_ONE_TOKEN ->
        only(
            Fault.RESTORED_AGAIN,
            Fault.PAUSE,
            Fault.CUT_OFF,
            Fault.TABLES_EMPTIED,
            Fault.TERM_LOWERED,
            Fault.DESIGNATED_BY_SQL);
      case A_SEAL_COUNTS_FOR_WHO_WAS_NOT_ANSWERED_TO_LEAD ->
        only(Fault.COPIED, Fault.PAUSE, Fault.CUT_OFF);
      case THE_SERVER_IS_NOT_COMPARED ->
        only(Fault.FAILOVER, Fault.PAUSE, Fault.CUT_OFF, Fault.CRASH, Fault.DATABASE_STALLS);
      case THE_HISTORY_OF_A_ROW_BY_HAND_IS_NOT_COMPARED ->
        only(Fault.PAUSE, Fault.CUT_OFF, Fault.REPLACED, Fault.DATABASE_STALLS);
      default -> Set.of();
    };
  }

  /** Leaves out all faults but these. */
  private static Set<Fault> only(Fault first, Fault... others) {
    return EnumSet.complementOf(EnumSet.of(first, others));
  }
}
