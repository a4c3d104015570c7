package io.election.faults;

/** The database of nodes on MySQL is unavailable when they start, or moves. */
class StartFaultsIT extends StartFaultsContract {

  StartFaultsIT() {
    super(Engine.MYSQL);
  }

  @Override
  String identify(String user, String password) {
    return "ALTER USER '%s'@'%%' IDENTIFIED BY '%s'".formatted(user, password);
  }
}
