package io.election.keyvalue;

import static io.election.LeadershipLostEvent.Reason.STOPPED;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.LeadershipAcquiredEvent.Reason;
import io.election.Member;
import io.election.store.ElectionDirectory.Announcement;
import io.election.store.LeaseRow;
import io.election.store.LeaseStore.Claim;
import io.election.store.LeaseStoreException;
import io.election.store.TermEnd;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MembersTest {

  private static final Duration LEASE = Duration.ofSeconds(10);

  private final MemoryKeyValueServer.Cluster cluster = new MemoryKeyValueServer.Cluster();

  private Instant now = Instant.parse("2026-01-01T00:00:00Z");

  private long ticker = Long.MAX_VALUE - LEASE.toNanos();

  private final KeyValueLeaseStore store = newStore();

  private KeyValueLeaseStore newStore() {
    return newStore(new MemoryKeyValueServer(this.cluster), Duration.ZERO);
  }

  private KeyValueLeaseStore newStore(KeyValueServer server, Duration ahead) {
    return new KeyValueLeaseStore(
        server,
        () -> this.now.plus(ahead),
        () -> this.ticker,
        () -> UUID.randomUUID().toString());
  }

  private void pass(Duration time) {
    this.now = this.now.plus(time);
    this.ticker += time.toNanos();
  }

  @Test
  void aNodeIsAMemberForThreeOfItsLeases() throws Exception {
    Instant joined = this.now;
    this.store.announce(self(Set.of("billing", "mail"), Set.of("mail")));
    pass(LEASE);
    this.store.announce(self(Set.of("billing", "mail"), Set.of("mail")));

    assertThat(members("mail"))
        .containsExactly(
            new Member("a:8080:1", joined, this.now, true, true, "1.0", "etcd", "", LEASE, "prod"));
    assertThat(members("billing")).extracting(Member::paused).containsExactly(false);
    assertThat(members("other")).isEmpty();
    pass(LEASE.multipliedBy(3).minusNanos(1));
    assertThat(members("billing")).hasSize(1);
    pass(Duration.ofNanos(1));
    assertThat(members("billing")).isEmpty();

    this.store.announce(self(Set.of("billing"), Set.of()));
    assertThat(members("billing")).as("it was paused").hasSize(1);
  }

  /** By whatever its clock is wrong, and this node's clock is set. */
  @ParameterizedTest
  @ValueSource(longs = {31, -31, 86_400 * 21L, -86_400 * 21L, 86_400 * 365 * 300L})
  void aNodeIsJudgedByWhatItWritesAndNotByAnyWallClock(long seconds) throws Exception {
    Duration off = Duration.ofSeconds(seconds);
    KeyValueLeaseStore other = newStore(new MemoryKeyValueServer(this.cluster), off);
    for (int i = 0; i < 5; i++) {
      other.announce(node("x", Set.of()));
      assertThat(members("billing")).extracting(Member::nodeId).containsExactly("x");
      pass(LEASE.multipliedBy(2));
      assertThat(members("billing")).hasSize(1);
      this.now = this.now.plus(i % 2 == 0 ? off : off.negated());
      assertThat(members("billing")).hasSize(1);
    }
    this.now = Instant.EPOCH;
    pass(LEASE);
    assertThat(members("billing")).isEmpty();
  }

  /** Another process cannot know how long that node has been silent. */
  @Test
  void aNewNodeSeesASilentOneForThreeLeases() throws Exception {
    newStore().announce(node("x", Set.of()));
    pass(LEASE.multipliedBy(100));
    assertThat(members("billing")).hasSize(1);
    pass(LEASE.multipliedBy(3));
    assertThat(members("billing")).isEmpty();
  }

  @Test
  void anAnnouncementThatRepeatsTheLastIsOneSmallWrite() throws Exception {
    this.store.announce(self(Set.of("billing"), Set.of()));
    this.cluster.commits.clear();
    this.cluster.queries.clear();

    this.store.announce(self(Set.of("billing"), Set.of()));

    assertThat(this.cluster.queries).isEmpty();
    assertThat(this.cluster.commits)
        .singleElement()
        .satisfies((commit) -> assertThat(commit.writes())
            .singleElement()
            .satisfies((write) -> assertThat(write.key()).isEqualTo(Keys.seen("a:8080:1"))));
  }

  @Test
  void aChangeIsAnnouncedAndAStopEndsTheMembership() throws Exception {
    Instant joined = this.now;
    this.store.announce(self(Set.of("billing"), Set.of()));
    this.now = this.now.plusSeconds(1);
    this.store.announce(self(Set.of("billing"), Set.of("billing")));

    assertThat(members("billing")).singleElement().satisfies((member) -> {
      assertThat(member.paused()).isTrue();
      assertThat(member.since()).isEqualTo(joined);
    });

    this.store.announce(self(Set.of(), Set.of()));

    assertThat(members("billing")).isEmpty();
    assertThat(this.cluster.below(Keys.MEMBERS)).isEmpty();
    assertThat(this.cluster.below(Keys.SEEN)).isEmpty();

    this.store.announce(self(Set.of("billing"), Set.of()));

    assertThat(members("billing")).extracting(Member::since).containsExactly(this.now);
  }

  /** As another version writes them, or an operator. */
  @Test
  void membersWithoutWhatIsNotNeededAreShownAndThoseWithoutANameAreNot() throws Exception {
    String common = "\"since\":1000,\"revision\":7,\"eligible\":true,\"leaseMillis\":10000";
    this.cluster.put(
        Keys.member("x"), "{\"nodeId\":\"x\",\"services\":[\"billing\"],%s}".formatted(common));
    this.cluster.put(Keys.member("y"), "{\"services\":[\"billing\"],%s}".formatted(common));
    this.cluster.put(Keys.member("z"), "{\"nodeId\":\"z\",%s}".formatted(common));
    this.cluster.put(
        Keys.member("silent"), this.cluster.get(Keys.member("x")).replace("x", "silent"));
    this.cluster.put(Keys.member("junk"), "junk");
    for (String id : List.of("x", "y", "z", "null", "junk")) {
      this.cluster.put(Keys.seen(id), "2000");
    }

    assertThat(members("billing"))
        .containsExactly(new Member(
            "x",
            Instant.ofEpochSecond(1),
            Instant.ofEpochSecond(2),
            true,
            false,
            "",
            "",
            "",
            LEASE,
            ""));
  }

  @Test
  void twoProcessesOfOneNameShareAnEntry() throws Exception {
    KeyValueLeaseStore twin = newStore();
    this.store.announce(self(Set.of("billing"), Set.of()));
    twin.announce(self(Set.of("mail"), Set.of()));
    assertThat(members("billing")).isEmpty();

    this.store.announce(self(Set.of("billing"), Set.of()));

    assertThat(members("billing")).hasSize(1);
  }

  @Test
  void theOrderIsThatInWhichTheNodesCameWhateverTheirClocksAndNames() throws Exception {
    KeyValueLeaseStore second = newStore();
    this.store.announce(node("z", Set.of()));
    this.now = this.now.minusSeconds(5);
    second.announce(node("y", Set.of()));
    newStore().announce(node("x", Set.of()));
    // Whatever a node writes later, it keeps its place, until it comes anew.
    this.store.announce(node("z", Set.of("billing")));
    assertThat(members("billing")).extracting(Member::nodeId).containsExactly("z", "y", "x");

    second.close();
    second.announce(node("y", Set.of()));

    assertThat(members("billing")).extracting(Member::nodeId).containsExactly("z", "x", "y");
  }

  /** The last leader and a paused node are no candidates. */
  @Test
  void afterAHandBackAReadingTellsHowManyCandidatesCameBefore() throws Exception {
    KeyValueLeaseStore leader = newStore();
    long term = lead(leader, "billing");
    leader.announce(self(Set.of("billing"), Set.of()));
    newStore().announce(node("y", Set.of()));
    newStore().announce(node("x", Set.of("billing")));
    this.store.announce(node("w", Set.of()));
    newStore().announce(node("v", Set.of()));
    members("billing");
    assertThat(ahead()).isZero();
    leader.release("billing", "a:8080:1", term, "", new TermEnd(STOPPED, null));
    this.cluster.queries.clear();

    assertThat(ahead()).isEqualTo(1);
    assertThat(this.cluster.queries).as("the members are known").hasSize(1);
  }

  private int ahead() throws LeaseStoreException {
    return Objects.requireNonNull(this.store.read(Set.of("billing")).get("billing"))
        .ahead();
  }

  private static Announcement node(String id, Set<String> paused) {
    return new Announcement(
        id, Set.of("billing"), paused, true, LEASE, "1.0", "etcd", Map.of(), "");
  }

  /** Not what has only been written a long time ago by somebody's clock. */
  @Test
  void whatWasSeenToBeSilentForADayIsPruned() throws Exception {
    KeyValueLeaseStore dead = newStore();
    lead(dead, "mail");
    dead.announce(self(Set.of("mail"), Set.of()));
    this.now = this.now.plus(Duration.ofDays(3_650));
    long term = lead(this.store, "billing");
    members("billing");
    pass(Duration.ofDays(1).minusNanos(1));
    assertThat(this.store.renew("a:8080:1", Map.of("billing", term)).renewed()).hasSize(1);
    this.store.prune(Map.of("billing", term), Duration.ofDays(30));
    assertThat(this.cluster.below(Keys.HEARTBEATS)).hasSize(2);
    assertThat(this.cluster.below(Keys.MEMBERS)).hasSize(1);
    pass(Duration.ofNanos(1));

    this.store.prune(Map.of("billing", term), Duration.ofDays(30));

    assertThat(this.cluster.below(Keys.HEARTBEATS)).hasSize(1);
    assertThat(this.cluster.below(Keys.MEMBERS)).isEmpty();
    assertThat(this.cluster.below(Keys.SEEN)).isEmpty();
    assertThat(this.store.renew("a:8080:1", Map.of("billing", term)).renewed()).hasSize(1);
    assertThat(this.store.read(Set.of("mail"))).hasSize(1);
  }

  /** The leader's own clock may be anywhere, and the pruning node's too. */
  @ParameterizedTest
  @ValueSource(longs = {-365 * 50, -60, 0, 60, 365 * 50})
  void theHeartbeatOfALivingLeaderIsNeverPruned(long daysAhead) throws Exception {
    KeyValueLeaseStore leader =
        newStore(new MemoryKeyValueServer(this.cluster), Duration.ofDays(daysAhead));
    long term = lead(leader, "mail");
    long own = lead(this.store, "billing");
    for (int i = 0; i < 5; i++) {
      this.store.prune(Map.of("billing", own), Duration.ofDays(30));
      pass(Duration.ofDays(30));
      assertThat(leader.renew("a:8080:1", Map.of("mail", term)).renewed()).containsExactly("mail");
      this.now = this.now.plus(Duration.ofDays(daysAhead));
    }
    assertThat(this.cluster.below(Keys.HEARTBEATS)).hasSize(1);
    assertThat(leader.renew("a:8080:1", Map.of("mail", term)).renewed()).containsExactly("mail");
  }

  /** A leader that was paused for days, wakes, and leads again while it is pruned. */
  @Test
  void aHeartbeatThatIsWrittenWhileItIsPrunedStays() throws Exception {
    KeyValueLeaseStore leader = newStore();
    long term = lead(leader, "mail");
    KeyValueLeaseStore pruning = newStore(
        new MemoryKeyValueServer(
            this.cluster,
            (commit) -> {
              assertThat(commit.writes()).hasOnlyElementsOfType(KeyValueServer.Delete.class);
              renew(leader, term);
              return this.cluster.commit(commit);
            },
            this.cluster::read),
        Duration.ZERO);
    pruning.members(Set.of("mail"));
    pass(Duration.ofDays(1));
    pruning.prune(Map.of("mail", term), Duration.ofDays(30));
    renew(leader, term);
  }

  private static void renew(KeyValueLeaseStore store, long term) {
    try {
      assertThat(store.renew("a:8080:1", Map.of("mail", term)).renewed()).containsExactly("mail");
    } catch (LeaseStoreException ex) {
      throw new AssertionError(ex);
    }
  }

  private static long lead(KeyValueLeaseStore store, String serviceId) throws LeaseStoreException {
    Claim claim = new Claim("a:8080:1", LEASE.toMillis(), 0, Reason.CREATED);
    LeaseRow created = store.create(serviceId, claim).orElseThrow();
    return store.acquire(serviceId, created, claim).orElseThrow();
  }

  private List<Member> members(String serviceId) throws LeaseStoreException {
    return this.store.members(Set.of(serviceId)).getOrDefault(serviceId, List.of());
  }

  private static Announcement self(Set<String> serviceIds, Set<String> paused) {
    return new Announcement(
        "a:8080:1", serviceIds, paused, true, LEASE, "1.0", "etcd", Map.of(), "prod");
  }
}
