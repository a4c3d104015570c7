package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assertions.tuple;

import io.election.Member;
import io.election.jdbc.JdbcLeaseStore.SchemaMode;
import io.election.store.ElectionDirectory.Announcement;
import io.election.store.LeaseRow;
import io.election.store.LeaseStoreException;
import io.election.test.Leases;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests the register of members on one server. */
@OnEveryServer(postgresql = true)
class MembersIT extends ServerDatabase {

  private static final Duration LEASE = Duration.ofHours(1);

  private static final Set<String> BOTH = Set.of("jobs", "mail");

  private final AtomicLong ticker = new AtomicLong(Long.MAX_VALUE - 1);

  private JdbcLeaseStore store;
  private JdbcLeaseStore another;

  @BeforeEach
  void open() {
    this.store = closing(new JdbcLeaseStore(
        new ElectionDatabase(this.database.dataSource(), this.database.jdbcUrl()),
        SchemaMode.NONE,
        Database.OPERATION_TIMEOUT,
        Database.RENEW_INTERVAL,
        false,
        this.ticker::get));
    this.another = closing(Database.store(this.database));
  }

  private static Announcement node(String id, String... paused) {
    return new Announcement(
        id, BOTH, Set.of(paused), true, LEASE, "1.0", "zookeeper, mysql", Map.of(), "");
  }

  private static Announcement gone(String id) {
    return new Announcement(
        id, Set.of(), Set.of(), true, LEASE, "1.0", "zookeeper, mysql", Map.of(), "");
  }

  private List<String> ids(String serviceId) throws LeaseStoreException {
    List<Member> members = this.store.members(Set.of(serviceId)).get(serviceId);
    return members == null ? List.of() : members.stream().map(Member::nodeId).toList();
  }

  private Member jobs() throws LeaseStoreException {
    return this.store.members(BOTH).get("jobs").get(0);
  }

  private String count() {
    return this.database.query("SELECT COUNT(*) FROM leader_election_member");
  }

  private void age(String node, Duration by) {
    this.database.execute(
        "UPDATE leader_election_member SET seen_at = seen_at - INTERVAL '%d' SECOND, joined_at = joined_at - INTERVAL '%d' SECOND WHERE node_id = '%s'"
            .formatted(by.toSeconds(), by.toSeconds(), node));
  }

  @Test
  void nodesAreMembersFromTheirAnnouncementUntilTheyWithdraw() throws Exception {
    assertThat(this.store.members(BOTH)).isEmpty();
    this.store.announce(node("a"));
    this.another.announce(new Announcement(
        "A", Set.of("mail"), Set.of("mail"), false, LEASE, "x".repeat(99), "", Map.of(), ""));

    Map<String, List<Member>> members = this.store.members(Set.of("jobs", "mail", "other"));
    assertThat(members).containsOnlyKeys("jobs", "mail");
    assertThat(members.get("jobs")).extracting(Member::nodeId).containsExactly("a");
    assertThat(members.get("mail"))
        .extracting(
            Member::nodeId,
            Member::eligible,
            Member::paused,
            (member) -> member.version().length())
        .containsExactlyInAnyOrder(tuple("A", false, true, 64), tuple("a", true, false, 3));

    this.store.announce(gone("a"));
    assertThat(ids("jobs")).isEmpty();
    assertThat(ids("mail")).containsExactly("A");
  }

  @Test
  void laterAnnouncementsShowWhenANodeWasSeenAndWhatHasChanged() throws Exception {
    this.store.announce(node("a"));
    age("a", Duration.ofMinutes(1));
    Member before = jobs();

    this.store.announce(node("a"));
    Member seen = jobs();
    assertThat(seen.since()).isEqualTo(before.since());
    assertThat(seen.lastSeen()).isAfterOrEqualTo(before.lastSeen().plusSeconds(60));
    assertThat(seen.paused()).isFalse();
    assertThat(seen.algorithm()).isEqualTo("zookeeper, mysql");

    this.store.announce(node("a", "jobs"));
    assertThat(jobs().paused()).isTrue();
    assertThat(this.store.members(BOTH).get("mail").get(0).paused()).isFalse();
    assertThat(jobs().since()).isEqualTo(before.since());

    this.database.execute("DELETE FROM leader_election_member");
    this.store.announce(node("a", "jobs"));
    assertThat(ids("jobs")).containsExactly("a");

    age("a", Duration.ofMinutes(1));
    this.store.close();
    this.store.announce(node("a"));
    Member next = jobs();
    assertThat(next.since()).as("of the next life").isAfter(before.since());
    assertThat(next.paused()).isFalse();
  }

