package io.election.benchmarks.sidebyside;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import javax.sql.DataSource;
import net.javacrumbs.shedlock.core.DefaultLockingTaskExecutor;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockingTaskExecutor;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * A job every 100 ms that ShedLock runs on one process at a time. ShedLock elects no leader: a
 * process counts as the leader while its job runs, which is 90 of the 100 ms.
 */
final class ShedLockCandidate implements Candidate {

  private static final String TABLE = """
      CREATE TABLE shedlock (
          name VARCHAR(64) NOT NULL,
          lock_until TIMESTAMP(3) NOT NULL,
          locked_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
          locked_by VARCHAR(255) NOT NULL,
          PRIMARY KEY (name))
      """;

  private static final int WORK_MILLIS = 90;

  private final CandidateSettings settings;

  private final Map<String, Boolean> running = new ConcurrentHashMap<>();

  private final List<ScheduledExecutorService> timers = new ArrayList<>();

  ShedLockCandidate(CandidateSettings settings) {
    this.settings = settings;
  }

  @Override
  public void join(List<String> elections) {
    DataSource dataSource = Pool.open(this.settings, "");
    Pool.createTable(dataSource, TABLE);
    LockingTaskExecutor executor = new DefaultLockingTaskExecutor(
        new JdbcTemplateLockProvider(JdbcTemplateLockProvider.Configuration.builder()
            .withJdbcTemplate(new JdbcTemplate(dataSource))
            .usingDbTime()
            // The default is the host's name, which is the same for all processes here.
            .withLockedByValue(this.settings.node())
            .build()));
    for (String election : elections) {
      ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
      this.timers.add(timer);
      timer.scheduleAtFixedRate(() -> attempt(executor, election), 0, 100, TimeUnit.MILLISECONDS);
    }
  }

  private void attempt(LockingTaskExecutor executor, String election) {
    try {
      executor.executeWithLock(
          (Runnable) () -> work(election),
          new LockConfiguration(Instant.now(), election, this.settings.lease(), Duration.ZERO));
    } catch (DataAccessException ex) {
      System.out.println(ex);
    }
  }

  /** Works for a number of its own milliseconds: a pause does not count as work. */
  private void work(String election) {
    this.running.put(election, true);
    try {
      for (int i = 0; i < WORK_MILLIS && !Thread.currentThread().isInterrupted(); i++) {
        LockSupport.parkNanos(TimeUnit.MICROSECONDS.toNanos(950));
      }
    } finally {
      this.running.put(election, false);
    }
  }

  @Override
  public boolean isLeader(String election) {
    return this.running.getOrDefault(election, false);
  }

  /** Interrupts the jobs, as Spring's scheduler does, and lets them unlock. */
  @Override
  public void leave() {
    this.timers.forEach(ScheduledExecutorService::shutdownNow);
    try {
      for (ScheduledExecutorService timer : this.timers) {
        timer.awaitTermination(5, TimeUnit.SECONDS);
      }
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
    }
  }
}
