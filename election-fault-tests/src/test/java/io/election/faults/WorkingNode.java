package io.election.faults;

import io.election.ElectionService;
import io.election.LeaderOnly;
import io.election.LeadershipLostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.core.env.Environment;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * A {@link SamplingNode} that also writes into the table {@code work}, in one transaction a term.
 * The transaction stays open until the file exists that {@code --test.gate} names.
 */
@SpringBootConfiguration
@EnableAutoConfiguration
@Import(SamplingNode.Events.class)
class WorkingNode {

  private static final Logger log = LoggerFactory.getLogger(WorkingNode.class);

  public static void main(String[] arguments) {
    ConfigurableApplicationContext context = SpringApplication.run(WorkingNode.class, arguments);
    ElectionService election = context.getBean(ElectionService.class);
    Job job = context.getBean(Job.class);
    Thread worker = new Thread(
        () -> {
          long last = -1;
          while (true) {
            long term =
                election.leadership().map((leadership) -> leadership.term()).orElse(-1L);
            if (term > last) {
              last = term;
              work(job, term);
            }
            LockSupport.parkNanos(1_000_000);
          }
        },
        "worker");
    worker.setDaemon(true);
    worker.start();
    SamplingNode.sample(context);
  }

  private static void work(Job job, long term) {
    try {
      job.work(term);
      log.info("committed the work of term {}", term);
    } catch (LeadershipLostException ex) {
      log.info("refused: {}", ex.getMessage());
    } catch (RuntimeException ex) {
      log.info("failed", ex);
    }
  }

  @Bean
  Job job(JdbcTemplate jdbc, TransactionTemplate transaction, Environment environment) {
    return new Job(jdbc, transaction, Path.of(environment.getRequiredProperty("test.gate")));
  }

  /** The leader's work. */
  static class Job {

    private final JdbcTemplate jdbc;

    private final TransactionTemplate transaction;

    private final Path gate;

    Job(JdbcTemplate jdbc, TransactionTemplate transaction, Path gate) {
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
}
