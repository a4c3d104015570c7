package io.election.benchmarks.sidebyside;

import io.election.support.process.Claim;
import io.election.support.process.NodeProcess;
import io.election.support.process.TcpProxy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.awaitility.core.ConditionTimeoutException;

/** Measures what nodes request from their server per second without any fault. */
record Load(Results results, Servers servers, Timing timing) {

  private static final Duration PATIENCE = Duration.ofSeconds(90);

  private static final int ALL_AT_ONCE = 100;

  /** Measures a leader and a follower by the number of elections that they take part in. */
  void measure(List<CandidateKind> kinds, int elections) throws Exception {
    // With so many elections one candidate keeps two cores busy, so candidates take turns.
    Parallel.forEach(kinds, elections > ALL_AT_ONCE ? 1 : kinds.size(), (kind) -> {
      // One job every 100 ms is an assumption; 500 of them say nothing about ShedLock.
      if (!kind.isShedLock() || elections == 1) {
        run(kind, "load-" + elections, elections, Figures::measureLoad);
      }
    });
  }

  /**
   * Measures hundreds of followers in one election: how often they wait for row locks, and what
   * happens when their leader dies. Candidates run one after the other, since the server counts for
   * all of them.
   */
  void measureCrowd(List<CandidateKind> kinds, int size) throws Exception {
    for (CandidateKind kind : kinds) {
      run(kind, "crowd-" + size, 1, (figures) -> figures.measureCrowd(size));
    }
  }

  private void run(
      CandidateKind kind, String scenario, int elections, Parallel.Action<Figures> action)
      throws Exception {
    Server server = this.servers.find(kind.backend).orElse(null);
    if (server == null) {
      return;
    }
    long start = System.nanoTime();
    try (Contestant contestant = new Contestant(kind, this.timing, server, scenario, elections)) {
      Figures figures = new Figures(this, contestant, server, scenario, elections);
      try {
        action.run(figures);
      } catch (ConditionTimeoutException ex) {
        System.out.println(ex.getMessage() + "\n" + contestant.logs());
        figures.add("failed_count", 1);
      }
    }
    System.out.printf(
        "%s, %s: %d s%n", scenario, kind.id(), (System.nanoTime() - start) / 1_000_000_000);
  }

  private record Figures(
      Load load, Contestant contestant, Server server, String scenario, int elections) {

    void measureLoad() throws InterruptedException {
      boolean shedLock = this.contestant.kind.isShedLock();
      boolean question = this.elections == 1 && !shedLock;
      NodeProcess leader =
          question ? this.contestant.add("a", "question") : this.contestant.add("a");
      await("a node starts", leader::isUp);
      // ShedLock leads no election between two jobs.
      await(
          "a node leads in " + this.elections + " elections",
          () -> leader.leadershipLog().led() == this.elections || (shedLock && leader.leads()));
      if (question) {
        String line = leader.logLines(CandidateNode.QUESTION).get(0);
        add("question_ns", Double.parseDouble(line.substring(CandidateNode.QUESTION.length())));
      }
      NodeProcess follower = this.contestant.add("b");
      await("a node follows", follower::isUp);
      // A node that has just come reads the members twice, and the history.
      pass(isQuick() ? 1 : 3);
      Count ofLeader = new Count("leader", leader);
      Count ofFollower = new Count("follower", follower);
      pass(window());
      ofLeader.add(1);
      ofFollower.add(1);
    }

    /** Counts the requests of a process from now on. */
    private final class Count {

      private final String what;

      private final TcpProxy proxy;

      private final Traffic traffic;

      private final long start = System.nanoTime();

      private final long requestsBefore;

      private final long candidatesBefore;

      Count(String what, NodeProcess node) {
        this.what = what;
        this.proxy = Figures.this.contestant.proxyOf(node);
        this.traffic = Figures.this.contestant.trafficOf(node);
        this.requestsBefore = this.proxy.requestCount();
        this.candidatesBefore = this.traffic.ofCandidates();
      }

      double seconds() {
        return (System.nanoTime() - this.start) / 1e9;
      }

      void add(int nodes) {
        double seconds = seconds() * nodes;
        long ofCandidates = this.traffic.ofCandidates() - this.candidatesBefore;
        long requests = this.proxy.requestCount() - this.requestsBefore - ofCandidates;
        Figures.this.add(this.what + "_per_s", requests / seconds);
        Figures.this.add(this.what + "_of_candidates_per_s", ofCandidates / seconds);
      }
    }

    void measureCrowd(int size) throws InterruptedException {
      NodeProcess leader = this.contestant.add("a");
      await("a leads", leader::leads);
      NodeProcess crowd = this.contestant.add("b", "crowd=" + size);
      await("the crowd has joined", crowd::isUp);
      pass(3);
      Count ofCrowd = new Count("follower", crowd);
      double waited = rowLockWaits();
      pass(window());
      ofCrowd.add(size);
      boolean mysql = this.contestant.kind.backend == Backend.MYSQL;
      if (mysql) {
        add("row_lock_waits_per_s", (rowLockWaits() - waited) / ofCrowd.seconds());
      }
      // ShedLock's leader is the process that runs the job.
      await("a leads still", () -> leader.leads() || crowd.leads());
      boolean leads = leader.leads();
      long killed = System.nanoTime();
      waited = rowLockWaits();
      leader.kill();
      if (leads) {
        List<Claim> last = leader.claims(killed - TimeUnit.SECONDS.toNanos(1));
        long end = last.get(last.size() - 1).to();
        await("a follower leads", () -> !crowd.claims(end).isEmpty());
        add("gap_ms", Math.max(0, crowd.claims(end).get(0).from() - end) / 1e6);
      }
      TimeUnit.SECONDS.sleep(3);
      if (mysql) {
        add("row_lock_waits_of_take_over", rowLockWaits() - waited);
      }
    }

    private double rowLockWaits() {
      return this.server.counters().getOrDefault("Innodb_row_lock_waits", 0.0);
    }

    private void await(String what, Callable<Boolean> condition) {
      this.contestant.within(PATIENCE, what).until(condition);
    }

    private boolean isQuick() {
      return this.load.timing == Timing.QUICK;
    }

    /** For how many leases requests are counted: a node reads the members every eighth lease. */
    private int window() {
      return isQuick() ? 1 : 8;
    }

    private void pass(int leases) throws InterruptedException {
      TimeUnit.MILLISECONDS.sleep(leases * this.contestant.lease.toMillis());
    }

    void add(String measure, double value) {
      this.load.results.add(
          this.load.timing, this.scenario, this.contestant.kind, 1, measure, value);
    }
  }
}
