package io.election.jdbc;

import io.election.ElectionSetupException;
import java.util.Locale;

/** The supported products and all differences between them. */
enum Dialect {
  MYSQL("MySQL", "@@server_uuid", "transaction_", "max_execution_time") {

    /**
     * The LIMIT excludes no row. It keeps the inner query separate, so that it locks rows before
     * the outer one.
     */
    @Override
    String renewal(String changes, String held, int leases) {
      return """
          UPDATE (SELECT service_id AS id FROM leader_election FORCE INDEX (PRIMARY)
                  WHERE %s LIMIT %s FOR UPDATE SKIP LOCKED) free
              STRAIGHT_JOIN leader_election l ON l.service_id = free.id
          SET %s
          """.formatted(held, leases, changes);
    }
  },
  /** Has no server UUID. */
  MARIADB(
      "MariaDB", "CONCAT_WS(':', @@hostname, @@port, @@server_id)", "tx_", "max_statement_time") {

    /** A time-out of 0 means no wait here; MySQL treats it as one second. */
    @Override
    String renewal(String changes, String held, int leases) {
      return """
          SET STATEMENT innodb_lock_wait_timeout = 0 FOR
          UPDATE leader_election FORCE INDEX (PRIMARY)
          SET %s
          WHERE %s
          """.formatted(changes, held);
    }
  };

  private final String label;
  private final String source;
  private final String sourceDigest;
  private final String transaction;
  private final String statementTime;

  Dialect(String label, String source, String transaction, String statementTime) {
    this.label = label;
    this.source = "CONCAT(%s, '/', DATABASE())".formatted(source);
    this.sourceDigest = "LEFT(SHA2(CONVERT(%s USING utf8mb4), 256), 32)".formatted(this.source);
    this.transaction = transaction;
    this.statementTime = statementTime;
  }

  String label() {
    return this.label;
  }

  /**
   * An SQL expression that distinguishes one server from another, and the schemas of a server, of
   * which one may be a copy of another.
   */
  String source() {
    return this.source;
  }

  /**
   * The {@linkplain Digest#of digest} of {@link #source()} as an SQL expression, for comparisons.
   */
  String sourceDigest() {
    return this.sourceDigest;
  }

  /** The system variable for the transaction isolation. */
  String isolation() {
    return this.transaction + "isolation";
  }

  /** The system variable that makes transactions read-only. */
  String readOnlyTransactions() {
    return this.transaction + "read_only";
  }

  /** The system variable that bounds the time of statements; 0 means no bound. */
  String statementTime() {
    return this.statementTime;
  }

  /**
   * A statement that renews leases without waiting for locks.
   *
   * @param changes the columns and their new values
   * @param held the condition for the leases to renew
   * @param leases the maximum number of leases
   */
  abstract String renewal(String changes, String held, int leases);

  /**
   * Determines the product.
   *
   * @param driverSays the product name that the driver reports; Connector/J reports MySQL for
   *     MariaDB
   * @param version the answer to {@code SELECT VERSION()}
   * @throws ElectionSetupException if the product is not supported
   */
  static Dialect of(String driverSays, String version) {
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

  static ElectionSetupException unsupported(String found) {
    return new ElectionSetupException(
        "The database of the election is " + found + ", which is neither MySQL nor MariaDB.",
        "Let the election use a MySQL or MariaDB database, for instance by a DataSource bean with"
            + " @ElectionDataSource. In tests without one, set as.election.enabled=false.");
  }
}
