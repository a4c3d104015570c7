package io.election.mysql;

import java.util.Locale;

/** The products that speak the protocol, and all in which they differ. */
enum Product {
  MYSQL("MySQL", "@@server_uuid"),
  /** Has no server UUID. */
  MARIADB("MariaDB", "CONCAT(@@hostname, ':', @@port, ':', @@server_id)");

  private final String label;
  private final String source;

  Product(String label, String source) {
    this.label = label;
    this.source = source;
  }

  String label() {
    return this.label;
  }

  /** An SQL expression that tells one server from another. */
  String source() {
    return this.source;
  }

  /**
   * Finds the product.
   *
   * @param driverSays what the driver calls the product; Connector/J calls MariaDB MySQL
   * @param version the answer to {@code SELECT VERSION()}
   */
  static Product of(String driverSays, String version) {
    String lower = version.toLowerCase(Locale.ROOT);
    if (lower.contains("mariadb")) {
      return MARIADB;
    }
    if (lower.contains("tidb") || lower.contains("vitess") || lower.contains("oceanbase")) {
      throw unsupported(version);
    }
    if (!speaksMysql(driverSays)) {
      throw unsupported(driverSays + " " + version);
    }
    return MYSQL;
  }

  static boolean speaksMysql(String driverSays) {
    return driverSays.equals("MySQL") || driverSays.equals("MariaDB");
  }

  static UnusableSchemaException unsupported(String found) {
    return new UnusableSchemaException(
        "The database of the election is " + found + ", which is neither MySQL nor MariaDB.",
        "Let the election use a MySQL or MariaDB database, for instance by a DataSource bean with"
            + " @ElectionDataSource. In tests without one, set as.election.enabled=false.");
  }
}
