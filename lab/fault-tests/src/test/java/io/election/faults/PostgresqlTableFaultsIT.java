package io.election.faults;

/** Edits of the tables by operators on PostgreSQL. */
class PostgresqlTableFaultsIT extends TableFaultsContract {

  PostgresqlTableFaultsIT() {
    super(Engine.POSTGRESQL);
  }

  @Override
  String copyOf(String table) {
    return "(LIKE " + table + " INCLUDING ALL)";
  }
}
