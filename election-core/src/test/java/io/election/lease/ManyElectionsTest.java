package io.election.lease;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipEvent;
import io.election.LeadershipLostEvent;
import io.election.store.JointLeaseStore;
import io.election.store.JointPart;
import io.election.store.LeaseRow;
import io.election.store.LeaseSettings;
import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;
import io.election.store.RecordLockedException;
import io.election.store.SimulatedDatabase;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests many elections on one node, over a simulated database in which every call takes time. */
class ManyElectionsTest extends ElectorFixture {

  private static final Duration INTERVAL = Duration.ofSeconds(2);

  /** The tightest settings that are allowed: only one other call fits before a renewal. */
  private static final LeaseSettings TIGHT =
      new LeaseSettings(LEASE, INTERVAL, Duration.ofMillis(3_900), Duration.ofSeconds(5), true);

  private final List<LeadershipEvent> lost = new ArrayList<>();

  ManyElectionsTest() {
    this.stepMillis = 20;
  }

  private final class BusyNode extends Node {

    final SlowStore slow = (SlowStore) this.store;

    BusyNode(String id, int elections) {
      super(id, TIGHT, new SlowStore(), names(elections));
      this.listener = (event) -> {
        if (event instanceof LeadershipLostEvent) {
          ManyElectionsTest.this.lost.add(event);
        }
      };
      join();
    }

    LeaseElectionService service(int i) {
      return this.services.get(i);
    }

    List<Candidate> candidates() {
      return this.services.stream().map(LeaseElectionService::candidate).toList();
    }

    long leader() {
      return this.services.stream().filter(LeaseElectionService::isLeader).count();
    }
  }

  private static String[] names(int elections) {
    return IntStream.range(0, elections).mapToObj((i) -> "service-" + i).toArray(String[]::new);
  }

  /** Calls take time, and some records are locked. */
  private final class SlowStore extends SimulatedDatabase.Store {

    final Set<String> locked = new HashSet<>();

    /** Records that the store finds locked by another process when it would take them over. */
    final Set<String> lockedRows = new HashSet<>();

    int refused;

    SlowStore() {
      ManyElectionsTest.this.database.super();
    }

    @Override
    public Renewals renew(String nodeId, Map<String, Long> terms) throws LeaseStoreException {
      Set<String> undecided = new HashSet<>(terms.keySet());
      undecided.retainAll(this.locked);
      Map<String, Long> free = new LinkedHashMap<>(terms);
      free.keySet().removeAll(undecided);
      Set<String> renewed = super.renew(nodeId, free).renewed();
      return new Renewals(renewed, undecided, undecided.isEmpty() ? "" : "locked");
    }

    @Override
    public OptionalLong acquire(String serviceId, LeaseRow seen, Claim claim)
        throws LeaseStoreException {
      if (this.locked.contains(serviceId)) {
        this.calls.add("take");
        tick(TIGHT.operationTimeout());
        throw new LeaseStoreException("locked");
      }
      if (this.lockedRows.contains(serviceId)) {
        this.refused++;
        throw new RecordLockedException("'" + serviceId + "' is locked");
      }
      return super.acquire(serviceId, seen, claim);
    }
  }

  private BusyNode leaderOf(int elections) {
    BusyNode node = new BusyNode("a", elections);
    runUntilAllAreLed(node);
    return node;
  }

  /** Creates records of a node that is dead, from one number up to another. */
  private void createDead(int from, int to) throws LeaseStoreException {
    try (SimulatedDatabase.Store dead = this.database.new Store()) {
      for (int i = from; i < to; i++) {
        dead.create(
            "service-" + i,
            new LeaseStore.Claim(
                "dead", LEASE.toMillis(), 0, LeadershipAcquiredEvent.Reason.CREATED));
      }
    }
  }

  private void runUntilAllAreLed(BusyNode node) {
    long end = this.clock.get() + Duration.ofMinutes(10).toNanos();
    while (node.leader() < node.services.size()) {
      step(node);
      assertThat(this.clock.get()).as("all are led in time").isLessThan(end);
    }
  }

