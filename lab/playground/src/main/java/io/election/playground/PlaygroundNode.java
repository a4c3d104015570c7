package io.election.playground;

import io.election.ElectionService;
import io.election.LeaderTask;
import io.election.sample.SampleApplication;
import io.election.support.HandWrittenLease;
import io.election.support.process.Claim;
import io.election.support.process.LeadershipLog;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.env.Environment;

/**
 * A node: the sample, which is asked every millisecond whether it leads. Its endpoint has no login,
 * so it answers this machine's pages alone.
 */
final class PlaygroundNode {

  static final String WRONG_CLAIMS = "playground.wrong-claims";

  /** The hand-made table has the name of ours. */
  private static final String TABLE = "hand_written_election";

  private static final long MILLISECOND = 1_000_000;

  private static final Duration BATCH = Duration.ofMillis(300);

  private PlaygroundNode() {}

  public static void main(String[] arguments) {
    SpringApplication application = new SpringApplication(SampleApplication.class);
    application.addInitializers((starting) -> {
      starting.getBeanFactory().registerSingleton("loopbackFilter", new LoopbackFilter(Map.of()));
      starting.getBeanFactory().registerSingleton("poller", (LeaderTask) PlaygroundNode::poll);
    });
    ConfigurableApplicationContext context = application.run(arguments);
    Environment environment = context.getEnvironment();
    String wrong = environment.getProperty(WRONG_CLAIMS);
    if (wrong != null) {
      daemon("hand-written", () -> leadByHand(environment, wrong));
    }
    LeadershipLog claims =
        LeadershipLog.open(Path.of(environment.getRequiredProperty("test.claims")));
    ElectionService election = context.getBean(ElectionService.class);
    daemon("sampler", () -> {
      while (true) {
        claims.sample(election);
        LockSupport.parkNanos(MILLISECOND);
      }
    });
  }

  /** Polls while the node leads. The last batch takes a moment, for which the lease is kept. */
  private static AutoCloseable poll() {
    AtomicBoolean polls = new AtomicBoolean(true);
    Thread poller = daemon("poller", () -> {
      while (polls.get()) {
        workFor(BATCH);
      }
    });
    return () -> {
      polls.set(false);
      poller.join();
    };
  }

  private static volatile boolean leadsByHand;

  /** Runs the SQL that is copied from project to project, without a deadline or a time-out. */
  private static void leadByHand(Environment environment, String path) {
    LeadershipLog claims = LeadershipLog.open(Path.of(path), Duration.ofMillis(100));
    daemon("hand-written-sampler", () -> {
      while (true) {
        long before = System.nanoTime();
        boolean leads = leadsByHand;
        claims.sample(before, System.nanoTime(), leads ? Claim.NO_TERM : LeadershipLog.NOT_LEADING);
        LockSupport.parkNanos(MILLISECOND);
      }
    });
    Duration lease = environment.getRequiredProperty("playground.lease", Duration.class);
    Duration renew = environment.getRequiredProperty("playground.renew", Duration.class);
    while (true) {
      try (Connection connection = DriverManager.getConnection(
          Address.with(
              environment.getRequiredProperty("spring.datasource.url"), "useAffectedRows=true"),
          environment.getRequiredProperty("spring.datasource.username"),
          environment.getRequiredProperty("spring.datasource.password"))) {
        createTable(connection);
        while (true) {
          leadsByHand = attempt(connection, environment, Math.max(1, lease.toSeconds()));
          workFor(renew);
        }
      } catch (SQLException ex) {
        leadsByHand = false;
        workFor(renew);
      }
    }
  }

  /** Jobs run between two attempts: a pause of the process interrupts them, and they go on. */
  private static void workFor(Duration time) {
    for (long i = 0; i < time.toMillis(); i++) {
      LockSupport.parkNanos(MILLISECOND);
    }
  }

  private static void createTable(Connection connection) throws SQLException {
    String sql = HandWrittenLease.TABLE.replace(
        "CREATE TABLE leader_election", "CREATE TABLE IF NOT EXISTS " + TABLE);
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      statement.execute();
    }
  }

  private static boolean attempt(Connection connection, Environment environment, long seconds)
      throws SQLException {
    String sql = HandWrittenLease.ATTEMPT.replace("into leader_election", "into " + TABLE);
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      statement.setString(1, "hand-written");
      statement.setString(2, environment.getRequiredProperty("as.election.node-id"));
      statement.setLong(3, seconds);
      return statement.executeUpdate() > 0;
    }
  }

  private static Thread daemon(String name, Runnable task) {
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    thread.start();
    return thread;
  }
}
