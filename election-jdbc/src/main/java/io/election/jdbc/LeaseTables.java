package io.election.jdbc;

import io.election.ElectionSetupException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The tables that a database has, and the shape that they must have. The election can do without
 * the member table, whose shape is not checked.
 *
 * @param leases the lease table; {@code null} if there is none
 * @param history the history table; {@code null} if there is none
 * @param members the member table; {@code null} if there is none
 */
record LeaseTables(
    @Nullable Table leases,
    @Nullable Table history,
    @Nullable Table members) {

  static final String LEASES = "leader_election";
  static final String HISTORY = "leader_election_history";
  static final String MEMBERS = "leader_election_member";

  /**
   * Allows a primary key of more than 767 bytes. A table from an older server may not allow that: a
   * table without an explicit row format keeps the format of the server that created it.
   */
  static final String LONG_KEYS = "ROW_FORMAT=DYNAMIC KEY_BLOCK_SIZE=0";

  private static final String DDL = read("leader-election.sql");

  private static final String[] CREATE = DDL.split("(?m);$\\R?");

  static final String CREATE_LEASES = CREATE[0];

  static final String CREATE_HISTORY = CREATE[1];

  static final String CREATE_MEMBERS = CREATE[2];

  /** All tables, for an operator to run: the file {@code leader-election.sql}. */
  static String ddl() {
    return DDL.strip();
  }

  private static String read(String name) {
    try (InputStream file = LeaseTables.class.getResourceAsStream(name)) {
      return new String(
          Objects.requireNonNull(file, () -> name + " is missing beside this class")
              .readAllBytes(),
          StandardCharsets.UTF_8);
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  static LeaseTables find(Session session) throws SQLException {
    return new LeaseTables(
        Table.find(session, LEASES), Table.find(session, HISTORY), Table.find(session, MEMBERS));
  }

  /** Whether the missing statements create only what the election can do without. */
  static boolean isDispensable(List<String> missing) {
    return missing.stream().allMatch(CREATE_MEMBERS::equals);
  }

  /** Whether none of the tables is there. */
  boolean areGone() {
    return this.leases == null && this.history == null && this.members == null;
  }

  /**
   * Checks the shape of the tables.
   *
   * @throws ElectionSetupException if no statement of ours can give them the required one
   */
  void check() {
    if (this.leases != null) {
      checkLeases(this.leases);
    }
    if (this.history != null) {
      checkHistory(this.history);
    }
  }

  private static void checkLeases(Table table) {
    if (table.names().containsAll(Set.of("id", "name", "node", "last_seen_active"))) {
      throw new ElectionSetupException(
          "The table leader_election belongs to another election tool, with the columns %s."
              .formatted(table.describe()),
          """
          Stop that tool on all nodes, since it would not see our leader. Then keep its table under another name and run:
          RENAME TABLE leader_election TO leader_election_before_conversion;
          %s
          INSERT INTO leader_election (service_id, leader_id, last_active_time)
              SELECT name, node, last_seen_active FROM leader_election_before_conversion;""".formatted(ddl()));
    }
    List<String> faults = faults(table, List.of("service_id"));
    expectName(table, "service_id", faults);
    expectName(table, "leader_id", faults);
    expect(table, "last_active_time", "timestamp", true, faults);
    expect(table, "term", "bigint", false, faults);
    expect(table, "version", "bigint", false, faults);
    expect(table, "lease_millis", "bigint", false, faults);
    expectNull(table, "term", false, faults);
    expectNull(table, "version", false, faults);
    expectNull(table, "lease_millis", true, faults);
    expect(table, "seal", "varchar", false, faults);
    expectNull(table, "seal", true, faults);
    expectOmissible(
        table,
        Set.of(
            "service_id",
            "leader_id",
            "last_active_time",
            "term",
            "version",
            "lease_millis",
            "seal"),
        faults);
    refuse(table, faults, CREATE_LEASES);
  }

  private static void checkHistory(Table table) {
    List<String> faults = faults(table, List.of("service_id", "term"));
    expectName(table, "service_id", faults);
    expectName(table, "leader_id", faults);
    expect(table, "term", "bigint", true, faults);
    expect(table, "lease_millis", "bigint", true, faults);
    expect(table, "elected_at", "timestamp", true, faults);
    expect(table, "ended_at", "timestamp", true, faults);
    expectNull(table, "ended_at", true, faults);
    expect(table, "reason", "varchar", true, faults);
    for (String name : List.of("end_reason", "ended_by", "end_note")) {
      expect(table, name, "varchar", true, faults);
      expectNull(table, name, true, faults);
    }
    expectOmissible(
        table,
        Set.of("service_id", "term", "leader_id", "lease_millis", "elected_at", "reason"),
        faults);
    refuse(table, faults, CREATE_HISTORY);
    if (!table.columns().stream().filter(LeaseTables::isName).allMatch(Table.Column::isExactName)) {
      throw new ElectionSetupException(
          "The names in the table %s are not varchar(%s) or longer with the collation utf8mb4_bin. Found the columns %s."
              .formatted(table.name(), Table.NAME_LENGTH, table.describe()),
          "Run this, and start again:\n" + exactNames(table) + ";");
    }
  }

  /** Returns the statement that gives the names in the history the required collation. */
  private static String exactNames(Table history) {
    return """
        ALTER TABLE leader_election_history
            MODIFY service_id varchar(%s) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
            MODIFY leader_id varchar(%s) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
            %s\
        """.formatted(
            history.nameLength("service_id"), history.nameLength("leader_id"), LONG_KEYS);
  }

  private static boolean isName(Table.Column column) {
    return column.name().equals("service_id") || column.name().equals("leader_id");
  }

  private static List<String> faults(Table table, List<String> primaryKey) {
    List<String> faults = new ArrayList<>();
    if (!table.type().equals("BASE TABLE")) {
      faults.add("it is a " + table.type());
    } else {
      if (!table.engine().equals("InnoDB")) {
        faults.add("its engine is " + table.engine() + ", not InnoDB");
      }
      if (table.primaryKey().isEmpty()) {
        faults.add("it has no primary key; add one by ALTER TABLE %s ADD PRIMARY KEY (%s)"
            .formatted(table.name(), String.join(", ", primaryKey)));
      } else if (!table.primaryKey().equals(primaryKey)) {
        faults.add("its primary key is (%s), not (%s)"
            .formatted(String.join(", ", table.primaryKey()), String.join(", ", primaryKey)));
      }
    }
    return faults;
  }

  private static void expectName(Table table, String name, List<String> faults) {
    expect(table, name, "varchar", true, faults);
  }

  private static void expect(
      Table table, String name, String type, boolean needed, List<String> faults) {
    table
        .column(name)
        .ifPresentOrElse(
            (column) -> {
              if (!column.type().equals(type)) {
                faults.add(name + " is " + column.fullType() + ", not " + type);
              }
            },
            () -> {
              if (needed) {
                faults.add("it has no " + name);
              }
            });
  }

  private static void expectNull(Table table, String name, boolean nullable, List<String> faults) {
    table
        .column(name)
        .filter((column) -> column.nullable() != nullable)
        .ifPresent(
            (column) -> faults.add(name + (nullable ? " does not allow NULL" : " allows NULL")));
  }

  private static void expectOmissible(Table table, Set<String> ours, List<String> faults) {
    table.columns().stream()
        .filter((column) -> !ours.contains(column.name()) && !column.omissible())
        .forEach((column) -> faults.add(column.name() + " is unknown and has no default"));
  }

  private static void refuse(Table table, List<String> faults, String expected) {
    if (faults.isEmpty()) {
      return;
    }
    throw new ElectionSetupException(
        "The table %s has another shape: %s. Found the columns %s."
            .formatted(table.name(), String.join("; ", faults), table.describe()),
        """
        If it belongs to something else, let the election use another database of the server. If nothing uses it, rename it and start again:
        RENAME TABLE %s TO %s_old;
        Expected is:
        %s;""".formatted(table.name(), table.name(), expected));
  }
}
