package io.election.mysql.failover.agent;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.jspecify.annotations.Nullable;

/**
 * A connection to a server that is opened again after a failure. Used by one thread, except for
 * {@link #another} and {@link #abort}.
 */
final class ServerConnection implements AutoCloseable {

  /** All connections except those of replicas and the current one. */
  static final String CLIENTS = """
      SELECT processlist_id FROM performance_schema.threads
      WHERE name = 'thread/sql/one_connection' AND processlist_id <> CONNECTION_ID()
          AND processlist_command NOT LIKE 'Binlog Dump%'
      """;

  /** The error code of a KILL for a connection that no longer exists. */
  private static final int NO_SUCH_CONNECTION = 1094;

  private final String url;
  private final String user;
  private final String password;
  private volatile @Nullable Connection connection;

  /** Whether the connection must no longer be used. */
  private volatile boolean aborted;

  private Duration patience;

  /**
   * @param patience the time limit for each answer; zero for no limit
   */
  ServerConnection(String url, String user, String password, Duration patience) {
    this.url = url;
    this.user = user;
    this.password = password;
    this.patience = patience;
  }

  /**
   * Returns another connection to the same server, for another thread or with a different time
   * limit.
   */
  ServerConnection another(Duration patience) {
    return new ServerConnection(this.url, this.user, this.password, patience);
  }

  Duration patience() {
    return this.patience;
  }

  /** From now on limits the time for each answer. */
  void answerWithin(Duration time) throws SQLException {
    this.patience = time;
    Connection connection = this.connection;
    if (connection != null) {
      connection.setNetworkTimeout(Runnable::run, (int) time.toMillis());
    }
  }

  /** Returns the first column of the rows of a query. */
  List<String> query(String query) throws SQLException {
    List<String> rows = new ArrayList<>();
    try (Statement statement = get().createStatement();
        ResultSet row = statement.executeQuery(query)) {
      while (row.next()) {
        rows.add(row.getString(1));
      }
      return rows;
    } catch (SQLException ex) {
      close();
      throw ex;
    }
  }

  String value(String expression) throws SQLException {
    return query("SELECT " + expression).get(0);
  }

  boolean is(String condition) throws SQLException {
    return "1".equals(value(condition));
  }

  /** Executes statements until one fails. */
  void execute(String... statements) throws SQLException {
    try (Statement statement = get().createStatement()) {
      for (String sql : statements) {
        statement.execute(sql);
      }
    } catch (SQLException ex) {
      close();
      throw ex;
    }
  }

  /** Kills connections, and returns whether there were any. */
  boolean kill(List<String> connections) throws SQLException {
    for (String each : connections) {
      try (Statement statement = get().createStatement()) {
        statement.execute("KILL " + each);
      } catch (SQLException ex) {
        if (ex.getErrorCode() != NO_SUCH_CONNECTION) { // it is already gone
          close();
          throw ex;
        }
      }
    }
    return !connections.isEmpty();
  }

  /** Returns a text as it stands between quotes in a statement. */
  static String literal(String text) {
    return text.replace("\\", "\\\\").replace("'", "''");
  }

  /** Returns the connection, connecting first if there is none. */
  Connection get() throws SQLException {
    Connection connection = this.connection;
    if (connection == null) {
      connection = DriverManager.getConnection(this.url, login());
      this.connection = connection;
    }
    if (this.aborted) {
      abort();
      throw new SQLException("the connection was aborted");
    }
    return connection;
  }

  private Properties login() {
    Properties login = new Properties();
    // The agent's statements are not replicated, unless it enables that. The guard counts in the
    // time zone in which it was created: one without an hour that comes twice.
    login.putAll(
        Map.of(
            "user",
            this.user,
            "password",
            this.password,
            "connectTimeout",
            "1000",
            "socketTimeout",
            Long.toString(this.patience.toMillis()),
            "allowMultiQueries",
            "true",
            "sessionVariables",
            "sql_log_bin=0,time_zone='+00:00',transaction_read_only=0,group_concat_max_len=1000000,lock_wait_timeout=31536000,max_execution_time=0"));
    return login;
  }

  /** Closes the connection at once and for good, even while another thread waits for an answer. */
  void abort() {
    this.aborted = true;
    close();
  }

  @Override
  public void close() {
    Connection connection = this.connection;
    this.connection = null;
    if (connection != null) {
      try {
        if (this.aborted) {
          connection.abort(Runnable::run);
        } else {
          connection.close();
        }
      } catch (SQLException ex) {
        // It is given up.
      }
    }
  }
}
