package io.election.mysql;

import io.election.ElectionSetupException;
import java.math.BigDecimal;
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
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A connection that is set up for the protocol. Nothing that it sends waits beyond the deadline of
 * the present call.
 *
 * <p>Neither driver bounds a statement by default; {@code setQueryTimeout} opens another connection,
 * and {@code max_execution_time} bounds no write: hence the network time-out before each of them.
 */
final class Session {

  /**
   * An SQL expression for whether the server takes no writes, those of administrators included. In newer
   * versions of MariaDB read_only is a word, which would count as zero.
   */
  static final String READ_ONLY =
      "CONCAT(@@GLOBAL.read_only) NOT IN ('0', 'OFF') OR @@GLOBAL.innodb_read_only";

  private static final String WAIT_TIMEOUT = "wait_timeout";

  private final Connection connection;
  private Deadline deadline;
  private Dialect dialect = Dialect.MYSQL;
  private String source = "";
  private String host = "";
  private String account = "";
  private @Nullable String schema;

  private Session(Connection connection, Deadline deadline) {
    this.connection = connection;
    this.deadline = deadline;
  }

  /**
   * Connects and sets the session up.
   *
   * @param database where to
   * @param deadline the end of the call that needs the session
   * @param restSeconds how long the session may rest; the server ends it then, together with the
   *     locks of a client that vanished
   */
  static Session open(ElectionDatabase database, Deadline deadline, long restSeconds)
      throws SQLException {
    return open(database, deadline, restSeconds, 1);
  }

  /**
   * The same for a session that waits longer for locks.
   *
   * @param lockSeconds how long it waits for a lock, of whatever kind
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

  /** How long a session may rest that is used once in a renew interval. */
  static long restSeconds(Duration renewInterval) {
    return Math.max(1, (2 * renewInterval.toMillis() + 999) / 1000);
  }

