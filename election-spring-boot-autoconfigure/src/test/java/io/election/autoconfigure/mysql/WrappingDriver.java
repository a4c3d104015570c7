package io.election.autoconfigure.mysql;

import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.DriverPropertyInfo;
import java.sql.SQLException;
import java.util.Properties;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;

/** Returns connections of another driver, whose URL follows the prefix of this one. */
public final class WrappingDriver implements Driver {

  private static final String PREFIX = "jdbc:wrapped:";

  @Override
  public @Nullable Connection connect(String url, Properties properties) throws SQLException {
    return acceptsURL(url)
        ? DriverManager.getConnection(url.replace(PREFIX, "jdbc:"), properties)
        : null;
  }

  @Override
  public boolean acceptsURL(String url) {
    return url.startsWith(PREFIX);
  }

  @Override
  public DriverPropertyInfo[] getPropertyInfo(String url, Properties properties) {
    return new DriverPropertyInfo[0];
  }

  @Override
  public int getMajorVersion() {
    return 1;
  }

  @Override
  public int getMinorVersion() {
    return 0;
  }

  @Override
  public boolean jdbcCompliant() {
    return false;
  }

  @Override
  public Logger getParentLogger() {
    return Logger.getGlobal();
  }
}
