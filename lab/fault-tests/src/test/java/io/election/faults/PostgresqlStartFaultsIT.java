package io.election.faults;

/** The database of nodes on PostgreSQL is unavailable when they start, or moves. */
class PostgresqlStartFaultsIT extends StartFaultsContract {

  PostgresqlStartFaultsIT() {
    super(Engine.POSTGRESQL);
  }

  @Override
  String identify(String user, String password) {
    return "ALTER USER %s PASSWORD '%s'".formatted(user, password);
  }
}
