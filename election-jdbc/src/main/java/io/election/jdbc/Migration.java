package io.election.jdbc;

import java.util.List;

/**
 * The steps to the current tables, in order; each is one migration. The first creates missing
 * tables. The second upgrades a lease table that was created by hand.
 *
 * <p>A step inspects the existing tables, because Flyway knows neither about a start that failed
 * half-way nor about tables that were created by hand, and not every product has {@code ADD COLUMN
 * IF NOT EXISTS}.
 *
 * <p>Versions must not change: Flyway runs each version only once.
 */
enum Migration {
  CREATE(1, "create leader_election, its history and its members"),
  UPGRADE(2, "bring a leader_election that was created by hand into shape");

  private final int version;
  private final String description;

  Migration(int version, String description) {
    this.version = version;
    this.description = description;
  }

  int version() {
    return this.version;
  }

  String description() {
    return this.description;
  }

  /** Returns the statements that the tables need; none if they already have what this step adds. */
  List<String> ddl(LeaseTables tables) {
    return this == CREATE ? tables.toCreate() : tables.toUpgrade();
  }
}
