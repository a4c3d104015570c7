package io.election.benchmarks.sidebyside;

import io.election.benchmarks.candidates.CandidateKind;
import io.election.benchmarks.candidates.CandidateNode;
import io.election.benchmarks.servers.Server;
import io.election.test.process.NodeProcess;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.awaitility.core.ConditionTimeoutException;

/**
 * Measures what a leader and a follower request from their server per second without any fault, by
 * the number of elections that they take part in.
 */
final class Load {

  private static final Duration WINDOW = Duration.ofSeconds(10);

  private static final int ALL_AT_ONCE = 100;

  private static final String SCENARIO = "load";

  private final Results results;

  private final Servers servers;

  Load(Results results, Servers servers) {
    this.results = results;
    this.servers = servers;
  }

  void measure(List<CandidateKind> kinds, int elections) throws InterruptedException {
    long start = System.nanoTime();
    // With so many elections one candidate keeps two cores busy, so candidates take turns.
    ExecutorService threads =
        Executors.newFixedThreadPool(elections > ALL_AT_ONCE ? 1 : kinds.size());
    List<Future<?>> measurements = new ArrayList<>();
    for (CandidateKind kind : kinds) {
      // One job every 100 ms is an assumption; 500 of them say nothing about ShedLock.
      if (kind != CandidateKind.SHEDLOCK || elections == 1) {
        this.servers
            .find(kind.backend())
            .ifPresent((server) ->
                measurements.add(threads.submit(() -> measure(kind, server, elections), true)));
      }
    }
    for (Future<?> measurement : measurements) {
      try {
        measurement.get();
      } catch (ExecutionException ex) {
        throw new IllegalStateException(ex);
      }
    }
    threads.shutdown();
    System.out.printf(
        "load, %d elections: %d s%n", elections, (System.nanoTime() - start) / 1_000_000_000);
  }

  private void measure(CandidateKind kind, Server server, int elections) {
    try (Contestant contestant =
        new Contestant(kind, Timing.EQUAL, server, "load-" + elections, elections)) {
      measure(contestant, elections);
    } catch (ConditionTimeoutException ex) {
      System.out.println(kind.title() + ", " + elections + " elections: " + ex.getMessage());
      add(kind, elections, "failed_count", 1);
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
    }
  }

  private void measure(Contestant contestant, int elections) throws InterruptedException {
    boolean question = elections == 1 && contestant.kind() != CandidateKind.SHEDLOCK;
    NodeProcess leader = question ? contestant.addWithQuestion("a") : contestant.add("a");
    String who = contestant.kind().title();
    within(who + " starts").until(leader::isUp);
    try {
      within(who + " leads in " + elections + " elections")
          .until(() -> leader.leadershipLog().led() == elections || ranOnce(contestant));
    } catch (ConditionTimeoutException ex) {
      // Nothing else runs, and yet it does not lead all elections: record that as a figure.
      System.out.println(
          who + " leads in " + leader.leadershipLog().led() + " of " + elections + " elections");
      System.out.println(contestant.logs());
    }
    if (question) {
      add(contestant.kind(), elections, "question_ns", question(leader));
    }
    NodeProcess follower = contestant.add("b");
    within(who + " follows").until(follower::isUp);
    TimeUnit.SECONDS.sleep(5);
    long start = System.nanoTime();
    long asked = contestant.proxyOf(leader).requestCount();
    long askedByFollower = contestant.proxyOf(follower).requestCount();
    TimeUnit.MILLISECONDS.sleep(WINDOW.toMillis());
    double seconds = (System.nanoTime() - start) / 1e9;
    add(
        contestant.kind(),
        elections,
        "leader_per_s",
        (contestant.proxyOf(leader).requestCount() - asked) / seconds);
    add(
        contestant.kind(),
        elections,
        "follower_per_s",
        (contestant.proxyOf(follower).requestCount() - askedByFollower) / seconds);
    add(contestant.kind(), elections, "led_count", leader.leadershipLog().led());
  }

  private static double question(NodeProcess leader) {
    String line = leader.logLines(CandidateNode.QUESTION).get(0);
    return Double.parseDouble(line.substring(CandidateNode.QUESTION.length()));
  }

  private static ConditionFactory within(String what) {
    return Awaitility.await(what)
        .atMost(Duration.ofSeconds(90))
        .pollInterval(Duration.ofMillis(100));
  }

  /** ShedLock leads no election between two jobs. */
  private static boolean ranOnce(Contestant contestant) {
    return contestant.kind() == CandidateKind.SHEDLOCK && contestant.leader().isPresent();
  }

  private void add(CandidateKind kind, int elections, String measure, double value) {
    this.results.add(
        new Row(Timing.EQUAL.id(), SCENARIO + "-" + elections, kind.id(), 1, measure, value));
  }
}
