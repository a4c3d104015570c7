package io.election.jdbc;

import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLWarning;
import java.sql.Statement;
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
final class Session implements AutoCloseable {

  /** A role may want messages already while the transaction begins that switches them off. */
  private static final String MERE_MESSAGE = "00000";

  private final Connection connection;
  private Deadline deadline;
  private Dialect dialect;
  private SessionFacts facts;
  private String locally = "";
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
    this.facts = new SessionFacts("", "", "", "", "", Long.MAX_VALUE);
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
    Connection connection = database.connect(deadline);
    try {
      connection.setNetworkTimeout(Runnable::run, deadline.remainingMillis());
      DatabaseMetaData metaData = connection.getMetaData();
      Dialect dialect = Dialect.of(metaData);
      database.learn(metaData.getURL(), dialect);
      Session session = new Session(connection, deadline, dialect);
      session.setUp(database, restSeconds);
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

  private void setUp(ElectionDatabase database, long restSeconds) throws SQLException {
    this.facts = dialect().setUp(this, database.location(), restSeconds, database::warnOnce);
    Dialect exact = Dialect.of(this.facts.product());
    this.dialect = exact != null ? exact : this.dialect;
    database.learnSchema(this.facts.schema());
    this.usable = "%s = '%s' AND %s = '' AND %s"
        .formatted(
            dialect().sourceDigest(),
            Dialect.digestOf(this.facts.source()),
            dialect().readOnly(),
            dialect().commits());
  }

  /**
   * Determines what each transaction begins with from now on, because the session itself is not set
   * up.
   *
   * @param locally two statements, each with a semicolon at its end
   */
  void setLocally(String locally) {
    this.locally = locally;
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

  /** What the server told when the session was set up. */
  SessionFacts facts() {
    return this.facts;
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
    if (!found.equals(this.facts.source())) {
      throw new SQLNonTransientConnectionException(
          "it leads to another server now: %s, before it was %s (%s)"
              .formatted(found, this.facts.host(), this.facts.source()),
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

  /** Whether each statement sets what it needs locally to its transaction. */
  private boolean isLocal() {
    return !this.locally.isEmpty();
  }

  /** Runs a statement without parameters and without a result, as it is. */
  void execute(String sql) throws SQLException {
    bound();
    try (Statement statement = this.connection.createStatement()) {
      statement.execute(sql);
      if (isLocal()) {
        requireNoWarning(statement);
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

  /** Runs a write that is kept, and returns the number of rows that it changed. */
  int update(Kept write) throws SQLException {
    return isLocal() ? update(write.sql(this)) : kept(write).executeUpdate();
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
    } else {
      all(kept(query).executeQuery(), reader);
    }
  }

  /** Runs a query and reads its rows. */
  <T> List<T> query(String sql, SqlFunction<ResultSet, T> reader, @Nullable Object... parameters)
      throws SQLException {
    if (isLocal()) {
      return roundTrip(
          inlined(sql, parameters), (statement) -> all(statement.getResultSet(), reader));
    }
    try (PreparedStatement statement = prepare(sql, parameters)) {
      return all(statement.executeQuery(), reader);
    }
  }

  private static <T> List<T> all(ResultSet answer, SqlFunction<ResultSet, T> reader)
      throws SQLException {
    try (ResultSet rows = answer) {
      List<T> result = new ArrayList<>();
      while (rows.next()) {
        result.add(reader.apply(rows));
      }
      return result;
    }
  }

  /**
   * Sends a statement together with what it needs set, locally to its transaction, in one round
   * trip. Nothing is left in the session, which a pooler gives to other clients between two
   * transactions.
   */
  private <T> T roundTrip(String sql, SqlFunction<Statement, T> outcome) throws SQLException {
    bound();
    String words = this.dialect.words(sql);
    try (Statement statement = this.connection.createStatement()) {
      statement.setEscapeProcessing(false);
      if (this.inTransaction) {
        statement.execute(words);
        return outcome.apply(statement);
      }
      try {
        statement.execute(this.locally + words + ";\nCOMMIT");
        requireNoWarning(statement);
        // The answers to what is set locally come first.
        statement.getMoreResults();
        statement.getMoreResults();
        return outcome.apply(statement);
      } catch (SQLException ex) {
        undo(statement, "ROLLBACK", ex);
        throw ex;
      }
    }
  }

  /** Runs a statement that undoes what failed. */
  static void undo(Statement statement, String sql, SQLException cause) {
    try {
      statement.execute(sql);
    } catch (SQLException ex) {
      cause.addSuppressed(ex);
    }
  }

  /**
   * Fails if there is a warning. A server confirms a commit whose copy to a standby was not awaited
   * to its end, and only warns: its outcome is unknown.
   */
  private static void requireNoWarning(Statement statement) throws SQLException {
    SQLWarning warning = statement.getWarnings();
    while (warning != null && MERE_MESSAGE.equals(warning.getSQLState())) {
      warning = warning.getNextWarning();
    }
    if (warning != null) {
      throw new SQLException(
          "confirmed with a warning, and thus unknown: " + warning.getMessage(),
          warning.getSQLState());
    }
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
        bound();
        return before.statement();
      }
      this.kept.remove(wanted.getClass());
      before.statement().close();
    }
    PreparedStatement statement = prepare(wanted.sql(this));
    this.kept.put(wanted.getClass(), new Prepared(wanted.copy(), statement));
    bound();
    return statement;
  }

  /** Prepares a statement, which the caller closes. */
  private PreparedStatement prepare(String sql, @Nullable Object... parameters)
      throws SQLException {
    bound();
    PreparedStatement statement = this.connection.prepareStatement(dialect().words(sql));
    try {
      for (int i = 0; i < parameters.length; i++) {
        statement.setObject(i + 1, parameters[i]);
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
    execute(isLocal() ? this.locally : "START TRANSACTION");
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

  /** Closes the connection hard. */
  @Override
  public void close() {
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