  @ParameterizedTest
  @CsvSource({"300, take, 299", "0, create, 200"})
  void noNumberOfTakesOrNewRecordsKeepsALeaseFromBeingRenewed(int dead, String call, int calls)
      throws Exception {
    createDead(1, dead);
    BusyNode node = new BusyNode("a", Math.max(dead, 200));
    node.store.before((name) -> tick(Duration.ofMillis(100)));

    runUntilAllAreLed(node);

    assertThat(node.calls(call)).isEqualTo(calls);
    assertThat(this.lost).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 50})
  void aLeaderSendsOneRequestEachRenewIntervalAndAFollowerOneRead(int elections) {
    BusyNode leader = new BusyNode("a", elections);
    // The elections become due at different instants.
    leader.store.before((name) -> tick(Duration.ofMillis(5)));
    runUntilAllAreLed(leader);
    leader.store.before((name) -> {});
    BusyNode follower = new BusyNode("b", elections);
    run(LEASE.multipliedBy(2), leader, follower);
    leader.store.calls.clear();
    follower.store.calls.clear();

    run(INTERVAL.multipliedBy(20), leader, follower);

    assertThat(leader.store.calls).containsOnly("renew").hasSizeBetween(19, 20);
    assertThat(follower.store.calls).containsOnly("read").hasSizeBetween(19, 20);
    assertThat(follower.services)
        .allSatisfy((service) -> assertThat(service.leaderId()).contains("a"));
  }

  @Test
  @Tag("slow")
  void hundredsOfElectionsTakeNoMoreRequestsThanOne() {
    aLeaderSendsOneRequestEachRenewIntervalAndAFollowerOneRead(200);
  }

  @Test
  void aFollowerOfSeveralLeadersSendsOneReadEachRenewInterval() {
    List<BusyNode> leaders = new ArrayList<>();
    for (String id : List.of("a", "b", "c")) {
      leaders.add(new BusyNode(id, 30));
      tick(Duration.ofMillis(500));
    }
    BusyNode[] all = leaders.toArray(BusyNode[]::new);
    for (int i = 0; i < 30; i++) {
      // Each node leads ten elections; the nodes are at different points of their intervals.
      int leader = i % 3;
      for (int j = 0; j < 3; j++) {
        if (j != leader) {
          all[j].service(i).lostLeader();
        }
      }
    }
    run(LEASE.multipliedBy(3), all);
    assertThat(leaders).allSatisfy((node) -> assertThat(node.leader()).isPositive());
    BusyNode follower = new BusyNode("d", 30);
    run(LEASE.multipliedBy(2), leaders.get(0), leaders.get(1), leaders.get(2), follower);
    follower.store.calls.clear();

    run(INTERVAL.multipliedBy(20), leaders.get(0), leaders.get(1), leaders.get(2), follower);

    assertThat(follower.store.calls).containsOnly("read").hasSizeBetween(18, 22);
  }

  @ParameterizedTest
  @ValueSource(ints = {3, 50})
  void aLockedRecordCostsItsOwnElectionTheLeadershipAndNoOther(int elections) {
    BusyNode node = leaderOf(elections);
    node.slow.locked.add("service-1");

    run(LEASE.multipliedBy(3), node);

    assertThat(this.lost).singleElement().satisfies((event) -> {
      assertThat(event.serviceId()).isEqualTo("service-1");
      assertThat(((LeadershipLostEvent) event).reason())
          .isEqualTo(LeadershipLostEvent.Reason.EXPIRED);
    });
    node.slow.locked.clear();
    runUntilAllAreLed(node);
    assertThat(this.lost).hasSize(1);
  }

  @Test
  void aRecordThatCannotBeTakenIsShownAndKeepsNoOtherFromBeingTaken() throws Exception {
    createDead(0, 20);
    BusyNode node = new BusyNode("a", 20);
    node.slow.locked.addAll(Set.of("service-0", "service-1"));

    run(LEASE.multipliedBy(3), node);
    assertThat(node.leader()).isEqualTo(18);
    assertThat(this.lost).isEmpty();
    run(LEASE.multipliedBy(3), node);

    assertThat(health(node).failure()).isEqualTo("locked");
    assertThat(health(node).failing()).isGreaterThan(LEASE);
    node.slow.locked.clear();
    runUntilAllAreLed(node);
    assertThat(health(node).failure()).isNull();
  }

  /** As with a session that edited the record and was forgotten. */
  @Test
  void aRecordThatStaysLockedIsToldOnceAMinuteAndKeepsNoOtherFromBeingTaken() throws Exception {
    createDead(0, 20);
    BusyNode node = new BusyNode("a", 20);
    node.slow.lockedRows.add("service-0");
    run(LEASE.plus(INTERVAL.multipliedBy(2)), node);

    assertThat(node.leader()).isEqualTo(19);
    run(LEASE.multipliedBy(4), node);

    assertThat(node.slow.refused).isGreaterThan(10);
    assertThat(linesWith("result: false")).hasSizeLessThan(2);
    assertThat(linesWith("'service-0' is locked (keeps trying)")).hasSize(1);
    assertThat(health(node).failure()).isEqualTo("'service-0' is locked");
    assertThat(health(node).failing()).isGreaterThan(LEASE);
    assertThat(health(node).silence()).isLessThan(INTERVAL);
    assertThat(this.lost).isEmpty();
    node.slow.lockedRows.clear();
    run(INTERVAL.multipliedBy(5).dividedBy(4), node);
    assertThat(node.leader()).isEqualTo(20);
    assertThat(health(node).failure()).isNull();
    assertThat(linesWith("store works again")).hasSize(1);
  }

  /** Each attempt changes the part before, so the record of the list is another one each time. */
  @Test
  void aRecordThatStaysLockedInALaterPartIsToldOnceAMinute() throws Exception {
    createDead(0, 1);
    SlowStore later = new SlowStore();
    later.lockedRows.add("service-0");
    JointLeaseStore list = JointLeaseStore.of(
        List.of(
            new JointPart.Leases(
                "a", new SimulatedDatabase(() -> this.clock.get() / 1_000).new Store()),
            new JointPart.Leases("b", later)),
        TIGHT,
        () -> "x",
        this.ticker,
        Runnable::run);
    Node node = new Node("x", TIGHT, list, later, "service-0").join();

    run(Duration.ofMinutes(1), node);

    assertThat(later.refused).isGreaterThan(2);
    assertThat(linesWith("Part 'b' of the list: 'service-0' is locked (keeps trying)"))
        .hasSize(1);
    run(Duration.ofMinutes(1), node);
    assertThat(linesWith("Part 'b' of the list: 'service-0' is locked (")).hasSize(2);
    later.lockedRows.clear();
    run(LEASE.plus(INTERVAL.multipliedBy(2)), node);
    assertThat(node.service.isLeader()).isTrue();
  }

  @Test
  void aRecordThatAnotherNodeLocksToTakeItIsALostRace() throws Exception {
    createDead(0, 1);
    BusyNode node = new BusyNode("a", 1);
    node.slow.lockedRows.add("service-0");
    node.store.before((name) -> {
      if (name.equals("read") && node.slow.refused == 1) {
        this.database.designate("service-0", "x", null, null);
      }
    });

    run(LEASE.plus(INTERVAL.multipliedBy(3)), node);

    assertThat(node.slow.refused).isEqualTo(1);
    assertThat(linesWith("result: false")).hasSize(1);
    assertThat(linesWith("locked")).isEmpty();
    assertThat(health(node).failure()).isNull();
  }

  @Test
  void aNodeThatLostARaceReadsAllThatItWouldTryForAfterAShareOfAnInterval() throws Exception {
    createDead(0, 3);
    BusyNode node = new BusyNode("a", 3);
    List<Long> times = new ArrayList<>();
    node.store.before((name) -> {
      times.add(this.clock.get());
      if (name.equals("take")) {
        IntStream.range(0, 3)
            .forEach((i) -> this.database.designate("service-" + i, "x", null, null));
      }
    });
    run(LEASE.minus(INTERVAL), node);
    node.store.calls.clear();
    times.clear();

    run(INTERVAL.multipliedBy(4), node);

    List<String> calls = List.copyOf(node.store.calls);
    int take = calls.indexOf("take");
    int read = take + calls.subList(take, calls.size()).indexOf("read");
    assertThat(calls.subList(take + 1, read)).doesNotContain("take");
    long share =
        INTERVAL.toNanos() / 16 + new io.election.lease.Node("a", TIGHT).spread(INTERVAL.toNanos());
    assertThat(times.get(read) - times.get(take)).isBetween(share, share + INTERVAL.toNanos() / 16);
  }

  private HistoryReader histories() {
    return new HistoryReader(
        this.database,
        TIGHT,
        new Clocks(this.clock::get, InstantSource.system()),
        new ElectionLog("simulation"));
  }

  @Test
  void followersSpreadTheReadingOfHistoriesAndLeadersDoNot() {
    BusyNode leader = leaderOf(2);
    BusyNode follower = new BusyNode("b", 2);
    run(INTERVAL.multipliedBy(2), leader, follower);

    long settle = INTERVAL.toNanos() / 2;
    HistoryReader ofLeader = histories();
    assertThat(ofLeader.due(leader.candidates(), 0)).isEmpty();
    assertThat(ofLeader.due(leader.candidates(), settle)).hasSize(2);
    HistoryReader ofFollower = histories();
    assertThat(ofFollower.due(follower.candidates(), 0)).isEmpty();
    assertThat(ofFollower.due(follower.candidates(), settle)).isEmpty();
    assertThat(ofFollower.due(follower.candidates(), settle + LEASE.toNanos())).hasSize(2);
  }

  @Test
  void theHistoriesOfManyElectionsAreReadTogether() throws Exception {
    BusyNode node = leaderOf(30);
    node.store.calls.clear();
    for (int i = 0; i < 6; i++) {
      tick(INTERVAL);
      step(node);
    }
    assertThat(node.store.calls).containsOnly("renew", "history", "prune");
    assertThat(node.calls("history")).isLessThan(3);
    assertThat(node.calls("prune")).isLessThan(3);
    assertThat(node.services)
        .allSatisfy((service) -> assertThat(service.history()).hasSize(1));
  }

  @Test
  void aRenewalThatFailedInPartIsToldElectionByElectionAndIsNoSilenceOfTheStore() throws Exception {
    BusyNode node = leaderOf(3);
    node.slow.locked.add("service-1");
    this.database.designate("service-2", "b", null, null);
    Map<String, RenewalListener.Outcome> outcomes = new LinkedHashMap<>();
    Set<Duration> durations = new HashSet<>();
    node.elector.onRenewal((serviceId, outcome, duration) -> {
      outcomes.put(serviceId, outcome);
      durations.add(duration);
    });
    node.store.before((name) -> tick(name.equals("renew") ? Duration.ofMillis(5) : Duration.ZERO));

    tick(INTERVAL);
    step(node);

    assertThat(outcomes)
        .containsExactly(
            Map.entry("service-0", RenewalListener.Outcome.CONFIRMED),
            Map.entry("service-1", RenewalListener.Outcome.UNKNOWN),
            Map.entry("service-2", RenewalListener.Outcome.REFUSED));
    assertThat(durations).containsOnly(Duration.ofMillis(5));
    assertThat(linesWith("locked (keeps trying; leads 'service-1' for another"))
        .singleElement()
        .asString()
        .doesNotContain("service-0");
    assertThat(node.services)
        .map(LeaseElectionService::isLeader)
        .containsExactly(true, true, false);
    assertThat(health(node).silence()).isLessThan(Duration.ofSeconds(1));

    node.slow.locked.clear();
    tick(INTERVAL);
    step(node);
    assertThat(linesWith("the renewal of all leases works again")).hasSize(1);

    node.fail("it is gone");
    tick(INTERVAL);
    step(node);

    assertThat(outcomes).containsEntry("service-0", RenewalListener.Outcome.UNKNOWN);
  }

  @Test
  void oneStepHandsBackAllLeases() {
    BusyNode node = leaderOf(50);

    node.elector.stop();

    assertThat(node.services)
        .allSatisfy((service) ->
            assertThat(this.database.row(service.serviceId()).isReleased()).isTrue());
  }

  @Test
  void oneStepServesAllWhoHaveAsked() throws Exception {
    BusyNode node = leaderOf(3);
    node.service(0).designate("b");
    node.service(1).designate("b");
    node.service(2).lostLeader();
    step(node);
    node.service(0).designate("b");

    node.service(2).becomeLeader();

    assertThat(node.service(2).isLeader()).isTrue();
  }

  @Test
  void aQuestionWaitsForRenewalsThatAreDueAndForNoLockedRecord() throws Exception {
    BusyNode node = leaderOf(3);
    node.service(2).lostLeader();
    step(node);
    node.slow.locked.add("service-1");
    tick(INTERVAL);
    node.store.calls.clear();

    node.service(2).designate("a");
    node.service(2).becomeLeader();

    assertThat(node.store.calls).startsWith("renew", "history", "designate");
    assertThat(this.database.row("service-2").leaderId()).isEqualTo("a");
    assertThat(node.leader()).isEqualTo(3);
  }
}
