package io.election.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.election.AuditNote;
import io.election.LeadershipAcquiredEvent.Reason;
import io.election.LeadershipLostEvent;
import io.election.Member;
import io.election.PastTerm;
import io.election.store.ElectionDirectory.Announcement;
import io.election.store.LeaseStore.Claim;
import io.election.store.LeaseStore.Reading;
import io.election.store.LeaseStore.Renewals;
import io.election.store.SimulatedDatabase.Store;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JointLeaseStoreTest {

  private static final String JOBS = "jobs";

  private static final long LEASE = 10_000;

  private static final LeaseSettings SETTINGS = new LeaseSettings(
      Duration.ofMillis(LEASE), Duration.ofSeconds(2), Duration.ofSeconds(1), Duration.ZERO, true);

  private static final TermEnd RESIGNED = TermEnd.of(LeadershipLostEvent.Reason.RESIGNED);

  private final SimulatedDatabase a = new SimulatedDatabase();

  private final SimulatedDatabase b = new SimulatedDatabase();

  private final Store linkA = this.a.new Store();

  private final Store linkB = this.b.new Store();

  private long now;

  private final JointLeaseStore list = list("x", this.linkA, this.linkB);

  private JointLeaseStore list(String node, LeaseStore first, LeaseStore second) {
    return list(node, List.of(new JointPart.Leases("a", first), new JointPart.Leases("b", second)));
  }

  private JointLeaseStore list(String node, List<JointPart> parts) {
    return JointLeaseStore.of(
        new StoreList(parts, SETTINGS, () -> this.now, Runnable::run), () -> node);
  }

  private static Claim claim(String node, long aboveTerm, Reason reason) {
    return new Claim(node, LEASE, aboveTerm, reason);
  }

  private static @Nullable LeaseRow read(LeaseStore store) throws LeaseStoreException {
    Reading reading = store.read(Set.of(JOBS)).get(JOBS);
    return reading != null ? reading.row() : null;
  }

  private static LeaseRow row(LeaseStore store) throws LeaseStoreException {
    return Objects.requireNonNull(read(store));
  }

  /** Lets a node lead by a store, and returns its term. */
  private static long lead(LeaseStore store, String node) throws LeaseStoreException {
    LeaseRow row = read(store);
    return row == null
        ? store
            .acquire(
                JOBS,
                store.create(JOBS, claim(node, 0, Reason.CREATED)).orElseThrow(),
                claim(node, 0, Reason.CREATED))
            .orElseThrow()
        : store.acquire(JOBS, row, claim(node, 0, Reason.EXPIRED)).orElseThrow();
  }

  private static void fail(Store link, String call) {
    before(link, call, (name) -> {
      throw new LeaseStoreException("out of reach");
    });
  }

  /** Runs before each call of a kind. */
  private static void before(Store link, String call, Store.Before then) {
    link.before((name) -> {
      if (name.equals(call)) {
        then.call(name);
      }
    });
  }

  /** Runs once, before the next call of a kind. */
  private static void once(Store link, String call, Store.Before then) {
    before(link, call, (name) -> {
      link.before((later) -> {});
      then.call(name);
    });
  }

  @Test
  void aListHasNoRecordWhileAPartHasNone() throws Exception {
    lead(this.a.new Store(), "y");

    assertThat(this.list.read(Set.of(JOBS))).isEmpty();
  }

  @Test
  void aMissingRecordIsCreatedForTheLongestLeaseAndAboveAllTerms() throws Exception {
    Store other = this.a.new Store();
    LeaseRow first =
        other.create(JOBS, new Claim("y", 3 * LEASE, 41, Reason.CREATED)).orElseThrow();

    assertThat(this.list.create(JOBS, claim("x", 0, Reason.CREATED)))
        .as("a record that must be read first")
        .isEmpty();

    assertThat(row(other)).isEqualTo(first);
    LeaseRow created = row(this.linkB);
    assertThat(created.leaderId()).isEqualTo("x");
    assertThat(created.leaseMillis()).isEqualTo(3 * LEASE);
    assertThat(created.term()).isGreaterThan(first.term());
    assertThat(row(this.list).leaderId()).isEqualTo("y");
  }

  @Test
  void aMissingRecordIsNotCreatedForAnAbsurdLease() throws Exception {
    this.a.replace(JOBS, "y", Long.MAX_VALUE, 0);

    this.list.create(JOBS, claim("x", 0, Reason.CREATED));

    assertThat(row(this.linkB).leaseMillis()).isEqualTo(LeaseSettings.MAX_LEASE.toMillis());
  }

  @Test
  void anAcquisitionTakesAllPartsInOneTermAboveAll() throws Exception {
    lead(this.a.new Store(), "y");
    Store other = this.b.new Store();
    for (int i = 0; i < 5; i++) {
      lead(other, "z");
    }

    long term = lead(this.list, "x");

    assertThat(term).isEqualTo(6);
    assertThat(row(this.linkA).term()).isEqualTo(term);
    assertThat(row(this.linkB).term()).isEqualTo(term);
    assertThat(row(this.list).own()).isTrue();
  }

  @Test
  void theNextPartsTakeTheTermOfTheFirstThoughItIsAheadOfItsRecord() throws Exception {
    lead(this.list, "x");
    this.a.insertTerm(JOBS, 20, "z", LEASE);

    assertThat(lead(this.list, "x")).isEqualTo(21);

    assertThat(row(this.linkB).term()).isEqualTo(21);
  }

  @Test
  void whatWasCreatedInTwoTermsIsLedInTheHigher() throws Exception {
    this.b.insertTerm(JOBS, 7, "z", LEASE);

    assertThat(lead(this.list, "x")).isEqualTo(8);

    assertThat(row(this.linkA).term()).isEqualTo(8);
    assertThat(row(this.list).own()).isTrue();
  }

  @Test
  void aPartThatHasChangedCostsNoOtherPartATerm() throws Exception {
    lead(this.list, "x");
    LeaseRow seen = row(this.list);
    lead(this.b.new Store(), "y");
    LeaseRow before = row(this.linkA);

    assertThat(this.list.acquire(JOBS, seen, claim("x", 0, Reason.EXPIRED))).isEmpty();

    assertThat(row(this.linkA)).isEqualTo(before);
  }

  @Test
  void whatWasTakenIsLeftAsItWasFoundIfAnotherNodeTakesTheNextPart() throws Exception {
    long term = lead(this.list, "x");
    this.list.release(JOBS, "x", term, "x", RESIGNED);
    LeaseRow seen = row(this.list);
    once(this.linkB, "take", (name) -> lead(this.b.new Store(), "y"));

    assertThat(this.list.acquire(JOBS, seen, claim("x", 0, Reason.DESIGNATED))).isEmpty();

    assertThat(row(this.linkA).leaderId()).isEqualTo("x");
    assertThat(row(this.linkA).leaseMillis()).isZero();
    assertThat(row(this.linkB).leaderId()).isEqualTo("y");
  }

  @Test
  void whatWasTakenIsGivenBackIfTheNextPartFails() throws Exception {
    lead(this.list, "x");
    LeaseRow seen = row(this.list);
    fail(this.linkB, "take");

    assertThatThrownBy(() -> this.list.acquire(JOBS, seen, claim("x", 0, Reason.EXPIRED)))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessage("Part 'b' of the list: out of reach");

    assertThat(row(this.linkA).leaseMillis()).isZero();
    assertThat(row(this.linkA).leaderId()).isEmpty();
  }

  @Test
  void aLockedRecordOfAPartIsALockedRecordOfTheList() throws Exception {
    lead(this.list, "x");
    before(this.linkB, "take", (name) -> {
      throw new RecordLockedException("locked");
    });

    assertThat(lock())
        .hasMessage("Part 'b' of the list: locked")
        .returns(false, RecordLockedException::isAgain);
    assertThat(lock())
        .hasMessage("Part 'b' of the list: locked")
        .returns(true, RecordLockedException::isAgain);
    this.b.replace(JOBS, "y", LEASE, 7);
    assertThat(lock()).returns(false, RecordLockedException::isAgain);
  }

  private RecordLockedException lock() {
    return Objects.requireNonNull(catchThrowableOfType(
        RecordLockedException.class,
        () -> this.list.acquire(JOBS, row(this.list), claim("x", 0, Reason.EXPIRED))));
  }

  @Test
  void partsThatGrantTwoTermsAreGivenBackAndTakenAboveBoth() throws Exception {
    long term = lead(this.list, "x");
    this.b.insertTerm(JOBS, 20, "z", LEASE);
    OptionalLong refused = this.list.acquire(JOBS, row(this.list), claim("x", 0, Reason.EXPIRED));

    assertThat(refused).isEmpty();
    assertThat(row(this.linkA).leaseMillis()).isZero();
    assertThat(row(this.linkB).leaseMillis()).isZero();
    assertThat(this.list.renew("x", Map.of(JOBS, term)).renewed()).isEmpty();
    assertThat(lead(this.list, "x")).isEqualTo(22);
    assertThat(row(this.linkA).term()).isEqualTo(22);
  }

  @Test
  void theLongestLeaseCountsAlsoWhereAPartNoLongerStatesIt() throws Exception {
    lead(this.list, "x");
    this.a.replace(JOBS, "y", 3 * LEASE, 1);
    assertThat(row(this.list).leaseMillis()).isEqualTo(3 * LEASE);

    this.a.history(JOBS).clear();
    this.a.replace(JOBS, "y", null, 2);

    assertThat(row(this.linkA).leaseMillis()).isNull();
    assertThat(row(this.list).leaseMillis()).isEqualTo(3 * LEASE);
  }

  @Test
  void theHolderShownIsTheOneForWhomThisNodeWaits() throws Exception {
    lead(this.list, "x");
    assertThat(row(this.list).leaderId()).isEqualTo("x");
    lead(this.b.new Store(), "y");
    assertThat(row(this.list).leaderId()).isEqualTo("y");
    assertThat(row(list("y", this.a.new Store(), this.b.new Store())).leaderId())
        .isEqualTo("x");

    Store other = this.b.new Store();
    long term = lead(other, "y");
    other.release(JOBS, "y", term, "z", RESIGNED);
    assertThat(row(this.list).leaderId()).as("a part is held").isEqualTo("x");
    this.a.designate(JOBS, "", null, null);
    assertThat(row(this.list).leaderId()).as("held by a node without a name").isEmpty();
    assertThat(row(this.list).isReleased()).isFalse();
  }

  @Test
  void aPartThatWasLeftToAnotherNodeKeepsTheOthersForIt() throws Exception {
    long term = lead(this.list, "x");
    this.linkA.release(JOBS, "x", term, "", RESIGNED);
    this.linkB.release(JOBS, "x", term, "y", RESIGNED);

    LeaseRow left = row(this.list);

    assertThat(left.isReleased()).isTrue();
    assertThat(left.leaderId()).isEqualTo("y");
  }

  @Test
  void aMarkIsShownAlthoughAPartHasNoRecordAndNoneIsCreated() throws Exception {
    lead(this.a.new Store(), "y");
    this.a.designate(JOBS, "moved to b", null, null);

    assertThat(row(this.list).isMoved()).isTrue();
    assertThat(this.list.create(JOBS, claim("x", 0, Reason.CREATED))).isEmpty();
    assertThat(read(this.linkB)).isNull();
  }

  @Test
  void aMarkStaysInItsPart() throws Exception {
    long term = lead(this.list, "x");
    this.a.designate(JOBS, "moved to b", null, null);

    assertThat(this.list.renew("x", Map.of(JOBS, term)).renewed()).isEmpty();
    assertThat(this.list.release(JOBS, "x", term, null, RESIGNED)).isTrue();

    assertThat(row(this.linkA).isMoved()).isTrue();
    assertThat(row(this.linkB).leaderId()).isEmpty();
    assertThat(row(this.linkB).leaseMillis()).isZero();
    assertThat(this.list.designate(JOBS, "z", row(this.list), null)).isTrue();
    assertThat(row(this.linkA).isMoved()).isTrue();
  }

  @Test
  void aLeaseThatOnePartRefusesIsLostAndRestsInTheNext() throws Exception {
    Map<String, Long> terms = Map.of(JOBS, lead(this.list, "x"));
    assertThat(this.list.renew("x", terms).renewed()).containsExactly(JOBS);
    this.a.deleteRow(JOBS);
    LeaseRow resting = row(this.linkB);
    this.linkB.calls.clear();

    Renewals lost = this.list.renew("x", terms);

    assertThat(lost.renewed()).isEmpty();
    assertThat(lost.unknown()).isEmpty();
    assertThat(this.linkB.calls).isEmpty();
    assertThat(row(this.linkB)).isEqualTo(resting);
  }

  @Test
  void thePartThatFailedLastIsRenewedFirstAndTheOthersRestMeanwhile() throws Exception {
    Map<String, Long> terms = Map.of(JOBS, lead(this.list, "x"));
    fail(this.linkB, "renew");
    assertThatThrownBy(() -> this.list.renew("x", terms)).isInstanceOf(LeaseStoreException.class);
    LeaseRow resting = row(this.linkA);

    assertThatThrownBy(() -> this.list.renew("x", terms)).isInstanceOf(LeaseStoreException.class);

    assertThat(row(this.linkA)).isEqualTo(resting);
    this.linkB.before((name) -> {});
    assertThat(this.list.renew("x", terms).renewed()).containsExactly(JOBS);
    assertThat(row(this.linkA)).isNotEqualTo(resting);
  }

  @Test
  void aLeaseThatWasLostInOnePartIsNotUnknownBecauseAnotherPartFails() throws Exception {
    long term = lead(this.list, "x");
    LeaseRow created = this.list.create("others", claim("x", 0, Reason.CREATED)).orElseThrow();
    this.list.acquire("others", created, claim("x", 0, Reason.CREATED));
    lead(this.a.new Store(), "y");
    fail(this.linkB, "renew");

    Renewals renewals = this.list.renew("x", Map.of(JOBS, term, "others", 1L));

    assertThat(renewals.renewed()).isEmpty();
    assertThat(renewals.unknown()).containsExactly("others");
    assertThat(renewals.problem()).isEqualTo("Part 'b' of the list: out of reach");
  }

  @Test
  void ifAPartWasLostTheOthersAreLeftToTheNodeWrittenIntoIt() throws Exception {
    long term = lead(this.list, "x");
    assertThat(this.list.release(JOBS, "x", term, null, RESIGNED))
        .as("nothing lost")
        .isFalse();
    assertThat(row(this.list).own()).isTrue();
    this.a.designate(JOBS, "y", null, null);

    assertThat(this.list.release(JOBS, "x", term, "", RESIGNED)).as("displaced").isFalse();
    assertThat(this.list.release(JOBS, "x", term, null, RESIGNED)).isTrue();

    assertThat(row(this.linkA).leaderId()).isEqualTo("y");
    assertThat(row(this.linkA).leaseMillis()).isZero();
    assertThat(row(this.linkB).leaderId()).isEqualTo("y");
    assertThat(row(this.linkB).leaseMillis()).isZero();
  }

  @Test
  void ifAnotherNodeTookAPartTheOthersAreLeftToAnyAndNobodyAskedThisNodeToYield() throws Exception {
    long term = lead(this.list, "x");
    lead(this.a.new Store(), "y");
    LeaseRow taken = row(this.linkA);

    assertThat(this.list.release(JOBS, "x", term, null, RESIGNED)).isFalse();

    assertThat(row(this.linkA)).isEqualTo(taken);
    assertThat(row(this.linkB).leaderId()).isEmpty();
    assertThat(row(this.linkB).leaseMillis()).isZero();
  }

  @Test
  void aHandBackGoesOnWhereItFailedAndReachesAllPartsThatAnswer() throws Exception {
    for (Store broken : List.of(this.linkA, this.linkB)) {
      for (String call : List.of("read", "release")) {
        long term = lead(this.list, "x");
        fail(broken, call);
        assertThatThrownBy(() -> this.list.release(JOBS, "x", term, "y", RESIGNED))
            .isInstanceOf(LeaseStoreException.class);
        broken.before((name) -> {});
        Store other = broken == this.linkA ? this.linkB : this.linkA;
        assertThat(row(other).leaseMillis()).isZero();

        assertThat(this.list.release(JOBS, "x", term, "y", RESIGNED)).isTrue();

        assertThat(row(this.list).leaderId()).isEqualTo("y");
        assertThat(row(this.list).isReleased()).isTrue();
      }
    }
  }

  @Test
  void anyFailureOfAPartIsThatPartsAlone() throws Exception {
    long term = lead(this.list, "x");
    before(this.linkA, "release", (name) -> {
      throw new IllegalStateException("a bug");
    });
    assertThatThrownBy(() -> this.list.release(JOBS, "x", term, "y", RESIGNED))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessage("Part 'a' of the list: java.lang.IllegalStateException: a bug");
    assertThat(row(this.linkB).isReleased()).isTrue();
  }

  @Test
  void aNodeThatWasDisplacedHandsBackWhatItCanReach() throws Exception {
    long term = lead(this.list, "x");
    this.a.designate(JOBS, "y", null, null);
    fail(this.linkA, "read");

    assertThatThrownBy(() -> this.list.release(JOBS, "x", term, null, RESIGNED))
        .isInstanceOf(LeaseStoreException.class);

    assertThat(row(this.linkB).leaseMillis()).isZero();
  }

  @Test
  void aRecordIsOwnOnlyIfAllPartsAreInOneTerm() throws Exception {
    lead(this.list, "x");
    assertThat(row(this.list).own()).isTrue();
    lead(this.linkA, "x");
    assertThat(row(this.list).own()).as("two terms").isFalse();
    lead(this.list, "x");
    this.b.new Store().touch(JOBS, row(this.linkB));
    assertThat(row(this.list).own()).as("one part").isFalse();
  }

  @Test
  void aTouchWritesOnlyToThePartsThatNameTheHolder() throws Exception {
    for (String left : List.of("", "x", "y")) {
      long term = lead(this.list, "x");
      this.linkA.release(JOBS, "x", term, left, RESIGNED);
      LeaseRow seen = row(this.list);
      LeaseRow resting = row(this.linkA);

      LeaseRow touched = this.list.touch(JOBS, seen).orElseThrow();

      assertThat(row(this.linkA)).isEqualTo(resting);
      assertThat(touched).isEqualTo(row(this.list)).isNotEqualTo(seen);
      assertThat(this.list.touch(JOBS, seen)).isEmpty();
    }
    lead(this.b.new Store(), "y");
    this.a.designate(JOBS, "x", null, null);
    lead(this.linkA, "x");
    LeaseRow resting = row(this.linkA);

    this.list.touch(JOBS, row(this.list));

    assertThat(row(this.linkA)).as("the list shows y").isEqualTo(resting);
  }

  @Test
  void listsInAnyOrderWriteInTheOrderOfTheNames() throws Exception {
    Store b = this.b.new Store();
    Store a = this.a.new Store();
    List<String> taken = new ArrayList<>();
    a.before((name) -> taken.add("a " + name));
    b.before((name) -> taken.add("b " + name));
    JointLeaseStore list =
        list("y", List.of(new JointPart.Leases("b", b), new JointPart.Leases("a", a)));

    lead(list, "y");

    assertThat(list.name()).isEqualTo("b, a");
    assertThat(taken)
        .filteredOn((call) -> !call.endsWith("read"))
        .containsExactly("a create", "b create", "a lead", "b lead");
  }

  @Test
  void aDesignationByWhatWasReadIsDoneInAllPartsOrNone() throws Exception {
    lead(this.list, "x");
    LeaseRow seen = row(this.list);
    once(this.linkB, "designate", (name) -> this.linkB.renew("x", Map.of(JOBS, seen.term())));

    assertThat(this.list.designate(JOBS, "y", seen, new AuditNote("alice", ""))).isTrue();

    assertThat(row(this.linkA).leaderId()).isEqualTo("y");
    assertThat(row(this.linkB).leaderId()).as("renewed meanwhile").isEqualTo("y");
    assertThat(this.list.designate(JOBS, "z", seen, null)).isFalse();
  }

  @Test
  void membersAndHistoryAreThoseOfAllPartsThatAnswer() throws Exception {
    Store silent = new Silent();
    MemoryLeaseStore memory = new MemoryLeaseStore();
    memory.announce(announcement("y"));
    lead(memory, "y");
    lead(silent, "z");
    lead(silent, "z");
    ElectionDirectory both = (ElectionDirectory) list("x", memory, this.b.new Store());
    both.announce(announcement("x"));

    assertThat(both.members(Set.of(JOBS)).get(JOBS))
        .extracting(Member::nodeId)
        .containsExactlyInAnyOrder("x", "y");
    assertThat(both.history(Set.of(JOBS)).get(JOBS))
        .extracting(PastTerm::term)
        .containsExactly(2L, 1L);
    ElectionDirectory half = (ElectionDirectory) list("x", memory, silent);
    assertThat(half.history(Set.of(JOBS)).get(JOBS))
        .extracting(PastTerm::leaderId)
        .containsExactly("y");
    ElectionDirectory none = (ElectionDirectory) list("x", silent, new Silent());
    assertThatThrownBy(() -> none.history(Set.of(JOBS))).isInstanceOf(LeaseStoreException.class);
  }

  private final class Silent extends Store {

    Silent() {
      JointLeaseStoreTest.this.b.super();
    }

    @Override
    public Map<String, List<PastTerm>> history(Set<String> serviceIds) throws LeaseStoreException {
      throw new LeaseStoreException("out of reach");
    }
  }

  private static Announcement announcement(String node) {
    return new Announcement(
        node, Set.of(JOBS), Set.of(), true, Duration.ofSeconds(10), "", "", Map.of(), "");
  }

  /** Members that no part can show are unknown, which is not the same as none. */
  @Test
  void aListIsADirectoryOnlyIfAPartIs() {
    LeaseStore plain = new Plain(this.linkA);
    assertThat(list("x", plain, new Plain(this.linkB))).isNotInstanceOf(ElectionDirectory.class);
    assertThat(list("x", plain, this.linkB)).isInstanceOf(ElectionDirectory.class);
  }

  @ParameterizedTest
  @ValueSource(strings = {"a", "b"})
  void theHealthOfEachPartIsThatOfItsLastCall(String failing) throws Exception {
    Store link = failing.equals("a") ? this.linkA : this.linkB;
    assertThat(this.list.health()).isEmpty();
    fail(link, "read");
    for (int second = 0; second < 3; second++) {
      this.now += Duration.ofSeconds(1).toNanos();
      assertThatThrownBy(() -> this.list.read(Set.of(JOBS)));
    }

    assertThat(this.list.health().keySet()).containsExactly("a", "b");
    assertThat(this.list.health().get(failing.equals("a") ? "b" : "a"))
        .isEqualTo(new StoreHealth(Duration.ZERO, Duration.ZERO, null));
    Duration broken = Duration.ofSeconds(2);
    assertThat(this.list.health().get(failing))
        .isEqualTo(new StoreHealth(broken, broken, "out of reach"));
    link.before((name) -> {});
    this.list.read(Set.of(JOBS));
    assertThat(this.list.health().get(failing))
        .isEqualTo(new StoreHealth(Duration.ZERO, Duration.ZERO, null));
    this.list.close();
    assertThat(this.list.health()).isEmpty();
  }

  @Test
  void aWatchIsOnAllPartsOrNone() {
    List<String> watched = new ArrayList<>();
    LeaseStore first = new Plain(this.linkA) {
      @Override
      public Watch watch(String nodeId, Wake wake) {
        watched.add("a");
        return () -> watched.remove("a");
      }
    };
    LeaseStore second = new Plain(this.linkB) {
      @Override
      public Watch watch(String nodeId, Wake wake) {
        throw new IllegalStateException("no thread");
      }
    };
    list("x", first, new Plain(this.linkB)).watch("x", () -> {}).close();
    assertThat(watched).isEmpty();
    JointLeaseStore broken = list("x", first, second);

    assertThatThrownBy(() -> broken.watch("x", () -> {})).hasMessage("no thread");

    assertThat(watched).isEmpty();
  }

  @Test
  void aListHasAPart() {
    assertThatIllegalArgumentException().isThrownBy(() -> list("x", List.of()));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> list("x", this.linkA, this.linkA))
        .withMessageContaining("one store");
  }

  /** A store that shows neither members nor history. */
  private static class Plain implements LeaseStore {

    private final LeaseStore store;

    Plain(LeaseStore store) {
      this.store = store;
    }

    @Override
    public String name() {
      return this.store.name();
    }

    @Override
    public Map<String, Reading> read(Set<String> serviceIds) throws LeaseStoreException {
      return this.store.read(serviceIds);
    }

    @Override
    public Renewals renew(String nodeId, Map<String, Long> terms) throws LeaseStoreException {
      return this.store.renew(nodeId, terms);
    }

    @Override
    public Optional<LeaseRow> create(String serviceId, Claim claim) throws LeaseStoreException {
      return this.store.create(serviceId, claim);
    }

    @Override
    public Optional<LeaseRow> touch(String serviceId, LeaseRow seen) throws LeaseStoreException {
      return this.store.touch(serviceId, seen);
    }

    @Override
    public OptionalLong acquire(String serviceId, LeaseRow seen, Claim claim)
        throws LeaseStoreException {
      return this.store.acquire(serviceId, seen, claim);
    }

    @Override
    public boolean release(
        String serviceId, String nodeId, long term, @Nullable String successor, TermEnd ending)
        throws LeaseStoreException {
      return this.store.release(serviceId, nodeId, term, successor, ending);
    }

    @Override
    public boolean designate(
        String serviceId, String leaderId, @Nullable LeaseRow seen, @Nullable AuditNote auditNote)
        throws LeaseStoreException {
      return this.store.designate(serviceId, leaderId, seen, auditNote);
    }

    @Override
    public void close() {
      this.store.close();
    }
  }
}
