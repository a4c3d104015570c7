package io.election.test;

/** The database images that tests use; named nowhere else. */
public enum DatabaseImage {
  /** The newest MySQL with long-term support: what the tests run on where there is Docker. */
  MYSQL_9_7("mysql:9.7"),
  /** The oldest MySQL that is supported. */
  MYSQL_8_0("mysql:8.0"),
  /** The newest MariaDB with long-term support. */
  MARIADB_11_8("mariadb:11.8"),
  /** The oldest MariaDB that is supported. */
  MARIADB_10_11("mariadb:10.11");

  private final String imageName;

  DatabaseImage(String imageName) {
    this.imageName = imageName;
  }

  /**
   * The name for Docker.
   *
   * @return repository and tag
   */
  public String imageName() {
    return this.imageName;
  }

  boolean isMariaDb() {
    return this.imageName.startsWith("mariadb:");
  }
}
