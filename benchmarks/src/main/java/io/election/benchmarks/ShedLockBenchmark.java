package io.election.benchmarks;

import com.zaxxer.hikari.HikariDataSource;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import net.javacrumbs.shedlock.core.DefaultLockingTaskExecutor;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockingTaskExecutor;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * Measures what ShedLock adds to a job, for comparison with {@link LeadershipBenchmark}. Needs a
 * database: {@code -p url=jdbc:mysql://host/database -p username=… -p password=…}.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(2)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
public class ShedLockBenchmark {

  private static final Duration LEASE = Duration.ofMinutes(10);

  /** The JDBC URL of an empty database. */
  @Param("jdbc:mysql://localhost/benchmark")
  public String url = "";

  /** A user with all privileges there. */
  @Param("root")
  public String username = "";

  @Param("")
  public String password = "";

  @SuppressWarnings("NullAway.Init")
  private HikariDataSource dataSource;

  @SuppressWarnings("NullAway.Init")
  private LockingTaskExecutor executor;

  private int runs;

  public ShedLockBenchmark() {}

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

  /** Runs a job that gets the lock and releases it. */
  @Benchmark
  public void lockedCall() {
    call("free");
  }

  /** Runs a job whose lock another process holds. */
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
