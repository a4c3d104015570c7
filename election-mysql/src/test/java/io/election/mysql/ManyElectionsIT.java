package io.election.mysql;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.ElectionService;
import io.election.LeadershipLostEvent;
import io.election.lease.Elector;
import io.election.lease.LeaseElectionService;
import io.election.lease.LeaseSettings;
import io.election.lease.RenewalListener;
import io.election.mysql.MysqlLeaseStore.SchemaMode;
import io.election.test.ConnectionSource;
import io.election.test.TestDatabase;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import javax.sql.DataSource;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests nodes with many elections, driven by their electors in real time. {@link
 * LeaseStoreFaultsIT} shows on every server that it executes no more than these statements.
 */
@Execution(ExecutionMode.CONCURRENT)
class ManyElectionsIT {

  private static final int RENEWALS = 10;

  private static final LeaseSettings SETTINGS = new LeaseSettings(
      Duration.ofSeconds(5), Duration.ofSeconds(1), Duration.ofSeconds(1), Duration.ZERO, true);

  private final TestDatabase database = TestDatabase.newDatabase().withTables();

  private final ConcurrentLinkedQueue<Node> nodes = new ConcurrentLinkedQueue<>();

  @AfterEach
  void leave() {
    this.nodes.forEach(node -> node.elector.stop());
  }

  private final class Node {

    final AtomicInteger lost = new AtomicInteger();

    /** The renewals of the first election. */
    final AtomicInteger renewals = new AtomicInteger();

    /** The number of elections whose history it has pruned. */
    final AtomicInteger pruned = new AtomicInteger();

    /** The numbers of statements by their first words. */
    final Map<String, Integer> statements = new ConcurrentHashMap<>();

    final Elector elector;

    final List<LeaseElectionService> services;

    Node(String id, int elections) {
      TestDatabase database = ManyElectionsIT.this.database;
      DataSource counted = ConnectionSource.of(() ->
          Watched.of(database.dataSource().getConnection(), (method, sql) -> {
            if (sql != null) {
              this.statements.merge(sql.strip().split("\\s")[0], 1, Integer::sum);
              this.pruned.addAndGet(sql.split("term < \\?", -1).length - 1);
            }
            return sql;
          }));
      MysqlLeaseStore store =
          Database.store(counted, database.jdbcUrl(), SchemaMode.NONE, SETTINGS.operationTimeout());
      this.elector = new Elector(
          store,
          SETTINGS,
          () -> id,
          serviceId -> false,
          event -> {
            if (event instanceof LeadershipLostEvent) {
              this.lost.incrementAndGet();
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

    void awaitRenewals(int count) {
      int end = this.renewals.get() + count;
      await(() -> this.renewals.get() >= end);
    }
  }

  private static void await(Callable<Boolean> condition) {
    Awaitility.await()
        .atMost(Duration.ofMinutes(3))
        .pollInterval(Duration.ofMillis(20))
        .until(condition);
  }

  @Test
  void a_leader_sends_one_update_each_renew_interval_and_a_follower_one_select() {
    countStatements(50);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 500})
  @Tag("faults")
  void one_election_or_hundreds_take_as_many_statements(int elections) {
    countStatements(elections);
  }

  private void countStatements(int elections) {
    long began = System.nanoTime();
    Node leader = new Node("a", elections);
    await(() -> leader.services.stream().allMatch(ElectionService::isLeader));
    double start = (System.nanoTime() - began) / 1e9;
    assertThat(leader.lost).as("lost at the start").hasValue(0);
    Node follower = new Node("b", elections);
    await(
        () -> follower.services.stream().allMatch(service -> service.leaderId().isPresent()));
    // A leader prunes each history once; after two renewals all elections are due at the same time.
    await(() -> leader.pruned.get() == elections);
    leader.awaitRenewals(2);

    long begin = System.nanoTime();
    int renewalsBefore = leader.renewals.get();
    leader.statements.clear();
    follower.statements.clear();
    leader.awaitRenewals(RENEWALS);
    int renewals = leader.renewals.get() - renewalsBefore;
    Map<String, Integer> ofLeader = Map.copyOf(leader.statements);
    Map<String, Integer> ofFollower = Map.copyOf(follower.statements);
    // Every two leases each node announces itself, and may read the members.
    int others = (int) ((System.nanoTime() - begin) / SETTINGS.leaseDuration().toNanos() / 2 + 1);

    System.out.printf(
        Locale.ROOT,
        "Measured: %d elections, %d renew intervals: leader %s; follower %s; all led %.1f s after the first start (lease %d s)%n",
        elections,
        renewals,
        ofLeader,
        ofFollower,
        start,
        SETTINGS.leaseDuration().toSeconds());
    assertThat(ofLeader.keySet()).isSubsetOf("UPDATE", "SELECT");
    assertThat(ofFollower.keySet()).isSubsetOf("UPDATE", "SELECT");
    // The numbers are read while the electors run.
    assertThat(ofLeader.get("UPDATE")).isBetween(renewals - 1, renewals + 1 + others);
    assertThat(ofLeader.getOrDefault("SELECT", 0)).isLessThanOrEqualTo(others);
    assertThat(ofFollower.get("SELECT")).isBetween(renewals / 2, renewals * 3 / 2 + others);
    assertThat(ofFollower.getOrDefault("UPDATE", 0)).isLessThanOrEqualTo(others);
    assertThat(leader.lost).hasValue(0);
  }
}
