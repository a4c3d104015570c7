package io.election.mysql;

import io.election.ElectionSetupException;
import java.util.List;
import java.util.Objects;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The steps to the current tables, in order; each is one migration. The first creates missing
 * tables. Each of the others has one statement, which upgrades a lease table that was created by
 * hand or tables that were created by an earlier version.
 *
 * <p>A step inspects the existing tables, because Flyway knows neither about a start that failed
 * half-way nor about tables that were created by hand, and MySQL has no {@code ADD COLUMN IF NOT
 * EXISTS}. New columns have defaults, so that the statements of older tools continue to work.
 *
 * <p>Versions must not change: Flyway runs each version only once.
 */
enum Migration {
  CREATE(1, "create leader_election, its history and its members"),
  FINE_TIME(2, "last_active_time with microseconds"),
  EXACT_NAMES(3, "names with a binary collation"),
  TERM(4, "add term"),
  VERSION(5, "add version"),
  LEASE(6, "add lease_millis"),
  SEAL(7, "add seal"),
  MEMBERS(8, "create leader_election_member");

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
        .distinct()
        .toList();
  }

  /**
   * Whether there is a lease table but something is missing, because the table was created by hand,
   * or before there was a member table.
   */
  static boolean isUpgrade(LeaseTables tables) {
    return tables.leases() != null
        && Stream.of(values())
            .anyMatch(
                (migration) -> migration != CREATE && !migration.ddl(tables).isEmpty());
  }

  int version() {
    return this.version;
  }

  String description() {
    return this.description;
  }

  /** Returns the statements that the tables need; none if they already have what this step adds. */
  List<String> ddl(LeaseTables tables) {
    if (this == CREATE) {
      return Stream.of(
              tables.leases() == null ? LeaseTables.CREATE_LEASES : null,
              tables.history() == null ? LeaseTables.CREATE_HISTORY : null,
              tables.members() == null ? LeaseTables.CREATE_MEMBERS : null)
          .filter(Objects::nonNull)
          .toList();
    }
    if (this == MEMBERS) {
      return tables.members() == null ? List.of(LeaseTables.CREATE_MEMBERS) : List.of();
    }
    String alter = alter(tables.leases());
    return alter != null ? List.of(alter) : List.of();
  }

  private @Nullable String alter(@Nullable Table leases) {
    return switch (this) {
      case CREATE, MEMBERS -> null;
      case FINE_TIME ->
        lacks(leases, "last_active_time", (column) -> column.precision() == 6) ? """
                ALTER TABLE leader_election
                    MODIFY last_active_time timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)
                    COMMENT 'last write; for people'\
                """ : null;
      case EXACT_NAMES ->
        leases != null
                && (lacks(leases, "service_id", Table.Column::isExactName)
                    || lacks(leases, "leader_id", Table.Column::isExactName))
            ? """
                ALTER TABLE leader_election
                    MODIFY service_id varchar(%s) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
                    COMMENT 'the election',
                    MODIFY leader_id varchar(%s) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
                    COMMENT 'holder or designated holder; empty if vacant',
                    %s\
                """.formatted(
                    leases.nameLength("service_id"),
                    leases.nameLength("leader_id"),
                    LeaseTables.LONG_KEYS)
            : null;
      case TERM -> lacks(leases, "term") ? """
                ALTER TABLE leader_election
                    ADD COLUMN term bigint NOT NULL DEFAULT 0
                    COMMENT 'grows with every leadership'\
                """ : null;
      case VERSION -> lacks(leases, "version") ? """
                ALTER TABLE leader_election
                    ADD COLUMN version bigint NOT NULL DEFAULT 0
                    COMMENT 'grows with every write'\
                """ : null;
      case LEASE -> lacks(leases, "lease_millis") ? """
                ALTER TABLE leader_election
                    ADD COLUMN lease_millis bigint NULL
                    COMMENT 'promised to the holder; 0 if released'\
                """ : null;
      case SEAL -> lacks(leases, "seal") ? """
                ALTER TABLE leader_election
                    ADD COLUMN seal varchar(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL
                    COMMENT 'who led last, and what it left'\
                """ : null;
    };
  }

  private static boolean lacks(@Nullable Table table, String column) {
    return lacks(table, column, (found) -> true);
  }

  private static boolean lacks(
      @Nullable Table table, String column, Predicate<Table.Column> asWanted) {
    return table != null && table.column(column).filter(asWanted).isEmpty();
  }
}
