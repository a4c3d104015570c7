package io.election.jdbc;

import io.election.ElectionSetupException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * The steps to the current tables, in order; each is one migration. The first creates missing
 * tables. The second upgrades a lease table that was created by hand.
 *
 * <p>A step inspects the existing tables, because Flyway knows neither about a start that failed
 * half-way nor about tables that were created by hand, and MySQL has no {@code ADD COLUMN IF NOT
 * EXISTS}. New columns have defaults, so that the statements of older tools continue to work.
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

  /**
   * Returns the statements that bring tables into the required shape; none if they have it.
   *
   * @throws ElectionSetupException if no statement of ours can do that
   */
  static List<String> missing(LeaseTables tables) {
    tables.check();
    return Stream.of(values())
        .flatMap((migration) -> migration.ddl(tables).stream())
        .toList();
  }

  /** Whether there is a lease table that was created by hand. */
  static boolean isUpgrade(LeaseTables tables) {
    return !UPGRADE.ddl(tables).isEmpty();
  }

  int version() {
    return this.version;
  }

  String description() {
    return this.description;
  }

  /** Returns the statements that the tables need; none if they already have what this step adds. */
  List<String> ddl(LeaseTables tables) {
    return switch (this) {
      case CREATE ->
        Stream.of(
                tables.leases() == null ? LeaseTables.CREATE_LEASES : null,
                tables.history() == null ? LeaseTables.CREATE_HISTORY : null,
                tables.members() == null ? LeaseTables.CREATE_MEMBERS : null)
            .filter(Objects::nonNull)
            .toList();
      case UPGRADE -> tables.leases() == null ? List.of() : upgrade(tables.leases());
    };
  }

  private static List<String> upgrade(Table leases) {
    List<String> changes = new ArrayList<>();
    if (lacks(leases, "last_active_time", (column) -> column.precision() == 6)) {
      changes.add("""
          MODIFY last_active_time timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)
              COMMENT 'last write; for people'""");
    }
    if (lacks(leases, "service_id", Table.Column::isExactName)
        || lacks(leases, "leader_id", Table.Column::isExactName)) {
      changes.add("""
          MODIFY service_id varchar(%s) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
              COMMENT 'the election',
          MODIFY leader_id varchar(%s) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
              COMMENT 'holder or designated holder; empty if vacant',
          %s""".formatted(
          leases.nameLength("service_id"), leases.nameLength("leader_id"), LeaseTables.LONG_KEYS));
    }
    add(changes, leases, "term", "bigint NOT NULL DEFAULT 0 COMMENT 'grows with every leadership'");
    add(changes, leases, "version", "bigint NOT NULL DEFAULT 0 COMMENT 'grows with every write'");
    add(
        changes,
        leases,
        "lease_millis",
        "bigint NULL COMMENT 'promised to the holder; 0 if released'");
    add(changes, leases, "seal", """
        varchar(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL
            COMMENT 'who led last, and what it left'""");
    return changes.isEmpty()
        ? List.of()
        : List.of("ALTER TABLE leader_election\n"
            + String.join(",\n", changes).indent(4).stripTrailing());
  }

  private static void add(List<String> changes, Table leases, String column, String definition) {
    if (lacks(leases, column, (found) -> true)) {
      changes.add("ADD COLUMN " + column + ' ' + definition);
    }
  }

  private static boolean lacks(Table table, String column, Predicate<Table.Column> asWanted) {
    return table.column(column).filter(asWanted).isEmpty();
  }
}
