package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.support.HandWrittenLease;
import io.election.support.TestDatabase;
import io.election.support.process.Node;
import io.election.support.process.NodeProcess;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Our nodes and nodes with hand-written SQL share one table, as in a rolling upgrade. */
@Tag("long")
class RollingUpgradeIT {

  /** The hand-written SQL takes over after this time, by the database's clock. */
  private static final Duration OLD_INTERVAL = Duration.ofSeconds(5);

  /** The lease may not be longer than the old interval. */
  private static final Duration LEASE = OLD_INTERVAL;

  private static final Duration RENEW = Duration.ofSeconds(1);

  @Test
  void fault_42_old_and_new_together() throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
    database.execute(HandWrittenLease.TABLE);
    List<Node> nodes =
        Stream.of("old-1", "old-2", "old-3").map(RollingUpgradeIT::old).toList();
    Cluster.run(database, LEASE, RENEW, nodes, (cluster, first) -> {
      // Upgrade: one old node after the other is replaced, the leader first.
      replace(cluster, first, true, SamplingNode.named("new-1"));
      replace(cluster, any(cluster, true), false, SamplingNode.named("new-2"));
      replace(cluster, any(cluster, true), true, SamplingNode.named("new-3"));
      NodeProcess leader = cluster.awaitLeader();
      assertThat(isOld(leader)).isFalse();
      assertThat(leader.lastClaim().hasTerm()).isTrue();

      // Downgrade: nodes are killed, stopped, and stopped when none of ours is left to take over.
      replace(cluster, leader, true, old("old-4"));
      replace(cluster, any(cluster, false), false, old("old-5"));
      NodeProcess last = any(cluster, false);
      killOldNodes(cluster);
      cluster.awaitLeads(last);
      last.stop();
      NodeProcess old = cluster.add(old("old-6"));
      cluster.awaitLeads(old);
      cluster.printGap("SIGTERM of the last leader of ours, followed by an old node", last, old);
      assertThat(database.query("SELECT lease_millis FROM leader_election")).isEqualTo("0");

      // The row still says that the lease was handed back, but the node that keeps writing it owns
      // it.
      NodeProcess again = cluster.add(SamplingNode.named("new-4"));
      cluster.awaitUp();
      cluster.staysLeader(old, LEASE.multipliedBy(2));
      assertThat(again.claims()).isEmpty();
      killOldNodes(cluster);
      cluster.awaitLeads(again);
    });
  }

  /**
   * The lease must not be longer than the old interval: a leader of ours that is cut off continues
   * until its deadline, but the old tool takes over when its own interval has passed.
   */
  @Test
  @Tag("long")
  void fault_42_a_lease_longer_than_the_old_interval_makes_two_leaders() throws Exception {
    cutOff(LEASE.multipliedBy(4), (cluster, leader) -> {
      cluster.expectViolations();
      assertThat(leader.leads()).isTrue();
    });
  }

  /** Same scenario, but with a lease as long as the old interval. */
  @Test
  @Tag("long")
  void fault_42_a_lease_as_long_as_the_old_interval_makes_one_leader() throws Exception {
    cutOff(
        LEASE,
        (cluster, leader) -> cluster.printGap(
            "a leader of ours cut off, an old node follows",
            leader,
            cluster.awaitLeaderOtherThan(leader)));
  }

  private static void cutOff(Duration lease, Cluster.Scenario then) throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
    String user = database.newUser("off_" + database.name(), "ALL ON " + database.name() + ".*");
    Node ours = SamplingNode.named("new").with("spring.datasource.username=" + user);
    Cluster.run(database, lease, RENEW, List.of(ours), (cluster, leader) -> {
      NodeProcess old = cluster.add(old("old"));
      cluster.awaitUp();
      database.execute("ALTER USER '" + user + "'@'%' ACCOUNT LOCK");
      Engine.killSessions(database.server(), user);
      cluster.awaitLeads(old);
      then.run(cluster, leader);
    });
  }

  /**
   * A node of ours needs an id that no old node has: the old tool leaves the mark of a handed-back
   * lease, and such a lease belongs to the node that it names.
   */
  @Test
  @Tag("long")
  void fault_42_one_id_for_old_and_new_makes_two_leaders() throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
    Cluster.run(database, LEASE, RENEW, List.of(SamplingNode.named("new")), (cluster, leader) -> {
      cluster.expectViolations();
      leader.stop();
      NodeProcess old = cluster.add(old("twin"));
      cluster.awaitUp();
      cluster.awaitLeads(old);
      assertThat(database.query("SELECT lease_millis FROM leader_election")).isEqualTo("0");
      NodeProcess twin = cluster.add(SamplingNode.named("ours").with("as.election.node-id=twin"));
      cluster.awaitUp();
      cluster.awaitLeads(twin);
      cluster.awaitSteady(old, LEASE);
    });
  }

  private static void replace(Cluster cluster, NodeProcess node, boolean kill, Node next) {
    boolean led = node.leads();
    if (kill) {
      node.kill();
    } else {
      node.stop();
    }
    cluster.join(next);
    NodeProcess leader = cluster.awaitLeader();
    if (led) {
      cluster.printGap(
          "%s of the leader %s, followed by %s"
              .formatted(kill ? "kill -9" : "SIGTERM", node, leader),
          node,
          leader);
    }
  }

  private static void killOldNodes(Cluster cluster) {
    cluster.nodes().stream()
        .filter((node) -> node.isAlive() && isOld(node))
        .forEach(NodeProcess::kill);
  }

  private static Node old(String name) {
    return SamplingNode.named(name).running(OldNode.class);
  }

  private static boolean isOld(NodeProcess node) {
    return node.node().program() == OldNode.class;
  }

  private static NodeProcess any(Cluster cluster, boolean old) {
    return cluster.nodes().stream()
        .filter((node) -> node.isAlive() && isOld(node) == old)
        .findFirst()
        .orElseThrow();
  }
}
