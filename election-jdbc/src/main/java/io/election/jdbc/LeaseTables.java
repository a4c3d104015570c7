package io.election.jdbc;

import io.election.ElectionSetupException;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
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

  /**
   * Looks for the tables. Where a transaction creates all of them, some without the others may have
   * been created during the look: a second one sees all.
   */
  static LeaseTables find(Session session) throws SQLException {
    LeaseTables tables = look(session);
    return tables.areCreatedTogether()
            && !tables.areGone()
            && !tables.toCreate().isEmpty()
        ? look(session)
        : tables;
  }

  private static LeaseTables look(Session session) throws SQLException {
    Dialect dialect = session.dialect();
    return new LeaseTables(
        dialect,
        dialect.find(session, LEASES),
        dialect.find(session, HISTORY),
        dialect.find(session, MEMBERS));
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
    check();
    return Stream.concat(toCreate().stream(), toUpgrade().stream()).toList();
  }

  /** Whether the missing statements create only what the election can do without. */
  boolean isDispensable(List<String> missing) {
    return missing.stream().allMatch(this.dialect.ddl().members()::equals);
  }

  /** Whether there is a lease table that must be changed. */
  boolean isUpgrade() {
    return !toUpgrade().isEmpty();
  }

  /** Whether no start that failed half-way leaves some of the tables without the others. */
  boolean areCreatedTogether() {
    return this.dialect.createsTogether();
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
      this.dialect.refuseForeign(this.leases);
      checkLeases(this.leases);
    }
    if (this.history != null) {
      checkHistory(this.history);
    }
  }

  private void checkLeases(Table table) {
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
    refuse(table, faults, this.dialect.ddl().leases());
    this.dialect.requireComplete(table);
  }

  private void checkHistory(Table table) {
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
    refuse(table, faults, this.dialect.ddl().history());
    this.dialect.requireExactNames(table);
  }

  private List<String> faults(Table table, List<String> primaryKey) {
    List<String> faults = new ArrayList<>();
    if (!table.type().equals("BASE TABLE")) {
      faults.add("it is a " + table.type());
    } else {
      if (!table.engine().equals(this.dialect.engine())) {
        faults.add("its engine is " + table.engine() + ", not " + this.dialect.engine());
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
        ALTER TABLE %s RENAME TO %s_old;
        Expected is:
        %s;""".formatted(table.name(), table.name(), expected));
  }
}
