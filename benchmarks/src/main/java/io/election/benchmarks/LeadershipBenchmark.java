package io.election.benchmarks;

import io.election.ElectionService;
import io.election.LeaderOnly;
import io.election.autoconfigure.ElectionAutoConfiguration;
import io.election.autoconfigure.leaderonly.LeaderOnlyAutoConfiguration;
import io.election.lease.Elector;
import io.election.lease.LeaseElectionService;
import io.election.lease.LeaseSettings;
import io.election.lease.MemoryLeaseStore;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.core.env.MapPropertySource;

/** Measures a leadership query and a guarded call, next to the clock reads that they consist of. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(2)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@SuppressWarnings("NullAway.Init")
public class LeadershipBenchmark {

  @Param({"true", "false"})
  public boolean leader;

  private Elector elector;

  private ElectionService election;

  private AnnotationConfigApplicationContext context;

  private Job guarded;

  private final Job plain = new Job();

  /** A job that is guarded if it is a bean. */
  public static class Job {

    private int runs;

    @LeaderOnly
    public void run() {
      this.runs++;
    }
  }

  /** Starts a node that leads, or one that is not eligible. */
  @Setup(Level.Trial)
  public void start() {
    // The node waits for a lease before it leads.
    LeaseSettings settings = new LeaseSettings(
        Duration.ofSeconds(3),
        Duration.ofMillis(500),
        Duration.ofSeconds(1),
        Duration.ZERO,
        this.leader);
    this.elector = new Elector(
        new MemoryLeaseStore(),
        settings,
        () -> "benchmark",
        (serviceId) -> false,
        (event) -> {},
        System::nanoTime,
        InstantSource.system());
    LeaseElectionService service = new LeaseElectionService("benchmark", this.elector);
    this.election = service;
    this.elector.start(List.of(service));
    while (this.election.isLeader() != this.leader) {
      Thread.onSpinWait();
    }
    this.context = new AnnotationConfigApplicationContext();
    this.context
        .getEnvironment()
        .getPropertySources()
        .addFirst(
            new MapPropertySource("benchmark", Map.of("spring.application.name", "benchmark")));
    this.context.registerBean(ElectionService.class, () -> service);
    this.context.registerBean(Job.class);
    this.context.register(ElectionAutoConfiguration.class, LeaderOnlyAutoConfiguration.class);
    this.context.refresh();
    this.guarded = this.context.getBean(Job.class);
  }

  @TearDown(Level.Trial)
  public void stop() {
    this.context.close();
    this.elector.stop();
  }

  @Benchmark
  public long clockRead() {
    return System.nanoTime();
  }

  @Benchmark
  public boolean isLeader() {
    return this.election.isLeader();
  }

  @Benchmark
  public void leaderOnlyCall() {
    this.guarded.run();
  }

  @Benchmark
  public void plainCall() {
    this.plain.run();
  }
}
