package io.election.autoconfigure.joint;

import static io.election.autoconfigure.MysqlNode.awaitLeader;
import static io.election.autoconfigure.MysqlNode.patiently;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.election.AuditNote;
import io.election.ElectionOperations;
import io.election.LeaderOnly;
import io.election.LeadershipLostException;
import io.election.autoconfigure.MysqlNode;
import io.election.support.TestDatabase;
import io.election.zookeeper.Zookeeper;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.support.TransactionTemplate;

/** An application whose leader must hold a lease in ZooKeeper and one in MySQL. */
class JointElectionIT {

  private static Zookeeper zookeeper;

  private final TestDatabase database = MysqlNode.newDatabase();

  private final ApplicationContextRunner application = MysqlNode.on(this.database)
      .withConfiguration(AutoConfigurations.of(
          DataSourceTransactionManagerAutoConfiguration.class,
          JdbcTemplateAutoConfiguration.class,
          TransactionAutoConfiguration.class))
      .withBean(Job.class)
      .withPropertyValues(
          "as.election.algorithm=Zookeeper,Mysql",
          "as.election.zookeeper.connect-string=" + zookeeper.connectString(),
          "as.election.zookeeper.root=/" + this.database.name());

  @BeforeAll
  static void start() {
    zookeeper = Zookeeper.start();
  }

  @AfterAll
  static void stop() {
    zookeeper.close();
  }

  @Test
  void workCommitsOnlyInTheTermOfBoth() {
    this.database.execute("CREATE TABLE work (id bigint PRIMARY KEY)");
    this.application.run((context) -> {
      ElectionOperations election = awaitLeader(context);
      assertThat(this.database.query("SELECT term FROM leader_election"))
          .isEqualTo(Long.toString(election.leadership().orElseThrow().term()));
      Job job = context.getBean(Job.class);
      job.write(1, () -> {});
      assertThatExceptionOfType(LeadershipLostException.class)
          .isThrownBy(() -> job.write(2, this::takeOver));
      assertThat(this.database.query("SELECT GROUP_CONCAT(id) FROM work")).isEqualTo("1");
    });
  }

  /** Takes the lease in MySQL over, as another node does when it has expired. */
  private void takeOver() {
    this.database.execute(
        "UPDATE leader_election SET leader_id = 'b', lease_millis = 60000, term = term + 1, version = version + 1",
        "UPDATE leader_election_history SET ended_at = NOW(6) WHERE ended_at IS NULL");
  }

  @Test
  void lossOfOneInterruptsWork() {
    this.application.run((context) -> {
      awaitLeader(context);
      Job job = context.getBean(Job.class);
      AtomicBoolean interrupted = new AtomicBoolean();
      Thread worker =
          new Thread(() -> interrupted.set(Boolean.TRUE.equals(job.waitForInterrupt())));
      worker.start();
      job.awaitBegin();
      takeOver();
      worker.join();
      assertThat(interrupted).isTrue();
    });
  }

  @Test
  void nodeIsPausedAndResumedInBoth() {
    this.application.run((context) -> {
      ElectionOperations election = awaitLeader(context);
      election.pause(new AuditNote("operator", "canary"));
      assertThat(election.isLeader()).isFalse();
      assertThat(election.paused()).isPresent();
      patiently()
          .until(() ->
              this.database.query("SELECT lease_millis FROM leader_election").equals("0"));
      election.resume(new AuditNote("operator", ""));
      awaitLeader(context);
    });
  }

  @Test
  void leaderIsDesignatedInBoth() {
    this.application.run((onA) -> {
      ElectionOperations a = awaitLeader(onA);
      this.application.withPropertyValues("as.election.node-id=b").run((onB) -> {
        ElectionOperations b = onB.getBean(ElectionOperations.class);
        patiently().until(() -> b.leaderId().isPresent());
        a.designate("b");
        awaitLeader(onB);
        long term = b.leadership().orElseThrow().term();
        b.forceElection(new AuditNote("operator", "back"));
        awaitLeader(onA);
        assertThat(a.leadership().orElseThrow().term()).isGreaterThan(term);
      });
    });
  }

  static class Job {

    private final JdbcTemplate jdbc;

    private final TransactionTemplate transaction;

    private final CountDownLatch waits = new CountDownLatch(1);

    Job(JdbcTemplate jdbc, TransactionTemplate transaction) {
      this.jdbc = jdbc;
      this.transaction = transaction;
    }

    @LeaderOnly
    public void write(int id, Runnable meanwhile) {
      this.transaction.executeWithoutResult((status) -> {
        this.jdbc.update("INSERT INTO work VALUES (?)", id);
        meanwhile.run();
      });
    }

    public void awaitBegin() throws InterruptedException {
      this.waits.await();
    }

    /** Returns whether it was interrupted. */
    @LeaderOnly(interruptOnLoss = true)
    public Boolean waitForInterrupt() {
      this.waits.countDown();
      try {
        Thread.sleep(60_000);
        return false;
      } catch (InterruptedException ex) {
        return true;
      }
    }
  }
}
