package io.election.faults;

/** Edits of the tables by operators on MySQL. */
class TableFaultsIT extends TableFaultsContract {

  TableFaultsIT() {
    super(Engine.MYSQL);
  }

  @Override
  String copyOf(String table) {
    return "(LIKE " + table + ")";
  }
}
