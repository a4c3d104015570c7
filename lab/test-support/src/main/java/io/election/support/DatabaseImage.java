package io.election.support;

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

  private final String imageName;

  DatabaseImage(String imageName) {
    this.imageName = imageName;
  }

  public String imageName() {
    return this.imageName;
  }

  TestServer.Product product() {
    return this.imageName.startsWith("mariadb:")
        ? TestServer.Product.MARIADB
        : TestServer.Product.MYSQL;
  }
}
