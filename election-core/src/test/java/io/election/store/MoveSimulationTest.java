package io.election.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.store.MoveSimulation.Trouble;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Moves nodes from one store to another and back by way of a list of both, while everything fails.
 *
 * <p>{@code -Dsimulation.schedules=100000} runs that many of each kind.
 */
class MoveSimulationTest {

  private static final int SCHEDULES = Integer.getInteger("simulation.schedules", 3);

  private static final int MUTANT_SCHEDULES = 200;

  private static final Duration LEASE = MoveSimulation.LEASE;

  static Stream<Set<Trouble>> noTwoNodesLeadWhileTheyMoveForthAndBack() {
    return Stream.concat(
        Stream.of(EnumSet.noneOf(Trouble.class), EnumSet.allOf(Trouble.class)),
        Stream.of(Trouble.values()).map(EnumSet::of));
  }

  @ParameterizedTest
  @MethodSource
  void noTwoNodesLeadWhileTheyMoveForthAndBack(Set<Trouble> troubles) {
    long began = System.nanoTime();
    int acquired = 0;
    int byLists = 0;
    for (int seed = 0; seed < SCHEDULES; seed++) {
      int drawn = seed;
      MoveSimulation simulation = new MoveSimulation(seed, troubles, JointMutant.NONE).moved();
      assertThat(simulation.violations())
          .as(() -> "schedule " + drawn + "\n" + String.join("\n", simulation.story))
          .isEmpty();
      acquired += simulation.acquired;
      byLists += simulation.acquiredByLists;
    }
    System.out.printf(
        Locale.ROOT,
        "moves with %s: %d schedules, %d leaderships, %d of them by lists, %.1f s%n",
        troubles,
        SCHEDULES,
        acquired,
        byLists,
        (System.nanoTime() - began) / 1e9);
    assertThat(byLists).isGreaterThan(SCHEDULES);
  }

  @ParameterizedTest
  @EnumSource(
      mode = Mode.EXCLUDE,
      names = {"NONE", "ONE_PART_IS_TOUCHED", "EACH_NODE_WRITES_IN_AN_ORDER_OF_ITS_OWN"})
  void aMistakeIsFound(JointMutant mutant) {
    Optional<String> found = violation(mutant, MUTANT_SCHEDULES);
    System.out.println(mutant + ": " + found.orElse("nothing is broken"));
    assertThat(found).isPresent();
  }

  /** Where these are, it is said why they break no promise. */
  @ParameterizedTest
  @EnumSource(names = {"ONE_PART_IS_TOUCHED", "EACH_NODE_WRITES_IN_AN_ORDER_OF_ITS_OWN"})
  void whatDiffersOnlyInCostBreaksNoPromise(JointMutant mutant) {
    assertThat(violation(mutant, SCHEDULES)).isEmpty();
  }

  /** Returns the first violation in the scenarios below, and in schedules with all troubles. */
  private static Optional<String> violation(JointMutant mutant, int schedules) {
    Stream<MoveSimulation> scenarios = Stream.<Supplier<MoveSimulation>>of(
            () -> resignedWhileWorkRuns(mutant),
            () -> cutOffFromTheSecondPart(mutant),
            () -> listsInDifferentOrders(1, mutant),
            () -> longerLeaseInTheSecondPart(mutant),
            () -> takeOverUndoneByHand(mutant),
            () -> termsOfTheSecondPartAhead(mutant))
        .map(Supplier::get);
    Stream<MoveSimulation> drawn = IntStream.range(0, schedules)
        .mapToObj((seed) -> new MoveSimulation(seed, EnumSet.allOf(Trouble.class), mutant).moved());
    return Stream.concat(scenarios, drawn)
        .flatMap((simulation) -> simulation.violations().stream())
        .findFirst();
  }

  @Test
  void noPartIsHandedBackWhileWorkRuns() {
    expectNoViolation(resignedWhileWorkRuns(JointMutant.NONE));
  }

  @Test
  void aNodeThatReachesOnlyTheFirstPartLetsABetterPlacedOneLead() {
    expectNoViolation(cutOffFromTheSecondPart(JointMutant.NONE));
  }

  @Test
  void aNodeWaitsAsLongAsAnyPartAsksFor() {
    expectNoViolation(longerLeaseInTheSecondPart(JointMutant.NONE));
  }

  @Test
  void ofTwoListsInDifferentOrdersOneLeads() {
    for (int seed = 0; seed < 20; seed++) {
      expectNoViolation(listsInDifferentOrders(seed, JointMutant.NONE));
    }
  }

