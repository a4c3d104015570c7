package io.election.jdbc;

import io.election.ElectionSetupException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.Statement;
import java.sql.Types;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A connection that is set up for the protocol. No statement waits beyond the deadline of the
 * current call.
 *
 * <p>Neither driver bounds a statement by default, {@code setQueryTimeout} opens another
 * connection, and {@code max_execution_time} does not bound writes. Therefore a network time-out is
 * set before each statement.
 */
final class Session {

  /**
   * An SQL expression for the settings that keep ordinary accounts from writing to the server, even
   * if privileged ones may still write; an empty text if there are none. Newer versions of MariaDB
   * show read_only as a word, which would be compared as zero. MySQL alone runs what is in the
   * comment.
   */
  static final String READ_ONLY = """
      CONCAT_WS(', ',
          IF(CONCAT(@@GLOBAL.read_only) IN ('0', 'OFF'), NULL,
              CONCAT('read_only=', @@GLOBAL.read_only)),
          IF(@@GLOBAL.innodb_read_only, 'innodb_read_only=1', NULL)
          /*!50700 , IF(@@GLOBAL.super_read_only, 'super_read_only=1', NULL),
          IF(@@GLOBAL.offline_mode, 'offline_mode=1', NULL) */)\
      """;

  /** An SQL condition: whether the server commits each statement, and no more than that. */
  private static final String COMMITS =
      "(@@SESSION.autocommit = 1 AND @@SESSION.completion_type = 'NO_CHAIN')";

  private static final String NOW = "CURRENT_TIMESTAMP(6)";

  /**
   * The time of the server, as far as a column of type timestamp can hold it; that type ends in
   * January 2038. Times in the tables are for people, and must not fail a statement that leads.
   * From 2038-01-01 on they show that day, and differ in their microseconds alone.
   */
  private static final String STORABLE_NOW =
      "LEAST(%1$s, FROM_UNIXTIME(2145916800) + INTERVAL MICROSECOND(%1$s) MICROSECOND)"
          .formatted(NOW);

  /** A parameter that arrives as another text if the driver escapes it, and the server does not. */
  private static final String BACKSLASH = "\\x";

  /** A text that means the same whatever the modes of the server and the driver. */
  private static final Pattern PLAIN =
      Pattern.compile("[\\w./:-]*", Pattern.UNICODE_CHARACTER_CLASS);

  private final Connection connection;
  private Deadline deadline;
  private Dialect dialect = Dialect.MYSQL;
  private String source = "";
  private String host = "";
  private String account = "";
  private @Nullable String schema;
  private String usable = "";

  /** The statements that are kept, by their classes. */
  private final Map<Class<?>, Prepared> kept = new HashMap<>();

  private record Prepared(Kept text, PreparedStatement statement) {}

  private Session(Connection connection, Deadline deadline) {
    this.connection = connection;
    this.deadline = deadline;
  }

  /**
   * Connects and sets up the session.
   *
   * @param database the database to connect to
   * @param deadline the end of the call that needs the session
   * @param restSeconds how long the session may be idle; the server then ends it together with the
   *     locks of a client that vanished
   */
  static Session open(ElectionDatabase database, Deadline deadline, long restSeconds)
      throws SQLException {
    return open(database, deadline, restSeconds, 1);
  }

  /**
   * Connects and sets up a session with its own lock wait time-out.
   *
   * @param lockSeconds how long the session waits for a lock of any kind
   */
  static Session open(
      ElectionDatabase database, Deadline deadline, long restSeconds, long lockSeconds)
      throws SQLException {
    Connection connection = database.connect(deadline);
    try {
      Session session = new Session(connection, deadline);
      session.setUp(database, restSeconds, lockSeconds);
      return session;
    } catch (SQLException | RuntimeException | Error ex) {
      ElectionDatabase.discard(connection);
      throw ex;
    }
  }

