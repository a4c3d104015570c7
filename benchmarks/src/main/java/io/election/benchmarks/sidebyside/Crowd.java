package io.election.benchmarks.sidebyside;

import io.election.benchmarks.candidates.CandidateKind;
import io.election.benchmarks.servers.Backend;
import io.election.benchmarks.servers.Server;
import io.election.test.process.Claim;
import io.election.test.process.NodeProcess;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;

/**
 * Measures what hundreds of followers in one election request from their server, how often they
 * wait for row locks, and what happens when their leader dies. Candidates run one after the other,
 * since the server counts for all of them.
 */
final class Crowd {

  private static final String SCENARIO = "crowd-";

  private final Results results;

  private final Servers servers;

  private final int size;

  Crowd(Results results, Servers servers, int size) {
    this.results = results;
    this.servers = servers;
    this.size = size;
  }

  void measure(List<CandidateKind> kinds) throws InterruptedException {
    for (CandidateKind kind : kinds) {
      Server server = this.servers.find(kind.backend()).orElse(null);
      if (server != null) {
        long start = System.nanoTime();
        try (Contestant contestant = new Contestant(kind, Timing.EQUAL, server, "crowd", 1)) {
          measure(contestant, server);
        } catch (ConditionTimeoutException ex) {
          System.out.println(kind.title() + ", crowd: " + ex.getMessage());
          add(kind, "failed_count", 1);
        }
        System.out.printf(
            "crowd of %d, %s: %d s%n",
            this.size, kind.id(), (System.nanoTime() - start) / 1_000_000_000);
      }
    }
  }

  private void measure(Contestant contestant, Server server) throws InterruptedException {
    CandidateKind kind = contestant.kind();
    NodeProcess leader = contestant.add("a");
    await("a leads", leader::leads);
    NodeProcess crowd = contestant.addCrowd("b", this.size);
    await("the crowd has joined", crowd::isUp);
    TimeUnit.SECONDS.sleep(5);
    long start = System.nanoTime();
    long asked = contestant.proxyOf(crowd).requestCount();
    double waited = rowLockWaits(server);
    TimeUnit.SECONDS.sleep(10);
    double seconds = (System.nanoTime() - start) / 1e9;
    add(
        kind,
        "follower_per_s",
        (contestant.proxyOf(crowd).requestCount() - asked) / seconds / this.size);
    if (kind.backend() == Backend.MYSQL) {
      add(kind, "row_lock_waits_per_s", (rowLockWaits(server) - waited) / seconds);
    }
    // ShedLock's leader is the process that runs the job.
    await("a leads still", () -> leader.leads() || crowd.leads());
    boolean leads = leader.leads();
    long killed = System.nanoTime();
    waited = rowLockWaits(server);
    leader.kill();
    if (leads) {
      List<Claim> last = leader.claims(killed - TimeUnit.SECONDS.toNanos(1));
      long end = last.get(last.size() - 1).to();
      await("a follower leads", () -> !crowd.claims(end).isEmpty());
      add(kind, "gap_ms", Math.max(0, crowd.claims(end).get(0).from() - end) / 1e6);
    }
    TimeUnit.SECONDS.sleep(3);
    if (kind.backend() == Backend.MYSQL) {
      add(kind, "row_lock_waits_of_take_over", rowLockWaits(server) - waited);
    }
    add(kind, "led_count", crowd.leadershipLog().led());
  }

  private static double rowLockWaits(Server server) {
    return server.counters().getOrDefault("Innodb_row_lock_waits", 0.0);
  }

  private static void await(String what, Callable<Boolean> condition) {
    Awaitility.await(what)
        .atMost(Duration.ofSeconds(60))
        .pollInterval(Duration.ofMillis(50))
        .until(condition);
  }

  private void add(CandidateKind kind, String measure, double value) {
    this.results.add(
        new Row(Timing.EQUAL.id(), SCENARIO + this.size, kind.id(), 1, measure, value));
  }
}
