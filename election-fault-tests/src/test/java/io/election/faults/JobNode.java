package io.election.faults;

import io.election.LeaderOnly;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * A {@link SamplingNode} with a job that is scheduled every 50 ms. A run works for 20 ms and
 * inserts a row into the table {@code run}. The log shows each run that begins and each commit.
 */
@SpringBootConfiguration
@EnableAutoConfiguration
@EnableScheduling
@Import(SamplingNode.Events.class)
class JobNode {

  static final String BEGUN = "run begun at ";

  static final String COMMITTED = "run committed";

  private static final Logger log = LoggerFactory.getLogger(JobNode.class);

  public static void main(String[] arguments) {
    SamplingNode.sample(SpringApplication.run(JobNode.class, arguments));
  }

  @Bean
  Job job(JdbcTemplate jdbc, TransactionTemplate transaction) {
    return new Job(jdbc, transaction);
  }

  /** The leader-only job. */
  static class Job {

    private final JdbcTemplate jdbc;

    private final TransactionTemplate transaction;

    Job(JdbcTemplate jdbc, TransactionTemplate transaction) {
      this.jdbc = jdbc;
      this.transaction = transaction;
    }

    @Scheduled(fixedRate = 50)
    @LeaderOnly
    public void run() {
      log.info("{}{}", BEGUN, System.nanoTime());
      this.transaction.executeWithoutResult((status) -> {
        this.jdbc.update("INSERT INTO run () VALUES ()");
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
      });
      log.info(COMMITTED);
    }
  }
}
