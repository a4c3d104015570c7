package io.election.benchmarks;

import io.election.ElectionService;
import io.election.LeaderOnly;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.TearDown;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.support.TransactionTemplate;

/** Measures what the commit fence adds to a transaction with one insert. */
@SuppressWarnings("NullAway.Init")
public class CommitBenchmark extends DatabaseBenchmark {

  private ConfigurableApplicationContext context;

  private Job job;

  public static class Job {

    private final TransactionTemplate transaction;

    private final JdbcTemplate jdbc;

    public Job(TransactionTemplate transaction, JdbcTemplate jdbc) {
      this.transaction = transaction;
      this.jdbc = jdbc;
    }

    public void work() {
      this.transaction.executeWithoutResult(
          (status) -> this.jdbc.update("INSERT INTO benchmark_work (work) VALUES (1)"));
    }

    /** Does nothing on the leader. */
    @LeaderOnly
    public void rest() {}

    public void ask() {
      this.jdbc.execute("SELECT 1");
    }

    @LeaderOnly(onFollower = LeaderOnly.OnFollower.THROW)
    public void workOnLeader() {
      work();
    }
  }

  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Application {}

  @Setup(Level.Trial)
  public void start() {
    this.context = new SpringApplicationBuilder(Application.class, Job.class)
        .web(WebApplicationType.NONE)
        .run(
            "--spring.application.name=benchmark",
            "--spring.datasource.url=" + this.url,
            "--spring.datasource.username=" + this.username,
            "--spring.main.banner-mode=off");
    this.context
        .getBean(JdbcTemplate.class)
        .execute("CREATE TABLE IF NOT EXISTS benchmark_work (work int)");
    this.job = this.context.getBean(Job.class);
    ElectionService election = this.context.getBean(ElectionService.class);
    while (!election.isLeader()) {
      Thread.onSpinWait();
    }
  }

  @TearDown(Level.Trial)
  public void stop() {
    this.context.close();
  }

  /** Makes a guarded call that commits nothing. Its commits would be fenced. */
  @Benchmark
  public void guardedCall() {
    this.job.rest();
  }

  /** Runs a statement that does nothing. The other results are multiples of it. */
  @Benchmark
  public void roundTrip() {
    this.job.ask();
  }

  @Benchmark
  public void plainCommit() {
    this.job.work();
  }

  @Benchmark
  public void fencedCommit() {
    this.job.workOnLeader();
  }
}
