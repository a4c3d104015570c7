package io.election.sample;

import io.election.ElectionService;
import io.election.LeaderOnly;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.jdbc.BadSqlGrammarException;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

/** The job of the service: a report that must be written only once, however many nodes run. */
@Component
class ReportJob {

  private static final Logger log = LoggerFactory.getLogger(ReportJob.class);

  private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("HH:mm:ss");

  private final ElectionService election;

  private final JdbcClient jdbc;

  ReportJob(ElectionService election, JdbcClient jdbc) {
    this.election = election;
    this.jdbc = jdbc;
  }

  /** Runs on the leader only. Each run inserts a row that shows which node ran when. */
  @LeaderOnly
  @Scheduled(fixedRate = 1, timeUnit = TimeUnit.SECONDS)
  public void writeReport() {
    election.leadership().ifPresent((leadership) -> {
      writeRow(election.nodeId(), leadership.term());
      log.info(
          "report for {} written by {}, term {}",
          LocalTime.now(ZoneId.systemDefault()).format(TIME),
          election.nodeId(),
          leadership.term());
    });
  }

  /** Runs on every node. */
  @Scheduled(fixedRate = 10, timeUnit = TimeUnit.SECONDS)
  public void tellWhoLeads() {
    log.info(
        "this is {}, the leader is {}",
        election.nodeId(),
        election.isLeader() ? "this node" : election.leaderId().orElse("not known"));
  }

  private void writeRow(String nodeId, long term) {
    try {
      insert(nodeId, term);
    } catch (BadSqlGrammarException ex) {
      createTable(); // the first run ever
      insert(nodeId, term);
    }
  }

  private void insert(String nodeId, long term) {
    jdbc.sql("INSERT INTO job_run (node_id, term) VALUES (?, ?)")
        .params(nodeId, term)
        .update();
  }

  /**
   * Not called at start-up, because an unreachable database would then keep the node from starting.
   * The election does not require the database at start-up.
   */
  private void createTable() {
    jdbc.sql("""
            CREATE TABLE IF NOT EXISTS job_run (
                id      bigint       NOT NULL AUTO_INCREMENT PRIMARY KEY,
                node_id varchar(128) NOT NULL,
                term    bigint       NOT NULL,
                ran_at  timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6))
            """).update();
  }
}
