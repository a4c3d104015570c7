package io.election.mysql;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.ElectionService;
import io.election.LeadershipEvent;
import io.election.LeadershipLostEvent;
import io.election.lease.Elector;
import io.election.lease.LeaseElectionService;
import io.election.lease.LeaseSettings;
import io.election.lease.RenewalListener;
import io.election.mysql.MysqlLeaseStore.SchemaMode;
import io.election.test.TestDataSource;
import io.election.test.TestDatabase;
import java.sql.Connection;
import java.sql.Statement;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests nodes with many elections, driven by their electors in real time. */
@Execution(ExecutionMode.CONCURRENT)
@OnEveryServer
class ManyElectionsIT extends ServerDatabase {

  private static final int RENEWALS = 10;

  private static final LeaseSettings SETTINGS = new LeaseSettings(
      Duration.ofSeconds(5), Duration.ofSeconds(1), Duration.ofSeconds(1), Duration.ZERO, true);

  private final ConcurrentLinkedQueue<Node> nodes = new ConcurrentLinkedQueue<>();

  @BeforeEach
  void prepare() {
    if (server().isMariaDb()) {
      server().execute("SET GLOBAL userstat = 1");
    }
  }

  @AfterEach
  void leave() {
    this.nodes.forEach(node -> node.elector.stop());
  }

  /** One process with its elections, which the server identifies by a user of its own. */
  private final class Node {

    final String user;

    final ConcurrentLinkedQueue<LeadershipEvent> lost = new ConcurrentLinkedQueue<>();

    /** The renewals of the first election. */
    final AtomicInteger renewals = new AtomicInteger();

    final Elector elector;

    final List<LeaseElectionService> services;

    Node(String id, int elections) {
      TestDatabase database = ManyElectionsIT.this.database;
      this.user = database.newUser(
          id + "_" + database.name(), "SELECT, INSERT, UPDATE ON " + database.name() + ".*");
      ElectionDatabase electionDatabase = new ElectionDatabase(
          new TestDataSource(database.jdbcUrl(), this.user, database.password()),
          database.jdbcUrl());
      this.elector = new Elector(
          new MysqlLeaseStore(
              electionDatabase,
              SchemaMode.NONE,
              SETTINGS.operationTimeout(),
              SETTINGS.renewInterval(),
              true),
          SETTINGS,
          () -> id,
          serviceId -> false,
          event -> {
            if (event instanceof LeadershipLostEvent) {
              this.lost.add(event);
            }
          },
          System::nanoTime,
          InstantSource.system());
      this.elector.onRenewal((serviceId, outcome, duration) -> {
        if (serviceId.equals("service-0") && outcome == RenewalListener.Outcome.CONFIRMED) {
          this.renewals.incrementAndGet();
        }
      });
      this.services = IntStream.range(0, elections)
          .mapToObj(i -> new LeaseElectionService("service-" + i, this.elector))
          .toList();
      ManyElectionsIT.this.nodes.add(this);
      this.elector.start(this.services);
    }

    void awaitAllLed() {
      Awaitility.await()
          .atMost(Duration.ofMinutes(3))
          .until(() -> this.services.stream().allMatch(ElectionService::isLeader));
    }

    void awaitRenewals(int count) {
      int end = this.renewals.get() + count;
      Awaitility.await()
          .atMost(Duration.ofMinutes(2))
          .pollInterval(Duration.ofMillis(20))
          .until(() -> this.renewals.get() >= end);
    }
  }

