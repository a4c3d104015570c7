package io.election.jdbc;

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
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A connection that is set up for the protocol. No statement waits beyond the deadline of the
 * current call.
 *
 * <p>No driver bounds a statement by default, {@code setQueryTimeout} cancels statements, whose
 * outcome is then unknown, and the time-outs of servers do not bound all waits. Therefore a network
 * time-out is set before each statement.
 */
final class Session {

  private final Connection connection;
  private Deadline deadline;
  private Dialect dialect;
  private SessionFacts facts;
  private String usable = "";
  private boolean inTransaction;

  /** The statements that are kept, by their classes. */
  private final Map<Class<?>, Prepared> kept = new HashMap<>();

  private record Prepared(Kept text, PreparedStatement statement) {}

  /** Wraps a connection without setting up its session. */
  Session(Connection connection, Deadline deadline, Dialect dialect) {
    this.connection = connection;
    this.deadline = deadline;
    this.dialect = dialect;
    this.facts = new SessionFacts("", "", "", "", "", "", Long.MAX_VALUE);
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
      connection.setNetworkTimeout(Runnable::run, deadline.remainingMillis());
      DatabaseMetaData metaData = connection.getMetaData();
      Dialect dialect = Dialect.of(metaData);
      database.learn(metaData.getURL(), dialect);
      Session session = new Session(connection, deadline, dialect);
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

  private void setUp(ElectionDatabase database, long restSeconds, long lockSeconds)
      throws SQLException {
    this.facts =
        dialect().setUp(this, database.location(), restSeconds, lockSeconds, database::warnOnce);
    Dialect exact = Dialect.of(this.facts.product());
    this.dialect = exact != null ? exact : this.dialect;
    database.learnSchema(this.facts.schema());
    this.usable = "%s = '%s' AND %s = '' AND %s"
        .formatted(
            dialect().sourceDigest(),
            Digest.of(this.facts.source()),
            dialect().readOnly(),
            dialect().commits());
  }

  /**
   * Determines what each transaction begins with from now on.
   *
   * @param locally two statements, each with a semicolon at its end
   */
  void setLocally(String locally) {
    this.facts = new SessionFacts("", "", "", "", "", locally, Long.MAX_VALUE);
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
    return this.facts.source();
  }

  /** After how many milliseconds the server ends the session if it is idle. */
  long restMillis() {
    return this.facts.restMillis();
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
    query("SELECT " + usability(), this::requireUsable);
  }

  /** The columns that show whether a server is usable. */
  String usability() {
    return "%s, %s, %s"
        .formatted(dialect().source(), dialect().readOnly(), dialect().commits());
  }

  /** After a move to another server by a proxy the settings of the session are unknown. */
  private String requireUsable(ResultSet row) throws SQLException {
    String found = Columns.string(row, 1);
    if (!found.equals(source())) {
      throw new SQLNonTransientConnectionException(
          "it leads to another server now: %s, before it was %s (%s)"
              .formatted(found, host(), source()),
          "08S01");
    }
    Columns.requireWritable(row, 2);
    if (!row.getBoolean(3)) {
      throw new SQLNonTransientConnectionException(
          "its session has lost the %s that was set, as behind a proxy that resets sessions"
              .formatted(dialect().commitSettings()),
          "08S01");
    }
    return found;
  }

  /** The server for which the session was set up, as host name and port, for display. */
  String host() {
    return this.facts.host();
  }

  /** The account that the server assigned to the session. */
  String account() {
    return this.facts.account();
  }

  /** The schema of the tables; empty before it is known. */
  String schema() {
    return this.facts.schema();
  }

  /** Whether each statement sets what it needs locally to its transaction. */
  private boolean isLocal() {
    return !this.facts.locally().isEmpty();
  }

  /** Runs a statement without parameters and without a result, as it is. */
  void execute(String sql) throws SQLException {
    bound();
    try (Statement statement = this.connection.createStatement()) {
      statement.execute(sql);
      if (isLocal()) {
        RoundTrip.requireNoWarning(statement);
      }
    }
  }

  /** Runs a write and returns the number of rows that it changed. */
  int update(String sql, @Nullable Object... parameters) throws SQLException {
    if (isLocal()) {
      return roundTrip(inlined(sql, parameters), Statement::getUpdateCount);
    }
    try (PreparedStatement statement = prepare(sql, parameters)) {
      return statement.executeUpdate();
    }
  }

  private <T> T roundTrip(String sql, SqlFunction<Statement, T> outcome) throws SQLException {
    bound();
    return RoundTrip.run(
        this.connection,
        this.inTransaction ? "" : this.facts.locally(),
        dialect().words(sql),
        outcome);
  }

  /** Runs a write that is kept, and returns the number of rows that it changed. */
  int update(Kept write) throws SQLException {
    if (isLocal()) {
      return update(write.sql(this));
    }
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
  void query(Kept query, SqlFunction<ResultSet, ?> reader) throws SQLException {
    if (isLocal()) {
      query(query.sql(this), reader);
      return;
    }
    PreparedStatement statement = kept(query);
    bound();
    try (ResultSet rows = statement.executeQuery()) {
      all(rows, reader);
    }
  }

  /** Runs a query and reads its rows. */
  <T> List<T> query(String sql, SqlFunction<ResultSet, T> reader, @Nullable Object... parameters)
      throws SQLException {
    if (isLocal()) {
      return roundTrip(inlined(sql, parameters), (statement) -> {
        try (ResultSet rows = statement.getResultSet()) {
          return all(rows, reader);
        }
      });
    }
    try (PreparedStatement statement = prepare(sql, parameters);
        ResultSet rows = statement.executeQuery()) {
      return all(rows, reader);
    }
  }

  private static <T> List<T> all(ResultSet rows, SqlFunction<ResultSet, T> reader)
      throws SQLException {
    List<T> result = new ArrayList<>();
    while (rows.next()) {
      result.add(reader.apply(rows));
    }
    return result;
  }

  /** Writes parameters into a statement, so that no server keeps it prepared in a session. */
  private String inlined(String sql, @Nullable Object... parameters) {
    StringBuilder text = new StringBuilder(sql.length() + 16 * parameters.length);
    int from = 0;
    for (Object parameter : parameters) {
      int mark = sql.indexOf('?', from);
      text.append(sql, from, mark);
      if (parameter instanceof String name) {
        text.append(dialect().literal(name));
      } else if (parameter instanceof BigDecimal number) {
        text.append(number.toPlainString());
      } else {
        text.append(parameter != null ? parameter : "NULL");
      }
      from = mark + 1;
    }
    return text.append(sql, from, sql.length()).toString();
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
  private PreparedStatement prepare(String sql, @Nullable Object... parameters)
      throws SQLException {
    bound();
    PreparedStatement statement = this.connection.prepareStatement(dialect().words(sql));
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
   * Commits if the work returns a result, and rolls back if that is empty. Both are sent as statements,
   * because a driver sends none if it believes that nothing needs to change.
   *
   * <p>Neither outcome counts unless the server is {@linkplain #isUsable() usable} afterwards: a
   * privileged account may commit after the server has become read-only, and then the next primary
   * does not have what was committed.
   */
  <T> Optional<T> inTransaction(SqlFunction<Session, Optional<T>> work) throws SQLException {
    execute(isLocal() ? this.facts.locally() : "START TRANSACTION");
    Optional<T> result;
    this.inTransaction = true;
    try {
      result = work.apply(this);
      execute(result.isPresent() ? "COMMIT" : "ROLLBACK");
    } finally {
      this.inTransaction = false;
    }
    requireUsable();
    return result;
  }

  /** The connection, for callers that use it in their own way. */
  Connection connection() {
    return this.connection;
  }

  void discard() {
    ElectionDatabase.discard(this.connection);
  }

  /** Bounds the next use of the connection by the deadline. */
  void bound() throws SQLException {
    this.connection.setNetworkTimeout(Runnable::run, this.deadline.remainingMillis());
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
}
