package io.election.mysql.failover.agent;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The connection to a server, made anew after a failure. Used by one thread, but for {@link #another}
 * and {@link #abort}.
 */
final class ServerConnection implements AutoCloseable {

  /** The error of a table that does not exist. */
  static final int NO_TABLE = 1146;

  /** The error of a statement that would end a connection which has ended. */
  static final int NO_SUCH_CONNECTION = 1094;

  /** The attribute by which the agents of one server know each other's connections. */
  private static final String AGENT = "mysql_failover_agent";

  private static final String OTHER_AGENT = """
      SELECT CONCAT('another agent looks after this server, by its connection ', processlist_id, ' from ',
          host, ': stop one of the two. If the other one has ended: KILL ', processlist_id)
      FROM performance_schema.session_connect_attrs
          JOIN performance_schema.processlist ON id = processlist_id
      WHERE attr_name = '%s' AND attr_value <> '%s'
      LIMIT 1
      """;

  private final String url;
  private final String user;
  private final String password;
  private final String agent;
  private volatile @Nullable Connection connection;

  /** Whether it may not be used any more. */
  private volatile boolean aborted;

  private Duration patience;

  /**
   * @param patience how long to wait for each answer; zero for as long as it takes
   */
  ServerConnection(String url, String user, String password, Duration patience) {
    this(url, user, password, patience, UUID.randomUUID().toString());
  }

  private ServerConnection(
      String url, String user, String password, Duration patience, String agent) {
    this.url = url;
    this.user = user;
    this.password = password;
    this.patience = patience;
    this.agent = agent;
  }

  /** Reads a row. */
  @FunctionalInterface
  interface RowReader<T> {

    T read(ResultSet row) throws SQLException;
  }

  /** Returns another connection to the same server, for another thread or with another patience. */
  ServerConnection another(Duration patience) {
    return new ServerConnection(this.url, this.user, this.password, patience, this.agent);
  }

  Duration patience() {
    return this.patience;
  }

  /** Connects anew, and from now on waits at most for a time for each answer. */
  void answerWithin(Duration time) {
    close();
    this.patience = time;
  }

  /** Returns what a query finds. */
  <T> List<T> query(String query, RowReader<T> reader) throws SQLException {
    List<T> rows = new ArrayList<>();
    try (Statement statement = get().createStatement();
        ResultSet row = statement.executeQuery(query)) {
      while (row.next()) {
        rows.add(reader.read(row));
      }
      return rows;
    } catch (SQLException ex) {
      if (ex.getErrorCode() != NO_TABLE) {
        close();
      }
      throw ex;
    }
  }

  /** Returns the connection of another agent to this server, and its remedy; empty if there is none. */
  String otherAgent() throws SQLException {
    return String.join(
        "; ", query(OTHER_AGENT.formatted(AGENT, this.agent), row -> row.getString(1)));
  }

  /** Executes statements, until one fails. */
  void execute(String... statements) throws SQLException {
    try (Statement statement = get().createStatement()) {
      for (String sql : statements) {
        statement.execute(sql);
      }
    } catch (SQLException ex) {
      if (ex.getErrorCode() != NO_SUCH_CONNECTION) {
        close();
      }
      throw ex;
    }
  }

  /** Returns the connection, and connects if there is none. */
  Connection get() throws SQLException {
    Connection connection = this.connection;
    if (connection == null) {
      try {
        connection = DriverManager.getConnection(this.url, login());
      } catch (SQLException ex) {
        throw Refusals.explain(ex, this.url, this.user, "as.failover.username and .password");
      }
      this.connection = connection;
    }
    if (this.aborted) {
      abort();
      throw new SQLException("it is given up");
    }
    return connection;
  }

  private Properties login() {
    Properties login = new Properties();
    login.setProperty("user", this.user);
    login.setProperty("password", this.password);
    login.setProperty("connectTimeout", "1000");
    login.setProperty("socketTimeout", Long.toString(this.patience.toMillis()));
    login.setProperty("allowPublicKeyRetrieval", "true");
    login.setProperty("allowMultiQueries", "true");
    login.setProperty("connectionAttributes", AGENT + ":" + this.agent);
    // What the agent does is not replicated, unless it says so.
    login.setProperty("sessionVariables", "sql_log_bin=0");
    return login;
  }

  /** Ends the connection at once and for good, also while another thread waits for an answer. */
  void abort() {
    this.aborted = true;
    Connection connection = this.connection;
    this.connection = null;
    if (connection != null) {
      try {
        connection.abort(Runnable::run);
      } catch (SQLException ex) {
        // It is given up.
      }
    }
  }

  @Override
  public void close() {
    Connection connection = this.connection;
    this.connection = null;
    if (connection != null) {
      try {
        connection.close();
      } catch (SQLException ex) {
        // It is given up.
      }
    }
  }
}
