package io.election.jdbc;

import static io.election.jdbc.Columns.string;

import io.election.ElectionSetupException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.PGStatement;

/**
 * PostgreSQL. Its sessions keep no state of the election, because a pooler may give them to other
 * clients after each transaction: each call sets what it needs locally to its transaction.
 */
enum PostgresqlDialect implements Dialect {
  INSTANCE;

  private static final int MAJOR = 10_000; // of server_version_num

  private static final Ddl DDL = Ddl.read("leader-election-postgresql.sql", "permanent", true);

  /** A commit that did not wait for a standby is only warned of. */
  static final String COMMIT = "SELECT " + set("client_min_messages", "'warning'") + ";\nCOMMIT";

  private static final String TIME = "EXTRACT(EPOCH FROM last_active_time)";

  /** Products that speak the protocol, but keep other promises. */
  private static final Pattern OTHERS =
      Pattern.compile("cockroach|-yb-|redshift|dsql|greenplum|materialize|questdb|crate");

  /**
   * The first schema of the search path that has the tables, or else the first; the others that a
   * node of this user could use, of all unless URL or pool name the path; and those of other users.
   */
  private static final String SCHEMA = """
      WITH path AS (
          SELECT schema, place FROM unnest(current_schemas(false)) WITH ORDINALITY s (schema, place)
          WHERE schema !~ '^pg_'), found AS (
          SELECT nspname AS schema, NOT ? OR nspname IN (SELECT schema FROM path) AS mine,
              has_schema_privilege(n.oid, 'USAGE')
                  AND has_any_column_privilege(c.oid, 'UPDATE') AS usable
          FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid
              AND relname = 'leader_election' AND nspname !~ '^pg_')
      SELECT chosen, string_agg(schema, ', ' ORDER BY schema) FILTER (WHERE mine AND usable),
          string_agg(schema, ', ' ORDER BY schema) FILTER (
              WHERE NOT (mine AND usable)
                  AND (NOT ? OR usable OR current_setting('search_path') LIKE '%,%'))
      FROM (SELECT (SELECT schema FROM path LEFT JOIN found USING (schema)
          ORDER BY found.schema IS NULL, place LIMIT 1) AS chosen) c
      LEFT JOIN found ON schema <> chosen GROUP BY chosen
      """;

  @Override
  public String shortName() {
    return "postgresql";
  }

  /** {@code CURRENT_TIMESTAMP} is the begin of the transaction. A time may be infinite. */
  @Override
  public String words(String sql) {
    return sql.replace("CURRENT_TIMESTAMP(6)", "statement_timestamp()")
        .replace(TIME, "LEAST(GREATEST(" + TIME + ", -9e12), 9e12)")
        .replace(" FORCE INDEX (PRIMARY)", "")
        .replace(" FROM DUAL", "");
  }

  /** A role may want each transaction to wait until no other one can make it fail. */
  @Override
  public String begin() {
    return "BEGIN ISOLATION LEVEL READ COMMITTED;\nSELECT 1;\nSELECT 1;\n";
  }

  /** A statement that the driver has named is unknown in the other sessions of a pooler. */
  @Override
  public Statement statement(Connection connection) throws SQLException {
    Statement statement = connection.createStatement();
    statement.setEscapeProcessing(false);
    try {
      if (statement.isWrapperFor(PGStatement.class)) {
        statement.unwrap(PGStatement.class).setPrepareThreshold(0);
      }
    } catch (NoClassDefFoundError ex) { // the application has another driver
    }
    return statement;
  }

  @Override
  public String ofBytes(String hex) {
    return "convert_from(decode('%s', 'hex'), 'UTF8')".formatted(hex);
  }

  @Override
  public String quoted(String name) {
    return "\"" + name.replace("\"", "\"\"") + "\"";
  }

  /** An expression that changes a setting until the transaction is over. */
  private static String set(String setting, String value) {
    return "set_config('%s', %s, true)".formatted(setting, value);
  }

  @Override
  public String digest(String text, int digits) {
    return "left(encode(sha256(convert_to(%s, 'UTF8')), 'hex'), %s)".formatted(text, digits);
  }

  @Override
  public String renewal(String changes, String held, int leases) {
    return """
        WITH free AS MATERIALIZED (
            SELECT service_id AS id FROM leader_election WHERE %s FOR UPDATE SKIP LOCKED)
        UPDATE leader_election SET %s FROM free WHERE service_id = free.id
        """.formatted(held, changes);
  }

  @Override
  public String pruning(String condition) {
    return """
        DELETE FROM leader_election_history WHERE (service_id, term) IN (
            SELECT service_id, term FROM leader_election_history WHERE %s
            ORDER BY service_id, term LIMIT 1000)
        """.formatted(condition);
  }

