package io.election.autoconfigure;

import java.util.Collection;

/** The application is set up in a way that election cannot work with; told before it starts. */
final class UnusableSetupException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  private final String found;

  private final String remedy;

  UnusableSetupException(String found, String remedy) {
    super(found + ". " + remedy);
    this.found = found;
    this.remedy = remedy;
  }

  static UnusableSetupException unknownElection(
      String place, String name, Collection<String> known) {
    if (name.isEmpty()) {
      return new UnusableSetupException(
          place + " means the default election, but "
              + (known.isEmpty()
                  ? "there is no ElectionService bean"
                  : "there are several ElectionService beans and none is primary: " + known),
          known.isEmpty()
              ? "Let the auto-configuration make one, or define one."
              : "Mark one of them @Primary, or name the election: @LeaderOnly(\"…\").");
    }
    return new UnusableSetupException(
        "%s names election '%s', but this node only knows %s".formatted(place, name, known),
        "Add '%s' to as.election.services, or name one of those.".formatted(name));
  }

  static UnusableSetupException missingDriver(String what) {
    return new UnusableSetupException(
        "The JDBC driver for " + what + " is not on the class path",
        "Add com.mysql:mysql-connector-j for URLs that begin with jdbc:mysql:, or org.mariadb.jdbc:mariadb-java-client for those with jdbc:mariadb:.");
  }

  /** What was found, without a full stop. */
  String found() {
    return this.found;
  }

  /** What to do. */
  String remedy() {
    return this.remedy;
  }
}
