package io.election.autoconfigure.jdbc;

import io.election.ElectionSetupException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.MigrationInfo;
import org.flywaydb.core.api.MigrationVersion;
import org.flywaydb.core.api.callback.Callback;
import org.flywaydb.core.api.configuration.FluentConfiguration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.flyway.autoconfigure.FlywayConfigurationCustomizer;

/**
 * Sets a baseline below all migrations of the application if its schemas hold tables of the
 * election and nothing else. Flyway would refuse such a schema, or, with its default baseline, take
 * version 1 for done.
 */
final class FlywayBaseline implements FlywayConfigurationCustomizer {

  private static final Logger log = LoggerFactory.getLogger(FlywayBaseline.class);

  private static final MigrationVersion BASELINE = MigrationVersion.fromVersion("0");

  private static final MigrationVersion DEFAULT = MigrationVersion.fromVersion("1");

  /** The tables of the election, each with columns by which it is known beside its name. */
  private static final Map<String, Set<String>> TABLES = Map.of(
      "leader_election", Set.of("service_id", "leader_id", "last_active_time"),
      "leader_election_history", Set.of("service_id", "term", "leader_id", "ended_at"),
      "leader_election_member", Set.of("node_id", "joined_at", "seen_at", "services"),
      "leader_election_schema_history", Set.of("installed_rank", "version", "checksum", "success"));

  private static final String FIND_TABLES =
      "SELECT table_schema, table_name, table_type FROM information_schema.tables WHERE table_schema IN %s LIMIT %s";

  private static final String FIND_OTHERS = """
      SELECT trigger_name FROM information_schema.triggers WHERE trigger_schema IN %1$s
      UNION ALL SELECT routine_name FROM information_schema.routines WHERE routine_schema IN %1$s
      UNION ALL SELECT event_name FROM information_schema.events WHERE event_schema IN %1$s
      LIMIT 1\
      """;

  /** There the information schema hides what belongs to others, and not what is an extension's. */
  private static final String FIND_TABLES_OF_POSTGRESQL = """
      SELECT nspname, relname, CASE relkind WHEN 'r' THEN 'BASE TABLE' ELSE '' END
      FROM pg_class o JOIN pg_namespace n ON n.oid = relnamespace
      WHERE relkind NOT IN ('i', 'I', 't') AND nspname IN %s
          AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE objid = o.oid AND classid = o.tableoid AND deptype = 'e')
      LIMIT %s\
      """;

  private static final String FIND_OTHERS_OF_POSTGRESQL = """
      SELECT tgname FROM pg_trigger
      JOIN pg_class c ON c.oid = tgrelid JOIN pg_namespace n ON n.oid = relnamespace
      WHERE NOT tgisinternal AND nspname IN %1$s
      UNION ALL SELECT proname FROM pg_proc o JOIN pg_namespace n ON n.oid = pronamespace
      WHERE nspname IN %1$s
          AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE objid = o.oid AND classid = o.tableoid AND deptype = 'e')
      UNION ALL SELECT typname FROM pg_type o JOIN pg_namespace n ON n.oid = typnamespace
      WHERE typtype IN ('d', 'e', 'r') AND nspname IN %1$s
          AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE objid = o.oid AND classid = o.tableoid AND deptype = 'e')
      LIMIT 1\
      """;

  private static final int SECONDS_TO_LOOK = 10;

  /** Whether the application has chosen its baseline. */
  private final boolean chosen;

  FlywayBaseline(boolean chosen) {
    this.chosen = chosen;
  }

  @Override
  public void customize(FluentConfiguration configuration) {
    if (this.chosen
        || !DEFAULT.equals(configuration.getBaselineVersion())
        || configuration.getDataSource() == null) {
      return;
    }
    try (Connection connection = configuration.getDataSource().getConnection()) {
      if (!holdsOnlyOurTables(connection, schemas(configuration, connection))) {
        return;
      }
    } catch (SQLException ex) {
      log.debug("The schema of the application could not be inspected; Flyway says why", ex);
      return;
    }
    MigrationInfo[] pending = pending(configuration);
    for (MigrationInfo each : pending) {
      if (each.getType().isBaseline()) {
        throw new ElectionSetupException(
            "Flyway runs the baseline migration %s only in a schema without tables, and this one holds those of the election."
                .formatted(each.getScript()),
            "Give the election a database of its own (@ElectionDataSource); or drop the tables leader_election… while no node runs, and start again: your migrations run first.");
      }
    }
    if (beginAbove(BASELINE, pending)) {
      log.info(
          "the schema holds only tables of the election: the application's Flyway begins with baseline version {}, so that all migrations run",
          BASELINE);
      configuration.baselineOnMigrate(true).baselineVersion(BASELINE);
    }
  }

