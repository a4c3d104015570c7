package io.election.benchmarks.sidebyside;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * Plays scenarios on all candidates at the same time, so that a slow minute of the machine affects
 * all of them.
 */
final class Rounds {

  private final Results results;

  private final Timing timing;

  private final List<Contestant> contestants;

  private final Servers servers;

  private final ExecutorService threads = Executors.newCachedThreadPool();

  Rounds(Results results, Timing timing, List<Contestant> contestants, Servers servers) {
    this.results = results;
    this.timing = timing;
    this.contestants = contestants;
    this.servers = servers;
  }

  void play(Scenario scenario, int round) throws InterruptedException {
    long start = System.nanoTime();
    // In a scenario that hits all candidates at once, none begins before all are ready.
    CountDownLatch waiting = new CountDownLatch(scenario.isAtOnce() ? this.contestants.size() : 0);
    List<Future<?>> plays = new ArrayList<>();
    for (Contestant contestant : this.contestants) {
      plays.add(this.threads.submit(() -> {
        play(scenario, round, contestant, waiting);
        return true;
      }));
    }
    for (Future<?> play : plays) {
      try {
        play.get();
      } catch (ExecutionException ex) {
        throw new IllegalStateException(ex);
      }
    }
    System.out.printf(
        "%s, %s, round %d: %d s%n",
        this.timing.id(), scenario.id(), round, (System.nanoTime() - start) / 1_000_000_000);
  }

  /** Waits until all nodes run, one leads, and the others have had time to notice. */
  private static void awaitReady(Contestant contestant) throws InterruptedException {
    contestant.awaitLeader();
    TimeUnit.MILLISECONDS.sleep(Math.min(3000, 2 * contestant.renew().toMillis()));
  }

  private void play(Scenario scenario, int round, Contestant contestant, CountDownLatch waiting)
      throws InterruptedException {
    boolean ready = attempt(contestant, scenario, round, () -> awaitReady(contestant));
    waiting.countDown();
    waiting.await();
    if (ready) {
      attempt(contestant, scenario, round, () -> {
        if (!scenario.isAtOnce()) {
          // Begins at a random instant between two renewals.
          TimeUnit.MILLISECONDS.sleep(
              ThreadLocalRandom.current().nextLong(1 + contestant.renew().toMillis()));
        }
        Recorder recorder =
            new Recorder(this.results, this.timing, scenario, contestant, round, this.servers);
        scenario.play(contestant, contestant.awaitLeader(), recorder);
      });
    }
  }

  /** Restarts a candidate that fails, and records the failure as a figure. */
  private boolean attempt(Contestant contestant, Scenario scenario, int round, Action action)
      throws InterruptedException {
    try {
      action.run();
      return true;
    } catch (InterruptedException ex) {
      throw ex;
    } catch (Exception ex) {
      System.out.println(contestant.kind().title() + ", " + scenario.id() + ": " + ex);
      System.out.println(contestant.logs());
      this.results.add(new Row(
          this.timing.id(), scenario.id(), contestant.kind().id(), round, "failed_count", 1));
      contestant.restartAll();
      return false;
    }
  }

  @FunctionalInterface
  private interface Action {

    void run() throws Exception;
  }

  void end() {
    this.threads.shutdownNow();
  }
}
