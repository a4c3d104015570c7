package io.election.faults;

import static io.election.faults.Cluster.LEASE;
import static io.election.faults.Cluster.RENEW;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.support.TestDatabase;
import io.election.support.process.NodeProcess;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Edits of the tables by operators while nodes run. */
@Tag("faults")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class TableFaultsContract {

  /** The time in which all nodes have seen an edit. */
  private static final Duration TO_BE_SEEN = RENEW.multipliedBy(2);

  @RegisterExtension
  final SharedCluster threeNodes;

  private final Engine engine;

  TableFaultsContract(Engine engine) {
    this.engine = engine;
    this.threeNodes = new SharedCluster(engine);
  }

  /** The definition of a table that is like another one. */
  abstract String copyOf(String table);

  @Test
  void fault_35_table_is_truncated_renamed_dropped_and_made_again() throws Exception {
    this.threeNodes.run((cluster, first) -> {
      TestDatabase database = this.threeNodes.database();
      NodeProcess leader = forcedAfterAWholeLease(cluster, database, "TRUNCATE leader_election");

      database.execute("ALTER TABLE leader_election RENAME TO hidden");
      cluster.awaitNoLeader();
      database.execute("ALTER TABLE hidden RENAME TO leader_election");
      leader = cluster.awaitRecovery("table renamed and renamed back", System.nanoTime());

      String again = "CREATE TABLE leader_election " + copyOf("leases_as_made");
      database.execute(
          "CREATE TABLE leases_as_made " + copyOf("leader_election"),
          "CREATE TABLE history_as_made " + copyOf("leader_election_history"),
          "DROP TABLE leader_election");
      cluster.awaitNoLeader();
      String in = this.engine == Engine.POSTGRESQL ? "\"public\"." : "";
      cluster.awaitLog(leader, "CREATE TABLE " + in + "leader_election ");
      forcedAfterAWholeLease(cluster, database, again);

      // Without any table, a node counts on from the last term that it has seen.
      cluster.letPass(TO_BE_SEEN);
      database.execute("DROP TABLE leader_election", "DROP TABLE leader_election_history");
      cluster.awaitNoLeader();
      database.execute("CREATE TABLE leader_election_history " + copyOf("history_as_made"));
      forcedAfterAWholeLease(cluster, database, again);
    });
  }

  @Test
  void fault_36_row_is_deleted_by_hand() throws Exception {
    this.threeNodes.run((cluster, leader) -> {
      TestDatabase database = this.threeNodes.database();
      long term = leader.lastClaim().term();
      long deleted = System.nanoTime();
      NodeProcess next = forcedAfterAWholeLease(cluster, database, "DELETE FROM leader_election");
      assertThat(leader.claims().stream()
              .filter((claim) -> claim.term() == term)
              .allMatch((claim) -> claim.to() - deleted < LEASE.toNanos()))
          .as("the leader stepped down before its lease was over")
          .isTrue();
      assertThat(next.lastClaim().term()).isGreaterThan(term);
    });
  }

  /** Runs an edit after which the next leader must wait for a whole lease. Returns that leader. */
  private static NodeProcess forcedAfterAWholeLease(
      Cluster cluster, TestDatabase database, String edit) {
    long before = System.nanoTime();
    database.execute(edit);
    long edited = System.nanoTime();
    cluster.awaitNoLeader();
    NodeProcess next = cluster.awaitLeader();
    Cluster.measured(
        "%s: next leader after %.3f s (lease %s, renew interval %s)",
        edit, (next.lastClaim().from() - edited) / 1e9, LEASE, RENEW);
    assertThat(Duration.ofNanos(next.lastClaim().from() - before))
        .as("from the edit to the next leader")
        .isGreaterThanOrEqualTo(LEASE);
    return next;
  }

  @Test
  void fault_37_row_is_edited_by_hand() throws Exception {
    this.threeNodes.run((cluster, first) -> {
      TestDatabase database = this.threeNodes.database();
      NodeProcess leader = first;
      NodeProcess designated = cluster.follower();
      database.execute("UPDATE leader_election SET leader_id = '" + designated.name() + "'");
      cluster.awaitLeads(designated);
      cluster.printGap("leader designated by SQL", leader, designated);
      cluster.awaitLog(leader, "DISPLACED");

      database.execute(this.engine.replace("leader_id", "'" + leader.name() + "'"));
      cluster.awaitLeads(leader);
      cluster.printGap("leader designated by REPLACE", designated, leader);

      for (String harmless : List.of(
          "last_active_time = '2037-12-31 23:59:59'",
          "last_active_time = '1970-01-02 00:00:00'",
          "lease_millis = 2147483648")) {
        database.execute("UPDATE leader_election SET " + harmless);
        cluster.staysLeader(leader, RENEW.multipliedBy(3));
      }
      // The lease of 24 days ends when its leader hands it over.
      designated = cluster.follower();
      database.execute("UPDATE leader_election SET leader_id = '" + designated.name() + "'");
      cluster.awaitLeads(designated);
      assertThat(database.query("SELECT lease_millis FROM leader_election"))
          .isEqualTo(Long.toString(LEASE.toMillis()));

      for (String edit : List.of(
          "term = 0", "term = -5", "lease_millis = NULL", "lease_millis = -1", "version = -7")) {
        long term = cluster.awaitLeader().lastClaim().term();
        database.execute("UPDATE leader_election SET " + edit);
        long edited = System.nanoTime();
        cluster.letPass(TO_BE_SEEN);
        leader = cluster.awaitRecovery(edit, edited);
        assertThat(leader.lastClaim().term()).as(edit).isGreaterThanOrEqualTo(term);
      }

      // From here on only the nodes know the last term.
      cluster.letPass(TO_BE_SEEN);
      database.execute("DELETE FROM leader_election", "DELETE FROM leader_election_history");
      long emptied = System.nanoTime();
      cluster.awaitNoLeader();
      cluster.awaitRecovery("both tables emptied", emptied);
    });
  }

  @Test
  @Tag("long")
  void fault_54_same_replace_run_twice() throws Exception {
    String replace = this.engine.replace("leader_id, last_active_time", "'nobody', '1970-01-02'");
    this.threeNodes.run((cluster, first) -> {
      TestDatabase database = this.threeNodes.database();
      for (int i = 0; i < 3; i++) {
        database.execute(replace);
        cluster.awaitNoLeader();
        cluster.letPass(TO_BE_SEEN);
        NodeProcess slow = cluster.follower();
        slow.pause();
        cluster.awaitLeader();
        database.execute(replace);
        slow.resume();
        cluster.letPass(TO_BE_SEEN);
        cluster.awaitLeader();
      }
    });
  }
}
