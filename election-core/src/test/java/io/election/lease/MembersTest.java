package io.election.lease;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import ch.qos.logback.classic.Level;
import io.election.AuditNote;
import io.election.Member;
import io.election.lease.Precedence.OpenElection;
import io.election.lease.Precedence.Turn;
import io.election.store.ElectionDirectory;
import io.election.store.LeaseSettings;
import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;
import io.election.store.SimulatedDatabase;
import io.election.store.SimulatedMembers;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiPredicate;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** Tests nodes that announce themselves, stepped by a ticked clock. */
class MembersTest extends ElectorFixture {

  private final SimulatedMembers members = new SimulatedMembers();

  private final class Register extends SimulatedDatabase.Store {

    final List<Duration> announced = new ArrayList<>();

    final List<String> written = new ArrayList<>();

    boolean broken;

    boolean readsFail;

    Register() {
      MembersTest.this.database.super();
    }

    private void call(String name) throws LeaseStoreException {
      this.calls.add(name);
      if (this.broken || (this.readsFail && name.equals("members"))) {
        throw new LeaseStoreException("there is no such table.");
      }
    }

    @Override
    public void announce(Announcement self) throws LeaseStoreException {
      this.announced.add(Duration.ofNanos(MembersTest.this.clock.get()));
      call("announce");
      this.written.add(self.positions().getOrDefault("jobs", ""));
      MembersTest.this.members.announce(self, Instant.EPOCH);
    }

    @Override
    public Map<String, List<Member>> members(Set<String> serviceIds) throws LeaseStoreException {
      call("members");
      return MembersTest.this.members.read(serviceIds, Instant.EPOCH);
    }
  }

  private final class MemberNode extends Node {

    final Register register;

    MemberNode(String id) {
      this(id, SETTINGS);
    }

    MemberNode(String id, LeaseSettings settings) {
      this(id, settings, new Register());
    }

    private MemberNode(String id, LeaseSettings settings, Register register) {
      super(id, settings, register, "jobs");
      this.register = register;
      join();
    }

    List<String> members() {
      return this.service.members().orElseThrow().stream().map(Member::nodeId).toList();
    }
  }

  @Test
  void nodesAnnounceThemselvesAndLeaveWhenTheyStop() {
    MemberNode a = new MemberNode("a");
    assertThat(a.service.members()).isEmpty();
    MemberNode b = new MemberNode("b");
    run(LEASE.multipliedBy(3), a, b);
    assertThat(a.members()).containsExactly("a", "b");
    assertThat(b.members()).containsExactly("a", "b");
    assertThat(b.service.members().orElseThrow())
        .extracting(Member::algorithm)
        .containsOnly(this.database.name());

    b.service.pause(new AuditNote("alice", "canary"));
    run(LEASE.multipliedBy(3), a, b);
    a.members();
    run(LEASE.plusSeconds(2), a, b);
    assertThat(a.service.members().orElseThrow())
        .extracting(Member::paused)
        .containsExactly(false, true);

    b.elector.stop();
    a.members();
    run(LEASE.plusSeconds(2), a);
    assertThat(a.members()).containsExactly("a");
  }

  @Test
  void leasesAndLabelsAreShownAndOneLineOfEachNodeSaysThatTheyDiffer() {
    MemberNode a = new MemberNode("a");
    MemberNode b = new MemberNode("b");
    run(LEASE.multipliedBy(20), a, b);
    assertThat(linesWith("members differ")).isEmpty();
    b.elector.stop();
    Duration longer = LEASE.multipliedBy(2);
    Duration brief = Duration.ofSeconds(1);
    MemberNode c = new MemberNode(
        "c",
        new LeaseSettings(longer, brief, brief, Duration.ZERO, true, Duration.ofDays(1), "blue"));
    run(LEASE.multipliedBy(60), a, c);
    assertThat(a.service.members().orElseThrow())
        .extracting(Member::nodeId, Member::lease, Member::label)
        .containsExactly(tuple("a", LEASE, ""), tuple("c", longer, "blue"));
    assertThat(linesWith("members differ from this node"))
        .satisfiesExactlyInAnyOrder(
            (line) -> assertThat(line).contains("(lease PT10S): c (lease PT20S, label blue). "),
            (line) -> assertThat(line).contains("(lease PT20S, label blue): a (lease PT10S). "));
    assertThat(List.of(a, c))
        .extracting((node) -> node.service.leaderLease())
        .as("of the leader, a")
        .containsOnly(Optional.of(LEASE));
    a.elector.stop();
    assertThat(a.service.leaderLease()).isEmpty();
    run(LEASE, c);
    assertThat(c.service.isLeader()).isTrue();
    assertThat(c.service.leaderLease()).contains(longer);
  }

