package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.support.process.Claim;
import io.election.support.process.Node;
import io.election.support.process.NodeProcess;
import io.election.support.process.SafetyJudge;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiFunction;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;

/** Random faults of some kinds, alone and together; at intervals all end, and a leader appears. */
final class Soak {

  /** The place of faults that end before all others, since those may need the server to end. */
  static final String SERVER = "server";

  static final BooleanSupplier NOTHING = () -> true;

  private static final Duration CHAOS = Duration.ofSeconds(20);

  private static final Duration LONGEST_FAULT = Cluster.LEASE.multipliedBy(5).dividedBy(2);

  private final Duration duration = Duration.parse(System.getProperty("soak.duration", "PT20S"));

  private final long seed =
      Long.getLong("soak.seed", ThreadLocalRandom.current().nextLong(1_000_000));

  private final Random random = new Random(this.seed);

  private final List<String> names;

  private final BiFunction<String, String, Node> nodes;

  private final Map<String, NodeProcess> lives = new TreeMap<>();

  private final List<Kind> kinds = new ArrayList<>();

  private final List<Ongoing> ongoing = new ArrayList<>();

  private final Map<String, Integer> injected = new TreeMap<>();

  private final List<Long> healedAt = new ArrayList<>();

  private int starts;

  /** The latest attempt to end a fault that failed, and why. */
  private String refusal = "none";

  private Cluster cluster;

  /** Creates a soak of a few nodes, from the name of each and of its process. */
  Soak(BiFunction<String, String, Node> nodes) {
    this.nodes = nodes;
    int size = Integer.getInteger("soak.nodes", 3);
    this.names = IntStream.range(0, size)
        .mapToObj((i) -> String.valueOf((char) ('a' + i)))
        .toList();
    System.out.printf(
        "Soak: -Dsoak.duration=%s -Dsoak.seed=%d -Dsoak.nodes=%d%n",
        this.duration, this.seed, size);
    process("node killed", (node) -> this.lives.get(node).kill(), this::startAgain);
    process("node stopped", (node) -> this.lives.get(node).stop(), this::startAgain);
    process(
        "node paused",
        (node) -> this.lives.get(node).pause(),
        (node) -> this.lives.get(node).resume());
    add("twin started", "twin", (node) -> {
      NodeProcess twin = this.cluster.add(life(node));
      return done(twin::kill);
    });
  }

  List<String> names() {
    return this.names;
  }

  List<Node> nodes() {
    return this.names.stream().map((name) -> this.nodes.apply(name, name)).toList();
  }

  /**
   * Adds a fault, one at a time in each place ({@code *} is the node); its end may fail at first.
   */
  void add(String name, String place, Function<String, BooleanSupplier> fault) {
    this.kinds.add(new Kind(name, place, fault));
  }

  private void process(String name, Consumer<String> begin, Consumer<String> end) {
    add(name, "process of *", (node) -> {
      begin.accept(node);
      return done(() -> end.accept(node));
    });
  }

  private void startAgain(String node) {
    this.lives.put(node, this.cluster.add(life(node)));
  }

  private Node life(String node) {
    return this.nodes.apply(node, node + "." + ++this.starts).with("as.election.node-id=" + node);
  }

  void refused(String why) {
    this.refusal = why;
  }

  /** Injects faults for as long as the test is to take; each time that all have ended, tells so. */
  void run(Cluster started, Runnable healed) {
    this.cluster = started;
    started.nodes().forEach((node) -> this.lives.put(node.name(), node));
    long begin = System.nanoTime();
    while (System.nanoTime() - begin < this.duration.toNanos()) {
      breakThings();
      healAll();
      started.awaitUp();
      healed.run();
      this.healedAt.add(System.nanoTime());
      started.awaitLeader();
      started.letPass(Duration.ofNanos(this.random.nextLong(Cluster.LEASE.toNanos())));
    }
    report(Duration.ofNanos(System.nanoTime() - begin));
  }

