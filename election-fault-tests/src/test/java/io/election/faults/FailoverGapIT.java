package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.test.TestDatabase;
import io.election.test.process.NodeProcess;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/**
 * Prints how long no node leads after a leader ends, in several rounds. Asserts safety, not speed.
 */
@Tag("faults")
@Isolated("it measures")
class FailoverGapIT {

  private static final Duration LEASE = Duration.ofSeconds(5);

  private static final Duration RENEW = Duration.ofSeconds(1);

  private static final int ROUNDS = 5;

  @Test
  void leadersThatAreKilledAreFollowed() throws Exception {
    replaceLeaders("kill -9", NodeProcess::kill);
  }

  @Test
  void leadersThatAreStoppedAreFollowed() throws Exception {
    replaceLeaders("SIGTERM", NodeProcess::stop);
  }

  private static void replaceLeaders(String how, Consumer<NodeProcess> end) throws Exception {
    List<Double> gaps = new ArrayList<>();
    Cluster.run(
        TestDatabase.newDatabase(), LEASE, RENEW, Cluster.threeNodes(), (cluster, first) -> {
          for (int round = 1; round <= ROUNDS; round++) {
            NodeProcess leader = cluster.awaitLeader();
            end.accept(leader);
            NodeProcess next = cluster.awaitLeaderOtherThan(leader);
            gaps.add(cluster.gapSeconds(leader, next));
            cluster.add(SamplingNode.named("node-" + round));
            cluster.awaitUp();
          }
        });
    List<Double> sorted = gaps.stream().sorted().toList();
    assertThat(sorted).hasSize(ROUNDS);
    System.out.printf(
        "Measured: %d times %s of the leader: min %.3f s, median %.3f s, max %.3f s without a leader (lease %s, renew interval %s)%n",
        ROUNDS, how, sorted.get(0), sorted.get(ROUNDS / 2), sorted.get(ROUNDS - 1), LEASE, RENEW);
  }
}