  /** How long, in seconds, a session may be idle that is used once in a renew interval. */
  static long restSeconds(Duration renewInterval) {
    return Math.max(1, (2 * renewInterval.toMillis() + 999) / 1000);
  }

  /** Wraps a connection of other code without setting up its session. */
  static Session of(Connection connection, Deadline deadline) {
    return new Session(connection, deadline);
  }

  private void setUp(ElectionDatabase database, long restSeconds, long lockSeconds)
      throws SQLException {
    bound();
    DatabaseMetaData metaData = this.connection.getMetaData();
    database.learn(metaData.getURL());
    String driverSays = metaData.getDatabaseProductName();
    if (!Dialect.speaksMysql(driverSays)) {
      throw Dialect.unsupported(driverSays + " " + metaData.getDatabaseProductVersion());
    }
    // Drivers send only what they believe to be needed, so the SET statement below sets up the
    // session. These calls update the state that drivers and pools remember.
    this.connection.setReadOnly(false);
    bound();
    this.connection.setAutoCommit(true);
    bound();
    this.connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
    List<SessionSetting> settings = query(
            "SELECT VERSION(), ? = x'5C78' LIMIT 1",
            (row) -> {
              this.dialect = Dialect.of(driverSays, string(row, 1));
              return SessionSetting.of(this.dialect, row.getBoolean(2), restSeconds, lockSeconds);
            },
            BACKSLASH)
        .get(0);
    execute(settings.stream()
        .map((setting) -> setting.variable() + " = " + setting.value())
        .collect(Collectors.joining(", ", "SET SESSION ", "")));
    String sql = "SELECT %s, CURRENT_USER(), DATABASE(), CONCAT(@@hostname, ':', @@port), %s, %s"
        .formatted(
            this.dialect.source(),
            READ_ONLY,
            settings.stream()
                .map((setting) -> "@@SESSION." + setting.variable())
                .collect(Collectors.joining(", ")));
    query(sql, (row) -> {
      this.source = string(row, 1);
      this.account = string(row, 2);
      this.schema = row.getString(3);
      this.host = string(row, 4);
      requireWritable(row, 5);
      for (int i = 0; i < settings.size(); i++) {
        settings.get(i).require(string(row, 6 + i), database);
      }
      return "";
    });
    if (this.schema == null) {
      throw new ElectionSetupException(
          "The JDBC URL of the election names no database (" + database.location() + ").",
          "Add it to the URL: jdbc:mysql://host:3306/database.");
    }
    database.learnSchema(this.schema);
    this.usable = "%s = '%s' AND %s = '' AND %s"
        .formatted(this.dialect.sourceDigest(), Digest.of(this.source), READ_ONLY, COMMITS);
  }

  /**
   * Refuses a server that does not accept the writes of every account. It is a replica, or about to
   * become one. Its rows may be old and must not be watched: when a replica becomes the primary, a
   * follower would take over a row that its holder has meanwhile renewed elsewhere.
   *
   * @param column the column that shows {@link #READ_ONLY}
   */
  private static void requireWritable(ResultSet row, int column) throws SQLException {
    String settings = string(row, column);
    if (!settings.isEmpty()) {
      throw new SQLException(settings, "HY000", SqlErrors.READ_ONLY_SERVER);
    }
  }

  /** Begins a call that must end by a deadline. */
  void until(Deadline deadline) {
    this.deadline = deadline;
  }

  Deadline deadline() {
    return this.deadline;
  }

  Dialect dialect() {
    return this.dialect;
  }

  /** The server for which the session was set up. */
  String source() {
    return this.source;
  }

  /**
   * An SQL condition without parameters, part of every write: whether the server that executes the
   * statement is the one for which the session was set up, accepts the writes of every account, and
   * commits them at once, so that what is confirmed lasts.
   */
  String isUsable() {
    return this.usable;
  }

