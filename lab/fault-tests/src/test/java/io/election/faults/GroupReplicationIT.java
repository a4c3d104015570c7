package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.support.ReplicationGroup;
import io.election.support.TestDatabase;
import io.election.support.TestServer;
import io.election.support.process.Claim;
import io.election.support.process.Node;
import io.election.support.process.NodeProcess;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Three processes on three MySQL servers in Group Replication, through one URL with three hosts.
 * Prints how long no node leads when the primary ends. Asserts safety, and that a node leads again.
 */
@Order(1)
@Tag("long")
class GroupReplicationIT {

  private static final Duration LEASE = Duration.ofSeconds(5);

  private static final Duration RENEW = Duration.ofSeconds(1);

  private static final int ROUNDS = Integer.getInteger("group.rounds", 1);

  @AutoClose
  private static ReplicationGroup group;

  private TestDatabase database;

  @BeforeAll
  static void startGroup() {
    group = ReplicationGroup.start();
  }

  @BeforeEach
  void prepare() {
    group.restore();
    this.database = group.newDatabase();
  }

  private void onThreeNodes(Cluster.Start scenario) throws Exception {
    List<Node> nodes =
        Cluster.threeNodes((node) -> Cluster.on(this.database, group.members(), node));
    Cluster.prepare(this.database);
    Cluster.start(this.database, LEASE, RENEW, nodes, (cluster) -> {
      cluster.awaitLeader();
      scenario.run(cluster);
    });
  }

  @Test
  void aPrimaryThatIsKilledIsFollowedByAnotherAndByALeader() throws Exception {
    endPrimaries("kill -9 of the primary", ROUNDS, TestServer::kill);
  }

  @Test
  void aPrimaryThatIsCutOffFromTheGroupIsLeftThoughItAnswers() throws Exception {
    endPrimaries("the primary cut off from the group, not from the nodes", ROUNDS, group::cutOff);
  }

  @Test
  void aPrimaryThatHangsAndComesBackHasNoSay() throws Exception {
    endPrimaries("the primary hung", 1, TestServer::pause);
  }

  /** Ends primaries. Each time the leader steps down, and a node leads again. */
  private void endPrimaries(String what, int rounds, Consumer<TestServer> end) throws Exception {
    List<Double> gaps = new ArrayList<>();
    onThreeNodes((cluster) -> {
      for (int round = 0; round < rounds; round++) {
        gaps.add(gap(what, cluster, end));
        group.restore();
        cluster.awaitLeader();
      }
    });
    Cluster.measured(
        "%d times %s: %s s without a leader (lease %s, renew interval %s)",
        rounds, what, gaps, LEASE, RENEW);
  }

  private static double gap(String what, Cluster cluster, Consumer<TestServer> end) {
    NodeProcess leader = cluster.awaitLeader();
    TestServer primary = group.primary().orElseThrow();
    long begin = System.nanoTime();
    end.accept(primary);
    long withoutPrimary = awaitPrimaryOtherThan(primary, cluster);
    long elected = System.nanoTime();
    cluster.awaitNoLeader();
    Claim last = leader.lastClaim();
    NodeProcess next = cluster.awaitLeader();
    Claim first = next.lastClaim();
    assertThat(first.term()).isGreaterThan(last.term());
    // No node can have seen the record there before that server began to take writes.
    assertThat(first.from() - withoutPrimary).isGreaterThan(LEASE.toNanos());
    Cluster.measured(
        "%s: another primary after %.3f s, leader stepped down after %.3f s, next leader after %.3f s",
        what, (elected - begin) / 1e9, (last.to() - begin) / 1e9, (first.from() - begin) / 1e9);
    return (first.from() - last.to()) / 1e9;
  }

  /** Returns the last instant at which there was certainly no other primary. */
  private static long awaitPrimaryOtherThan(TestServer last, Cluster cluster) {
    AtomicLong without = new AtomicLong();
    cluster.await("the group has another primary", () -> {
      long now = System.nanoTime();
      boolean found = group.primaryOtherThan(last).isPresent();
      if (!found) {
        without.set(now);
      }
      return found;
    });
    return without.get();
  }

  @Test
  void aSwitchOfThePrimaryInGoodOrderChangesNoLeader() throws Exception {
    onThreeNodes((cluster) -> {
      NodeProcess leader = cluster.awaitLeader();
      TestServer primary = group.primary().orElseThrow();
      TestServer next = group.members().stream()
          .filter((member) -> member != primary)
          .findFirst()
          .orElseThrow();
      group.switchTo(next);
      assertThat(group.primary()).isEqualTo(Optional.of(next));
      cluster.await(
          "all nodes have followed",
          () -> cluster.nodes().stream()
              .noneMatch((node) -> node.logLines("is another server now").isEmpty()));
      assertThat(cluster.awaitLeader()).isEqualTo(leader);
      assertThat(cluster.judge().claims()).hasSize(1);
    });
  }

  @Test
  void fault_34_conflicts_on_group_replication() throws Exception {
    group.switchToMultiPrimary();
    try {
      conflicts();
    } finally {
      group.switchToSinglePrimary();
    }
  }

  private void conflicts() throws Exception {
    onThreeNodes((cluster) -> {
      // The three nodes are on the first member of the URL, these on the others.
      List<TestServer> members = group.members();
      for (int i = 1; i < members.size(); i++) {
        cluster.add(
            Cluster.on(this.database, List.of(members.get(i)), SamplingNode.named("on-" + i)));
      }
      cluster.awaitUp();
      AtomicBoolean over = new AtomicBoolean();
      Thread writer = new Thread(() -> write(members.get(1), over));
      writer.start();
      try {
        cluster.await(
            "a renewal meets a conflict",
            () -> cluster.nodes().stream()
                .anyMatch((node) -> !node.logLines("(3101)").isEmpty()));
      } finally {
        over.set(true);
        writer.join();
      }
      // Now the nodes on all members take part in one election.
      NodeProcess leader = cluster.awaitLeader();
      leader.kill();
      NodeProcess next = cluster.awaitLeaderOtherThan(leader);
      Cluster.measured(
          "conflicts on Group Replication: %s; then %s was killed and %s led",
          members
              .get(1)
              .query(
                  "SELECT MAX(count_conflicts_detected) FROM performance_schema.replication_group_member_stats"),
          leader,
          next);
    });
  }

  private void write(TestServer member, AtomicBoolean over) {
    while (!over.get()) {
      try {
        member.execute(
            "UPDATE %s.leader_election SET version = version + 1".formatted(this.database.name()));
      } catch (IllegalStateException ex) {
        // This writer lost the conflict itself.
        Thread.onSpinWait();
      }
    }
  }
}