  @Test
  void aMemberOfManyElectionsIsKeptOnce() {
    Node node = new Node("a", SETTINGS, new Register(), "jobs", "mails");
    node.join();
    run(LEASE.multipliedBy(2), node);
    assertThat(node.services)
        .extracting((service) -> service.members().orElseThrow().get(0))
        .satisfiesExactly(
            (jobs) -> assertThat(jobs.nodeId()).isEqualTo("a"),
            (mails) ->
                assertThat(mails).isSameAs(node.service.members().orElseThrow().get(0)));
  }

  @Test
  void aNodeWritesEveryTwoLeasesAndReadsEveryEightUnlessItIsAsked() {
    MemberNode leader = new MemberNode("a");
    run(LEASE.multipliedBy(2), leader);
    MemberNode follower = new MemberNode("b");
    run(LEASE.multipliedBy(60), leader, follower);

    for (MemberNode node : List.of(leader, follower)) {
      List<Duration> at = node.register.announced;
      assertThat(at).hasSizeGreaterThan(20);
      for (int i = 1; i < at.size(); i++) {
        assertThat(at.get(i).minus(at.get(i - 1)))
            .isBetween(LEASE.multipliedBy(2), LEASE.multipliedBy(3).minusSeconds(1));
      }
      assertThat(node.calls("members")).isBetween(8L, 10L);
      List<String> calls = List.copyOf(node.store.calls);
      String urgent = node == leader ? "create" : "read";
      assertThat(calls.indexOf("announce")).isGreaterThan(calls.indexOf(urgent));
    }
    assertThat(leader.service.isLeader()).isTrue();

    long reads = leader.calls("members");
    for (int i = 0; i < 10; i++) {
      assertThat(leader.members()).containsExactly("a", "b");
      run(LEASE.plusSeconds(2), leader, follower);
    }
    assertThat(leader.calls("members") - reads).isEqualTo(10);
  }

  @Test
  void aCallIsMadeAtTheInstantAtWhichItIsDue() {
    String[] position = {"1"};
    Members known = new Members(
        new Register(),
        SETTINGS,
        "",
        precedence((opening) -> true, () -> position[0]),
        new Answers(
            Runnable::run,
            () -> {},
            new ElectionLog("test"),
            new Clocks(this.clock::get, () -> Instant.EPOCH)),
        new ElectionLog("test"));
    List<Candidate> candidates = List.of(new Node("a").service.candidate());
    BiPredicate<Long, OptionalLong> works =
        (now, openSince) -> known.runBackgroundTask(candidates, now, openSince);
    OptionalLong closed = OptionalLong.empty();
    long lease = LEASE.toNanos();
    assertThat(works.test(lease, closed)).as("announces").isTrue();
    assertThat(works.test(lease, closed)).as("reads").isTrue();
    assertThat(known.count()).isEqualTo(1);
    assertThat(works.test(2 * lease - 1, closed)).isFalse();
    assertThat(works.test(2 * lease, closed)).as("reads again").isTrue();
    position[0] = "2";
    assertThat(works.test(2 * lease, closed)).as("announces a new position").isTrue();
    assertThat(known.readSince("jobs", 2 * lease)).isPresent();
    OptionalLong open = OptionalLong.of(2 * lease);
    long soon = 2 * lease + SETTINGS.renewInterval().toNanos() / 4;
    assertThat(works.test(soon - 1, open)).isFalse();
    assertThat(works.test(soon, open)).as("reads while it is open").isTrue();
    position[0] = "3";
    assertThat(works.test(soon + 1, open)).as("announces while it is open").isTrue();
    assertThat(known.readSince("jobs", 2 * lease)).isEmpty();
    assertThat(works.test(soon + 1, OptionalLong.of(soon + 1)))
        .as("has opened again")
        .isTrue();
    assertThat(works.test(soon + 2 * lease, closed)).isFalse();
    assertThat(works.test(soon + 2 * lease + 1, closed)).as("announces again").isTrue();
  }

