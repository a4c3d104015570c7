package io.election.jdbc;

import java.io.PrintWriter;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.util.logging.Logger;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/** A {@link DataSource} that only opens connections. */
abstract class AbstractDataSource implements DataSource {

  @Override
  public Connection getConnection(@Nullable String username, @Nullable String password)
      throws SQLException {
    return getConnection();
  }

  @Override
  public int getLoginTimeout() {
    return 0;
  }

  @Override
  public void setLoginTimeout(int seconds) {
    throw new UnsupportedOperationException("The time-out is set at the creation");
  }

  @Override
  public @Nullable PrintWriter getLogWriter() {
    return null;
  }

  @Override
  public void setLogWriter(@Nullable PrintWriter writer) {
    throw new UnsupportedOperationException("There is no log writer");
  }

  @Override
  public Logger getParentLogger() throws SQLFeatureNotSupportedException {
    throw new SQLFeatureNotSupportedException("There is no parent logger");
  }

  @Override
  public <T> T unwrap(Class<T> type) throws SQLException {
    if (!type.isInstance(this)) {
      throw new SQLException("This DataSource is not a " + type.getName());
    }
    return type.cast(this);
  }

  @Override
  public boolean isWrapperFor(Class<?> type) {
    return type.isInstance(this);
  }
}
