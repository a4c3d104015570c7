package io.election.jdbc;

import io.election.ElectionSetupException;
import java.math.BigDecimal;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Runs statements on a connection, none of which waits beyond the deadline of the current call.
 *
 * <p>No driver bounds a statement by default, {@code setQueryTimeout} cancels statements, whose
 * outcome is then unknown, and the time-outs of servers do not bound all waits. Therefore a network
 * time-out is set before each statement.
 */
class Statements {

  /** A role may want messages already while the transaction begins that switches them off. */
  private static final String MERE_MESSAGE = "00000";

  /**
   * What a server tells when a session is set up.
   *
   * @param source the server; distinguishes it from others
   * @param host the server as host name and port, for display
   * @param account the account that the server assigned to the session
   * @param schema where the tables are
   * @param restMillis after how long the server ends an idle session
   * @param trouble what keeps writes from being answered, as a sentence; empty if nothing does
   */
  record Facts(
      String source, String host, String account, String schema, long restMillis, String trouble) {}

  /** How a product says statements: that of the driver, and once the session is set up the exact one. */
  interface Words {

    /** Says a statement in the words of the product. */
    String words(String sql);

    /** A text as SQL, for statements without parameters. */
    String literal(String text);

    /** What begins a transaction before the session is set up; see {@link #locally}. */
    default String begin() {
      return "";
    }

    /** Creates a statement that is sent as it is, and that the server does not keep. */
    default Statement statement(Connection connection) throws SQLException {
      return connection.createStatement();
    }
  }

  private final Connection connection;
  private Deadline deadline;
  Words words;
  // What the server told when the session was set up.
  Facts facts = new Facts("", "", "", "", Long.MAX_VALUE, "");
  // What begins each transaction if the session keeps no settings, three statements; what ends it.
  String locally;
  String commit = "COMMIT";
  Charset charset = StandardCharsets.UTF_8;
  // The schemas that pool or URL name; empty for the user's, null for those of the session.
  @Nullable
  String searchPath;

  boolean inTransaction;

  /** Wraps a connection. */
  Statements(Connection connection, Deadline deadline, Words words) {
    this.connection = connection;
    this.deadline = deadline;
    this.words = words;
    this.locally = words.begin();
  }

  /** Begins a call that must end by a deadline. */
  void until(Deadline deadline) {
    this.deadline = deadline;
  }

  Deadline deadline() {
    return this.deadline;
  }

  /** Whether each statement sets what it needs locally to its transaction. */
  boolean isLocal() {
    return !this.locally.isEmpty();
  }

  /** Runs a statement without parameters and without a result, as it is. */
  void execute(String sql) throws SQLException {
    bound();
    try (Statement statement = this.words.statement(this.connection)) {
      statement.execute(sql);
      if (isLocal()) {
        requireNoWarning(statement);
      }
    }
  }

  /** Runs a write and returns the number of rows that it changed. */
  int update(String sql, @Nullable Object... parameters) throws SQLException {
    if (isLocal()) {
      int changed = roundTrip(inlined(sql, parameters), Statement::getUpdateCount);
      if (changed < 0) {
        throw new SQLException(
            "the driver does not tell whether it was done: remove prepareThreshold=-1 from the URL");
      }
      return changed;
    }
    try (PreparedStatement statement = prepare(sql, parameters)) {
      return statement.executeUpdate();
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

  static <T> List<T> all(ResultSet answer, SqlFunction<ResultSet, T> reader) throws SQLException {
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
    String words = this.words.words(sql);
    try (Statement statement = this.words.statement(this.connection)) {
      if (this.inTransaction) {
        statement.execute(words);
        return outcome.apply(statement);
      }
      try {
        statement.execute(this.locally + words + ";\n" + this.commit);
        requireNoWarning(statement);
        // The answers to what is set locally come first.
        statement.getMoreResults();
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
        text.append(literal(name));
      } else if (parameter instanceof BigDecimal number) {
        text.append(number.toPlainString());
      } else {
        text.append(parameter != null ? parameter : "NULL");
      }
      from = mark + 1;
    }
    return text.append(sql, from, sql.length()).toString();
  }

  /**
   * A text as SQL, with a question mark for what the database cannot hold. In a transaction, which
   * writes only names, that is refused.
   */
  final String literal(String text) {
    return this.words.literal(this.inTransaction ? exact(text) : held(text));
  }

  private String held(String text) {
    return new String(text.getBytes(this.charset), this.charset);
  }

  /** Returns a name if it is the same in the database. */
  String exact(String name) {
    if (held(name).equals(name)) {
      return name;
    }
    throw new ElectionSetupException(
        "The encoding of the database (SHOW server_encoding) lacks a character of '%s'."
            .formatted(name),
        "Use other characters in as.election.service-id, as.election.services and as.election.node-id, or a database with ENCODING 'UTF8'.");
  }

  /** Prepares a statement, which the caller closes. */
  PreparedStatement prepare(String sql, @Nullable Object... parameters) throws SQLException {
    bound();
    PreparedStatement statement = this.connection.prepareStatement(this.words.words(sql));
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

  /** The connection, for callers that use it in their own way. */
  Connection connection() {
    return this.connection;
  }

  /** Bounds the next use of the connection by the deadline. */
  void bound() throws SQLException {
    this.connection.setNetworkTimeout(Runnable::run, this.deadline.remainingMillis());
  }

  /** A comma-separated list of parameter markers. */
  static String marks(String mark, int count) {
    return String.join(", ", Collections.nCopies(count, mark));
  }
}