  @Test
  void aFailedReadIsRepeatedSoonOnlyOnce() {
    MemberNode node = new MemberNode("a");
    run(LEASE.multipliedBy(4), node);
    node.register.readsFail = true;
    node.register.calls.clear();
    run(LEASE.multipliedBy(41), node);
    assertThat(node.calls("members")).isBetween(6L, 7L);
    node.register.readsFail = false;
    run(LEASE.multipliedBy(11), node);
    assertThat(node.members()).containsExactly("a");
  }

  /** Each node's position is its own; the greatest one goes first. */
  private Precedence greatest(String id, Map<String, String> positions) {
    return precedence(
        (opening) -> {
          List<String> others = opening
              .members()
              .map((members) -> members.stream().map(Member::position).toList())
              .orElse(List.of());
          return !others.isEmpty()
              && others.stream().allMatch((other) -> other.compareTo(positions.get(id)) <= 0);
        },
        () -> positions.get(id));
  }

  private static Precedence precedence(Predicate<OpenElection> atOnce, Supplier<String> position) {
    return new Precedence() {
      @Override
      public Turn turn(OpenElection opening) {
        return atOnce.test(opening) ? Turn.atOnce() : Turn.holdBack(Duration.ofSeconds(4));
      }

      @Override
      public String position(String serviceId) {
        return position.get();
      }
    };
  }

  @Test
  void theNodeOfTheGreatestPositionGoesFirst() {
    MemberNode leader = new MemberNode("leader");
    run(LEASE.multipliedBy(2), leader);
    Map<String, String> positions = new TreeMap<>(Map.of("a", "1", "b", "1"));
    this.precedence = greatest("a", positions);
    MemberNode a = new MemberNode("a");
    this.precedence = greatest("b", positions);
    MemberNode b = new MemberNode("b");
    run(LEASE.multipliedBy(3), leader, a, b);
    leader.elector.stop();
    positions.put("b", "2");
    int before = b.register.announced.size();
    run(Duration.ofSeconds(4), a, b);
    assertThat(b.service.isLeader()).isTrue();
    assertThat(b.register.announced.size() - before).as("writes").isEqualTo(1);
    a.members();
    run(LEASE.plusSeconds(2), a, b);
    assertThat(a.service.members().orElseThrow())
        .filteredOn((member) -> member.nodeId().equals("b"))
        .extracting(Member::position)
        .containsExactly("2");
  }

  /** Positions that were read before may be those of an earlier election. */
  @Test
  void aPrecedenceIsShownNoMembersThatWereReadBeforeTheElectionOpened() {
    MemberNode leader = new MemberNode("leader");
    run(LEASE.multipliedBy(2), leader);
    List<Boolean> known = new ArrayList<>();
    this.precedence = precedence(
        (opening) -> {
          known.add(opening.members().isPresent());
          return opening.members().isPresent();
        },
        () -> "1");
    MemberNode a = new MemberNode("a");
    run(LEASE.multipliedBy(3), leader, a);
    assertThat(a.members()).contains("leader");
    assertThat(known).isEmpty();
    run(LEASE.multipliedBy(2), a);
    assertThat(known).startsWith(false).contains(true);
    assertThat(a.service.isLeader()).isTrue();
  }

  @Test
  void aPositionThatChangesAllTheTimeIsWrittenOncePerLeaseWhileALeaderLives() {
    MemberNode leader = new MemberNode("leader");
    run(LEASE.multipliedBy(2), leader);
    Map<String, String> positions = new TreeMap<>(Map.of("a", "1"));
    this.precedence = greatest("a", positions);
    MemberNode a = new MemberNode("a");
    run(LEASE.multipliedBy(2), leader, a);
    int before = a.register.announced.size();
    long reads = a.calls("members");
    for (int i = 0; i < 20; i++) {
      positions.put("a", "position " + i);
      run(LEASE.dividedBy(2), leader, a);
    }
    assertThat(a.register.announced.size() - before).isBetween(9, 10);
    assertThat(a.calls("members") - reads).isLessThan(4);

    // The first may be due.
    for (String next : List.of("next", "urgent")) {
      positions.put("a", next);
      a.elector.step();
    }
    assertThat(a.register.written).last().isNotEqualTo("urgent");
    before = a.register.announced.size();
    a.elector.announcePosition();
    a.elector.step();
    assertThat(a.register.written).last().isEqualTo("urgent");
    a.elector.announcePosition();
    a.elector.step();
    assertThat(a.register.announced.size() - before).as("writes").isEqualTo(1);
  }

