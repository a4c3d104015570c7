package io.election.benchmarks.sidebyside;

import io.election.support.HandWrittenLease;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * The code that is copied from project to project: each second every node runs one statement, and a
 * node that changed a row leads until its next statement. It has no deadline, no terms and no
 * hand-back.
 */
final class HandWrittenCandidate implements Candidate {

  private final CandidateSettings settings;

  private final Map<String, Boolean> leading = new ConcurrentHashMap<>();

  private final ScheduledExecutorService timer = Executors.newScheduledThreadPool(10);

  HandWrittenCandidate(CandidateSettings settings) {
    this.settings = settings;
  }

  @Override
  public void join(List<String> elections) {
    // Without this flag a losing statement counts as a change as well, and all of the nodes lead.
    DataSource dataSource = Pool.open(this.settings, "&useAffectedRows=true");
    Pool.createTable(dataSource, HandWrittenLease.TABLE);
    JdbcTemplate jdbc = new JdbcTemplate(dataSource);
    for (String election : elections) {
      this.timer.scheduleWithFixedDelay(
          () -> this.leading.put(election, attempt(jdbc, election)),
          0,
          this.settings.renew().toMillis(),
          TimeUnit.MILLISECONDS);
    }
  }

  private boolean attempt(JdbcTemplate jdbc, String election) {
    try {
      return jdbc.update(
              HandWrittenLease.ATTEMPT,
              election,
              this.settings.node(),
              this.settings.lease().toSeconds())
          > 0;
    } catch (DataAccessException ex) {
      System.out.println(ex);
      return false;
    }
  }

  @Override
  public boolean isLeader(String election) {
    return this.leading.getOrDefault(election, false);
  }

  @Override
  public void leave() {
    this.timer.shutdownNow();
  }
}
