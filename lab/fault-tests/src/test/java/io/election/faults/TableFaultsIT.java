package io.election.faults;

import org.junit.jupiter.api.Tag;

/** Edits of the tables by operators on MySQL. */
@Tag("long")
class TableFaultsIT extends TableFaultsContract {

  TableFaultsIT() {
    super(Engine.MYSQL);
  }

  @Override
  String copyOf(String table) {
    return "(LIKE " + table + ")";
  }
}
