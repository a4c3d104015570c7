package io.election.benchmarks;

import com.zaxxer.hikari.HikariDataSource;
import java.time.Duration;
import java.time.Instant;
import net.javacrumbs.shedlock.core.DefaultLockingTaskExecutor;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockingTaskExecutor;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.TearDown;
import org.springframework.jdbc.core.JdbcTemplate;

/** Measures what ShedLock adds to a job, for comparison with {@link LeadershipBenchmark}. */
@SuppressWarnings("NullAway.Init")
public class ShedLockBenchmark extends DatabaseBenchmark {

  private static final Duration LEASE = Duration.ofMinutes(10);

  private HikariDataSource dataSource;

  private LockingTaskExecutor executor;

  private int runs;

  /** Creates the table, and a lock that another process holds. */
  @Setup(Level.Trial)
  public void start() {
    this.dataSource = new HikariDataSource();
    this.dataSource.setJdbcUrl(this.url);
    this.dataSource.setUsername(this.username);
    this.dataSource.setPassword(this.password);
    JdbcTemplate jdbc = new JdbcTemplate(this.dataSource);
    jdbc.execute("""
        CREATE TABLE IF NOT EXISTS shedlock (
            name VARCHAR(64) NOT NULL,
            lock_until TIMESTAMP(3) NOT NULL,
            locked_at TIMESTAMP(3) NOT NULL,
            locked_by VARCHAR(255) NOT NULL,
            PRIMARY KEY (name))
        """);
    this.executor = new DefaultLockingTaskExecutor(
        new JdbcTemplateLockProvider(configuration(jdbc, "this process")));
    jdbc.update("DELETE FROM shedlock WHERE name = 'held'");
    boolean held = new JdbcTemplateLockProvider(configuration(jdbc, "another process"))
        .lock(new LockConfiguration(Instant.now(), "held", LEASE, Duration.ZERO))
        .isPresent();
    if (!held) {
      throw new IllegalStateException("The lock was not free");
    }
  }

  private static JdbcTemplateLockProvider.Configuration configuration(
      JdbcTemplate jdbc, String holder) {
    return JdbcTemplateLockProvider.Configuration.builder()
        .withJdbcTemplate(jdbc)
        .usingDbTime()
        .withLockedByValue(holder)
        .build();
  }

  @TearDown(Level.Trial)
  public void stop() {
    this.dataSource.close();
  }

  @Benchmark
  public void lockedCall() {
    call("free");
  }

  @Benchmark
  public void refusedCall() {
    call("held");
  }

  private void call(String lock) {
    this.executor.executeWithLock(
        (Runnable) () -> this.runs++,
        new LockConfiguration(Instant.now(), lock, LEASE, Duration.ZERO));
  }
}
