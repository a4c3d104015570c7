package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.support.FakeClock;
import io.election.support.TestDatabase;
import io.election.support.TestServer;
import io.election.support.process.NodeProcess;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Faults of the wall clock of a database. */
@Tag("faults")
abstract class ClockFaultsContract {

  static final Duration LEASE = Duration.ofSeconds(4);

  static final Duration RENEW = Duration.ofSeconds(1);

  /** Starts a server with a wall clock that can be moved. */
  abstract TestServer start(FakeClock clock);

  /** A query for the time of the server. */
  abstract String secondsOfEpoch();

  @Test
  void fault_25_clock_of_the_database_jumps() throws Exception {
    FakeClock clock = FakeClock.create();
    try (TestServer server = start(clock)) {
      TestDatabase database = server.newDatabase();
      Cluster.run(database, LEASE, RENEW, Cluster.threeNodes(), (cluster, leader) -> {
        clock.setOffset(Duration.ofHours(1));
        assertThat(offset(database)).isBetween(3_590L, 3_610L);
        cluster.staysLeader(leader, LEASE.plus(RENEW));
        clock.setOffset(Duration.ofHours(-1));
        assertThat(offset(database)).isBetween(-3_610L, -3_590L);
        cluster.staysLeader(leader, LEASE.plus(RENEW));

        // The clock jumps each second, then slews at half the speed again.
        long end = System.nanoTime() + LEASE.multipliedBy(2).toNanos();
        cluster
            .within(LEASE.multipliedBy(3), "the clock has jumped")
            .pollInterval(Duration.ofSeconds(1))
            .until(() -> {
              clock.setOffset(Duration.ofSeconds(System.nanoTime() % 7_200 - 3_600));
              return System.nanoTime() - end > 0;
            });
        long began = System.nanoTime();
        cluster
            .within(LEASE.multipliedBy(2), "the clock has slewed")
            .pollInterval(Duration.ofMillis(20))
            .until(() -> {
              Duration slewed = Duration.ofNanos(System.nanoTime() - began);
              clock.setOffset(Duration.ofHours(-2).plus(slewed.dividedBy(2)));
              return slewed.compareTo(LEASE) > 0;
            });
        assertThat(leader.lastClaim().term()).isEqualTo(leader.claims().get(0).term());

        // A jump in either direction must not leave an hour without a leader.
        leader.kill();
        NodeProcess next = cluster.awaitLeaderOtherThan(leader);
        cluster.printGap("kill -9 with the database's clock 2 h back", leader, next);
        clock.setOffset(Duration.ofHours(2));
        cluster.staysLeader(next, LEASE.plus(RENEW));
        clock.setOffset(Duration.ofHours(-1));
        next.kill();
        NodeProcess last = cluster.awaitLeaderOtherThan(next);
        cluster.printGap("kill -9 when the database's clock jumped back by 3 h", next, last);
      });
    }
  }

  private long offset(TestDatabase database) {
    String time = database.query(secondsOfEpoch());
    return Long.parseLong(time) - Instant.now().getEpochSecond();
  }
}