  /**
   * Replicas and copies share the system identifier. After a promotion the control file names the
   * old timeline for a while, other than the position in the log; a standby has none. A server that
   * went back to a backup was started again. Aurora has one storage, and may show no position. A
   * subquery, so that it is evaluated once a statement.
   */
  @Override
  public String source() {
    return """
        (SELECT CASE WHEN pg_is_in_recovery() THEN '' ELSE
            (SELECT system_identifier FROM pg_control_system()) || '.'
            || CASE WHEN current_setting('rds.extensions', true) LIKE '%aurora_stat_utils%'
                THEN '' ELSE left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END || '.'
            || EXTRACT(EPOCH FROM pg_postmaster_start_time()) || '/'
            || (SELECT oid FROM pg_database WHERE datname = current_database())
            || '.' || current_schema() END)\
        """;
  }

  @Override
  public String readOnly() {
    return "CASE WHEN pg_is_in_recovery() THEN 'it is a standby' ELSE '' END";
  }

  /** Without this a crash loses what was confirmed. */
  @Override
  public String commits() {
    return "current_setting('synchronous_commit') = 'on'";
  }

  @Override
  public String commitSettings() {
    return "synchronous_commit";
  }

  @Override
  public Statements.Facts setUp(
      Statements session, String where, long restSeconds, Consumer<String> warning)
      throws SQLException {
    session.bound();
    session.connection().setAutoCommit(true);
    int version = session
        .query("SELECT version(), current_setting('server_version_num'), " + readOnly(), (row) -> {
          int number = supported(string(row, 1), row.getInt(2));
          // A standby refuses to begin what may write.
          Columns.requireWritable(row, 3);
          return number;
        })
        .get(0);
    session.commit = COMMIT;
    session.locally = locally(version, restSeconds, path(session.searchPath));
    boolean named = !"".equals(session.searchPath);
    String schema = session
        .query(SCHEMA, (row) -> schema(row, where, warning), named, named)
        .get(0);
    // Otherwise the temporary tables of the session come first.
    session.locally =
        locally(version, restSeconds, "quote_ident(%s) || ', pg_temp'".formatted(literal(schema)));
    String sql = """
        SELECT %s, current_user,
            COALESCE(host(inet_server_addr()), 'local') || ':' || inet_server_port(),
            LEAST(NULLIF((SELECT CAST(setting AS bigint) FROM pg_settings
                WHERE name = 'idle_session_timeout'), 0), %s),
            (SELECT ' Commits wait for a standby. Bring back those of synchronous_standby_names: '
                    || current_setting('synchronous_standby_names') || '.'
                FROM pg_stat_activity
                WHERE wait_event = 'SyncRep' AND now() - state_change > '0.5 s' LIMIT 1),
            current_setting('server_encoding')
        """.formatted(source(), restSeconds * 1000);
    return session
        .query(sql, (row) -> {
          session.charset = charset(string(row, 6));
          return new Statements.Facts(
              string(row, 1),
              string(row, 3),
              string(row, 2),
              schema,
              row.getLong(4),
              string(row, 5));
        })
        .get(0);
  }

  /** The characters of an encoding, as far as Java knows the same; at least those of ASCII. */
  private static Charset charset(String encoding) {
    // SQL_ASCII holds any bytes.
    String name = encoding.replace("SQL_ASCII", "UTF8").replace("WIN", "windows-");
    return Charset.isSupported(name) && !name.matches("EUC_(JP|TW)")
        ? Charset.forName(name)
        : StandardCharsets.US_ASCII;
  }

  /**
   * Where the tables are looked for, as SQL. A pooler may drop what the URL says, and another client
   * may have left a path in the session.
   */
  private String path(@Nullable String named) {
    String ofUser = "(SELECT reset_val FROM pg_settings WHERE name = 'search_path')";
    return named == null
        ? "current_setting('search_path')"
        : named.isEmpty() ? ofUser : literal(named);
  }

  private static String schema(ResultSet row, String where, Consumer<String> warning)
      throws SQLException {
    String schema = row.getString(1);
    if (schema == null) {
      throw new ElectionSetupException(
          "No schema of the search_path exists in the database of the election (%s), or the user may use none."
              .formatted(where),
          "Create one, GRANT USAGE ON SCHEMA … to the user, or name one in the URL: ?currentSchema=public");
    }
    if (!string(row, 2).isEmpty()) {
      throw new ElectionSetupException(
          "Nodes of this user could use tables of the election in several schemas of %s: %s, %s. Each would have its own leader."
              .formatted(where, schema, string(row, 2)),
          "Name the one in which they lead in the URL of all nodes: ?currentSchema=…, or drop the tables in the others.");
    }
    if (!string(row, 3).isEmpty()) {
      warning.accept(
          "Other schemas in %1$s have tables of the election (%2$s). This node uses %3$s; a node whose user has another search_path may use another, and each has its own leader. Drop the others, or set the schema in the URL of all nodes: ?currentSchema=%3$s"
              .formatted(where, string(row, 3), schema));
    }
    return schema;
  }

