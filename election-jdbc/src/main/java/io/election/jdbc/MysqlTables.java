package io.election.jdbc;

import io.election.ElectionSetupException;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The tables in MySQL and MariaDB, and how one that was created by hand is brought into shape. New
 * columns have defaults, so that the statements of older tools continue to work.
 */
interface MysqlTables extends Dialect {

  Ddl DDL = Ddl.read("leader-election.sql", "InnoDB", false);

  /**
   * Allows a primary key of more than 767 bytes. A table from an older server may not allow that: a
   * table without an explicit row format keeps the format of the server that created it.
   */
  String LONG_KEYS = "ROW_FORMAT=DYNAMIC KEY_BLOCK_SIZE=0";

  @Override
  default Ddl ddl() {
    return DDL;
  }

  /** The server also shows a unique key as PRI if there is no primary key. */
  @Override
  default String description(String table) {
    return """
        SELECT c.ordinal_position, '%1$s', t.table_type, t.engine, LOWER(c.column_name),
            LOWER(c.data_type), c.column_type,
            c.character_maximum_length, c.datetime_precision, c.is_nullable = 'YES',
            c.is_nullable = 'YES' OR c.column_default IS NOT NULL
                OR LOWER(c.extra) LIKE '%%auto_increment%%' OR LOWER(c.extra) LIKE '%%generated%%',
            c.collation_name,
            c.column_name IN (SELECT column_name FROM information_schema.statistics
                WHERE table_schema = DATABASE() AND table_name = '%1$s' AND index_name = 'PRIMARY')
        FROM information_schema.tables t JOIN information_schema.columns c
        WHERE t.table_schema = DATABASE() AND t.table_name = '%1$s'
            AND c.table_schema = DATABASE() AND c.table_name = '%1$s'
        """.formatted(table);
  }

  @Override
  default String stray(String found, String name, Set<String> serviceIds) {
    if (serviceIds.contains(found.stripTrailing())) {
      return "leader_election has the record '%s', which ends with a blank. Run: DELETE FROM leader_election WHERE service_id = '%s';"
          .formatted(name, name.replace("\\", "\\\\").replace("'", "''"));
    }
    UnaryOperator<String> sent = (text) -> text.replaceAll("(?:[^\\p{ASCII}]|\\?)+", "?");
    return serviceIds.stream().map(sent).anyMatch(sent.apply(found)::equals)
        ? "The connection sends '%s' for one of the elections %s, because its character set cannot express that name: remove characterEncoding from the URL and the pool's settings, or set it to UTF-8"
            .formatted(name, serviceIds)
        : "leader_election.service_id treats '%s' as another name of one of the elections %s: it needs the collation utf8mb4_bin"
            .formatted(name, serviceIds);
  }

  /**
   * Checks the rights first, because Flyway would retry for ten seconds before it reports that they
   * are missing. The server checks rights before it looks for the source table, so this never
   * creates a table.
   */
  @Override
  default void checkRights(Statements session) throws SQLException {
    try {
      session.execute("CREATE TABLE leader_election_probe LIKE leader_election_that_never_was");
    } catch (SQLException ex) {
      if (!SqlError.MISSING_TABLE.is(ex)) {
        throw ex;
      }
    }
  }

  @Override
  default String grants(Statements.@Nullable Facts facts) {
    String in = facts != null ? quoted(facts.schema()) + "." : "";
    String to = "'user'@'host'";
    if (facts != null) {
      String account = facts.account();
      int at = account.lastIndexOf('@');
      to = "'" + account.substring(0, at) + "'@'" + account.substring(at + 1) + "'";
    }
    return Stream.of("leader_election", "leader_election_history")
        .map((table) -> "GRANT SELECT, INSERT, UPDATE ON " + in + table)
        .collect(Collectors.joining(" TO " + to + ";\n", "", " TO " + to + ";"));
  }

  @Override
  default String rightsToCreate() {
    return "Grant it SELECT, INSERT, UPDATE, DELETE, CREATE and ALTER on the database";
  }

  /** Refuses the table of another election tool. */
  @Override
  default void refuseForeign(Table table) {
    if (Stream.of("id", "name", "node", "last_seen_active")
        .allMatch((name) -> table.column(name).isPresent())) {
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
  @Override
  default void requireExactNames(Table history) {
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
  @Override
  default List<String> upgrade(Table leases) {
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
