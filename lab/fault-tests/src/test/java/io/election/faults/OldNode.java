package io.election.faults;

import io.election.support.HandWrittenLease;
import io.election.support.process.Claim;
import io.election.support.process.LeadershipLog;
import io.election.support.process.NodeProcess;
import java.nio.file.Path;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.springframework.core.env.SimpleCommandLinePropertySource;
import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/**
 * The tool that teams wrote by hand before. Every second or two it runs one statement, and leads
 * until the next statement says otherwise. It has no deadline and no terms.
 */
final class OldNode {

  private OldNode() {}

  public static void main(String[] arguments) {
    var settings = new SimpleCommandLinePropertySource(arguments);
    LeadershipLog claims = LeadershipLog.open(Path.of(settings.getProperty("test.claims")));
    // Without this flag a losing statement changes a row as well, and all of the nodes lead.
    JdbcTemplate jdbc = new JdbcTemplate(new DriverManagerDataSource(
        settings.getProperty("spring.datasource.url") + "&useAffectedRows=true",
        settings.getProperty("spring.datasource.username"),
        System.getenv(NodeProcess.variable("spring.datasource.password"))));
    String node = settings.getProperty("as.election.node-id");
    boolean leader = false;
    long next = System.nanoTime();
    while (true) {
      if (System.nanoTime() - next >= 0) {
        leader = attempt(jdbc, node);
        next = System.nanoTime()
            + TimeUnit.MILLISECONDS.toNanos(ThreadLocalRandom.current().nextLong(1000, 2000));
      }
      // Sampled in this thread, so that every answer is seen.
      long now = System.nanoTime();
      claims.sample(now, now, leader ? Claim.NO_TERM : LeadershipLog.NOT_LEADING);
      LockSupport.parkNanos(1_000_000);
    }
  }

  private static boolean attempt(JdbcTemplate jdbc, String node) {
    try {
      return jdbc.update(HandWrittenLease.ATTEMPT, Cluster.SERVICE, node, 5) > 0;
    } catch (DataAccessException ex) {
      System.out.println(ex);
      return false;
    }
  }
}
