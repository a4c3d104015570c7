package io.election.faults;

import io.election.test.HandWrittenLease;
import io.election.test.process.Claim;
import io.election.test.process.LeadershipLog;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The tool that teams wrote by hand before. Every second or two it runs one statement, and leads
 * until the next statement says otherwise. It has no deadline and no terms.
 */
final class OldNode {

  private final Map<String, String> settings;

  private @Nullable Connection connection;

  private OldNode(Map<String, String> settings) {
    this.settings = settings;
  }

  public static void main(String[] arguments) {
    Map<String, String> settings = Stream.of(arguments)
        .map((argument) -> argument.substring("--".length()).split("=", 2))
        .collect(Collectors.toMap((pair) -> pair[0], (pair) -> pair[1]));
    new OldNode(settings).run(LeadershipLog.open(Path.of(settings.get("test.claims"))));
  }

  private void run(LeadershipLog claims) {
    boolean leader = false;
    long next = System.nanoTime();
    while (true) {
      if (System.nanoTime() - next >= 0) {
        leader = attempt();
        next = System.nanoTime()
            + TimeUnit.MILLISECONDS.toNanos(ThreadLocalRandom.current().nextLong(1000, 2000));
      }
      // Sampled in this thread, so that every answer is seen.
      long now = System.nanoTime();
      claims.sample(now, now, leader ? Claim.NO_TERM : LeadershipLog.NOT_LEADING);
      LockSupport.parkNanos(1_000_000);
    }
  }

  private boolean attempt() {
    try {
      if (this.connection == null) {
        // Without this flag a losing statement changes a row as well, and all of the nodes lead.
        this.connection = DriverManager.getConnection(
            this.settings.get("spring.datasource.url") + "&useAffectedRows=true",
            this.settings.get("spring.datasource.username"),
            this.settings.get("spring.datasource.password"));
      }
      try (PreparedStatement statement =
          this.connection.prepareStatement(HandWrittenLease.ATTEMPT)) {
        statement.setString(1, Cluster.SERVICE);
        statement.setString(2, this.settings.get("as.election.node-id"));
        statement.setInt(3, 5);
        return statement.executeUpdate() > 0;
      }
    } catch (SQLException ex) {
      System.out.println(ex);
      this.connection = null;
      return false;
    }
  }
}
