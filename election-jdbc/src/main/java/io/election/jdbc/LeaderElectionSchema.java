package io.election.jdbc;

import io.election.ElectionSetupException;
import io.election.store.LeaseStoreException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Creates, upgrades or checks the tables {@code leader_election} and {@code
 * leader_election_history}, and {@code leader_election_member}, without which the election still
 * works.
 *
 * <p>Migrations are run only if the tables are incomplete, and apart from the application's own.
 *
 * <p>Thread-safe.
 */
final class LeaderElectionSchema {

  private static final Logger log = LoggerFactory.getLogger(LeaderElectionSchema.class);
  private static final Duration LEAST_TIME_TO_LOOK = Duration.ofSeconds(5);
  private static final int ATTEMPTS = 10;

  private final ElectionDatabase database;
  private final boolean checks;
  private final boolean migrates;
  private final Duration timeToLook;
  private final String bound;
  private boolean ensured;

  /** Whether the tables were complete once. */
  private boolean seen;

  /** What the migrations did not bring back, because they were run before. */
  private List<String> dropped = List.of();

  /** Whether the user lacks the right to create a table that the election can do without. */
  private boolean denied;

  /**
   * Creates the schema; nothing is done before {@link #ensure()}.
   *
   * @param database the database with the tables
   * @param checks whether the tables are inspected; nothing at all is done otherwise
   * @param migrates whether what is missing is created
   * @param operationTimeout the bound of one call to the database; inspecting the tables may take 5
   *     s if this is less
   */
  LeaderElectionSchema(
      ElectionDatabase database, boolean checks, boolean migrates, Duration operationTimeout) {
    this.database = database;
    this.checks = checks;
    this.migrates = migrates;
    this.timeToLook =
        operationTimeout.compareTo(LEAST_TIME_TO_LOOK) > 0 ? operationTimeout : LEAST_TIME_TO_LOOK;
    this.bound = Diagnosis.bound(this.timeToLook, operationTimeout);
  }

  /**
   * Ensures that the tables have the required shape. Does nothing after it has succeeded once, until
   * {@link #recheck()}. Throws what {@link JdbcLeaseStore#ensureTables} does.
   */
  synchronized void ensure() throws LeaseStoreException {
    try {
      complete();
    } catch (ElectionSetupException ex) {
      String remedy = this.database.dialect().inSchema(this.database.schema(), ex.remedy());
      throw new ElectionSetupException(ex.found(), remedy, ex.getCause());
    }
  }

  private void complete() throws LeaseStoreException {
    if (this.ensured || !this.checks) {
      return;
    }
    LeaseTables tables = inspect();
    List<String> missing = tables.missing();
    if (tables.isDispensable(missing)) {
      attempt(missing, tables);
    } else {
      // A table that was renamed may come back. Only where nothing is left, as after Flyway's
      // clean(), the tables are created again.
      if (missing.equals(this.dropped)
          || ((this.seen || this.database.dialect().ddl().together()) && !tables.areGone())) {
        throw dropped(missing);
      }
      migrate(missing, tables);
    }
    this.dropped = List.of();
    this.seen = true;
    this.ensured = true;
  }

  /** Ensures the tables again before the next session, because a statement did not find them. */
  synchronized void recheck() {
    this.ensured = false;
  }

  /** Creates the missing table if it can; if not, the elector logs that it has no members. */
  private void attempt(List<String> missing, LeaseTables tables) {
    if (missing.isEmpty() || !this.migrates || this.denied) {
      return;
    }
    try {
      migrate(missing, tables);
    } catch (LeaseStoreException | ElectionSetupException ex) {
      log.debug("The election continues without what could not be created", ex);
    }
  }

  private LeaseTables inspect() throws LeaseStoreException {
    Session session = null;
    try {
      session = Session.open(this.database, Deadline.in(this.timeToLook), 60);
      LeaseTables tables = LeaseTables.find(session);
      List<String> missing = tables.missing();
      if (!missing.isEmpty() && this.migrates) {
        checkRights(session, tables, missing);
      } else if (!tables.isDispensable(missing)) {
        throw incomplete(session, tables, missing);
      }
      return tables;
    } catch (SQLException ex) {
      throw Diagnosis.of(
          ex, "Checking the tables of the election", this.database, session, this.bound);
    } finally {
      if (session != null) {
        session.close();
      }
    }
  }

