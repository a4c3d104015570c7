package io.election.jdbc;

import io.election.ElectionSetupException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * The tables in MySQL and MariaDB, and how one that was created by hand is brought into shape. New
 * columns have defaults, so that the statements of older tools continue to work.
 */
final class MysqlTables {

  static final Ddl DDL = Ddl.read("leader-election.sql");

  /**
   * Allows a primary key of more than 767 bytes. A table from an older server may not allow that: a
   * table without an explicit row format keeps the format of the server that created it.
   */
  private static final String LONG_KEYS = "ROW_FORMAT=DYNAMIC KEY_BLOCK_SIZE=0";

  private MysqlTables() {}

  /** Refuses the table of another election tool. */
  static void refuseForeign(Table table) {
    if (table.names().containsAll(Set.of("id", "name", "node", "last_seen_active"))) {
      throw new ElectionSetupException(
          "The table leader_election belongs to another election tool, with the columns %s."
              .formatted(table.describe()),
          """
          Stop that tool on all nodes, since it would not see our leader. Then keep its table under another name and run:
          RENAME TABLE leader_election TO leader_election_before_conversion;
          %s
          INSERT INTO leader_election (service_id, leader_id, last_active_time)
              SELECT name, node, last_seen_active FROM leader_election_before_conversion;""".formatted(DDL.all()));
    }
  }

  /** Refuses a history whose names are not exact. An upgrade mends those of the lease table. */
  static void requireExactNames(Table history) {
    if (Stream.of("service_id", "leader_id")
        .flatMap((name) -> history.column(name).stream())
        .allMatch(MysqlTables::isExactName)) {
      return;
    }
    throw new ElectionSetupException(
        "The names in the table %s are not varchar(%s) or longer with the collation utf8mb4_bin. Found the columns %s."
            .formatted(history.name(), Table.NAME_LENGTH, history.describe()),
        """
        Run this, and start again:
        ALTER TABLE leader_election_history
            MODIFY service_id varchar(%s) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
            MODIFY leader_id varchar(%s) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
            %s;\
        """.formatted(
                history.nameLength("service_id"), history.nameLength("leader_id"), LONG_KEYS));
  }

  /**
   * Whether the column holds names and distinguishes those that differ in more than trailing
   * blanks. Another binary collation would do so too, but the server does not compare columns of
   * different collations.
   */
  static boolean isExactName(Table.Column column) {
    return column.type().equals("varchar")
        && column.length() >= Table.NAME_LENGTH
        && column.collation().equals("utf8mb4_bin");
  }

  /** The statement that a lease table lacks; none if it has what is needed. */
  static List<String> upgrade(Table leases) {
    List<String> changes = new ArrayList<>();
    if (lacks(leases, "last_active_time", (column) -> column.precision() == 6)) {
      changes.add("""
          MODIFY last_active_time timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)
              COMMENT 'last write; for people'""");
    }
    if (lacks(leases, "service_id", MysqlTables::isExactName)
        || lacks(leases, "leader_id", MysqlTables::isExactName)) {
      changes.add("""
          MODIFY service_id varchar(%s) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
              COMMENT 'the election',
          MODIFY leader_id varchar(%s) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL
              COMMENT 'holder or designated holder; empty if vacant',
          %s""".formatted(
              leases.nameLength("service_id"), leases.nameLength("leader_id"), LONG_KEYS));
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
