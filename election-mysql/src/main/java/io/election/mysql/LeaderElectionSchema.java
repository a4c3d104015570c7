package io.election.mysql;

import io.election.ElectionSetupException;
import io.election.lease.LeaseStoreException;
import io.election.mysql.MysqlLeaseStore.SchemaMode;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The tables {@code leader_election} and {@code leader_election_history}: made, upgraded or checked; and
 * {@code leader_election_member}, without which the election goes on.
 *
 * <p>Migrations are run by a Flyway of our own, with a history table of its own ({@code
 * leader_election_schema_history}) and nothing on the classpath that another Flyway would find; and
 * only if the tables are not complete. So the application's own migrations are not disturbed.
 *
 * <p>Safe for use by several threads.
 */
final class LeaderElectionSchema {

  private static final Logger log = LoggerFactory.getLogger(LeaderElectionSchema.class);
  private static final Duration LEAST_TIME_TO_LOOK = Duration.ofSeconds(5);
  private static final int ATTEMPTS = 10;

  private final ElectionDatabase database;
  private final SchemaMode mode;
  private final Duration timeToLook;
  private boolean ensured;

  /** Whether the user may not make a table that the election can do without. */
  private boolean denied;

  /**
   * Creates the schema; nothing is done before {@link #ensure()}.
   *
   * @param database where the tables are
   * @param mode who makes them
   * @param operationTimeout the bound of one call to the database; looking at the tables may take 5 s
   *     if this is less
   */
  LeaderElectionSchema(ElectionDatabase database, SchemaMode mode, Duration operationTimeout) {
    this.database = database;
    this.mode = mode;
    this.timeToLook =
        operationTimeout.compareTo(LEAST_TIME_TO_LOOK) > 0 ? operationTimeout : LEAST_TIME_TO_LOOK;
  }

  /**
   * Makes sure that the tables are what they have to be. Does nothing once it has succeeded, and
   * nothing at all under {@link SchemaMode#NONE}. Several nodes may do this at the same time.
   *
   * @throws ElectionSetupException if the tables, or the rights to make them, are not there and
   *     waiting does not help
   * @throws LeaseStoreException if the database is out of reach, read-only, locked, or refuses the
   *     credentials: try again later
   */
  synchronized void ensure() throws LeaseStoreException {
    if (this.ensured || this.mode == SchemaMode.NONE) {
      return;
    }
    LeaseTables tables = look();
    List<String> missing = tables.missing();
    if (LeaseTables.isDispensable(missing)) {
      attempt(missing, tables);
    } else {
      if (this.mode == SchemaMode.VALIDATE) {
        throw new ElectionSetupException(
            "The tables of the election in %s are not complete, and as.election.mysql.schema=validate leaves them to you."
                .formatted(this.database.location()),
            "Run this, or set as.election.mysql.schema=migrate:\n" + sql(missing));
      }
      migrate(missing, tables.needUpgrade());
    }
    this.ensured = true;
  }

  /** Makes the missing table if the user may. A failure is harmless: the elector logs that it has no members. */
  private void attempt(List<String> missing, LeaseTables tables) {
    if (missing.isEmpty() || this.mode != SchemaMode.MIGRATE || this.denied) {
      return;
    }
    try {
      migrate(missing, tables.needUpgrade());
    } catch (LeaseStoreException | ElectionSetupException ex) {
      log.debug("The election does without what could not be made", ex);
    }
  }

  private LeaseTables look() throws LeaseStoreException {
    Session session = null;
    try {
      session = Session.open(this.database, Deadline.in(this.timeToLook), 60);
      LeaseTables tables = LeaseTables.find(session);
      List<String> missing = tables.missing();
      if (!missing.isEmpty() && this.mode == SchemaMode.MIGRATE) {
        checkRights(session, missing);
      }
      return tables;
    } catch (SQLException ex) {
      throw SqlErrors.of(
          ex, "Looking at the tables of the election", this.database, session, this.timeToLook);
    } finally {
      if (session != null) {
        session.discard();
      }
    }
  }

  /** Flyway would find it out for itself, but tries for ten seconds. */
  private void checkRights(Session session, List<String> missing) throws SQLException {
    try {
      // Rights are checked before tables are looked for, so that this never makes one.
      session.execute("CREATE TABLE leader_election_probe LIKE leader_election_that_never_was");
    } catch (SQLException ex) {
      if (SqlErrors.isMissingDdlRight(ex)) {
        if (!LeaseTables.isDispensable(missing)) {
          throw withoutRights(missing, ex);
        }
        this.denied = true;
      } else if (!SqlErrors.isMissingTable(ex)) {
        throw ex;
      }
    }
  }

  private void migrate(List<String> missing, boolean upgrade) throws LeaseStoreException {
    for (int attempt = 1; !migrated(missing, upgrade, attempt); attempt++) {
      pause();
    }
    List<String> dropped = look().missing();
    if (!LeaseTables.isDispensable(dropped)) {
      throw new ElectionSetupException(
          "Tables of the election are missing in %s, or parts of them, although they were made once (leader_election_schema_history says so): somebody dropped or changed them."
              .formatted(this.database.location()),
          "They are not made again by themselves. If that was not meant, run:\n" + sql(dropped));
    }
    if (dropped.isEmpty()) {
      log.info("The tables of the election in {} are complete", this.database.location());
    }
  }

  /** Whether the migrations were run; otherwise another node got in the way. */
  private boolean migrated(List<String> missing, boolean upgrade, int attempt)
      throws LeaseStoreException {
    try {
      SchemaMigrator.run(this.database, upgrade);
      return true;
    } catch (RuntimeException ex) {
      if (SqlErrors.isMissingDdlRight(ex)) {
        throw withoutRights(missing, ex);
      }
      if (attempt >= ATTEMPTS || !isWorthAnotherAttempt(ex)) {
        throw SqlErrors.of(
            ex, "Migrating the tables of the election", this.database, null, this.timeToLook);
      }
      log.debug("Migrating the tables of the election failed, trying again", ex);
      return false;
    }
  }

  private ElectionSetupException withoutRights(List<String> missing, Throwable cause) {
    return new ElectionSetupException(
        "The tables of the election in %s are not complete, and the database user may not make them (%s)."
            .formatted(this.database.location(), SqlErrors.text(cause)),
        "Grant it SELECT, INSERT, UPDATE, DELETE, CREATE and ALTER on the database; or run this as somebody who may, and set as.election.mysql.schema=validate:\n"
            + sql(missing),
        cause);
  }

  /**
   * Whether another node may have been at the same work; Flyway complains without an SQL error then,
   * for instance that its history is no longer empty.
   */
  private static boolean isWorthAnotherAttempt(RuntimeException ex) {
    return SqlErrors.isMadeByAnother(ex)
        || SqlErrors.isLockTrouble(ex)
        || !SqlErrors.isOfDatabase(ex);
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