  /** A session on somebody else's connection, which is not set up by us. */
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
    // Drivers send what they believe to be needed, if anything. The statement below sets the
    // session;
    // these calls are for what drivers and pools remember.
    this.connection.setReadOnly(false);
    bound();
    this.connection.setAutoCommit(true);
    bound();
    this.connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
    this.dialect = Dialect.of(
        driverSays,
        query("SELECT VERSION()", row -> string(row, 1)).stream().findFirst().orElse(""));
    List<Setting> settings = settings(this.dialect, restSeconds, lockSeconds);
    execute(settings.stream()
        .map(setting -> setting.variable() + " = " + setting.value())
        .collect(Collectors.joining(", ", "SET SESSION ", "")));
    String sql = "SELECT %s, CURRENT_USER(), DATABASE(), CONCAT(@@hostname, ':', @@port), %s, %s"
        .formatted(
            this.dialect.source(),
            READ_ONLY,
            settings.stream()
                .map(setting -> "@@SESSION." + setting.variable())
                .collect(Collectors.joining(", ")));
    query(sql, row -> {
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
  }

  /**
   * What the protocol needs of a session, whatever the server's global variables, its {@code
   * init_connect} and the URL say.
   */
  private static List<Setting> settings(Dialect dialect, long restSeconds, long lockSeconds) {
    String lock = Long.toString(lockSeconds);
    String rest = Long.toString(restSeconds);
    return List.of(
        new Setting("autocommit", "1", "1"),
        // Under REPEATABLE READ an UPDATE that misses keeps its row lock.
        new Setting(dialect.isolation(), "'READ-COMMITTED'", "READ-COMMITTED"),
        new Setting(dialect.readOnlyTransactions(), "0", "0"),
        // With CHAIN another transaction begins with each COMMIT.
        new Setting("completion_type", "0", "NO_CHAIN"),
        new Setting("time_zone", "'+00:00'", "\\+00:00"),
        // Connector/J quotes and escapes by the modes that it found when it connected.
        new Setting("sql_mode", """
            CONCAT_WS(',',
                IF(FIND_IN_SET('ANSI_QUOTES', @@SESSION.sql_mode), 'ANSI_QUOTES', NULL),
                IF(FIND_IN_SET('NO_BACKSLASH_ESCAPES', @@SESSION.sql_mode),
                    'NO_BACKSLASH_ESCAPES', NULL),
                'STRICT_ALL_TABLES')\
            """, "(ANSI_QUOTES,)?(NO_BACKSLASH_ESCAPES,)?STRICT_ALL_TABLES"),
        new Setting("sql_safe_updates", "0", "0"),
        // Without it a low max_join_size refuses reads of several elections.
        new Setting("sql_big_selects", "1", "1"),
        new Setting("sql_select_limit", "18446744073709551615", "18446744073709551615"),
        new Setting(dialect.statementTime(), "0", "0(\\.0+)?"),
        new Setting("innodb_lock_wait_timeout", lock, lock),
        new Setting("lock_wait_timeout", lock, lock),
        new Setting(WAIT_TIMEOUT, rest, rest));
  }

  /**
   * A session variable that is set and read back.
   *
   * @param variable its name
   * @param value what it is set to, as SQL
   * @param shown what it shows then, a regular expression
   */
  private record Setting(String variable, String value, String shown) {

    /** Refuses a session that is not as it was set, unless a vanished client alone would matter. */
    void require(String found, ElectionDatabase database) throws SQLException {
      if (found.matches(this.shown)) {
        return;
      }
      if (this.variable.equals(WAIT_TIMEOUT)) {
        database.tellOfLongRest(found, this.value);
        return;
      }
      throw new SQLException(
          "%s is '%s' in the session of the election, although it was just set to %s: a proxy or a DataSource in between drops or changes that statement. Let the election connect to the server itself, by the URL or by a DataSource bean with @ElectionDataSource"
              .formatted(this.variable, found, this.value));
    }
  }

  /**
   * Refuses a server that takes no writes. It is a replica, whose rows may be old: they must not be
   * watched, or a follower would take one over, the moment the replica becomes the primary, that its
   * holder has renewed elsewhere meanwhile.
   *
   * @param column shows {@link #READ_ONLY}
   */
  static void requireWritable(ResultSet row, int column) throws SQLException {
    if (row.getBoolean(column)) {
      throw new SQLException(
          "read_only or innodb_read_only is set", "HY000", SqlErrors.READ_ONLY_SERVER);
    }
  }

  /** Begins a call that has to be over by a deadline. */
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
   * An SQL condition without parameters: whether the server that executes the statement is the one for
   * which the session was set up.
   */
  String isSameServer() {
    return "%s = '%s'".formatted(this.dialect.sourceDigest(), Digest.of(this.source));
  }

  /**
   * Refuses to go on if the session is on another server now. Asked where a write found nothing, which
   * is no answer then.
   */
  void requireSameServer() throws SQLException {
    for (String found : query("SELECT " + this.dialect.source(), row -> string(row, 1))) {
      requireSource(found);
    }
  }

  /**
   * Refuses an answer of another server than the one for which the session was set up: a proxy has
   * moved the session, and nobody knows with which settings.
   */
  void requireSource(String found) throws SQLException {
    if (!found.equals(this.source)) {
      throw new SQLNonTransientConnectionException(
          "it leads to another server now: %s, before it was %s (%s)"
              .formatted(found, this.host, this.source),
          "08S01");
    }
  }

  /** The server for which the session was set up, as host name and port, for people. */
  String host() {
    return this.host;
  }

  /** The account that the server took us for, as {@code user@host}. */
  String account() {
    return this.account;
  }

  String schema() {
    return this.schema != null ? this.schema : "";
  }

  /** Runs a statement without parameters and result. */
  void execute(String sql) throws SQLException {
    bound();
    try (Statement statement = this.connection.createStatement()) {
      statement.execute(sql);
    }
  }

  /** Runs a write and gives the number of rows it changed. */
  int update(String sql, @Nullable Object... parameters) throws SQLException {
    bound();
    try (PreparedStatement statement = prepare(sql, parameters)) {
      return statement.executeUpdate();
    }
  }

  /**
   * Runs a write on one row, found by its primary key.
   *
   * @return whether there was such a row
   */
  boolean updateOne(String sql, @Nullable Object... parameters) throws SQLException {
    int rows = update(sql, parameters);
    if (rows > 1) {
      throw new SQLException(
          "A bug: %d rows were changed by a statement that names one election".formatted(rows));
    }
    return rows == 1;
  }

  <T> List<T> query(String sql, Reader<T> reader, @Nullable Object... parameters)
      throws SQLException {
    bound();
    try (PreparedStatement statement = prepare(sql, parameters);
        ResultSet rows = statement.executeQuery()) {
      List<T> result = new ArrayList<>();
      while (rows.next()) {
        result.add(reader.read(rows));
      }
      return result;
    }
  }

  private PreparedStatement prepare(String sql, @Nullable Object... parameters)
      throws SQLException {
    PreparedStatement statement = this.connection.prepareStatement(sql);
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
   * Commits what the work did if it gives something, and undoes it otherwise. Both by statements of their
   * own: a driver sends none if it believes that there is nothing to switch.
   */
  <T> Optional<T> inTransaction(Transaction<T> work) throws SQLException {
    execute("START TRANSACTION");
    Optional<T> result = work.run();
    execute(result.isPresent() ? "COMMIT" : "ROLLBACK");
    return result;
  }

  /** The connection, for those who use it in their own way from now on. */
  Connection connection() {
    return this.connection;
  }

  void discard() {
    ElectionDatabase.discard(this.connection);
  }

  private void bound() throws SQLException {
    this.connection.setNetworkTimeout(Runnable::run, this.deadline.remainingMillis());
  }

  /** A column that is never null, or empty. */
  static String string(ResultSet row, int column) throws SQLException {
    String text = row.getString(column);
    return text != null ? text : "";
  }

  static @Nullable Long number(ResultSet row, int column) throws SQLException {
    long number = row.getLong(column);
    return row.wasNull() ? null : number;
  }

  /** A column that is a number of seconds since 1970. */
  static @Nullable Instant instant(ResultSet row, int column) throws SQLException {
    BigDecimal seconds = row.getBigDecimal(column);
    return seconds != null ? Instant.ofEpochSecond(0, seconds.movePointRight(9).longValue()) : null;
  }

  /** A list of marks for parameters. */
  static String marks(String mark, int count) {
    return String.join(", ", Collections.nCopies(count, mark));
  }

  /**
   * Reads the present row.
   *
   * @param <T> what it gives
   */
  @FunctionalInterface
  interface Reader<T> {

    T read(ResultSet row) throws SQLException;
  }

  /**
   * What a transaction does.
   *
   * @param <T> what it gives
   */
  @FunctionalInterface
  interface Transaction<T> {

    Optional<T> run() throws SQLException;
  }
}