  static int supported(String version, int number) {
    if (OTHERS.matcher(version.toLowerCase(Locale.ROOT)).find()) {
      throw Product.unsupported(version);
    }
    if (number < 14 * MAJOR) {
      throw new ElectionSetupException(
          "The database of the election is %s.".formatted(version),
          "PostgreSQL 14 is the oldest that the election supports.");
    }
    return number;
  }

  /**
   * What a role, a database or another client of the pooled session may have set otherwise. What is
   * set here ends with the transaction.
   *
   * @param path where the tables are
   */
  private static String locally(int version, long restSeconds, String path) {
    List<String> settings = List.of(
        set("synchronous_commit", "'on'"),
        set("statement_timeout", "'0'"),
        // Before the call ends otherwise, so that its failure names the lock.
        set("lock_timeout", "'400ms'"),
        set("idle_in_transaction_session_timeout", "'" + restSeconds + "s'"),
        // Until the commit: triggers and worries of the server are no reason to doubt it.
        set("client_min_messages", "'error'"),
        // Fails where a policy would hide rows.
        set("row_security", "'off'"),
        set("search_path", path));
    return """
        BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
        SET LOCAL %s = 0;
        SELECT %s;
        """.formatted(
            // At once: it has begun. Older servers have no such limit.
            version >= 17 * MAJOR ? "transaction_timeout" : "statement_timeout",
            String.join(", ", settings));
  }

  @Override
  public boolean keepsSettings() {
    return false;
  }

  @Override
  public Ddl ddl() {
    return DDL;
  }

  @Override
  public String inSchema(@Nullable String schema, String statements) {
    String table = "TABLE leader_election";
    return schema != null
        ? statements.replace(table, table.replace(" ", " " + quoted(schema) + "."))
        : statements;
  }

  @Override
  public String description(String table) {
    return """
        SELECT a.attnum, '%1$s', CASE r.relkind WHEN 'r' THEN 'BASE TABLE' WHEN 'v' THEN 'view' WHEN 'm'
                THEN 'materialized view' WHEN 'f' THEN 'foreign table' WHEN 'p'
                THEN 'partitioned table' ELSE 'relation of kind ' || CAST(r.relkind AS text) END,
            CASE r.relpersistence WHEN 'p' THEN 'permanent' WHEN 'u' THEN 'unlogged'
                ELSE 'temporary' END,
            a.attname, CASE WHEN t.typname = 'timestamptz' AND a.atttypmod IN (-1, 6)
                THEN 'timestamp' WHEN t.typname = 'timestamp' THEN 'timestamp without time zone'
                WHEN t.typname = 'int8' THEN 'bigint' ELSE t.typname END,
            format_type(a.atttypid, a.atttypmod),
            CASE WHEN t.typname = 'varchar'
                THEN COALESCE(NULLIF(a.atttypmod, -1) - 4, 10485760) ELSE 0 END,
            6, NOT a.attnotnull, a.atthasdef OR a.attidentity <> '' OR NOT a.attnotnull,
            CASE WHEN c.collisdeterministic THEN '' ELSE c.collname END,
            COALESCE(a.attnum = ANY(i.indkey), FALSE)
        FROM pg_class r JOIN pg_attribute a ON a.attrelid = r.oid
            JOIN pg_type t ON t.oid = a.atttypid
            LEFT JOIN pg_collation c ON c.oid = a.attcollation
            LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
        WHERE r.oid = to_regclass('%1$s') AND a.attnum > 0 AND NOT a.attisdropped
        """.formatted(table);
  }

  /** A crash empties what is not. */
  @Override
  public void requireExactNames(Table table) {
    List<String> inexact = Stream.of("service_id", "leader_id")
        .map(table::column)
        .flatMap(Optional::stream)
        .filter((column) ->
            column.length() < Table.NAME_LENGTH || !column.collation().isEmpty())
        .map((column) -> "ALTER COLUMN %s TYPE varchar(%s) COLLATE \"C\""
            .formatted(column.name(), table.nameLength(column.name())))
        .toList();
    if (!inexact.isEmpty()) {
      throw new ElectionSetupException(
          "The names in the table %s are not varchar(%s) or longer with a deterministic collation. Found the columns %s."
              .formatted(table.name(), Table.NAME_LENGTH, table.describe()),
          "Run this, and start again:\nALTER TABLE %s %s;"
              .formatted(table.name(), String.join(", ", inexact)));
    }
  }

