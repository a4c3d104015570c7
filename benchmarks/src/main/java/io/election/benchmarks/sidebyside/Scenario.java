package io.election.benchmarks.sidebyside;

import io.election.test.Signal;
import io.election.test.process.Claim;
import io.election.test.process.NodeProcess;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** A fault or a stop of a leader. */
enum Scenario {
  /** {@code kill -9}. */
  KILL {
    @Override
    void play(Contestant contestant, NodeProcess leader, Recorder recorder)
        throws InterruptedException {
      end(Signal.KILL, contestant, leader, recorder);
    }
  },
  /** {@code SIGTERM}. */
  STOP {
    @Override
    void play(Contestant contestant, NodeProcess leader, Recorder recorder)
        throws InterruptedException {
      end(Signal.TERM, contestant, leader, recorder);
    }
  },
  /** {@code kill -STOP} for three seconds more than the lease, then {@code kill -CONT}. */
  PAUSE {
    @Override
    void play(Contestant contestant, NodeProcess leader, Recorder recorder)
        throws InterruptedException {
      long start = System.nanoTime();
      leader.signal(Signal.STOP);
      sleep(contestant.lease().plusSeconds(3));
      recorder.add("paused_ms", System.nanoTime() - start);
      leader.signal(Signal.CONT);
      sleep(contestant.renew().plusSeconds(3));
      recordGap(contestant, leader, start, recorder);
    }
  },
  /** Nothing passes between the leader and its server for five seconds more than the lease. */
  CUT {
    @Override
    void play(Contestant contestant, NodeProcess leader, Recorder recorder)
        throws InterruptedException {
      long start = System.nanoTime();
      contestant.proxyOf(leader).cut();
      sleep(contestant.lease().plusSeconds(5));
      long healed = System.nanoTime();
      contestant.proxyOf(leader).heal();
      recorder.add("claimed_ms", claimed(List.of(leader), start, healed));
      sleep(contestant.renew().plusSeconds(2));
      recordGap(contestant, leader, start, recorder);
    }
  },
  /** The servers answer no client for eight seconds. */
  STALL {
    @Override
    void play(Contestant contestant, NodeProcess leader, Recorder recorder)
        throws InterruptedException {
      long start = System.nanoTime();
      recorder.servers().pauseFor(STALLED);
      long resumed = System.nanoTime();
      Claim next = contestant.awaitClaimAfter(resumed);
      recorder.add("claimed_ms", claimed(contestant.nodes(), start, resumed));
      recorder.add("recovery_ms", Math.max(0, next.from() - resumed));
      recorder.add("changed_count", next.node().equals(leader.name()) ? 0 : MILLION);
      sleep(Duration.ofSeconds(2));
      recorder.add("overlap_ms", contestant.overlap(start));
    }

    @Override
    boolean isAtOnce() {
      return true;
    }
  };

  private static final Duration STALLED = Duration.ofSeconds(8);

  /** The factor for counts: all other values are nanoseconds that become milliseconds. */
  private static final long MILLION = 1_000_000;

  abstract void play(Contestant contestant, NodeProcess leader, Recorder recorder)
      throws InterruptedException;

  /** Returns whether it happens to all candidates at the same instant. */
  boolean isAtOnce() {
    return false;
  }

  String id() {
    return name().toLowerCase(Locale.ROOT);
  }

  private static void end(
      Signal signal, Contestant contestant, NodeProcess leader, Recorder recorder)
      throws InterruptedException {
    long start = System.nanoTime();
    leader.signal(signal);
    leader.awaitEnd();
    contestant.awaitSuccessor(leader, start);
    recordGap(contestant, leader, start, recorder);
  }

  /** Records the time from the leader's last claim to the next leader's first, and any overlap. */
  private static void recordGap(
      Contestant contestant, NodeProcess leader, long start, Recorder recorder) {
    long before = start - TimeUnit.SECONDS.toNanos(1);
    Optional<Claim> next = contestant.nodes().stream()
        .filter((node) -> node != leader)
        .flatMap((node) -> node.claims(start).stream())
        .filter((claim) -> claim.from() - start > 0)
        .min(Comparator.comparingLong((claim) -> claim.from() - start));
    next.ifPresent((claim) -> {
      long end = leader.claims(before).stream()
          .filter((last) -> last.from() - claim.from() < 0)
          .mapToLong((last) -> Math.min(last.to() - start, claim.from() - start))
          .max()
          .orElse(0);
      recorder.add("gap_ms", claim.from() - start - end);
    });
    if (next.isEmpty()) {
      recorder.add("unsucceeded_count", MILLION);
    }
    recorder.add("overlap_ms", contestant.overlap(start));
  }

  /** Returns how long nodes led between two instants. */
  private static long claimed(List<NodeProcess> nodes, long from, long to) {
    Claim window = new Claim("", Claim.NO_TERM, from, to);
    return nodes.stream()
        .flatMap((node) -> node.claims(from).stream())
        .mapToLong((claim) -> claim.overlap(window, from))
        .sum();
  }

  private static void sleep(Duration duration) throws InterruptedException {
    TimeUnit.NANOSECONDS.sleep(duration.toNanos());
  }
}