  @Test
  void a_leader_sends_one_update_each_renew_interval_and_a_follower_one_select() {
    countStatements(50);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 500})
  @Tag("faults")
  void a_leader_of_any_number_of_elections_sends_one_update_and_a_follower_one_select(
      int elections) {
    countStatements(elections);
  }

  private void countStatements(int elections) {
    long began = System.nanoTime();
    Node leader = new Node("a", elections);
    leader.awaitAllLed();
    double start = (System.nanoTime() - began) / 1e9;
    assertThat(leader.lost).as("lost at the start").isEmpty();
    Node follower = new Node("b", elections);
    Awaitility.await()
        .atMost(Duration.ofMinutes(1))
        .until(() ->
            follower.services.stream().allMatch(service -> service.leaderId().isPresent()));
    // After two renewals all elections are due at the same time.
    leader.awaitRenewals(2);

    long begin = System.nanoTime();
    int renewalsBefore = leader.renewals.get();
    Statements leaderBefore = statements(leader);
    Statements followerBefore = statements(follower);
    leader.awaitRenewals(RENEWALS);
    int renewals = leader.renewals.get() - renewalsBefore;
    Statements ofLeader = statements(leader).minus(leaderBefore);
    Statements ofFollower = statements(follower).minus(followerBefore);
    // Once per lease each node announces itself and reads the members.
    long leases = (System.nanoTime() - begin) / SETTINGS.leaseDuration().toNanos() + 1;

    System.out.printf(
        Locale.ROOT,
        "Measured: %d elections, %d renew intervals: leader %s; follower %s; all led %.1f s after the first start (lease %d s)%n",
        elections,
        renewals,
        ofLeader,
        ofFollower,
        start,
        SETTINGS.leaseDuration().toSeconds());
    // The counters are read while the electors run.
    assertThat(ofLeader.updates()).isBetween(renewals - 1L, renewals + 1L + leases);
    assertThat(ofLeader.others()).isZero();
    assertThat(ofLeader.selects()).isLessThanOrEqualTo(leases);
    assertThat(ofFollower.selects()).isBetween(renewals / 2L, renewals * 3 / 2L + leases);
    assertThat(ofFollower.updates()).isLessThanOrEqualTo(leases);
    assertThat(ofFollower.others()).isZero();
    assertThat(leader.lost).isEmpty();
  }

  @Test
  @Tag("faults")
  void a_row_that_somebody_keeps_locked_costs_its_own_election_the_leadership_and_no_other()
      throws Exception {
    lockARow(3);
  }

  @Test
  @Tag("faults")
  void a_locked_row_of_many_costs_its_own_election_the_leadership_and_no_other() throws Exception {
    lockARow(50);
  }

  private void lockARow(int elections) throws Exception {
    Node leader = new Node("a", elections);
    leader.awaitAllLed();
    try (Connection locker = this.database.connect()) {
      locker.setAutoCommit(false);
      try (Statement statement = locker.createStatement()) {
        statement.executeQuery(
            "SELECT * FROM leader_election WHERE service_id = 'service-1' FOR UPDATE");
      }
      Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> !leader.lost.isEmpty());
      leader.awaitRenewals(15);
      assertThat(leader.services.get(1).isLeader()).isFalse();
      locker.rollback();
    }
    assertThat(leader.lost).singleElement().satisfies(event -> {
      assertThat(event.serviceId()).isEqualTo("service-1");
      assertThat(((LeadershipLostEvent) event).reason())
          .isEqualTo(LeadershipLostEvent.Reason.EXPIRED);
    });
    leader.awaitAllLed();
    assertThat(leader.lost).as("it came back, and no other was lost").hasSize(1);
  }

  /** The statements that a node has sent. */
  private record Statements(long updates, long selects, long others) {

    Statements minus(Statements before) {
      return new Statements(
          this.updates - before.updates,
          this.selects - before.selects,
          this.others - before.others);
    }

    @Override
    public String toString() {
      return "%d UPDATE, %d SELECT, %d others".formatted(this.updates, this.selects, this.others);
    }
  }

  /** Reads the server's own counters. */
  private Statements statements(Node node) {
    if (server().isMariaDb()) {
      return new Statements(
          count(
              node,
              "SELECT UPDATE_COMMANDS FROM information_schema.user_statistics WHERE USER = '%s'"),
          count(
              node,
              "SELECT SELECT_COMMANDS FROM information_schema.user_statistics WHERE USER = '%s'"),
          count(
              node,
              "SELECT OTHER_COMMANDS FROM information_schema.user_statistics WHERE USER = '%s'"));
    }
    String events =
        "SELECT COALESCE(SUM(COUNT_STAR), 0) FROM performance_schema.events_statements_summary_by_user_by_event_name WHERE USER = '%s' AND EVENT_NAME ";
    return new Statements(
        count(node, events + "IN ('statement/sql/update', 'statement/sql/update_multi')"),
        count(node, events + "= 'statement/sql/select'"),
        count(
            node,
            events
                + "NOT IN ('statement/sql/update', 'statement/sql/update_multi', 'statement/sql/select')"));
  }

  private long count(Node node, String sql) {
    String count = server().query(sql.formatted(node.user));
    return count == null ? 0 : Long.parseLong(count);
  }
}
