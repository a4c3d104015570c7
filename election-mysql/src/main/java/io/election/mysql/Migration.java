package io.election.mysql;

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

  /**
   * Allows a primary key of more than 767 bytes. A table from an older server may not allow that: a
   * table without an explicit row format keeps the format of the server that created it.
   */
  private static final String LONG_KEYS = "ROW_FORMAT=DYNAMIC KEY_BLOCK_SIZE=0";

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
        lacks(leases, "service_id", Table.Column::isExactName)
                || lacks(leases, "leader_id", Table.Column::isExactName)
            ? """
                ALTER TABLE leader_election
                    MODIFY service_id varchar(%s) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
                    COMMENT 'the election',
                    MODIFY leader_id varchar(%s) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
                    COMMENT 'holder or designated holder; empty if vacant',
                    %s\
                """.formatted(length(leases, "service_id"), length(leases, "leader_id"), LONG_KEYS)
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

  /** Returns the statement that gives the names in the history the required collation. */
  static String exactNames(Table history) {
    return """
        ALTER TABLE leader_election_history
            MODIFY service_id varchar(%s) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
            MODIFY leader_id varchar(%s) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
            %s\
        """.formatted(length(history, "service_id"), length(history, "leader_id"), LONG_KEYS);
  }

  private static long length(@Nullable Table table, String column) {
    long length =
        table == null ? 0 : table.column(column).map(Table.Column::length).orElse(0L);
    return Math.max(LeaseTables.NAME_LENGTH, length);
  }

  private static boolean lacks(@Nullable Table table, String column) {
    return lacks(table, column, (found) -> true);
  }

  private static boolean lacks(
      @Nullable Table table, String column, Predicate<Table.Column> asWanted) {
    return table != null && table.column(column).filter(asWanted).isEmpty();
  }
}
