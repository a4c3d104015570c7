package io.election.faults;

import static io.election.faults.Cluster.LEASE;
import static io.election.faults.Cluster.RENEW;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.faults.LeaderBoundConsumer.Work;
import io.election.support.Signal;
import io.election.support.TestDatabase;
import io.election.support.process.Claim;
import io.election.support.process.LeadershipLog;
import io.election.support.process.NodeProcess;
import io.election.support.process.SafetyJudge;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.ToLongFunction;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A leader-bound consumer, whose stop takes up to three seconds, through hand-overs of all kinds.
 * Its work reaches from before its start to the end of its stop. {@code -Dleader-bound.seed}
 * repeats the order of the hand-overs, but not the processes' own pace; {@code
 * -Dleader-bound.hand-overs=200} plays more of them.
 */
@Order(1)
class LeaderBoundIT {

  /** Longer than any stop, so that no command cuts one off. */
  private static final Duration DRAIN = LeaderBoundConsumer.LONGEST_STOP.multipliedBy(3);

  /** When a stop begins after it was due, usually. */
  private static final Duration SOON = Duration.ofMillis(250);

  /** For durations on a busy machine. The figures are printed. */
  private static final Duration SLACK = Duration.ofSeconds(5);

  private final long seed =
      Long.getLong("leader-bound.seed", ThreadLocalRandom.current().nextLong(1_000_000));

  private final Random random = new Random(this.seed);

  private final Map<String, Work> works = new LinkedHashMap<>();

  /** By node that a hand-over has disturbed, when it no longer stands aside or connects. */
  private final Map<NodeProcess, Long> readyAt = new HashMap<>();

  private final List<HandOver> past = new ArrayList<>();

  private int starts;

  private enum Kind {
    STOPPED,
    DESIGNATED,
    PAUSED,
    FORCED,
    KILLED,
    CUT_OFF,
    /** By {@code kill -STOP} for longer than the lease. While stopped it does not work. */
    FROZEN;

    /** Whether the leader knows that it is to stop, and can still renew. */
    boolean isOrderly() {
      return compareTo(KILLED) < 0;
    }

    Duration longestIdle() {
      return isOrderly() ? Duration.ofMillis(300) : LEASE.plus(RENEW);
    }
  }

  /**
   * What has happened.
   *
   * @param old the consumer of the old leader
   * @param from when its work began
   * @param deadline when its lease ended, by its own last answer
   * @param next the next work
   * @param healed when the fault was over
   */
  private record HandOver(Kind kind, Work old, long from, long deadline, Claim next, long healed) {

    Claim work() {
      return this.old.begunAt(this.from);
    }

    Claim stop() {
      return this.old.stopOf(work());
    }

    boolean isOf(Claim work) {
      return this.from == work.from() && this.old.node().name().equals(work.node());
    }
  }

  @Test
  @Tag("faults")
  void consumersDoNotOverlapInOrderlyHandOvers() throws Exception {
    handOver(8);
  }

  @Test
  @Tag("long")
  void consumersDoNotOverlapInManyHandOvers() throws Exception {
    handOver(Integer.getInteger("leader-bound.hand-overs", 25));
  }

  private void handOver(int times) throws Exception {
    System.out.println("Hand-overs: -Dleader-bound.seed=" + this.seed);
    TestDatabase database = TestDatabase.newDatabase();
    try (TcpProxies proxies = new TcpProxies()) {
      Cluster.run(
          database,
          proxies.between(
              database,
              Cluster.threeNodes((node) -> LeaderBoundConsumer.on(node, this.seed)
                  .with("as.election.drain-timeout=" + DRAIN.toMillis() + "ms"))),
          (cluster, leader) -> {
            cluster.nodes().forEach(this::watch);
            for (Kind kind : kinds(times)) {
              play(kind, cluster, proxies);
            }
            cluster.await(
                "all consumers but the last one have stopped",
                () -> this.works.values().stream()
                        .filter((work) -> work.node().isAlive() && work.isRunning())
                        .count()
                    == 1);
            judge();
          });
    }
  }