  @Test
  void aPositionThatFailsOrIsNotPrintableHarmsNothing() {
    this.precedence = precedence((opening) -> true, () -> {
      if (this.clock.get() > LEASE.toNanos()) {
        throw new IllegalStateException("no position");
      }
      return "a\tb\n";
    });
    MemberNode node = new MemberNode("a");
    run(LEASE.multipliedBy(2), node);
    assertThat(node.register.written).contains("a\\u0009b\\u000a");
    assertThat(node.service.isLeader()).isTrue();
    assertThat(linesWith("asked for its position, failed")).hasSize(1);
  }

  /** Others count it as gone three leases after its last announcement. */
  @Test
  void anAnnouncementThatFailsIsRepeatedInTime() {
    MemberNode node = new MemberNode("a");
    run(LEASE.multipliedBy(2), node);
    node.register.broken = true;
    while (node.calls("announce") < 2) {
      step(node);
    }
    node.register.broken = false;
    run(LEASE.dividedBy(2).plusSeconds(1), node);

    List<Duration> at = node.register.announced;
    assertThat(at).hasSize(3);
    assertThat(at.get(2).minus(at.get(0))).isLessThan(LEASE.multipliedBy(3));
  }

  @Test
  void aRegisterThatFailsHarmsNoElectionAndIsToldOnce() {
    MemberNode node = new MemberNode("a");
    node.register.broken = true;
    run(LEASE.multipliedBy(2), node);
    long term = node.service.term().orElseThrow();
    run(LEASE.multipliedBy(20), node);

    assertThat(node.service.leadership()).isPresent();
    assertThat(node.service.term()).hasValue(term);
    assertThat(node.service.members()).isEmpty();
    assertThat(health(node).failure()).isNull();
    assertThat(linesWith("no such table")).hasSize(1);
    assertThat(this.logged.list).noneMatch((event) -> event.getLevel().levelStr.equals("WARN"));

    node.register.broken = false;
    run(LEASE.multipliedBy(2), node);
    assertThat(node.members()).containsExactly("a");
    assertThat(linesWith("known again")).hasSize(1);
    node.register.broken = true;
    logger().setLevel(Level.DEBUG);
    node.elector.stop();
    assertThat(this.database.row("jobs").isReleased()).isTrue();
    assertThat(lines()).contains("this node is shown as a member for another three leases");
  }

  @Test
  void anOperatorReadsTheMembersAnewUnlessTheyCannotBeRead() throws Exception {
    MemberNode a = new MemberNode("a");
    run(LEASE.multipliedBy(2), a);
    assertThat(a.members()).containsExactly("a");
    // Reads them again, because they were asked for; then no read is due for a while.
    step(a);
    this.members.announce(
        new ElectionDirectory.Announcement(
            "b", Set.of("jobs"), Set.of(), true, LEASE, "1.0", "memory", Map.of(), ""),
        Instant.EPOCH);
    assertThat(a.members()).containsExactly("a");
    assertThat(a.service.currentMembers().orElseThrow())
        .extracting(Member::nodeId)
        .containsExactly("a", "b");
    a.register.broken = true;
    logger().setLevel(Level.DEBUG);
    assertThat(a.service.currentMembers().orElseThrow()).hasSize(2);
    assertThat(lines()).contains("the members could not be read again");
    a.register.broken = false;

    a.service.designate("b");
    a.elector.step();
    assertThat(linesWith("has not led lately")).isEmpty();
  }

  /** The elector's thread may hang. */
  @Test
  void aStoreWithoutADirectoryIsNotAskedForMembers() throws Exception {
    SimulatedDatabase.Store store = this.database.new Store();
    LeaseStore withoutDirectory = (LeaseStore) Proxy.newProxyInstance(
        LeaseStore.class.getClassLoader(),
        new Class<?>[] {LeaseStore.class},
        (proxy, method, arguments) -> method.invoke(store, arguments));
    Elector elector = new Elector(
        withoutDirectory,
        SETTINGS,
        () -> "a",
        (serviceId) -> false,
        (event) -> {},
        this.clock::get,
        () -> Instant.EPOCH);
    LeaseElectionService service = new LeaseElectionService("jobs", elector);
    elector.join(List.of(service));

    assertThat(service.currentMembers()).isEmpty();
    assertThat(store.calls).isEmpty();
  }
}
