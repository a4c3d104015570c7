package io.election.lease;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.election.LeadershipAcquiredEvent;
import java.util.Locale;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.slf4j.LoggerFactory;

/**
 * Runs random schedules over the production code.
 *
 * <p>{@code -Dsimulation.schedules=100000} runs more of them, {@code -Dsimulation.seed=} runs a
 * single one and prints its trace.
 */
class SimulationTest {

  private static final int SCHEDULES = Integer.getInteger("simulation.schedules", 1_500);

  private static final Long SEED = Long.getLong("simulation.seed");

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
  void atNoInstantOfAnyScheduleTwoProcessesLeadAndAfterTheFaultsOneDoes(Drive drive) {
    long first = SEED != null ? SEED : 0;
    long end = SEED != null ? SEED + 1 : SCHEDULES;
    Tally tally = new Tally();
    long began = System.nanoTime();
    for (long seed = first; seed < end; seed++) {
      tally.add(run(seed, Rules.PRODUCTION, drive, Company.NONE, SEED != null));
    }
    System.out.printf(
        Locale.ROOT,
        "simulation, %s: %d schedules, %d calls (%d of them late), %d instants judged, leaderships %s, faults %s, longest gap %.2f leases, longest succession %.2f renew intervals, %.1f s%n",
        drive,
        tally.schedules,
        tally.calls,
        tally.late,
        tally.instants,
        tally.leaderships,
        tally.faults,
        tally.longestGap,
        tally.longestSuccession,
        (System.nanoTime() - began) / 1e9);
    if (tally.schedules >= 1_000) {
      assertThat(tally.leaderships)
          .as("each way to lead was gone")
          .containsKeys(
              LeadershipAcquiredEvent.Reason.CREATED,
              LeadershipAcquiredEvent.Reason.RELEASED,
              LeadershipAcquiredEvent.Reason.EXPIRED,
              LeadershipAcquiredEvent.Reason.DESIGNATED);
      assertThat(tally.faults).as("each fault happened").containsOnlyKeys(drive.faults());
    }
  }

  @ParameterizedTest
  @EnumSource
  void besideNodesOfAnOlderToolStillOnlyOneLeads(Drive drive) {
    long first = SEED != null ? SEED : 0;
    long end = SEED != null ? SEED + 1 : SCHEDULES / 2;
    Tally tally = new Tally();
    for (long seed = first; seed < end; seed++) {
      tally.add(run(seed, Rules.PRODUCTION, drive, Company.OLDER_TOOL, SEED != null));
    }
    System.out.printf(
        Locale.ROOT,
        "simulation beside an older tool, %s: %d schedules, %d instants judged, leaderships %s and %d of the older tool%n",
        drive,
        tally.schedules,
        tally.instants,
        tally.leaderships,
        tally.olderLeaderships);
    if (SEED == null) {
      assertThat(tally.olderLeaderships).isGreaterThan(tally.schedules);
      assertThat(tally.leaderships).containsKey(LeadershipAcquiredEvent.Reason.EXPIRED);
    }
  }

  @Test
  void aFailureTellsItsStoryAndHowToReplayIt() {
    assertThatThrownBy(() -> {
          for (long seed = 0; seed < 1_000; seed++) {
            run(
                seed,
                Mutant.WHO_IS_NAMED_BY_HAND_LEADS_AT_ONCE.rules,
                Drive.CALL_BY_CALL,
                Company.NONE,
                false);
          }
        })
        .hasMessageStartingWith("Two leaders: ")
        .hasMessageContaining("mvn -pl election-core test -Dtest=SimulationTest -Dsimulation.seed=")
        .hasMessageContaining(" starts; lease ")
        .hasMessageContaining("LEADS in term");
  }

  @Test
  void aScheduleIsTheSameEachTime() {
    for (Drive drive : Drive.values()) {
      assertThat(story(7, drive)).isEqualTo(story(7, drive)).contains("leads");
    }
  }

  private static String story(long seed, Drive drive) {
    Simulation simulation =
        new Simulation(seed, Rules.PRODUCTION, Set.of(), drive, Company.NONE, true);
    simulation.run();
    return simulation.story();
  }

  private static Tally run(long seed, Rules rules, Drive drive, Company company, boolean tracing) {
    Simulation simulation = new Simulation(seed, rules, Set.of(), drive, company, tracing);
    try {
      Tally tally = simulation.run();
      if (tracing) {
        System.out.println(simulation.story());
      }
      return tally;
    } catch (Violation violation) {
      if (!tracing) {
        return run(seed, rules, drive, company, true);
      }
      throw new AssertionError(
          "%s%nin schedule %d (%s, company: %s). Replay it with:%n  mvn -pl election-core test -Dtest=SimulationTest -Dsimulation.seed=%d%n%n%s"
              .formatted(violation.getMessage(), seed, drive, company, seed, simulation.story()),
          violation);
    }
  }
}