  @Test
  void aTakeOverThatIsUndoneByHandMakesNoPartOwn() {
    expectNoViolation(takeOverUndoneByHand(JointMutant.NONE));
  }

  @Test
  void termsGrowThoughThoseOfOnePartAreAhead() {
    expectNoViolation(termsOfTheSecondPartAhead(JointMutant.NONE));
  }

  private static void expectNoViolation(MoveSimulation simulation) {
    assertThat(simulation.violations()).as(String.join("\n", simulation.story)).isEmpty();
  }

  private static MoveSimulation listsInDifferentOrders(int seed, JointMutant lists) {
    MoveSimulation simulation = new MoveSimulation(seed, lists);
    simulation.new Node("x", "ab");
    simulation.new Node("y", "ba");
    simulation.run(LEASE.multipliedBy(3));
    return simulation.expectLeader("");
  }

  private static MoveSimulation resignedWhileWorkRuns(JointMutant lists) {
    MoveSimulation simulation = new MoveSimulation(1, lists);
    simulation.orderly = true;
    MoveSimulation.Node x = simulation.new Node("x", "ab");
    simulation.run(LEASE.multipliedBy(3));
    simulation.new Node("y", "a");
    simulation.run(LEASE);
    x.work(Duration.ofSeconds(2));
    x.service.lostLeader();
    simulation.run(LEASE);
    return simulation.expectLeader("y");
  }

  private static MoveSimulation cutOffFromTheSecondPart(JointMutant lists) {
    MoveSimulation simulation = new MoveSimulation(1, lists);
    MoveSimulation.Node x = simulation.new Node("x", "ab");
    simulation.run(LEASE.multipliedBy(3));
    simulation.new Node("y", "ab");
    x.cutOff(1, true);
    simulation.run(LEASE.multipliedBy(4));
    return simulation.expectLeader("y");
  }

  /** The holder of the second part, with a longer lease, is paused and leads when it goes on. */
  private static MoveSimulation longerLeaseInTheSecondPart(JointMutant lists) {
    MoveSimulation simulation = new MoveSimulation(1, lists);
    simulation.new Node("w", "ab", LEASE);
    simulation.run(LEASE.multipliedBy(2));
    MoveSimulation.Node patient = simulation.new Node("p", "b", LEASE.multipliedBy(8));
    simulation.nodes.get(0).stop();
    simulation.run(LEASE.multipliedBy(12));
    simulation.new Node("x", "ab", LEASE);
    simulation.run(LEASE);
    patient.pausedUntil = simulation.now + LEASE.multipliedBy(5).toNanos();
    simulation.run(LEASE.multipliedBy(4));
    simulation.expectLeader("p");
    patient.kill();
    simulation.run(LEASE.multipliedBy(16));
    return simulation.expectLeader("x");
  }

  /**
   * A node on the second part alone takes over from a list. An operator undoes that, so that the
   * record names the node that led before, while the other one still leads.
   */
  private static MoveSimulation takeOverUndoneByHand(JointMutant lists) {
    MoveSimulation simulation = new MoveSimulation(1, lists);
    MoveSimulation.Node x = simulation.new Node("x", "ab", LEASE);
    simulation.run(LEASE.multipliedBy(3));
    MoveSimulation.Node y = simulation.new Node("y", "b", LEASE);
    simulation.run(LEASE);
    x.cutOff(0, true);
    x.cutOff(1, true);
    simulation.runUntil(y.service::isLeader);
    simulation.expectLeader("y");
    y.pausedUntil = simulation.now + LEASE.toNanos();
    simulation.undo(1);
    x.cutOff(0, false);
    x.cutOff(1, false);
    simulation.run(LEASE.multipliedBy(3));
    return simulation.expectLeader("");
  }

  /** The history of the second part knows terms that no record shows. */
  private static MoveSimulation termsOfTheSecondPartAhead(JointMutant lists) {
    MoveSimulation simulation = new MoveSimulation(1, lists);
    MoveSimulation.Node x = simulation.new Node("x", "ab", LEASE);
    simulation.run(LEASE.multipliedBy(3));
    x.kill();
    simulation.databases[1].insertTerm("jobs", 40, "nobody", LEASE.toMillis());
    MoveSimulation.Node y = simulation.new Node("y", "ab", LEASE);
    simulation.runUntil(y.service::isLeader);
    simulation.expectLeader("y");
    y.kill();
    simulation.new Node("z", "a", LEASE);
    simulation.run(LEASE.multipliedBy(3));
    return simulation.expectLeader("z");
  }
}
