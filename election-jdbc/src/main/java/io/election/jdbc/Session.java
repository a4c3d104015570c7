package io.election.jdbc;

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A connection set up for the protocol. No statement waits beyond the deadline of its call. */
final class Session extends Statements implements AutoCloseable {

  private String usable = "";

  /** The statements that are kept, by their classes. */
  private final Map<Class<?>, Prepared> kept = new HashMap<>();

  private record Prepared(Kept text, PreparedStatement statement) {}

  /** Wraps a connection without setting up its session. */
  Session(Connection connection, Deadline deadline, Dialect dialect) {
    super(connection, deadline, dialect);
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
      Dialect dialect = Dialects.of(metaData);
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
    this.searchPath = database.searchPath();
    this.facts = dialect().setUp(this, database.location(), restSeconds, database::warnOnce);
    database.learnSchema(this.facts.schema());
    database.serverSource = this.facts.source();
    this.usable = "%s = '%s' AND %s = '' AND %s"
        .formatted(
            dialect().sourceDigest(),
            Dialect.digestOf(this.facts.source()),
            dialect().readOnly(),
            dialect().commits());
  }

  Dialect dialect() {
    return (Dialect) this.words;
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
      execute(result.isPresent() ? this.commit : "ROLLBACK");
    } finally {
      this.inTransaction = false;
    }
    requireUsable();
    return result;
  }

  /** Closes the connection hard. */
  @Override
  public void close() {
    ElectionDatabase.discard(connection());
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
