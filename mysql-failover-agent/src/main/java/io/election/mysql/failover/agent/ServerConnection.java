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

  private final String url;
  private final Properties login;
  private volatile @Nullable Connection connection;

  /** Whether it may not be used any more. */
  private volatile boolean aborted;

  private Duration patience;

  /**
   * @param patience how long to wait for each answer; zero for as long as it takes
   */
  ServerConnection(String url, Properties login, Duration patience) {
    this.url = url;
    this.login = login;
    this.patience = patience;
  }

  /** Reads a row. */
  @FunctionalInterface
  interface RowReader<T> {

    T read(ResultSet row) throws SQLException;
  }

  /** Returns another connection to the same server, for another thread or with another patience. */
  ServerConnection another(Duration patience) {
    return new ServerConnection(this.url, this.login, patience);
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
      Properties login = new Properties();
      login.putAll(this.login);
      login.setProperty("socketTimeout", Long.toString(this.patience.toMillis()));
      try {
        connection = DriverManager.getConnection(this.url, login);
      } catch (SQLException ex) {
        throw Refusals.explain(
            ex, this.url, this.login.getProperty("user"), "as.failover.username and .password");
      }
      this.connection = connection;
    }
    if (this.aborted) {
      abort();
      throw new SQLException("it is given up");
    }
    return connection;
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
