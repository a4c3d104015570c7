package io.election.benchmarks.sidebyside;

import io.election.support.Signal;
import io.election.support.process.Claim;
import io.election.support.process.NodeProcess;
import io.election.support.process.TcpProxy;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** A fault or a stop of a leader. The durations are those for a lease of 5 s. */
enum Scenario {
  /** {@code kill -9}. */
  KILL {
    @Override
    void play(Contestant contestant, NodeProcess leader, Servers servers, Recorder recorder) {
      end(Signal.KILL, contestant, leader, recorder);
      contestant.trafficOf(leader).renewedAt().ifPresent((renewed) -> {
        long next = contestant.awaitClaimAfter(renewed, leader).from();
        recorder.add("late_ms", millis(next - renewed - contestant.lease.toNanos()));
      });
    }
  },
  /** {@code SIGTERM}. */
  STOP {
    @Override
    void play(Contestant contestant, NodeProcess leader, Servers servers, Recorder recorder) {
      end(Signal.TERM, contestant, leader, recorder);
    }
  },
  /** The leader hands the leadership on, on request. Takes 5 s, since its consumer has to stop. */
  RESIGN {
    @Override
    void play(Contestant contestant, NodeProcess leader, Servers servers, Recorder recorder)
        throws InterruptedException {
      long start = System.nanoTime();
      leader.tell("resign");
      contestant.awaitClaimAfter(start, leader);
      sleep(contestant, 1);
      recordGap(contestant, leader, start, recorder);
    }
  },
  /** {@code kill -STOP} for 8 s, then {@code kill -CONT}. */
  PAUSE {
    @Override
    void play(Contestant contestant, NodeProcess leader, Servers servers, Recorder recorder)
        throws InterruptedException {
      long start = System.nanoTime();
      leader.pause();
      sleep(contestant, 1.6);
      leader.resume();
      sleep(contestant, 0.8);
      recordGap(contestant, leader, start, recorder);
    }
  },
  /** Nothing passes between the leader and its server for 10 s. */
  CUT {
    @Override
    void play(Contestant contestant, NodeProcess leader, Servers servers, Recorder recorder)
        throws InterruptedException {
      TcpProxy link = contestant.proxyOf(leader);
      cut(contestant, leader, 2, link::cut, link::heal, recorder);
    }
  },
  /**
   * Nothing passes between the leader's server and the two others for 20 s; the leader still reaches
   * its server.
   */
  CUT_OFF_SERVER {
    @Override
    void play(Contestant contestant, NodeProcess leader, Servers servers, Recorder recorder)
        throws InterruptedException {
      Ensemble ensemble = (Ensemble) contestant.server;
      int node = contestant.nodes().indexOf(leader);
      cut(contestant, leader, 4, () -> ensemble.cutOff(node), ensemble::heal, recorder);
      ensemble.awaitUp();
    }
  },
  /** The servers answer no client for 8 s. */
  STALL {
    @Override
    void play(Contestant contestant, NodeProcess leader, Servers servers, Recorder recorder)
        throws InterruptedException {
      long start = System.nanoTime();
      servers.pauseFor(part(contestant, 1.6));
      long resumed = System.nanoTime();
      Claim next = contestant.awaitClaimAfter(resumed);
      recorder.add("claimed_ms", millis(claimed(contestant.nodes(), start, resumed)));
      recorder.add("recovery_ms", millis(Math.max(0, next.from() - resumed)));
      recorder.add("changed_count", next.node().equals(leader.name()) ? 0 : 1);
      sleep(contestant, 0.4);
      recorder.add("overlap_ms", millis(contestant.overlap(start)));
    }
  };

  /** Receives the figures of a scenario. */
  @FunctionalInterface
  interface Recorder {

    void add(String measure, double value);
  }

  abstract void play(Contestant contestant, NodeProcess leader, Servers servers, Recorder recorder)
      throws InterruptedException;

  String id() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  static Scenario of(String id) {
    return valueOf(id.toUpperCase(Locale.ROOT).replace('-', '_'));
  }

  private static void cut(
      Contestant contestant,
      NodeProcess leader,
      double leases,
      Runnable cut,
      Runnable heal,
      Recorder recorder)
      throws InterruptedException {
    long start = System.nanoTime();
    cut.run();
    sleep(contestant, leases);
    long healed = System.nanoTime();
    heal.run();
    recorder.add("claimed_ms", millis(claimed(List.of(leader), start, healed)));
    sleep(contestant, 0.6);
    recordGap(contestant, leader, start, recorder);
  }

  private static void end(
      Signal signal, Contestant contestant, NodeProcess leader, Recorder recorder) {
    long start = System.nanoTime();
    leader.signal(signal);
    leader.awaitEnd();
    contestant.awaitClaimAfter(start, leader);
    recordGap(contestant, leader, start, recorder);
  }

  /** Records the time from the leader's last claim to the next leader's first, and any overlap. */
  private static void recordGap(
      Contestant contestant, NodeProcess leader, long start, Recorder recorder) {
    Optional<Claim> next = contestant.claimAfter(start, leader);
    if (next.isPresent()) {
      long led = next.get().from() - start;
      long end = leader.claims(start - TimeUnit.SECONDS.toNanos(1)).stream()
          .filter((last) -> last.from() - start < led)
          .mapToLong((last) -> Math.min(last.to() - start, led))
          .max()
          .orElse(0);
      // Of two leaders the other has led all the time.
      recorder.add("gap_ms", millis(Math.max(0, led - end)));
    } else {
      recorder.add("unsucceeded_count", 1);
    }
    recorder.add("overlap_ms", millis(contestant.overlap(start)));
  }

  /** Returns how long nodes led between two instants. */
  private static long claimed(List<NodeProcess> nodes, long from, long to) {
    Claim window = new Claim("", Claim.NO_TERM, from, to);
    return nodes.stream()
        .flatMap((node) -> node.claims(from).stream())
        .mapToLong((claim) -> claim.overlap(window, from))
        .sum();
  }

  private static double millis(long nanos) {
    return nanos / 1e6;
  }

  private static Duration part(Contestant contestant, double leases) {
    return Duration.ofMillis((long) (contestant.lease.toMillis() * leases));
  }

  private static void sleep(Contestant contestant, double leases) throws InterruptedException {
    TimeUnit.MILLISECONDS.sleep(part(contestant, leases).toMillis());
  }
}
