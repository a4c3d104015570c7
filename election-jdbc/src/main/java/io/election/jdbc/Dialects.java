package io.election.jdbc;

import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/** The dialects of the supported products, by what drivers and URLs say. */
final class Dialects {

  private Dialects() {}

  /** The dialect of a product that a driver names; {@code null} if it is not supported. */
  static @Nullable Dialect of(String driverSays) {
    return switch (driverSays) {
      case "MySQL" -> MysqlDialect.MYSQL;
      case "MariaDB" -> MysqlDialect.MARIADB;
      case "PostgreSQL" -> PostgresqlDialect.INSTANCE;
      default -> null;
    };
  }

  /** The dialect of a connection, if its product is supported; the server may say more. */
  static Dialect of(DatabaseMetaData driver) throws SQLException {
    Dialect dialect = of(driver.getDatabaseProductName());
    if (dialect == null) {
      throw Product.unsupported(
          driver.getDatabaseProductName() + " " + driver.getDatabaseProductVersion());
    }
    return dialect;
  }

  /** The dialect that a URL suggests, before the first connection. */
  static Dialect ofUrl(@Nullable String url) {
    return url != null && url.contains(":postgresql:")
        ? PostgresqlDialect.INSTANCE
        : MysqlDialect.MYSQL;
  }
}