  /**
   * Fails unless the server is {@linkplain #isUsable() usable}. Called after a write that matched
   * no row, because that means nothing on another server.
   */
  void requireUsable() throws SQLException {
    query("SELECT " + usability(), (row) -> requireUsable(row, 1));
  }

  /** The columns that {@link #requireUsable(ResultSet, int)} checks. */
  String usability() {
    return "%s, %s, %s".formatted(this.dialect.source(), READ_ONLY, COMMITS);
  }

  /**
   * Fails unless the server that returned a row is {@linkplain #isUsable() usable}. After a move to
   * another server by a proxy the settings of the session are unknown.
   *
   * @param column the first of the columns of {@link #usability()}
   * @return the server
   */
  String requireUsable(ResultSet row, int column) throws SQLException {
    String found = string(row, column);
    if (!found.equals(this.source)) {
      throw new SQLNonTransientConnectionException(
          "it leads to another server now: %s, before it was %s (%s)"
              .formatted(found, this.host, this.source),
          "08S01");
    }
    requireWritable(row, column + 1);
    if (!row.getBoolean(column + 2)) {
      throw new SQLNonTransientConnectionException(
          "its session has lost the autocommit or completion_type that was set, as behind a proxy that resets sessions",
          "08S01");
    }
    return found;
  }

  /** The server for which the session was set up, as host name and port, for display. */
  String host() {
    return this.host;
  }

  /** The account that the server assigned to the session, as {@code user@host}. */
  String account() {
    return this.account;
  }

  String schema() {
    return this.schema != null ? this.schema : "";
  }

  /** Runs a statement without parameters and without a result. */
  void execute(String sql) throws SQLException {
    bound();
    try (Statement statement = this.connection.createStatement()) {
      statement.execute(sql);
    }
  }

  /** Runs a write and returns the number of rows that it changed. */
  int update(String sql, @Nullable Object... parameters) throws SQLException {
    try (PreparedStatement statement = prepare(sql, parameters)) {
      return statement.executeUpdate();
    }
  }

  /** Runs a write that is kept, and returns the number of rows that it changed. */
  int update(Kept write) throws SQLException {
    PreparedStatement statement = kept(write);
    bound();
    return statement.executeUpdate();
  }

  /**
   * Runs a write on one row, found by its primary key.
   *
   * @return whether there was such a row
   * @throws SQLException also if more than one row was changed, or none because the server is not
   *     {@linkplain #isUsable() usable}
   */
  boolean updateOne(String sql, @Nullable Object... parameters) throws SQLException {
    int rows = update(sql, parameters);
    if (rows > 1) {
      throw new SQLException(
          "A bug: %s rows were changed by a statement that names one election".formatted(rows));
    }
    if (rows == 0) {
      requireUsable();
    }
    return rows == 1;
  }

  /** Runs a query that is kept, and has its rows read. */
  void query(Kept query, Reader<?> reader) throws SQLException {
    PreparedStatement statement = kept(query);
    bound();
    try (ResultSet rows = statement.executeQuery()) {
      while (rows.next()) {
        reader.read(rows);
      }
    }
  }

  <T> List<T> query(String sql, Reader<T> reader, @Nullable Object... parameters)
      throws SQLException {
    try (PreparedStatement statement = prepare(sql, parameters);
        ResultSet rows = statement.executeQuery()) {
      List<T> result = new ArrayList<>();
      while (rows.next()) {
        result.add(reader.read(rows));
      }
      return result;
    }
  }

  private PreparedStatement kept(Kept wanted) throws SQLException {
    Prepared before = this.kept.get(wanted.getClass());
    if (before != null) {
      // In this order: the entries of an immutable map are made anew for each iteration.
      if (wanted.equals(before.text())) {
        return before.statement();
      }
      this.kept.remove(wanted.getClass());
      before.statement().close();
    }
    PreparedStatement statement = prepare(wanted.sql(this));
    this.kept.put(wanted.getClass(), new Prepared(wanted.copy(), statement));
    return statement;
  }