  @Test
  void aNodeWhoseRowIsUnchangedForThreeOfItsLeasesIsNoMemberAndIsPrunedAfterADay()
      throws Exception {
    this.store.announce(node("a"));
    this.another.announce(node("b"));
    assertThat(ids("jobs")).containsExactly("a", "b");
    this.ticker.addAndGet(LEASE.multipliedBy(3).toNanos() - 1);
    this.store.announce(node("a"));
    assertThat(ids("jobs")).containsExactly("a", "b");
    this.ticker.addAndGet(1);
    assertThat(ids("jobs")).containsExactly("a");
    this.another.announce(node("b"));
    assertThat(ids("jobs")).containsExactly("a", "b");

    this.ticker.addAndGet(Duration.ofDays(1).toNanos() - 1);
    this.store.announce(node("a"));
    prune();
    assertThat(count()).isEqualTo("2");
    this.ticker.addAndGet(1);
    prune();
    assertThat(count()).isEqualTo("1");
    assertThat(ids("jobs")).containsExactly("a");
  }

  private void prune() throws LeaseStoreException {
    this.store.prune(Map.of("jobs", 1L), Duration.ofDays(1));
  }

  @Test
  void noTimeInARowDecidesWhoIsThere() throws Exception {
    this.store.announce(node("a"));
    this.another.announce(node("b"));
    for (Duration wrong : List.of(Duration.ofDays(999), Duration.ofDays(-999), LEASE)) {
      this.store.announce(node("a"));
      age("b", wrong);
      prune();
      assertThat(ids("jobs"))
          .as("b's clock is off by " + wrong)
          .containsExactlyInAnyOrder("a", "b");
      this.ticker.addAndGet(LEASE.multipliedBy(2).toNanos());
    }
    this.ticker.addAndGet(LEASE.toNanos());
    this.store.announce(node("a"));
    age("a", Duration.ofDays(999));
    assertThat(ids("jobs")).as("b fell silent").containsExactly("a");
    this.ticker.addAndGet(Duration.ofDays(1).toNanos());
    this.another.announce(node("b"));
    prune();
    assertThat(ids("jobs")).as("a fell silent").containsExactly("b");
    this.store.close();
    this.store.announce(node("a"));
    this.ticker.addAndGet(Duration.ofDays(1).toNanos());
    assertThat(ids("jobs")).as("first read by a new life").containsExactlyInAnyOrder("a", "b");
  }

  @Test
  void withoutTheTableOrTheRightsTheConnectionAndTheLeasesStay() throws Exception {
    String narrow = Database.newUser(
        this.database,
        "SELECT, INSERT, UPDATE ON %s.leader_election",
        "SELECT, INSERT, UPDATE ON %s.leader_election_history");
    for (String edit : List.of(
        "SELECT 1",
        "DROP TABLE leader_election_member",
        "CREATE TABLE leader_election_member (node_id varchar(128))")) {
      this.database.execute(edit, "DELETE FROM leader_election");
      try (JdbcLeaseStore store =
          Database.store(this.database.dataSourceOf(narrow), this.database.jdbcUrl())) {
        LeaseRow row = Database.led(store, "jobs", "a");
        String connections = connectionsOf(narrow);
        assertUnusable(store);
        assertThat(Leases.renew(store, "a", Map.of("jobs", row.term()))).containsExactly("jobs");
        assertThat(connectionsOf(narrow)).as("the same connection").isEqualTo(connections);
      }
    }
  }

  private static void assertUnusable(JdbcLeaseStore store) throws Exception {
    LeaseStoreException refused =
        catchThrowableOfType(LeaseStoreException.class, () -> store.announce(node("a")));
    assertThat(refused).hasMessageStartingWith("the table leader_election_member cannot be used (");
    assertThatThrownBy(() -> store.announce(node("a")))
        .as("without another statement")
        .cause()
        .isSameAs(refused.getCause());
    assertThatThrownBy(() -> store.members(BOTH)).isInstanceOf(LeaseStoreException.class);
    assertThatThrownBy(() -> store.announce(gone("a"))).isInstanceOf(LeaseStoreException.class);
    store.prune(Map.of("jobs", 1L), Duration.ofDays(1));
  }

  private String connectionsOf(String user) {
    String all = isPostgresql()
        ? "SELECT string_agg(CAST(pid AS text), ',' ORDER BY pid) FROM pg_stat_activity WHERE usename"
        : "SELECT GROUP_CONCAT(id ORDER BY id) FROM information_schema.processlist WHERE user";
    return server().query(all + " = '" + user + "'");
  }
}
