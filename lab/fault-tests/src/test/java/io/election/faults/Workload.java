package io.election.faults;

import io.election.ElectionService;
import io.election.LeaderOnly;
import io.election.Leadership;
import io.election.LeadershipLostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.ApplicationRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.transaction.support.TransactionTemplate;

/** What nodes do while they lead. */
final class Workload {

  private static final Logger log = LoggerFactory.getLogger(Workload.class);

  private Workload() {}

  /**
   * Asks whether the node leads, and writes to a {@link FencedRegister} after a time so long, beside
   * that of a write, that nearly all pauses of the process begin in it.
   */
  @Configuration(proxyBeanMethods = false)
  static class LateWrites {

    @Bean
    ApplicationRunner writer(ElectionService election, JdbcTemplate jdbc) {
      return (arguments) -> SamplingNode.daemon("writer", () -> write(election, jdbc));
    }

    private static void write(ElectionService election, JdbcTemplate jdbc) {
      for (long n = 0; true; n++) {
        Optional<Leadership> leadership = election.leadership();
        LockSupport.parkNanos(
            TimeUnit.MILLISECONDS.toNanos(ThreadLocalRandom.current().nextLong(200, 600)));
        if (leadership.isPresent()) {
          try {
            FencedRegister.write(jdbc, leadership.get().term(), election.nodeId(), n);
          } catch (DataAccessException ex) {
            System.out.println("the write failed: " + ex);
          }
        }
      }
    }
  }

  /**
   * Writes into the table {@code work}, in one transaction a term. The transaction stays open until
   * the file exists that {@code --test.gate} names.
   */
  @Configuration(proxyBeanMethods = false)
  static class OpenTransaction {

    static final String DDL = "CREATE TABLE work (term bigint PRIMARY KEY)";

    @Value("${test.gate}")
    private Path gate;

    @Bean
    GatedJob job(JdbcTemplate jdbc, TransactionTemplate transaction) {
      return new GatedJob(jdbc, transaction, this.gate);
    }

    @Bean
    ApplicationRunner worker(ElectionService election, GatedJob job) {
      return (arguments) -> SamplingNode.daemon("worker", () -> {
        long last = -1;
        while (true) {
          long term = election.leadership().map(Leadership::term).orElse(-1L);
          if (term > last) {
            last = term;
            work(job, term);
          }
          LockSupport.parkNanos(1_000_000);
        }
      });
    }

    private static void work(GatedJob job, long term) {
      try {
        job.work(term);
        log.info("committed the work of term {}", term);
      } catch (LeadershipLostException ex) {
        log.info("refused: {}", ex.getMessage());
      } catch (RuntimeException ex) {
        log.info("failed", ex);
      }
    }
  }

  static class GatedJob {

    private final JdbcTemplate jdbc;

    private final TransactionTemplate transaction;

    private final Path gate;

    GatedJob(JdbcTemplate jdbc, TransactionTemplate transaction, Path gate) {
      this.jdbc = jdbc;
      this.transaction = transaction;
      this.gate = gate;
    }

    @LeaderOnly(onFollower = LeaderOnly.OnFollower.THROW)
    public void work(long term) {
      this.transaction.executeWithoutResult((status) -> {
        this.jdbc.update("INSERT INTO work (term) VALUES (?)", term);
        log.info("wrote the work of term {}", term);
        while (!Files.exists(this.gate)) {
          LockSupport.parkNanos(1_000_000);
        }
      });
    }
  }

  /**
   * Three scheduled jobs, whose durations are those in {@code --test.jobs}. Each run keeps a row of
   * the table {@code ledger}: the interval in which it certainly ran, by the clock that all
   * processes of a machine share, and whether it has committed its end.
   */
  @Configuration(proxyBeanMethods = false)
  @EnableScheduling
  static class Ledger {

    static final String DDL = """
        CREATE TABLE ledger (id bigint PRIMARY KEY AUTO_INCREMENT, job int NOT NULL,
            began bigint NOT NULL, ran_until bigint NOT NULL, done boolean NOT NULL DEFAULT FALSE)
        """;

    @Bean
    Jobs jobs(
        JdbcTemplate jdbc,
        TransactionTemplate transaction,
        @Value("${test.jobs}") Duration[] durations) {
      return new Jobs(jdbc, transaction, durations);
    }
  }

  static class Jobs {

    private static final long BEAT_NANOS = Duration.ofMillis(20).toNanos();

    private final JdbcTemplate jdbc;

    private final TransactionTemplate transaction;

    private final Duration[] durations;

    Jobs(JdbcTemplate jdbc, TransactionTemplate transaction, Duration[] durations) {
      this.jdbc = jdbc;
      this.transaction = transaction;
      this.durations = durations;
    }

    @Scheduled(fixedDelay = 50)
    @LeaderOnly
    void runFirst() {
      run(0);
    }

    @Scheduled(fixedDelay = 50)
    @LeaderOnly
    void runSecond() {
      run(1);
    }

    @Scheduled(fixedDelay = 50)
    @LeaderOnly
    void runThird() {
      run(2);
    }

    /** Works until it is done or interrupted. The recorded instants lie within the run. */
    private void run(int job) {
      long began = System.nanoTime();
      long nanos = this.durations[job].toNanos();
      this.jdbc.update(
          "INSERT INTO ledger (job, began, ran_until) VALUES (?, ?, ?)", job, began, began);
      while (System.nanoTime() - began < nanos) {
        if (Thread.interrupted()) {
          return;
        }
        LockSupport.parkNanos(BEAT_NANOS);
        this.jdbc.update(
            "UPDATE ledger SET ran_until = ? WHERE job = ? AND began = ?",
            System.nanoTime(),
            job,
            began);
      }
      this.transaction.executeWithoutResult((status) -> this.jdbc.update(
          "UPDATE ledger SET done = TRUE WHERE job = ? AND began = ?", job, began));
    }
  }
}