  /** Prepares a statement, which the caller closes. */
  PreparedStatement prepare(String sql, @Nullable Object... parameters) throws SQLException {
    bound();
    PreparedStatement statement = this.connection.prepareStatement(sql.replace(NOW, STORABLE_NOW));
    try {
      for (int i = 0; i < parameters.length; i++) {
        Object parameter = parameters[i];
        if (parameter instanceof String text) {
          statement.setString(i + 1, text);
        } else if (parameter instanceof Long number) {
          statement.setLong(i + 1, number);
        } else if (parameter instanceof BigDecimal number) {
          statement.setBigDecimal(i + 1, number);
        } else {
          statement.setNull(i + 1, Types.BIGINT);
        }
      }
      return statement;
    } catch (SQLException | RuntimeException | Error ex) {
      statement.close();
      throw ex;
    }
  }

  /**
   * Commits if the work returns a result, and rolls back otherwise. Both are sent as statements,
   * because a driver sends none if it believes that nothing needs to change.
   *
   * <p>Neither outcome counts unless the server is {@linkplain #isUsable() usable} afterwards: a
   * privileged account may commit after the server has become read-only, and then the next primary
   * does not have what was committed.
   */
  <T> Optional<T> inTransaction(Transaction<T> work) throws SQLException {
    execute("START TRANSACTION");
    Optional<T> result = work.run();
    execute(result.isPresent() ? "COMMIT" : "ROLLBACK");
    requireUsable();
    return result;
  }

  /** The connection, for callers that use it in their own way from now on. */
  Connection connection() {
    return this.connection;
  }

  void discard() {
    ElectionDatabase.discard(this.connection);
  }

  private void bound() throws SQLException {
    this.connection.setNetworkTimeout(Runnable::run, this.deadline.remainingMillis());
  }

  /** Reads a column, with an empty string instead of null. */
  static String string(ResultSet row, int column) throws SQLException {
    String text = row.getString(column);
    return text != null ? text : "";
  }

  static @Nullable Long number(ResultSet row, int column) throws SQLException {
    long number = row.getLong(column);
    return row.wasNull() ? null : number;
  }

  /** Reads a column that is a number of seconds since 1970. */
  static @Nullable Instant instant(ResultSet row, int column) throws SQLException {
    BigDecimal seconds = row.getBigDecimal(column);
    return seconds != null ? Instant.ofEpochSecond(0, seconds.movePointRight(9).longValue()) : null;
  }

  /**
   * A text as SQL, for {@linkplain Kept statements without parameters}. A plain one is encoded by
   * the driver, as it is in parameters; any other is written as its bytes, which need no quoting.
   */
  static String literal(String text) {
    return PLAIN.matcher(text).matches()
        ? "'" + text + "'"
        : "_utf8mb4 x'" + HexFormat.of().formatHex(text.getBytes(StandardCharsets.UTF_8)) + "'";
  }

  /** A comma-separated list of parameter markers. */
  static String marks(String mark, int count) {
    return String.join(", ", Collections.nCopies(count, mark));
  }

  /**
   * A statement without parameters, which drivers would encode again each time. The session keeps
   * it prepared until it needs another one of the same class, so that hundreds of elections do not
   * build it anew in each renew interval. Equal ones have the same text in a session.
   */
  interface Kept {

    String sql(Session session);

    /** Returns an equal one that does not share the caller's collections. */
    Kept copy();
  }

  /**
   * Reads the current row.
   *
   * @param <T> the type of the result
   */
  @FunctionalInterface
  interface Reader<T> {

    T read(ResultSet row) throws SQLException;
  }

  /**
   * The work of a transaction. An empty result rolls it back.
   *
   * @param <T> the type of the result
   */
  @FunctionalInterface
  interface Transaction<T> {

    Optional<T> run() throws SQLException;
  }
}
