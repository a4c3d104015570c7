package io.election.lease;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.LeadershipAcquiredEvent.Reason;
import java.util.Locale;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Runs random schedules over the production code.
 *
 * <p>{@code -Dsimulation.schedules=100000} runs more of them, {@code -Dsimulation.seed=} runs a
 * single one and prints its trace.
 */
class SimulationTest {

  private static final int SCHEDULES = Integer.getInteger("simulation.schedules", 400);

  private static final Long SEED = Long.getLong("simulation.seed");

  @ParameterizedTest
  @EnumSource
  void atNoInstantOfAnyScheduleTwoProcessesLeadAndAfterTheFaultsOneDoes(Drive drive) {
    Tally tally = run(SCHEDULES, drive, OlderTool.NONE);
    if (tally.schedules >= 400) {
      assertThat(tally.leaderships)
          .as("each way to lead was gone")
          .containsKeys(Reason.CREATED, Reason.RELEASED, Reason.EXPIRED, Reason.DESIGNATED);
      assertThat(tally.faults).as("each fault happened").containsOnlyKeys(drive.faults());
    }
  }

  @ParameterizedTest
  @EnumSource
  void besideNodesOfAnOlderToolStillOnlyOneLeads(Drive drive) {
    Tally tally = run(SCHEDULES / 2, drive, OlderTool.OLDER_TOOL);
    if (SEED == null) {
      assertThat(tally.olderLeaderships).isGreaterThan(tally.schedules);
      assertThat(tally.leaderships).containsKey(Reason.EXPIRED);
    }
  }

  @Test
  void wrongAnswersAboutWhoGoesFirstOnlyLengthenWaits() {
    for (long seed = 0; seed < SCHEDULES / 3; seed++) {
      long drawn = seed;
      Simulation simulation = new Simulation(
              seed, Rules.PRODUCTION, Set.of(), Drive.ELECTOR, OlderTool.NONE, true)
          .withWrongAnswers(seed);
      assertThatCode(simulation::run)
          .as(() -> "schedule " + drawn + "\n" + simulation.story)
          .doesNotThrowAnyException();
    }
  }

  @Test
  void aFailureTellsItsStoryAndHowToReplayIt() {
    Rules broken = Mutant.WHO_IS_NAMED_BY_HAND_LEADS_AT_ONCE.rules;
    assertThatThrownBy(() -> {
          for (long seed = 0; seed < 1_000; seed++) {
            run(seed, broken, Drive.CALL_BY_CALL, OlderTool.NONE, false);
          }
        })
        .hasMessageStartingWith("Two leaders: ")
        .hasMessageContaining("mvn -pl election-core test -Dtest=SimulationTest -Dsimulation.seed=")
        .hasMessageContaining(" starts; lease ")
        .hasMessageContaining(" is told: LeadershipAcquiredEvent[");
  }

  @Test
  void aScheduleIsTheSameEachTime() {
    for (Drive drive : Drive.values()) {
      assertThat(story(7, drive)).isEqualTo(story(7, drive)).contains("leads");
    }
  }

  private static String story(long seed, Drive drive) {
    Simulation simulation =
        new Simulation(seed, Rules.PRODUCTION, Set.of(), drive, OlderTool.NONE, true);
    simulation.run();
    return simulation.story.toString();
  }

  private static Tally run(int schedules, Drive drive, OlderTool company) {
    long first = SEED != null ? SEED : 0;
    long end = SEED != null ? SEED + 1 : schedules;
    Tally tally = new Tally();
    long began = System.nanoTime();
    for (long seed = first; seed < end; seed++) {
      tally.add(run(seed, Rules.PRODUCTION, drive, company, SEED != null));
    }
    System.out.printf(
        Locale.ROOT,
        "simulation, %s, company: %s: %s, %.1f s%n",
        drive,
        company,
        tally,
        (System.nanoTime() - began) / 1e9);
    return tally;
  }

  private static Tally run(
      long seed, Rules rules, Drive drive, OlderTool company, boolean tracing) {
    return Simulation.run(
        (traced) -> new Simulation(seed, rules, Set.of(), drive, company, traced),
        tracing,
        "schedule %d (%s, company: %s)".formatted(seed, drive, company),
        "-pl election-core test -Dtest=SimulationTest -Dsimulation.seed=" + seed);
  }
}
