package io.election.faults;

import io.election.AuditNote;
import io.election.ElectionOperations;
import io.election.LeaderBound;
import io.election.support.process.Claim;
import io.election.support.process.LeadershipLog;
import io.election.support.process.Node;
import io.election.support.process.NodeProcess;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.Scanner;
import java.util.concurrent.locks.LockSupport;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.ApplicationRunner;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * A consumer that works where the leader is, and whose stop takes a while. It logs that it works,
 * from the first instant of its start to the last one before its stop calls back.
 */
@LeaderBound
final class LeaderBoundConsumer implements SmartLifecycle {

  static final Duration LONGEST_STOP = Duration.ofSeconds(3);

  private static final int WORKS = 0;

  private static final int STOPS = 1;

  private final LeadershipLog log;

  private final Random random;

  private boolean works;

  private LeaderBoundConsumer(Path log, long seed) {
    this.log = LeadershipLog.open(log);
    this.random = new Random(seed);
  }

  /** Returns a node that has the consumer, and obeys the commands that it reads. */
  static Node on(Node node, long seed) {
    return SamplingNode.with(Beans.class, node).with("test.seed=" + seed);
  }

  @Override
  public synchronized void start() {
    this.works = true;
    logs(WORKS, true);
  }

  /** Continues the claim, which survives a kill. */
  private synchronized void work() {
    if (this.works) {
      logs(WORKS, true);
    }
  }

  @Override
  public synchronized void stop(Runnable callback) {
    logs(STOPS, true);
    long nanos = this.random.nextLong(LONGEST_STOP.toNanos());
    long end = System.nanoTime() + nanos;
    SamplingNode.daemon("stop", () -> {
      while (System.nanoTime() - end < 0) {
        LockSupport.parkNanos(end - System.nanoTime());
      }
      stopped();
      callback.run();
    });
  }

  private synchronized void stopped() {
    logs(STOPS, true);
    logs(STOPS, false);
    logs(WORKS, true);
    logs(WORKS, false);
    this.works = false;
  }

  private void logs(int track, boolean holds) {
    long now = System.nanoTime();
    this.log.sample(track, now, now, holds ? Claim.NO_TERM : LeadershipLog.NOT_LEADING);
  }

  @Override
  public void stop() {
    throw new UnsupportedOperationException("a SmartLifecycle is stopped with a callback");
  }

  @Override
  public synchronized boolean isRunning() {
    return this.works;
  }

  @Override
  public boolean isAutoStartup() {
    return false;
  }

  @Configuration(proxyBeanMethods = false)
  static class Beans {

    @Bean
    LeaderBoundConsumer consumer(
        @Value("${test.claims}") Path claims,
        @Value("${as.election.node-id}") String nodeId,
        @Value("${test.seed}") long seed) {
      return new LeaderBoundConsumer(Work.file(claims, nodeId), seed ^ nodeId.hashCode());
    }

    @Bean
    ApplicationRunner worker(LeaderBoundConsumer consumer) {
      return (arguments) -> SamplingNode.daemon("worker", () -> {
        while (true) {
          consumer.work();
          LockSupport.parkNanos(1_000_000);
        }
      });
    }

    @Bean
    ApplicationRunner operator(ElectionOperations election) {
      return (arguments) -> SamplingNode.daemon("operator", () -> {
        Scanner commands = new Scanner(System.in);
        while (commands.hasNextLine()) {
          String command = commands.nextLine();
          try {
            obey(election, command);
          } catch (Exception ex) {
            System.out.println(command + " failed: " + ex);
          }
        }
      });
    }

    private static void obey(ElectionOperations election, String command) throws Exception {
      AuditNote note = new AuditNote("test", "");
      switch (command) {
        case "pause" -> election.pause(note);
        case "resume" -> election.resume(note);
        case "force" -> election.forceElection(note);
        default -> election.designate(command, note);
      }
    }
  }

  /** What the consumer of a process has logged. */
  record Work(NodeProcess node, LeadershipLog log) {

    static Work of(NodeProcess node) {
      return new Work(node, LeadershipLog.open(file(node.logFile(), node.name())));
    }

    private static Path file(Path sibling, String node) {
      return sibling.resolveSibling(node + ".work");
    }

    /** Whether the consumer works, and does not stop. */
    boolean goesOn() {
      List<Claim> stops = all(STOPS);
      return this.log.isLeading()
          && (stops.isEmpty() || stops.get(stops.size() - 1).from() - last().from() < 0);
    }

    /** Whether the consumer works or stops. */
    boolean isRunning() {
      return this.log.isLeading();
    }

    List<Claim> all() {
      return all(WORKS);
    }

    Claim last() {
      return all().get(all().size() - 1);
    }

    /** Returns the work that began at an instant, as long as it is by now. */
    Claim begunAt(long from) {
      return all().stream().filter((work) -> work.from() == from).findFirst().orElseThrow();
    }

    /** Returns the stop of some work. */
    Claim stopOf(Claim work) {
      return all(STOPS).stream()
          .filter((stop) -> stop.from() - work.from() >= 0 && stop.from() - work.to() <= 0)
          .findFirst()
          .orElseThrow();
    }

    private List<Claim> all(int track) {
      return this.log.claimsByTrack(this.node.name()).getOrDefault(track, List.of());
    }
  }
}
