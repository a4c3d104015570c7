package io.election.jdbc;

import io.election.jdbc.OnEveryServer.Server;
import io.election.jdbc.SqlContract.Connecting;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.Parameter;

/** Runs the contract by the driver of MariaDB, with the long tests. */
@OnEveryServer
class MariaDbDriverIT {

  @Parameter
  Server server;

  @Nested
  @Tag("other-connections")
  @Tag("long")
  class AsItIs extends SqlContract {

    AsItIs() {
      super(MariaDbDriverIT.this.server::running, Connecting.by("mariadb", ""));
    }
  }

  @Nested
  @Tag("other-connections")
  @Tag("long")
  class WithAffectedRows extends SettingsContract {

    WithAffectedRows() {
      super(
          MariaDbDriverIT.this.server::running,
          Connecting.by(
              "mariadb",
              "useAffectedRows=true&useServerPrepStmts=true&sessionVariables=time_zone='+10:30'"));
    }
  }
}
