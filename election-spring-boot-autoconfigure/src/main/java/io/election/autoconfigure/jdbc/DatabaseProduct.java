package io.election.autoconfigure.jdbc;

import io.election.autoconfigure.settings.ElectionAlgorithm;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.jdbc.DatabaseDriver;

/** A kind of database that can hold the leases. */
enum DatabaseProduct {
  MYSQL(ElectionAlgorithm.MYSQL, "MySQL or MariaDB"),
  POSTGRESQL(ElectionAlgorithm.POSTGRESQL, "PostgreSQL");

  /** The driver of another database may follow in the URL. */
  private static final Set<DatabaseDriver> WRAPPERS =
      EnumSet.of(DatabaseDriver.UNKNOWN, DatabaseDriver.TESTCONTAINERS, DatabaseDriver.AWS_WRAPPER);

  private final String algorithm;

  private final String label;

  DatabaseProduct(String algorithm, String label) {
    this.algorithm = algorithm;
    this.label = label;
  }

  /** The value of {@code as.election.algorithm}. */
  String algorithm() {
    return this.algorithm;
  }

  /** The name for display. */
  String label() {
    return this.label;
  }

  /** The beginning of its settings. */
  String prefix() {
    return "as.election." + this.algorithm.toLowerCase(Locale.ROOT);
  }

  /** The product of an algorithm of ours, or of a store's name; else the default. */
  static DatabaseProduct ofAlgorithm(String name) {
    return POSTGRESQL.algorithm.equalsIgnoreCase(name) ? POSTGRESQL : MYSQL;
  }

  /** The product to which a URL leads; {@code null} if it is another one, or unknown. */
  static @Nullable DatabaseProduct of(String url) {
    return switch (driver(url)) {
      case MYSQL, MARIADB -> MYSQL;
      case POSTGRESQL -> POSTGRESQL;
      default -> null;
    };
  }

  /** The product that Spring Boot knows by the URL, even if another driver wraps its own. */
  static DatabaseDriver driver(String url) {
    DatabaseDriver driver =
        url.startsWith("jdbc:") ? DatabaseDriver.fromJdbcUrl(url) : DatabaseDriver.UNKNOWN;
    int next = url.indexOf(':', "jdbc:".length());
    return WRAPPERS.contains(driver) && next > 0 && !url.startsWith("/", "jdbc:".length())
        ? driver("jdbc:" + url.substring(next + 1))
        : driver;
  }

  /** Whether a URL leads to a database that is known to be none of these. */
  static boolean isOther(String url) {
    return !WRAPPERS.contains(driver(url)) && of(url) == null;
  }
}