  /** The schemas that Flyway requires to be empty. */
  private static Set<String> schemas(FluentConfiguration configuration, Connection connection)
      throws SQLException {
    Set<String> schemas = new HashSet<>(Arrays.asList(configuration.getSchemas()));
    if (configuration.getDefaultSchema() != null) {
      schemas.add(configuration.getDefaultSchema());
    }
    String current = isPostgresql(connection) ? connection.getSchema() : connection.getCatalog();
    if (schemas.isEmpty() && current != null) {
      schemas.add(current);
    }
    return schemas;
  }

  private static boolean holdsOnlyOurTables(Connection connection, Set<String> schemas)
      throws SQLException {
    if (schemas.isEmpty() || DatabaseProduct.of(connection.getMetaData().getURL()) == null) {
      return false;
    }
    String in = "(" + String.join(",", Collections.nCopies(schemas.size(), "?")) + ")";
    boolean postgresql = isPostgresql(connection);
    int limit = TABLES.size() * schemas.size() + 1;
    List<List<String>> tables = query(
        connection,
        (postgresql ? FIND_TABLES_OF_POSTGRESQL : FIND_TABLES).formatted(in, limit),
        schemas);
    if (tables.isEmpty()
        || !tables.stream()
            .allMatch((table) -> TABLES.containsKey(table.get(1).toLowerCase(Locale.ROOT))
                && table.get(2).equals("BASE TABLE"))
        || !haveTheirColumns(connection, in, tables, schemas)) {
      return false;
    }
    return query(
            connection,
            (postgresql ? FIND_OTHERS_OF_POSTGRESQL : FIND_OTHERS).formatted(in),
            Stream.of(schemas, schemas, schemas).flatMap(Set::stream).toList())
        .isEmpty();
  }

  private static boolean isPostgresql(Connection connection) throws SQLException {
    return DatabaseProduct.of(connection.getMetaData().getURL()) == DatabaseProduct.POSTGRESQL;
  }

  /** Whether the tables are those of the election, and not only named like them. */
  private static boolean haveTheirColumns(
      Connection connection, String in, List<List<String>> tables, Set<String> schemas)
      throws SQLException {
    Map<List<String>, Set<String>> columns = new HashMap<>();
    query(
            connection,
            "SELECT table_schema, table_name, column_name FROM information_schema.columns WHERE table_schema IN "
                + in,
            schemas)
        .forEach((column) -> columns
            .computeIfAbsent(column.subList(0, 2), (table) -> new HashSet<>())
            .add(column.get(2).toLowerCase(Locale.ROOT)));
    return tables.stream()
        .allMatch((table) -> columns
            .getOrDefault(table.subList(0, 2), Set.of())
            .containsAll(
                Objects.requireNonNull(TABLES.get(table.get(1).toLowerCase(Locale.ROOT)))));
  }

  /** Runs a query for at most three columns of text. */
  private static List<List<String>> query(
      Connection connection, String sql, Iterable<String> arguments) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      statement.setQueryTimeout(SECONDS_TO_LOOK);
      int index = 0;
      for (String argument : arguments) {
        statement.setString(++index, argument);
      }
      List<List<String>> rows = new ArrayList<>();
      try (ResultSet row = statement.executeQuery()) {
        int width = row.getMetaData().getColumnCount();
        while (row.next()) {
          String[] values = new String[width];
          for (int i = 0; i < width; i++) {
            values[i] = row.getString(i + 1);
          }
          rows.add(List.of(values));
        }
      }
      return rows;
    }
  }

  private static MigrationInfo[] pending(FluentConfiguration configuration) {
    return Flyway.configure(configuration.getClassLoader())
        .configuration(configuration)
        .callbacks(new Callback[0])
        .skipDefaultCallbacks(true)
        .load()
        .info()
        .pending();
  }

  /** Whether all migrations of the application have versions above the baseline. */
  private static boolean beginAbove(MigrationVersion baseline, MigrationInfo[] pending) {
    return Stream.of(pending)
        .map(MigrationInfo::getVersion)
        .filter(Objects::nonNull)
        .allMatch((version) -> version.compareTo(baseline) > 0);
  }
}
