package io.election.benchmarks.sidebyside;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * A lock of PostgreSQL that a session holds until it ends. A timer tries to get it, or asks whether
 * the session that has it still answers.
 */
final class AdvisoryLockCandidate implements Candidate {

  private final CandidateSettings settings;

  private final DataSource dataSource;

  private final Map<String, Boolean> leading = new ConcurrentHashMap<>();

  private final Map<String, String> statements = new HashMap<>();

  private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();

  private @Nullable Connection session;

  AdvisoryLockCandidate(CandidateSettings settings) {
    this.settings = settings;
    this.dataSource = settings.place().dataSource();
  }

  @Override
  public void join(List<String> elections) {
    for (String election : elections) {
      this.statements.put(
          election, "SELECT pg_try_advisory_lock(hashtext('%s'))".formatted(election));
    }
    this.timer.scheduleWithFixedDelay(
        this::attempt, 0, this.settings.renew().toMillis(), TimeUnit.MILLISECONDS);
  }

  private void attempt() {
    try {
      if (this.session == null) {
        this.session = this.dataSource.getConnection();
      }
      for (Map.Entry<String, String> election : this.statements.entrySet()) {
        boolean leads = isLeader(election.getKey());
        boolean granted = ask(this.session, leads ? "SELECT true" : election.getValue());
        this.leading.put(election.getKey(), granted);
      }
    } catch (SQLException ex) {
      System.out.println(ex);
      this.session = null;
      this.leading.clear();
    }
  }

  private static boolean ask(Connection session, String sql) throws SQLException {
    try (Statement statement = session.createStatement();
        ResultSet row = statement.executeQuery(sql)) {
      return row.next() && row.getBoolean(1);
    }
  }

  @Override
  public boolean isLeader(String election) {
    return this.leading.getOrDefault(election, false);
  }

  /** The end of the process ends the session. */
  @Override
  public void leave() {
    this.timer.shutdownNow();
  }
}
