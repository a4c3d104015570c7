package io.election.jdbc;

import static io.election.jdbc.Columns.string;

import io.election.ElectionSetupException;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The tables that a database has, and the shape that they must have. The election can do without
 * the member table, whose shape is not checked.
 *
 * @param dialect what the product calls them
 * @param leases the lease table; {@code null} if there is none
 * @param history the history table; {@code null} if there is none
 * @param members the member table; {@code null} if there is none
 */
record LeaseTables(
    Dialect dialect,
    @Nullable Table leases,
    @Nullable Table history,
    @Nullable Table members) {

  static final String LEASES = "leader_election";
  static final String HISTORY = "leader_election_history";
  static final String MEMBERS = "leader_election_member";

  /** Whether a column may be null. */
  private enum Nulls {
    ALLOWED,
    FORBIDDEN,
    EITHER
  }

  /**
   * A column that the election uses.
   *
   * @param needed whether it must be there even before an upgrade, because none adds it
   */
  private record Expected(String name, String type, boolean needed, Nulls nulls) {

    void compare(Table table, boolean isUpgraded, List<String> faults) {
      Table.Column found = table.column(this.name).orElse(null);
      if (found == null) {
        if (this.needed || !isUpgraded) {
          faults.add("it has no " + this.name);
        }
        return;
      }
      if (!found.type().equals(this.type)) {
        faults.add(this.name + " is " + found.fullType() + ", not " + this.type);
      }
      if (found.nullable() ? this.nulls == Nulls.FORBIDDEN : this.nulls == Nulls.ALLOWED) {
        faults.add(this.name + (found.nullable() ? " allows NULL" : " does not allow NULL"));
      }
    }
  }

  private static final List<Expected> LEASE_COLUMNS = List.of(
      new Expected("service_id", "varchar", true, Nulls.EITHER),
      new Expected("leader_id", "varchar", true, Nulls.EITHER),
      new Expected("last_active_time", "timestamp", true, Nulls.EITHER),
      new Expected("term", "bigint", false, Nulls.FORBIDDEN),
      new Expected("version", "bigint", false, Nulls.FORBIDDEN),
      new Expected("lease_millis", "bigint", false, Nulls.ALLOWED),
      new Expected("seal", "varchar", false, Nulls.ALLOWED));

  private static final List<Expected> HISTORY_COLUMNS = List.of(
      new Expected("service_id", "varchar", true, Nulls.EITHER),
      new Expected("term", "bigint", true, Nulls.EITHER),
      new Expected("leader_id", "varchar", true, Nulls.EITHER),
      new Expected("lease_millis", "bigint", true, Nulls.EITHER),
      new Expected("elected_at", "timestamp", true, Nulls.EITHER),
      new Expected("ended_at", "timestamp", true, Nulls.ALLOWED),
      new Expected("reason", "varchar", true, Nulls.EITHER),
      new Expected("end_reason", "varchar", true, Nulls.ALLOWED),
      new Expected("ended_by", "varchar", true, Nulls.ALLOWED),
      new Expected("end_note", "varchar", true, Nulls.ALLOWED));

  static LeaseTables find(Session session) throws SQLException {
    Map<String, Table> tables = find(session, LEASES, HISTORY, MEMBERS);
    return new LeaseTables(
        session.dialect(), tables.get(LEASES), tables.get(HISTORY), tables.get(MEMBERS));
  }

  /** Finds tables of the session's schema. All are those of one instant. */
  static Map<String, Table> find(Session session, String... names) throws SQLException {
    Map<String, Table> tables = new HashMap<>();
    String sql = Stream.of(names)
        .map(session.dialect()::description)
        .collect(Collectors.joining("UNION ALL ", "", "ORDER BY 1"));
    session.query(sql, (row) -> {
      Table table = new Table(string(row, 2), string(row, 3), string(row, 4), new ArrayList<>());
      Table known = tables.putIfAbsent(table.name(), table);
      return (known != null ? known : table)
          .columns()
          .add(new Table.Column(
              string(row, 5),
              string(row, 6),
              string(row, 7),
              row.getLong(8),
              row.getLong(9),
              row.getBoolean(10),
              row.getBoolean(11),
              string(row, 12),
              row.getBoolean(13)));
    });
    return tables;
  }

  /** The statements that create the tables that are not there. */
  List<String> toCreate() {
    Ddl ddl = this.dialect.ddl();
    return Stream.of(
            this.leases == null ? ddl.leases() : null,
            this.history == null ? ddl.history() : null,
            this.members == null ? ddl.members() : null)
        .filter(Objects::nonNull)
        .toList();
  }

  /** The statements that a lease table of an older tool needs. */
  List<String> toUpgrade() {
    return this.leases != null ? this.dialect.upgrade(this.leases) : List.of();
  }

  /**
   * Returns the statements that bring tables into the required shape; none if they have it.
   *
   * @throws ElectionSetupException if no statement of ours can do that
   */
  List<String> missing() {
    if (this.leases != null) {
      this.dialect.refuseForeign(this.leases);
      check(
          this.leases, List.of("service_id"), LEASE_COLUMNS, this.dialect.ddl().leases());
      if (toUpgrade().isEmpty()) {
        this.dialect.requireExactNames(this.leases);
      }
    }
    if (this.history != null) {
      check(
          this.history,
          List.of("service_id", "term"),
          HISTORY_COLUMNS,
          this.dialect.ddl().history());
      this.dialect.requireExactNames(this.history);
    }
    return Stream.concat(toCreate().stream(), toUpgrade().stream()).toList();
  }

  /** Whether the missing statements create only what the election can do without. */
  boolean isDispensable(List<String> missing) {
    return missing.stream().allMatch(this.dialect.ddl().members()::equals);
  }

  /** Whether none of the tables is there. */
  boolean areGone() {
    return this.leases == null && this.history == null && this.members == null;
  }

  private void check(Table table, List<String> primaryKey, List<Expected> expected, String ddl) {
    List<String> faults = new ArrayList<>();
    if (!table.type().equals("BASE TABLE")) {
      faults.add("it is a " + table.type());
    } else {
      if (!table.engine().equals(this.dialect.ddl().engine())) {
        faults.add(
            "its engine is " + table.engine() + ", not " + this.dialect.ddl().engine());
      }
      if (table.primaryKey().isEmpty()) {
        faults.add("it has no primary key; add one by ALTER TABLE %s ADD PRIMARY KEY (%s)"
            .formatted(table.name(), String.join(", ", primaryKey)));
      } else if (!table.primaryKey().equals(primaryKey)) {
        faults.add("its primary key is (%s), not (%s)"
            .formatted(String.join(", ", table.primaryKey()), String.join(", ", primaryKey)));
      }
    }
    boolean isUpgraded = !toUpgrade().isEmpty();
    expected.forEach((column) -> column.compare(table, isUpgraded, faults));
    table.columns().stream()
        .filter((column) -> !column.omissible())
        .filter(
            (column) -> expected.stream().noneMatch((ours) -> ours.name().equals(column.name())))
        .forEach((column) -> faults.add(column.name() + " is unknown and has no default"));
    if (!faults.isEmpty()) {
      throw new ElectionSetupException(
          "The table %s has another shape: %s. Found the columns %s."
              .formatted(table.name(), String.join("; ", faults), table.describe()),
          """
          If it belongs to something else, let the election use another database or schema of the server. If nothing uses it, rename it and start again:
          ALTER TABLE %s RENAME TO %s_old;
          Expected is:
          %s;""".formatted(table.name(), table.name(), ddl));
    }
  }
}
