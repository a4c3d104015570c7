package io.election.jdbc;

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

  /** Returns the dialect that a URL suggests, for messages before the first connection. */
  static Dialect ofUrl(@Nullable String url) {
    return url != null && url.contains(":postgresql:")
        ? PostgresqlDialect.INSTANCE
        : MysqlDialect.MYSQL;
  }
}