  @Override
  public String grants(Statements.@Nullable Facts facts) {
    return """
        GRANT USAGE ON SCHEMA %1$s TO %2$s;
        GRANT SELECT, INSERT, UPDATE ON %1$s.leader_election TO %2$s;
        GRANT SELECT, INSERT, UPDATE, DELETE ON %1$s.leader_election_history, %1$s.leader_election_member TO %2$s;\
        """.formatted(
            facts != null ? quoted(facts.schema()) : "public",
            facts != null ? quoted(facts.account()) : "…");
  }

  @Override
  public String rightsToCreate() {
    return "Grant it USAGE and CREATE on the schema";
  }

  /** Whoever waits for them may have given up by the time of the query. */
  @Override
  public String blockers() {
    return "SELECT pid, mode, state, query FROM pg_locks LEFT JOIN pg_stat_activity USING (pid) WHERE relation IN (SELECT oid FROM pg_class WHERE relname IN ('leader_election', 'leader_election_history')); a lock without pid is that of a prepared transaction: SELECT gid, owner FROM pg_prepared_xacts; a trigger or rule that keeps a row as it is looks the same";
  }

  @Override
  public @Nullable String explain(String error, String where, String text, String retry) {
    String advice = switch (error) {
      case "42501" -> denied(text);
      case "08P01" ->
        text.matches(".*(startup parameter|transaction blocks).*")
            ? "A pooler before %s refuses the election (%s). PgBouncer needs pool_mode=transaction or session, and in ignore_startup_parameters what is named here: search_path is the URL's currentSchema."
            : null;
      case "57014", "25P04" ->
        "%s ended a statement or transaction (%s). If no administrator did, give the user time: ALTER ROLE … SET statement_timeout = 0; likewise transaction_timeout, also of the database.";
      case "25P03" ->
        "%s ended a transaction of this node, which was held up in it for two renew intervals (%s). The next call opens another connection.";
      case "57P01", "57P02", "57P05" ->
        "The connection to %s was ended by a shutdown or crash of the server, an administrator, or idle_session_timeout (%s). The next call opens another.";
      case "57P03" ->
        "%s is starting, shutting down or recovering (%s). The next call tries again.";
      default -> null;
    };
    return advice != null ? advice.formatted(where, text) : null;
  }

  private static @Nullable String denied(String text) {
    if (text.contains("row-level security")) {
      return "Row security hides rows of the election in %s (%s). Run for each of its tables: ALTER TABLE … DISABLE ROW LEVEL SECURITY;";
    }
    if (text.contains("permission denied for function")) {
      return "The user may not use a function in %s (%s). Run as an administrator: GRANT EXECUTE ON FUNCTION pg_control_system() TO …;";
    }
    return text.contains("permission denied for database")
        ? "The user may not connect to %s (%s). Run as an administrator: GRANT CONNECT ON DATABASE … TO …;"
        : null;
  }

  /** Seconds. */
  @Override
  public String driverTimeout(int millis) {
    return Integer.toString((millis + 999) / 1000);
  }

  @Override
  public Map.Entry<String, String> driverLabel() {
    return Map.entry("ApplicationName", "election");
  }

  /** A transaction like any other. */
  @Override
  public void signal(Statements session, String holder) throws SQLException {
    session.query("SELECT pg_notify(?, '')", (row) -> "", Dialect.signalOf(session, holder));
  }

  /**
   * Listening needs a session of one's own, which a pooler does not give: the server process would
   * then be another one than the driver was told at the login.
   */
  @Override
  public boolean awaitSignal(Statements session, String holder, long seconds) throws SQLException {
    PGConnection connection = session.connection().unwrap(PGConnection.class);
    int process =
        session.query("SELECT pg_backend_pid()", (row) -> row.getInt(1)).get(0);
    if (process != connection.getBackendPID()) {
      throw new SQLException(
          "a pooler in between delivers no notifications; for the election alone a direct connection by @ElectionDataSource can be used");
    }
    session.execute("SET idle_session_timeout = 0");
    session.execute("LISTEN " + Dialect.signalOf(session, holder));
    return connection.getNotifications((int) TimeUnit.SECONDS.toMillis(seconds)).length > 0;
  }

  @Override
  public FenceLock fenceLock(
      Connection connection, String history, long restSeconds, Consumer<String> undo) {
    return new PostgresqlFenceLock(this, connection, history, restSeconds);
  }
}