  /** Advises to migrate only where that would not take the tables for dropped. */
  private ElectionSetupException incomplete(
      Session session, LeaseTables tables, List<String> missing) throws SQLException {
    Dialect dialect = session.dialect();
    boolean migrates = dialect.ddl().together()
        ? tables.areGone()
        : LeaseTables.find(session, SchemaMigrator.HISTORY).isEmpty();
    return new ElectionSetupException(
        "The tables of the election in %s are incomplete, and as.election.%s.schema=validate does not change them."
            .formatted(this.database.location(), dialect.shortName()),
        "Run this%s:\n%s"
            .formatted(
                migrates
                    ? ", or set as.election.%s.schema=migrate".formatted(dialect.shortName())
                    : "",
                sql(missing)));
  }

  private void checkRights(Session session, LeaseTables tables, List<String> missing)
      throws SQLException {
    try {
      session.dialect().checkRights(session);
    } catch (SQLException ex) {
      if (!SqlError.MISSING_DDL_RIGHT.is(ex)) {
        throw ex;
      }
      if (!tables.isDispensable(missing)) {
        throw withoutRights(missing, ex);
      }
      this.denied = true;
    }
  }

  private void migrate(List<String> missing, LeaseTables found) throws LeaseStoreException {
    for (int attempt = 1; !migrated(missing, found, attempt); attempt++) {
      pause();
    }
    LeaseTables tables = inspect();
    List<String> dropped = tables.missing();
    if (!tables.isDispensable(dropped)) {
      this.dropped = dropped;
      throw dropped(dropped);
    }
    if (dropped.isEmpty()) {
      log.info("The tables of the election in {} are complete", this.database.location());
    }
  }

  private ElectionSetupException dropped(List<String> missing) {
    return new ElectionSetupException(
        "Tables of the election are missing in %s, or parts of them, although they were complete once, or created once%s: they were dropped or changed."
            .formatted(
                this.database.location(),
                this.database.dialect().ddl().together()
                    ? ""
                    : " (see leader_election_schema_history)"),
        "They are not created again automatically. If this was unintended, run:\n" + sql(missing));
  }

  /** Returns whether the migrations were run; if not, another node interfered. */
  private boolean migrated(List<String> missing, LeaseTables found, int attempt)
      throws LeaseStoreException {
    try {
      if (this.database.dialect().ddl().together()) {
        // Another node may have created some meanwhile, or all.
        List<String> statements = attempt == 1 ? missing : inspect().missing();
        try (Session session = Session.open(this.database, Deadline.in(this.timeToLook), 60)) {
          session.inTransaction((own) -> {
            own.execute(sql(statements));
            return Optional.of(statements);
          });
        }
      } else {
        SchemaMigrator.run(this.database, !found.toUpgrade().isEmpty());
      }
      return true;
    } catch (SQLException | RuntimeException ex) {
      if (SqlError.MISSING_DDL_RIGHT.is(ex)) {
        throw withoutRights(missing, ex);
      }
      if (attempt >= ATTEMPTS || !isWorthAnotherAttempt(ex)) {
        throw Diagnosis.of(
            ex, "Migrating the tables of the election", this.database, null, this.bound);
      }
      log.debug("Migrating the tables of the election failed, trying again", ex);
      return false;
    }
  }

  private ElectionSetupException withoutRights(List<String> missing, Throwable cause) {
    return new ElectionSetupException(
        "The tables of the election in %s are not complete, and the database user may not create them (%s)."
            .formatted(this.database.location(), SqlError.text(cause)),
        "%s; or run this as a user who may, and set as.election.%s.schema=validate:\n%s"
            .formatted(
                this.database.dialect().rightsToCreate(),
                this.database.dialect().shortName(),
                sql(missing)),
        cause);
  }

  /**
   * Whether another node may have been migrating at the same time. The migration may then also fail
   * without an SQL error, for instance because its own history is no longer empty.
   */
  private static boolean isWorthAnotherAttempt(Exception ex) {
    return SqlError.MADE_BY_ANOTHER.is(ex)
        || SqlError.isLockTrouble(ex)
        || !SqlError.has(ex, SQLException.class);
  }

  private static void pause() throws LeaseStoreException {
    try {
      Thread.sleep(ThreadLocalRandom.current().nextLong(50, 250));
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
      throw new LeaseStoreException("Interrupted while migrating the tables of the election", ex);
    }
  }

  private static String sql(List<String> statements) {
    return String.join(";\n", statements) + ";";
  }
}
