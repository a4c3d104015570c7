package io.election.mysql;

import io.election.ElectionSetupException;
import java.util.Locale;

/** The products that speak the protocol, and all in which they differ. */
enum Dialect {
  MYSQL("MySQL", "@@server_uuid", "transaction_", "max_execution_time") {

    /** The limit, which is none, keeps the inner query one of its own, that locks before the outer. */
    @Override
    String renewal(String changes, String held, int leases) {
      return """
          UPDATE (SELECT service_id FROM leader_election FORCE INDEX (PRIMARY)
                  WHERE %s LIMIT %d FOR UPDATE SKIP LOCKED) free
              STRAIGHT_JOIN leader_election l ON l.service_id = free.service_id
          SET %s
          """.formatted(held, leases, changes);
    }
  },
  /** Has no server UUID. */
  MARIADB(
      "MariaDB", "CONCAT(@@hostname, ':', @@port, ':', @@server_id)", "tx_", "max_statement_time") {

    /** A wait of zero is none; MySQL takes it for a second. */
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
  private final String transaction;
  private final String statementTime;

  Dialect(String label, String source, String transaction, String statementTime) {
    this.label = label;
    this.source = source;
    this.transaction = transaction;
    this.statementTime = statementTime;
  }

  String label() {
    return this.label;
  }

  /** An SQL expression that tells one server from another. */
  String source() {
    return this.source;
  }

  /** The same for statements that compare: what {@link Digest#of} makes of {@link #source()}. */
  String sourceDigest() {
    return "LEFT(SHA2(CONVERT(%s USING utf8mb4), 256), 32)".formatted(this.source);
  }

  /** The system variable that is the isolation of transactions. */
  String isolation() {
    return this.transaction + "isolation";
  }

  /** The system variable that makes transactions read-only. */
  String readOnlyTransactions() {
    return this.transaction + "read_only";
  }

  /** The system variable that bounds the time of statements; 0 is no bound. */
  String statementTime() {
    return this.statementTime;
  }

  /**
   * A statement that renews leases and waits for no lock.
   *
   * @param changes the columns and their new values
   * @param held the condition for those to be renewed
   * @param leases how many there are at most
   */
  abstract String renewal(String changes, String held, int leases);

  /**
   * Finds the product.
   *
   * @param driverSays what the driver calls the product; Connector/J calls MariaDB MySQL
   * @param version the answer to {@code SELECT VERSION()}
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
