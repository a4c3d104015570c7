package io.election.keyvalue;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.LeadershipAcquiredEvent.Reason;
import io.election.keyvalue.KeyValueSimulation.Mutant;
import io.election.lease.Fault;
import io.election.lease.Simulation;
import io.election.lease.Tally;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Runs random schedules over the store.
 *
 * <p>{@code -Dsimulation.schedules=100000} runs more of them, {@code -Dsimulation.seed=} runs a
 * single one and prints its trace.
 */
class KeyValueSimulationTest {

  private static final int SCHEDULES =
      Integer.getInteger("simulation.schedules", System.getProperty("thorough") != null ? 400 : 60);

  private static final Long SEED = Long.getLong("simulation.seed");

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void atNoInstantOfAnyScheduleTwoProcessesLeadAndAfterTheFaultsOneDoes(boolean reusesVersions) {
    long first = SEED != null ? SEED : 0;
    long end = SEED != null ? SEED + 1 : SCHEDULES;
    Tally tally = new Tally();
    long began = System.nanoTime();
    for (long seed = first; seed < end; seed++) {
      tally.add(run(seed, reusesVersions, Mutant.NONE, SEED != null));
    }
    System.out.printf(
        Locale.ROOT,
        "simulation of keys, versions %s: %s, %.1f s%n",
        reusesVersions ? "reused" : "unique",
        tally,
        (System.nanoTime() - began) / 1e9);
    if (tally.schedules >= 60) {
      assertThat(tally.leaderships)
          .containsKeys(Reason.RELEASED, Reason.EXPIRED, Reason.DESIGNATED);
      assertThat(tally.faults.keySet())
          .contains(Fault.FAILOVER, Fault.REPLACED, Fault.TABLES_EMPTIED, Fault.CRASH);
    }
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "NONE")
  void aRuleThatIsBrokenOnPurposeIsFoundOut(Mutant mutant) {
    String found = "nothing is broken";
    long seed = 0;
    for (; seed < 5_000 && !found.startsWith("Two leaders"); seed++) {
      try {
        new KeyValueSimulation(seed, false, mutant, false).run();
      } catch (AssertionError violation) {
        found = violation.getMessage();
      }
    }
    System.out.printf(Locale.ROOT, "%s: schedule %d: %s%n", mutant, seed - 1, found);
    assertThat(found).startsWith("Two leaders");
  }

  @Test
  void aScheduleIsTheSameEachTime() {
    assertThat(story(7)).isEqualTo(story(7)).contains("leads");
  }

  private static String story(long seed) {
    KeyValueSimulation simulation = new KeyValueSimulation(seed, true, Mutant.NONE, true);
    simulation.run();
    return simulation.story.toString();
  }

  private static Tally run(long seed, boolean reusesVersions, Mutant mutant, boolean tracing) {
    return Simulation.run(
        (traced) -> new KeyValueSimulation(seed, reusesVersions, mutant, traced),
        tracing,
        "schedule %d (versions %s)".formatted(seed, reusesVersions ? "reused" : "unique"),
        "-pl election-key-value -am test -Dtest=KeyValueSimulationTest -Dsimulation.seed=%d -Dsurefire.failIfNoSpecifiedTests=false"
            .formatted(seed));
  }
}
