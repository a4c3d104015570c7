package io.election.faults;

import org.junit.jupiter.api.Tag;

/** The database of nodes on MySQL is unavailable when they start, or moves. */
@Tag("long")
class StartFaultsIT extends StartFaultsContract {

  StartFaultsIT() {
    super(Engine.MYSQL);
  }

  @Override
  String identify(String user, String password) {
    return "ALTER USER '%s'@'%%' IDENTIFIED BY '%s'".formatted(user, password);
  }
}
