package io.election.support;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;

/** Opens each connection by {@link DriverManager}. */
public record TestDataSource(String url, String username, String password)
    implements ConnectionSource {

  @Override
  public Connection getConnection() throws SQLException {
    return DriverManager.getConnection(this.url, this.username, this.password);
  }

  @Override
  public Connection getConnection(String username, String password) throws SQLException {
    return DriverManager.getConnection(this.url, username, password);
  }
}
