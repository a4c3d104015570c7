package io.election.faults;

import io.election.LeaderOnly;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;

/**
 * A {@link SamplingNode} with three scheduled jobs: a short one, a longer one, and one that takes
 * longer than a stop waits. Each run keeps a row of the table {@code ledger}: the interval in which
 * it certainly ran, by the clock that all processes of a machine share.
 */
@SpringBootConfiguration
@EnableAutoConfiguration
@EnableScheduling
@Import(SamplingNode.Events.class)
class LedgerNode {

  /** Creates the table. */
  static final String DDL =
      "CREATE TABLE ledger (id bigint PRIMARY KEY AUTO_INCREMENT, job varchar(16) NOT NULL, node varchar(128) NOT NULL, began bigint NOT NULL, ran_until bigint NOT NULL)";

  public static void main(String[] arguments) {
    SamplingNode.sample(SpringApplication.run(LedgerNode.class, arguments));
  }

  @Bean
  Jobs jobs(
      JdbcTemplate jdbc,
      @Value("${as.election.node-id}") String node,
      @Value("${test.short}") Duration shortJob,
      @Value("${test.longer}") Duration longerJob,
      @Value("${test.longest}") Duration longestJob) {
    return new Jobs(jdbc, node, shortJob, longerJob, longestJob);
  }

  /** The leader-only jobs. */
  static class Jobs {

    private static final long BEAT_NANOS = Duration.ofMillis(20).toNanos();

    private final JdbcTemplate jdbc;
    private final String node;
    private final Duration shortJob;
    private final Duration longerJob;
    private final Duration longestJob;

    Jobs(
        JdbcTemplate jdbc,
        String node,
        Duration shortJob,
        Duration longerJob,
        Duration longestJob) {
      this.jdbc = jdbc;
      this.node = node;
      this.shortJob = shortJob;
      this.longerJob = longerJob;
      this.longestJob = longestJob;
    }

    @Scheduled(fixedDelay = 50)
    @LeaderOnly
    void runShort() {
      run("short", this.shortJob);
    }

    @Scheduled(fixedDelay = 50)
    @LeaderOnly
    void runLonger() {
      run("longer", this.longerJob);
    }

    @Scheduled(fixedDelay = 50)
    @LeaderOnly
    void runLongest() {
      run("longest", this.longestJob);
    }

    /**
     * Works until it is done or its scheduler interrupts it. The recorded instants lie within the
     * run.
     */
    private void run(String job, Duration duration) {
      long began = System.nanoTime();
      this.jdbc.update(
          "INSERT INTO ledger (job, node, began, ran_until) VALUES (?, ?, ?, ?)",
          job,
          this.node,
          began,
          began);
      while (System.nanoTime() - began < duration.toNanos() && !Thread.interrupted()) {
        LockSupport.parkNanos(BEAT_NANOS);
        this.jdbc.update(
            "UPDATE ledger SET ran_until = ? WHERE job = ? AND node = ? AND began = ?",
            System.nanoTime(),
            job,
            this.node,
            began);
      }
    }
  }
}
