package io.election.faults;

import static io.election.faults.Cluster.LEASE;
import static io.election.faults.Cluster.RENEW;
import static io.election.faults.Cluster.SERVICE;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.support.TestDatabase;
import io.election.support.process.Node;
import io.election.support.process.NodeProcess;
import io.election.zookeeper.Zookeeper;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Processes in the middle of a move from ZooKeeper to MySQL. A node on the list holds the first
 * part and waits for the second, which a node on MySQL alone holds. Then the waiting node fails.
 */
@Tag("faults")
@Order(2)
class MoveFaultsIT {

  private static final Pattern HELD = Pattern.compile("\"leaseMillis\":[1-9]");

  private static final Pattern LEADER = Pattern.compile("\"leader\":\"([^\"]*)\"");

  @Test
  @Tag("long")
  void fault_64_node_that_waits_for_a_part_is_killed() throws Exception {
    run((move) -> {
      NodeProcess next = move.join("z");
      move.waiting().kill();
      move.assertOnSecondLeads();
      move.cluster().staysLeader(move.onSecond(), RENEW);
      move.onSecond().kill();
      move.awaitLeads(
          move.onSecond(), next, "kill -9 of a node on the list, then of the node on MySQL");
      move.assertHoldsBoth(next);
    });
  }

  @Test
  @Tag("long")
  void fault_64_node_that_waits_for_a_part_is_paused_and_another_takes_its_place()
      throws Exception {
    run((move) -> {
      NodeProcess next = move.join("z");
      move.waiting().pause();
      move.assertOnSecondLeads();
      move.cluster().staysLeader(move.onSecond(), LEASE);
      move.onSecond().stop();
      move.awaitLeads(
          move.onSecond(),
          next,
          "SIGSTOP of a node on the list, then SIGTERM of the node on MySQL");
      move.waiting().resume();
      move.cluster().staysLeader(next, LEASE);
      move.assertHoldsBoth(next);
      assertThat(move.waiting().claims()).isEmpty();
    });
  }

  /** When the node wakes, MySQL is free, and a node on ZooKeeper alone leads. */
  @Test
  void fault_64_node_that_waits_for_a_part_is_paused_and_the_move_is_undone() throws Exception {
    run((move) -> {
      move.waiting().pause();
      move.assertOnSecondLeads();
      move.onSecond().stop();
      NodeProcess back = move.join("z", "as.election.algorithm=Zookeeper");
      move.cluster().awaitLeads(back);
      move.waiting().resume();
      move.cluster().staysLeader(back, LEASE.multipliedBy(2));
      assertThat(move.waiting().claims()).isEmpty();
      assertThat(move.second()).as("holder of the lease in MySQL").isNull();
      assertThat(move.secondTerms(move.waiting())).as("terms in MySQL").isZero();
      back.kill();
      move.awaitLeads(back, move.waiting(), "kill -9 of the leader after a move was undone");
      move.assertHoldsBoth(move.waiting());
    });
  }

  private interface Scenario {

    void run(Move move);
  }

  private static void run(Scenario scenario) throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
    try (Zookeeper zookeeper = Zookeeper.start()) {
      Map<String, String> store = Map.of(
          "as.election.algorithm",
          "Zookeeper",
          "as.election.zookeeper.connect-string",
          zookeeper.connectString());
      Cluster.run(
          Cluster.listed(store, database),
          List.of(SamplingNode.named("y").with("as.election.algorithm=Mysql")),
          (cluster) -> {
            NodeProcess onSecond = cluster.awaitLeader();
            NodeProcess waiting = cluster.add(SamplingNode.named("x"));
            Move move = new Move(cluster, zookeeper, database, onSecond, waiting);
            cluster.awaitUp();
            scenario.run(move);
          });
    }
  }

  /**
   * A move that has not ended.
   *
   * @param onSecond the node on MySQL alone
   * @param waiting the node on the list
   */
  private record Move(
      Cluster cluster,
      Zookeeper zookeeper,
      TestDatabase database,
      NodeProcess onSecond,
      NodeProcess waiting) {

    NodeProcess join(String name, String... properties) {
      Node node = SamplingNode.named(name);
      for (String property : properties) {
        node = node.with(property);
      }
      NodeProcess process = this.cluster.add(node);
      this.cluster.awaitUp();
      return process;
    }

    /** Returns the holder of the lease in ZooKeeper; {@code null} if there is none. */
    @Nullable
    String first() {
      String record = this.zookeeper.read("/election/" + SERVICE);
      Matcher leader = LEADER.matcher(record);
      return HELD.matcher(record).find() && leader.find() ? leader.group(1) : null;
    }

    /** Returns the holder of the lease in MySQL; {@code null} if there is none. */
    @Nullable
    String second() {
      return this.database.query("SELECT leader_id FROM leader_election WHERE lease_millis > 0");
    }

    /** Returns how often a node has taken the lease in MySQL, however soon it handed it back. */
    int secondTerms(NodeProcess node) {
      return Integer.parseInt(String.valueOf(this.database.query(
          "SELECT COUNT(*) FROM leader_election_history WHERE leader_id = '" + node + "'")));
    }

    void assertOnSecondLeads() {
      assertThat(second()).as("holder of the lease in MySQL").isEqualTo(this.onSecond.name());
      this.cluster.awaitLeads(this.onSecond);
      assertThat(this.waiting.claims()).isEmpty();
    }

    void assertHoldsBoth(NodeProcess node) {
      assertThat(first()).as("holder of the lease in ZooKeeper").isEqualTo(node.name());
      assertThat(second()).as("holder of the lease in MySQL").isEqualTo(node.name());
    }

    void awaitLeads(NodeProcess last, NodeProcess next, String what) {
      this.cluster.awaitLeads(next);
      this.cluster.printGap(what, last, next);
      assertThat(this.cluster.gapSeconds(last, next)).isLessThan(3 * LEASE.toSeconds());
    }
  }
}