  private void watch(NodeProcess node) {
    this.works.put(node.name(), Work.of(node));
  }

  /** Returns all kinds equally often, as far as possible, in random order. */
  private List<Kind> kinds(int times) {
    List<Kind> kinds = new ArrayList<>(IntStream.range(0, times)
        .mapToObj((i) -> Kind.values()[i % Kind.values().length])
        .toList());
    Collections.shuffle(kinds, this.random);
    return kinds;
  }

  private void play(Kind kind, Cluster cluster, TcpProxies proxies) throws Exception {
    cluster.await("a follower is ready", () -> follower(cluster).isPresent());
    Work old = cluster
        .within(LEASE.multipliedBy(2), "the leader's consumer works")
        .until(() -> working(cluster), Optional::isPresent)
        .orElseThrow();
    NodeProcess leader = old.node();
    cluster.letPass(Duration.ofNanos(this.random.nextLong(RENEW.toNanos())));
    Claim work = old.last();
    switch (kind) {
      case STOPPED -> leader.signal(Signal.TERM);
      case DESIGNATED -> leader.tell(follower(cluster).orElseThrow().name());
      case PAUSED -> leader.tell("pause");
      case FORCED -> leader.tell("force");
      case KILLED -> leader.kill();
      case CUT_OFF -> proxies.of(leader).cut();
      case FROZEN -> leader.pause();
    }
    long deadline = kind == Kind.CUT_OFF
        ? lastDeadline(leader, cluster)
        : leader.leadershipLog().deadline();
    Claim next = cluster
        .within(LEASE.multipliedBy(2).plus(DRAIN), "the next consumer works after: " + kind)
        .until(() -> workAfter(work), Optional::isPresent)
        .orElseThrow();
    long healed = System.nanoTime();
    switch (kind) {
      case STOPPED -> {
        leader.awaitEnd();
        replace(leader, cluster);
      }
      case KILLED -> replace(leader, cluster);
      case PAUSED -> leader.tell("resume");
      case CUT_OFF -> proxies.of(leader).heal();
      case FROZEN -> leader.resume();
      default -> {}
    }
    Duration rest = kind == Kind.FORCED ? LEASE : RENEW;
    this.readyAt.put(leader, System.nanoTime() + rest.plus(RENEW).toNanos());
    this.past.add(new HandOver(kind, old, work.from(), deadline, next, healed));
  }

  private Optional<Work> working(Cluster cluster) {
    return cluster.leader().map((node) -> this.works.get(node.name())).filter(Work::goesOn);
  }

  private Optional<NodeProcess> follower(Cluster cluster) {
    return cluster.nodes().stream()
        .filter((node) -> node.isAlive() && node.isUp() && !node.leads())
        .filter((node) -> !this.works.get(node.name()).isRunning())
        .filter((node) -> System.nanoTime() - this.readyAt.getOrDefault(node, 0L) > 0)
        .findFirst();
  }

  private void replace(NodeProcess ended, Cluster cluster) {
    String name = Cluster.place(ended) + "." + ++this.starts;
    watch(cluster.add(ended.node().called(name).with("as.election.node-id=" + name)));
  }

  private Optional<Claim> workAfter(Claim work) {
    return works()
        .filter((next) -> next.from() - work.from() > 0)
        .min(Comparator.comparingLong(Claim::from));
  }

  private Stream<Claim> works() {
    return this.works.values().stream().flatMap((work) -> work.all().stream());
  }

  /** Returns the last deadline of a leader that has lost its database. */
  private static long lastDeadline(NodeProcess leader, Cluster cluster) {
    long[] last = {LeadershipLog.NO_DEADLINE};
    cluster.await(leader + " loses its lease", () -> {
      long deadline = leader.leadershipLog().deadline();
      if (deadline != LeadershipLog.NO_DEADLINE) {
        last[0] = deadline;
      }
      return !leader.leads();
    });
    return last[0];
  }

