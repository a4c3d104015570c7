package io.election.support;

import java.io.PrintWriter;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.Callable;
import java.util.logging.Logger;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/** A {@link DataSource} that only opens connections. */
@FunctionalInterface
public interface ConnectionSource extends DataSource {

  /** Creates a source from a factory that is called for each connection. */
  static DataSource of(Callable<Connection> connect) {
    ConnectionSource source = () -> {
      try {
        return connect.call();
      } catch (SQLException | RuntimeException ex) {
        throw ex;
      } catch (Exception ex) {
        throw new SQLException(ex);
      }
    };
    return source;
  }

  @Override
  default Connection getConnection(String username, String password) throws SQLException {
    return getConnection();
  }

  @Override
  default @Nullable PrintWriter getLogWriter() {
    return null;
  }

  @Override
  default void setLogWriter(@Nullable PrintWriter out) {}

  @Override
  default void setLoginTimeout(int seconds) {}

  @Override
  default int getLoginTimeout() {
    return 0;
  }

  @Override
  default Logger getParentLogger() {
    return Logger.getGlobal();
  }

  @Override
  default <T> T unwrap(Class<T> type) throws SQLException {
    throw new SQLException("Wraps no " + type);
  }

  @Override
  default boolean isWrapperFor(Class<?> type) {
    return false;
  }
}
