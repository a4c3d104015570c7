package io.election.jdbc;

import io.election.ElectionSetupException;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/** Finds the dialect of a database. */
final class Dialects {

  private Dialects() {}

  /**
   * Returns the dialect of a driver; the server may say more.
   *
   * @param driverSays the product name that the driver reports
   * @return {@code null} if the product is not supported
   */
  static @Nullable Dialect of(String driverSays) {
    return switch (driverSays) {
      case "MySQL" -> MysqlDialect.MYSQL;
      case "MariaDB" -> MysqlDialect.MARIADB;
      case "PostgreSQL" -> PostgresqlDialect.INSTANCE;
      default -> null;
    };
  }

  /**
   * Returns the dialect of a connection; the server may say more.
   *
   * @throws ElectionSetupException if the product is not supported
   */
  static Dialect of(DatabaseMetaData driver) throws SQLException {
    Dialect dialect = of(driver.getDatabaseProductName());
    if (dialect == null) {
      throw Dialect.unsupported(
          driver.getDatabaseProductName() + " " + driver.getDatabaseProductVersion());
    }
    return dialect;
  }

  /** Returns the dialect that a URL suggests, before the first connection. */
  static Dialect ofUrl(@Nullable String url) {
    return url != null && url.contains(":postgresql:")
        ? PostgresqlDialect.INSTANCE
        : MysqlDialect.MYSQL;
  }
}