  private void breakThings() {
    long end = System.nanoTime() + CHAOS.toNanos();
    while (System.nanoTime() - end < 0) {
      Kind kind = this.kinds.get(this.random.nextInt(this.kinds.size()));
      String victim = victim();
      String place = kind.place().replace("*", victim);
      if (this.ongoing.stream().noneMatch((fault) -> fault.place().equals(place))) {
        begin(kind, place, victim);
      }
      long next =
          System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(200 + this.random.nextInt(1800));
      while (System.nanoTime() - next < 0) {
        // Another fault may have taken the server away: then this one ends later.
        this.ongoing.removeIf(
            (fault) -> System.nanoTime() - fault.endAt() >= 0 && fault.end().getAsBoolean());
        LockSupport.parkNanos(50_000_000);
      }
    }
  }

  /** Picks the leader half of the time, otherwise any node. */
  private String victim() {
    String any = this.names.get(this.random.nextInt(this.names.size()));
    return this.random.nextBoolean() ? this.cluster.leader().map(Cluster::place).orElse(any) : any;
  }

  private void begin(Kind kind, String place, String victim) {
    long nanos =
        (long) (LONGEST_FAULT.toNanos() * Math.pow(this.random.nextDouble(), 2)) + 50_000_000;
    BooleanSupplier end = kind.fault().apply(victim);
    this.injected.merge(kind.name(), 1, Integer::sum);
    this.ongoing.add(new Ongoing(place, System.nanoTime() + nanos, end));
  }

  /** Ends the faults of the server first, since others wait for it to undo their SQL. */
  private void healAll() {
    List<Ongoing> faults = new ArrayList<>(this.ongoing);
    this.ongoing.clear();
    faults.sort(Comparator.comparing((fault) -> !fault.place().equals(SERVER)));
    faults.forEach((fault) -> Awaitility.await()
        .atMost(Duration.ofSeconds(120))
        .pollDelay(Duration.ZERO)
        .untilAsserted(() -> assertThat(fault.end().getAsBoolean())
            .as("the fault of %s has ended; latest failure: %s", fault.place(), this.refusal)
            .isTrue()));
  }

  static BooleanSupplier done(Runnable end) {
    return () -> {
      end.run();
      return true;
    };
  }

  private void report(Duration duration) {
    SafetyJudge judge = this.cluster.judge();
    List<Claim> claims = judge.claims();
    double led = claims.stream().mapToLong((claim) -> claim.to() - claim.from()).sum() / 1e9;
    double longestGap = IntStream.range(1, claims.size())
            .mapToLong((i) -> claims.get(i).from() - claims.get(i - 1).to())
            .max()
            .orElse(0)
        / 1e9;
    double longestRecovery = this.healedAt.stream()
            .mapToLong((healed) -> claims.stream()
                .filter((claim) -> claim.to() - healed > 0)
                .mapToLong((claim) -> Math.max(0, claim.from() - healed))
                .min()
                .orElse(0))
            .max()
            .orElse(0)
        / 1e9;
    Map<String, Long> byNode = claims.stream()
        .collect(Collectors.groupingBy(
            (claim) -> claim.node().substring(0, 1), TreeMap::new, Collectors.counting()));
    List<String> violations = judge.violations();
    System.out.printf(
        Locale.ROOT,
        """
        Soak: %d s, %d nodes, %d processes, lease %s, renew interval %s
        Soak: %d faults: %s
        Soak: %d claims checked, %d terms, by node %s, a leader for %.0f %% of the time
        Soak: longest gap with faults %.3f s; longest wait for a leader after %d times that all had ended %.3f s
        Soak: overlaps and other violations: %d%n""",
        duration.toSeconds(),
        this.names.size(),
        this.cluster.nodes().size(),
        Cluster.LEASE,
        Cluster.RENEW,
        this.injected.values().stream().mapToInt(Integer::intValue).sum(),
        this.injected,
        claims.size(),
        claims.stream().map(Claim::term).distinct().count(),
        byNode,
        100 * led / (duration.toMillis() / 1e3),
        longestGap,
        this.healedAt.size(),
        longestRecovery,
        violations.size());
  }

  private record Kind(String name, String place, Function<String, BooleanSupplier> fault) {}

  private record Ongoing(String place, long endAt, BooleanSupplier end) {}
}
