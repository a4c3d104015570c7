package io.election.autoconfigure;

import java.sql.Connection;
import java.sql.Driver;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Properties;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.datasource.AbstractDataSource;

/** Opens a connection at each call, with what the login is then. */
final class UnpooledDataSource extends AbstractDataSource {

  private final Supplier<Login> logins;

  private final String timeoutMillis;

  /**
   * Creates the source.
   *
   * @param logins gives what to connect with, each time anew
   * @param timeout how long a new connection may wait for the network
   */
  UnpooledDataSource(Supplier<Login> logins, Duration timeout) {
    this.logins = logins;
    this.timeoutMillis = Long.toString(timeout.toMillis());
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
    Properties properties = new Properties();
    // Connector/J bounds the handshake by the second alone. With MariaDB's driver the URL's own
    // win.
    properties.setProperty("connectTimeout", this.timeoutMillis);
    properties.setProperty("socketTimeout", this.timeoutMillis);
    if (username != null) {
      properties.setProperty("user", username);
    }
    if (password != null) {
      properties.setProperty("password", password);
    }
    Driver driver = login.driver();
    Connection connection = driver != null ? driver.connect(login.url(), properties) : null;
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
