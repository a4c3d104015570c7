package io.election.jdbc;

import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.FlywayException;
import org.flywaydb.core.api.MigrationVersion;
import org.flywaydb.core.api.migration.Context;
import org.flywaydb.core.api.migration.JavaMigration;
import org.jspecify.annotations.Nullable;

/**
 * Runs the migrations with a Flyway that is separate from the application's, with a history table of
 * its own. Nothing on the class path is visible to another Flyway.
 */
final class SchemaMigrator {

  static final String HISTORY = "leader_election_schema_history";

  /** One of Flyway's connections is idle while the other migrates. */
  private static final int REST_SECONDS = 300;

  /** More than the 10 s for which Flyway waits for its named lock at a time. */
  private static final int NETWORK_TIMEOUT_MILLIS = 15_000;

  private SchemaMigrator() {}

  /**
   * Runs pending migrations and repairs failed ones. Every step can be run again.
   *
   * @param upgrade whether there is a lease table to upgrade; if not, only the step that creates
   *     tables is run
   */
  static void run(ElectionDatabase database, boolean upgrade) {
    List<Connection> opened = new CopyOnWriteArrayList<>();
    Stream<Step> steps = Stream.of(
        new Step(
            "1",
            "create leader_election, its history and its members",
            LeaseTables::toCreate,
            database.dialect()),
        new Step(
            "2",
            "bring a leader_election that was created by hand into shape",
            LeaseTables::toUpgrade,
            database.dialect()));
    try {
      migrate(flyway(bounded(database, opened), steps.limit(upgrade ? 2 : 1)));
    } finally {
      // A pool must not hand out sessions with our settings, and Flyway leaves some open when it
      // fails.
      opened.forEach(ElectionDatabase::discard);
    }
  }

  private static void migrate(Flyway flyway) {
    try {
      flyway.migrate();
    } catch (FlywayException ex) {
      if (SqlError.has(ex, SQLException.class)
          || Stream.of(flyway.info().all())
              .noneMatch((migration) -> migration.getState().isFailed())) {
        throw ex;
      }
      flyway.repair();
      flyway.migrate();
    }
  }

  private static Flyway flyway(DataSource dataSource, Stream<Step> steps) {
    return Flyway.configure(SchemaMigrator.class.getClassLoader())
        .dataSource(dataSource)
        .table(HISTORY)
        // The schema may be the application's and then is not empty.
        .baselineOnMigrate(true)
        .baselineVersion("0")
        .locations(new String[0])
        .javaMigrations(steps.toArray(JavaMigration[]::new))
        // A run that only creates tables does not know the migrations of an upgrade.
        .validateOnMigrate(false)
        .lockRetryCount(10)
        .load();
  }

  /**
   * A step to the current tables. It inspects the existing ones, because Flyway knows neither about
   * a start that failed half-way nor about tables that were created by hand, and not every product
   * has {@code ADD COLUMN IF NOT EXISTS}.
   *
   * @param version must not change: Flyway runs each version only once
   * @param ddl the statements that the tables need; none if they already have what the step adds
   */
  private record Step(
      String version, String description, Function<LeaseTables, List<String>> ddl, Dialect dialect)
      implements JavaMigration {

    @Override
    public MigrationVersion getVersion() {
      return MigrationVersion.fromVersion(this.version);
    }

    @Override
    public String getDescription() {
      return this.description;
    }

    @Override
    public @Nullable Integer getChecksum() {
      return null;
    }

    @Override
    public boolean canExecuteInTransaction() {
      return false;
    }

    @Override
    public void migrate(Context context) throws SQLException {
      Session session =
          new Session(context.getConnection(), Deadline.in(Duration.ofSeconds(10)), this.dialect);
      for (String ddl : this.ddl.apply(LeaseTables.find(session))) {
        session.execute(ddl);
      }
    }
  }

  /**
   * Provides connections that are set up like the election's own and do not wait without bound.
   * Flyway asks for nothing else.
   */
  private static DataSource bounded(ElectionDatabase database, List<Connection> opened) {
    return (DataSource) Proxy.newProxyInstance(
        SchemaMigrator.class.getClassLoader(),
        new Class<?>[] {DataSource.class},
        (self, method, arguments) -> {
          if (!method.getName().equals("getConnection")) {
            throw new UnsupportedOperationException(method.toString());
          }
          Connection connection = Session.open(
                  database, Deadline.in(Duration.ofSeconds(5)), REST_SECONDS)
              .connection();
          opened.add(connection);
          connection.setNetworkTimeout(Runnable::run, NETWORK_TIMEOUT_MILLIS);
          return connection;
        });
  }
}
