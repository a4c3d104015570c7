package io.election.jdbc;

import io.election.ElectionSetupException;

/** What is known of the supported products before one of their servers was asked. */
final class Product {

  private Product() {}

  /** Whether the driver of a URL with several hosts takes only the first for one to write to. */
  static boolean onlyFirstHostWrites(String url) {
    return url.startsWith("jdbc:mysql://");
  }

  /** Whether a failure is of a driver whose servers never lock an account for failed logins. */
  static boolean locksNoAccount(Throwable failure) {
    return failure.getClass().getName().startsWith("org.postgresql.");
  }

  static ElectionSetupException unsupported(String found) {
    return new ElectionSetupException(
        "The database of the election is %s, which is none of MySQL, MariaDB and PostgreSQL."
            .formatted(found),
        "Let the election use one of these, for instance by a DataSource bean with @ElectionDataSource, or set as.election.algorithm=Zookeeper or Etcd.");
  }
}
