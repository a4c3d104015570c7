package io.election.autoconfigure;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.NANOSECONDS;

import io.election.mysql.ElectionDatabase;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.datasource.AbstractDataSource;

/**
 * Opens a connection at each call, with what the login is then. Of several hosts in the URL, to the
 * first that takes writes.
 */
final class UnpooledDataSource extends AbstractDataSource {

  /** The server's number for a write that it does not take. */
  private static final int READ_ONLY_SERVER = 1290;

  private final Supplier<Login> logins;

  private final int timeoutMillis;

  /**
   * Creates the source.
   *
   * @param logins gives what to connect with, each time anew
   * @param timeout how long a new connection may wait for the network
   */
  UnpooledDataSource(Supplier<Login> logins, Duration timeout) {
    this.logins = logins;
    this.timeoutMillis = Math.toIntExact(timeout.toMillis());
  }

  @Override
  public Connection getConnection() throws SQLException {
    Login login = this.logins.get();
    return connect(login, login.username(), login.password());
  }

  @Override
  public Connection getConnection(String username, String password) throws SQLException {
    return connect(this.logins.get(), username, password);
  }

  private Connection connect(Login login, @Nullable String username, @Nullable String password)
      throws SQLException {
    List<String> urls = JdbcHosts.split(login.url());
    if (urls.size() == 1) {
      return open(login.driver(), urls.get(0), username, password, this.timeoutMillis);
    }
    List<String> told = new ArrayList<>();
    SQLException failure = null;
    boolean readOnly = false;
    long deadline = System.nanoTime() + MILLISECONDS.toNanos(this.timeoutMillis);
    for (int i = 0; i < urls.size(); i++) {
      String host = JdbcHosts.host(urls.get(i));
      // A host that is cut off leaves time for the others.
      int left = (int) Math.max(2, NANOSECONDS.toMillis(deadline - System.nanoTime()));
      int millis = i < urls.size() - 1 ? left / 2 : left;
      try {
        Connection connection = open(login.driver(), urls.get(i), username, password, millis);
        if (takesWrites(connection)) {
          connection.setNetworkTimeout(Runnable::run, this.timeoutMillis);
          return connection;
        }
        readOnly = true;
        told.add(host + " is read-only");
      } catch (SQLException ex) {
        if (failure == null) {
          failure = ex;
        } else {
          failure.addSuppressed(ex);
        }
        told.add(host + " gives no connection");
      }
    }
    if (failure == null || readOnly) {
      throw new SQLException(String.join(", ", told), "HY000", READ_ONLY_SERVER, failure);
    }
    throw failure;
  }

  private static boolean takesWrites(Connection connection) throws SQLException {
    boolean takesWrites = false;
    try {
      takesWrites = ElectionDatabase.takesWrites(connection);
      return takesWrites;
    } finally {
      if (!takesWrites) {
        connection.close();
      }
    }
  }

  private static Connection open(
      @Nullable Driver driver,
      String url,
      @Nullable String username,
      @Nullable String password,
      int timeoutMillis)
      throws SQLException {
    Properties properties = new Properties();
    // Connector/J bounds the handshake by the second alone. With MariaDB's driver the URL's own
    // win.
    properties.setProperty("connectTimeout", Integer.toString(timeoutMillis));
    properties.setProperty("socketTimeout", Integer.toString(timeoutMillis));
    if (username != null) {
      properties.setProperty("user", username);
    }
    if (password != null) {
      properties.setProperty("password", password);
    }
    Connection connection = driver != null ? driver.connect(url, properties) : null;
    if (connection == null) {
      throw new SQLException("No JDBC driver takes the URL");
    }
    return connection;
  }

  /**
   * What a connection is made with.
   *
   * @param driver {@code null} if its class is not there
   */
  record Login(
      String url,
      @Nullable String username,
      @Nullable String password,
      @Nullable Driver driver) {

    /** Without the secrets. */
    @Override
    public String toString() {
      return "Login[...]";
    }
  }
}
