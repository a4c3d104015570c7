package io.election.joint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.election.lease.LeaseSettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

/** Moves nodes from one store to another and back, while everything fails. */
class JointSimulationTest {

  private static final int SCHEDULES =
      Math.max(Integer.getInteger("simulation.schedules", 100) / 10, 1);

  private static final Duration LEASE = JointSimulation.SETTINGS.leaseDuration();

  private static final JointRules RULES = new JointRules(JointSimulation.SETTINGS);

  @Test
  void noTwoNodesLeadWhileTheyMoveForthAndBack() {
    for (int seed = 0; seed < SCHEDULES; seed++) {
      JointSimulation simulation = moved(seed, RULES);
      assertThat(simulation.violations())
          .as(() -> String.join("\n", simulation.story))
          .isEmpty();
    }
  }

  /** Another mistake takes half a minute, and is found by the search in every build. */
  @Tag("slow")
  @ParameterizedTest
  @EnumSource(
      mode = Mode.EXCLUDE,
      names = {"HANDS_BACK_WHILE_WORK_RUNS", "LEADS_WHILE_PARTS_SHOW_TWO_TERMS"})
  void aMistakeInTheRulesIsFound(JointMutant mutant) {
    assumeTrue(
        mutant != JointMutant.LEADS_IN_THE_LAST_PART_ALONE
            || System.getProperty("thorough") != null,
        "only with -Dthorough");
    List<Supplier<JointSimulation>> scenarios = new ArrayList<>(List.of(
        () -> resignedWhileWorkRuns(mutant.rules()),
        () -> cutOffFromTheSecondPart(mutant.rules()),
        () -> listsInDifferentOrders(1, mutant.rules()),
        () -> longerLeaseInTheSecondPart(mutant.rules())));
    for (int seed = 0; seed < 50; seed++) {
      int drawn = seed;
      scenarios.add(() -> moved(drawn, mutant.rules()));
    }
    assertThat(scenarios.stream()
            .anyMatch((scenario) -> !scenario.get().violations().isEmpty()))
        .as("%s is found", mutant)
        .isTrue();
  }

  @Test
  void noPartIsHandedBackWhileWorkRuns() {
    JointSimulation simulation = resignedWhileWorkRuns(RULES);
    assertThat(simulation.violations()).as(String.join("\n", simulation.story)).isEmpty();
  }

  @Test
  void aNodeThatReachesOnlyTheFirstPartLetsABetterPlacedOneLead() {
    assertThat(cutOffFromTheSecondPart(RULES).violations()).isEmpty();
  }

  @Test
  void aNodeWaitsAsLongAsTheNextPartAsksFor() {
    assertThat(longerLeaseInTheSecondPart(RULES).violations()).isEmpty();
  }

  @Test
  void ofTwoListsInDifferentOrdersOneLeadsAfterThreeLeasesAtMost() {
    for (int seed = 0; seed < Math.min(2 * SCHEDULES, 20); seed++) {
      JointSimulation simulation = listsInDifferentOrders(seed, RULES);
      assertThat(simulation.violations())
          .as(String.join("\n", simulation.story))
          .isEmpty();
    }
  }

  private static JointSimulation listsInDifferentOrders(int seed, JointRules rules) {
    JointSimulation simulation = new JointSimulation(seed, rules);
    simulation.new Node("x", "ab");
    simulation.new Node("y", "ba");
    // The first record of each store takes a lease more.
    simulation.run(LEASE.multipliedBy(5));
    return simulation.expectLeader("");
  }

  private static JointSimulation resignedWhileWorkRuns(JointRules rules) {
    JointSimulation simulation = new JointSimulation(1, rules);
    simulation.orderly = true;
    JointSimulation.Node x = simulation.new Node("x", "ab");
    simulation.run(LEASE.multipliedBy(3));
    simulation.new Node("y", "a");
    simulation.run(LEASE);
    x.work(Duration.ofSeconds(2));
    x.service.lostLeader();
    simulation.run(LEASE);
    return simulation.expectLeader("y");
  }

  private static JointSimulation cutOffFromTheSecondPart(JointRules rules) {
    JointSimulation simulation = new JointSimulation(1, rules);
    JointSimulation.Node x = simulation.new Node("x", "ab");
    simulation.run(LEASE.multipliedBy(3));
    simulation.new Node("y", "ab");
    x.cutOff(1, true);
    simulation.run(LEASE.multipliedBy(8));
    return simulation.expectLeader("y");
  }

  private static JointSimulation longerLeaseInTheSecondPart(JointRules rules) {
    JointSimulation simulation = new JointSimulation(1, rules);
    JointSimulation.Node patient = simulation
    .new Node(
        "p",
        "b",
        new LeaseSettings(
            LEASE.multipliedBy(8),
            Duration.ofSeconds(1),
            Duration.ofMillis(500),
            Duration.ofSeconds(3),
            true));
    simulation.run(LEASE.multipliedBy(12));
    patient.kill();
    simulation.designate(1, simulation.new Node("x", "ab"));
    simulation.run(LEASE.multipliedBy(16));
    return simulation.expectLeader("x");
  }

  private static JointSimulation moved(long seed, JointRules rules) {
    JointSimulation simulation = new JointSimulation(seed, rules);
    for (String id : List.of("x", "y", "z")) {
      simulation.new Node(id, "a");
    }
    for (String kind : List.of("ab", "b", "ab", "a")) {
      for (JointSimulation.Node node : List.copyOf(simulation.nodes)) {
        simulation.faulty = true;
        simulation.run(Duration.ofSeconds(simulation.random.nextInt(15)));
        simulation.heal();
        if (simulation.nodes.contains(node)) {
          simulation.release(node, kind);
        }
      }
      while (simulation.nodes.stream().anyMatch((node) -> !node.kind.equals(kind))) {
        simulation.nodes.stream()
            .filter((node) -> !node.kind.equals(kind))
            .findFirst()
            .ifPresent((node) -> simulation.release(node, kind));
      }
      simulation.run(LEASE.multipliedBy(5));
      simulation.expectLeader("");
    }
    return simulation;
  }
}
