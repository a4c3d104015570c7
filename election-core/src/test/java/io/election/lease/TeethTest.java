package io.election.lease;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.election.lease.ExhaustiveSearch.Bounds;
import io.election.lease.Simulation.Drive;
import io.election.lease.Simulation.Violation;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.slf4j.LoggerFactory;

/** Each rule is needed: without it the simulation or the search finds a broken promise. */
class TeethTest {

  /** The search for what takes few steps, but exact ones; with equal leases and without operators. */
  private static final Bounds PLAIN =
      new Bounds(List.of("a", "b"), List.of(2, 2), 2, 100_000, 0, 0, 0, 0, false, false);

  private static final int SCHEDULES = 4_000;

  /**
   * Rules whose removal breaks nothing that is judged here.
   *
   * <p>A renewal that does not name its term changes a row that somebody else under the same name
   * keeps warm, and is noticed there; but it would prolong a leadership whose term the history has
   * ended, so that the commit fence would refuse all its work. A row's lease that is shorter than
   * one's own is all its holder relies on: waiting for the longer of the two is courtesy.
   */
  private static final Set<Mutant> HARMLESS = EnumSet.of(
      Mutant.A_RENEWAL_DOES_NOT_NAME_ITS_TERM, Mutant.A_ROWS_SHORTER_LEASE_COUNTS_AS_IT_IS);

  private final Logger logger = (Logger) LoggerFactory.getLogger(Elector.class);

  @BeforeEach
  void beQuiet() {
    this.logger.setLevel(Level.OFF);
  }

  @AfterEach
  void speakAgain() {
    this.logger.setLevel(null);
  }

  @ParameterizedTest
  @EnumSource
  void aRuleThatIsBrokenOnPurposeIsFoundOut(Mutant mutant) {
    int schedules = HARMLESS.contains(mutant) ? SCHEDULES / 8 : SCHEDULES;
    String found = inSearch(mutant);
    if (found == null) {
      found = inSimulation(mutant, schedules);
    }
    System.out.printf(Locale.ROOT, "%s: %s%n", mutant, found == null ? "nothing is broken" : found);
    if (HARMLESS.contains(mutant)) {
      assertThat(found).isNull();
    } else {
      assertThat(found).isNotNull();
    }
  }

  private static String inSearch(Mutant mutant) {
    ExhaustiveSearch.Result result = new ExhaustiveSearch(PLAIN, mutant.rules, 8).run();
    return result.broken() == null
        ? null
        : "the search, state %d: %s"
            .formatted(
                result.states(),
                result.broken().lines().findFirst().orElseThrow().replace(":", ""));
  }

  private static String inSimulation(Mutant mutant, int schedules) {
    for (int seed = 0; seed < schedules; seed++) {
      try {
        new Simulation(seed, mutant.rules, SimulationTest.WITHOUT, Drive.CALL_BY_CALL, false).run();
      } catch (Violation violation) {
        return "the simulation, schedule %d: %s".formatted(seed, violation.getMessage());
      }
    }
    return null;
  }
}
