package io.election.support;

import org.testcontainers.images.builder.Transferable;
import org.testcontainers.mysql.MySQLContainer;

/** The database images that tests use. No other code names them. */
public enum DatabaseImage {
  /** The newest MySQL with long-term support: the default of the tests where there is Docker. */
  MYSQL_9_7("mysql:9.7"),
  /** The oldest supported MySQL. */
  MYSQL_8_0("mysql:8.0"),
  /** The newest MariaDB with long-term support. */
  MARIADB_11_8("mariadb:11.8"),
  /** The oldest supported MariaDB. */
  MARIADB_10_11("mariadb:10.11");

  private static final String FEW_STATISTICS = """
      [mysqld]
      performance_schema_accounts_size=50
      performance_schema_digests_size=100
      performance_schema_error_size=1
      performance_schema_events_stages_history_long_size=10
      performance_schema_events_statements_history_long_size=10
      performance_schema_events_transactions_history_long_size=10
      performance_schema_events_waits_history_long_size=10
      performance_schema_hosts_size=50
      performance_schema_max_thread_instances=1000
      performance_schema_users_size=50
      """;

  private final String imageName;

  DatabaseImage(String imageName) {
    this.imageName = imageName;
  }

  public String imageName() {
    return this.imageName;
  }

  /**
   * Returns a new container of an image of MySQL, with room for few statistics: its start takes a
   * third less of the processor's time.
   */
  public MySQLContainer mysql() {
    return new MySQLContainer(this.imageName)
        .withCopyToContainer(
            Transferable.of(FEW_STATISTICS), "/etc/mysql/conf.d/few-statistics.cnf");
  }

  TestServer.Product product() {
    return this.imageName.startsWith("mariadb:")
        ? TestServer.Product.MARIADB
        : TestServer.Product.MYSQL;
  }
}
