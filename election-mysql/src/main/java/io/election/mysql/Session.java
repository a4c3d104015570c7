package io.election.mysql;

import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A connection that is set up for the protocol. Nothing that it sends waits beyond the deadline of
 * the present call.
 *
 * <p>Neither driver bounds a statement by default; {@code setQueryTimeout} opens another connection,
 * and {@code max_execution_time} bounds no write: hence the network time-out before each of them.
 */
final class Session {

  /** An SQL expression for whether the server takes no writes, those of administrators included. */
  static final String READ_ONLY = "@@GLOBAL.read_only OR @@GLOBAL.innodb_read_only";

  private final Connection connection;
  private Deadline deadline;
  private Product product = Product.MYSQL;
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
    Connection connection = database.connect(deadline);
    Session session = new Session(connection, deadline);
    try {
      session.setUp(database, restSeconds);
      return session;
    } catch (SQLException | RuntimeException ex) {
      session.discard();
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

  private void setUp(ElectionDatabase database, long restSeconds) throws SQLException {
    bound();
    DatabaseMetaData metaData = this.connection.getMetaData();
    database.learn(metaData.getURL());
    String driverSays = metaData.getDatabaseProductName();
    if (!Product.speaksMysql(driverSays)) {
      throw Product.unsupported(driverSays + " " + metaData.getDatabaseProductVersion());
    }
    this.connection.setReadOnly(false);
    bound();
    this.connection.setAutoCommit(true);
    bound();
    // Under REPEATABLE READ an UPDATE that misses keeps its row lock.
    this.connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
    execute("""
        SET SESSION time_zone = '+00:00',
            sql_mode = CONCAT(@@SESSION.sql_mode, ',STRICT_ALL_TABLES'),
            innodb_lock_wait_timeout = 1,
            lock_wait_timeout = 1,
            wait_timeout = %d
        """.formatted(restSeconds));
    this.product = Product.of(
        driverSays,
        query("SELECT VERSION()", row -> string(row, 1)).stream().findFirst().orElse(""));
    String sql = """
        SELECT %s, CURRENT_USER(), DATABASE(), CONCAT(@@hostname, ':', @@port), %s
        """.formatted(this.product.source(), READ_ONLY);
    query(sql, row -> {
      this.source = string(row, 1);
      this.account = string(row, 2);
      this.schema = row.getString(3);
      this.host = string(row, 4);
      requireWritable(row, 5);
      return "";
    });
    if (this.schema == null) {
      throw new UnusableSchemaException(
          "The JDBC URL of the election names no database (" + database.location() + ").",
          "Add it to the URL: jdbc:mysql://host:3306/database.");
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
          "read_only or innodb_read_only is set", "HY000", SqlFailure.READ_ONLY_SERVER);
    }
  }

  /** Begins a call that has to be over by a deadline. */
  void until(Deadline deadline) {
    this.deadline = deadline;
  }

  Deadline deadline() {
    return this.deadline;
  }

  Product product() {
    return this.product;
  }

  /** The server that answers. */
  String source() {
    return this.source;
  }

  /** The server that answers, as host name and port, for people. */
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
    } catch (SQLException | RuntimeException ex) {
      statement.close();
      throw ex;
    }
  }

  /** Begins a transaction. */
  void begin() throws SQLException {
    bound();
    this.connection.setAutoCommit(false);
  }

  void commit() throws SQLException {
    bound();
    this.connection.commit();
  }

  void rollback() throws SQLException {
    bound();
    this.connection.rollback();
  }

  /** Goes back to a transaction for each statement. */
  void end() throws SQLException {
    bound();
    this.connection.setAutoCommit(true);
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

  /**
   * Reads the present row.
   *
   * @param <T> what it gives
   */
  @FunctionalInterface
  interface Reader<T> {

    T read(ResultSet row) throws SQLException;
  }
}