  private void judge() {
    List<SafetyJudge.Overlap> overlaps = new SafetyJudge(works().toList()).overlaps();
    assertThat(overlaps.stream().filter((pair) -> isOrderly(pair.first())))
        .as("overlaps of work that an orderly hand-over ended")
        .isEmpty();
    for (Kind kind : Kind.values()) {
      judge(
          kind, this.past.stream().filter((handOver) -> handOver.kind() == kind).toList());
    }
    print(
        "all orderly hand-overs: idle",
        nanos(this.past.stream().filter((each) -> each.kind().isOrderly()).toList(), this::idle));
  }

  /** Work that goes on, or that nothing has ended on purpose, is judged like an orderly one. */
  private boolean isOrderly(Claim work) {
    return this.past.stream()
        .filter((handOver) -> handOver.isOf(work))
        .allMatch((handOver) -> handOver.kind().isOrderly());
  }

  private void judge(Kind kind, List<HandOver> all) {
    if (kind.isOrderly() || kind == Kind.KILLED) {
      long[] idle = nanos(all, this::idle);
      print(kind + ": idle", idle);
      assertThat(Duration.ofNanos(LongStream.of(idle).max().orElse(0)))
          .as("without work after: %s", kind)
          .isLessThan(kind.longestIdle().plus(SLACK));
    }
    if (!kind.isOrderly()) {
      long[] after = nanos(all, (each) -> each.next().from() - each.deadline());
      print(kind + ": next work after the deadline", after);
      assertThat(all).allMatch((each) -> each.deadline() != LeadershipLog.NO_DEADLINE);
      assertThat(LongStream.of(after)).as("after the old deadline").allMatch((nanos) -> nanos > 0);
    }
    if (kind == Kind.CUT_OFF) {
      judgeStops("cut off: stop begun after the deadline", all, HandOver::deadline);
      assertThat(all)
          .as("stopped before another worked")
          .allMatch((each) -> each.stop().from() - each.next().from() < 0);
      print(
          "cut off: overlap",
          nanos(all, (each) -> Math.max(each.work().to() - each.next().from(), 0)));
    }
    if (kind == Kind.FROZEN) {
      judgeStops("frozen: stop begun after the SIGCONT", all, HandOver::healed);
      print("frozen: overlap", nanos(all, (each) -> each.work().to() - each.healed()));
    }
  }

  private static void judgeStops(String what, List<HandOver> all, ToLongFunction<HandOver> due) {
    long[] late = nanos(all, (each) -> each.stop().from() - due.applyAsLong(each));
    print(what, late);
    if (late.length > 0) {
      assertThat(Duration.ofNanos(median(late))).as(what).isLessThan(SOON);
    }
  }

  private static long[] nanos(List<HandOver> all, ToLongFunction<HandOver> what) {
    return all.stream().mapToLong(what).toArray();
  }

  /** For how long nothing worked, not even the stop of a node that had lost its lease before. */
  private long idle(HandOver handOver) {
    long next = handOver.next().from();
    return works()
        .filter((work) -> work.from() - next < 0)
        .mapToLong((work) -> Math.max(next - work.to(), 0))
        .min()
        .orElseThrow();
  }

  private static void print(String what, long... nanos) {
    long[] sorted = LongStream.of(nanos).sorted().toArray();
    if (sorted.length > 0) {
      Cluster.measured(
          "%s: %d, median %.3f s, p99 %.3f s, max %.3f s",
          what.replace('_', ' '),
          sorted.length,
          median(sorted) / 1e9,
          sorted[(int) Math.ceil(sorted.length * 0.99) - 1] / 1e9,
          sorted[sorted.length - 1] / 1e9);
    }
  }

  private static long median(long... nanos) {
    return LongStream.of(nanos).sorted().toArray()[nanos.length / 2];
  }
}
