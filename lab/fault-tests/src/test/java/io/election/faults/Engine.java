package io.election.faults;

import io.election.support.PostgresqlPrograms;
import io.election.support.PostgresqlServer;
import io.election.support.TestDatabase;
import io.election.support.TestServer;
import io.election.support.TestServer.Product;
import io.election.support.process.Node;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Locale;
import org.junit.jupiter.api.Assumptions;

/** The products on which the same faults are played, with their SQL where it differs. */
enum Engine {
  /** Or MariaDB where there is no Docker. */
  MYSQL {
    @Override
    TestServer shared() {
      return TestServer.shared();
    }

    @Override
    TestServer startOwn() {
      return TestServer.startOwn();
    }

    @Override
    TestServer startOnDisk() {
      return TestServer.startOnDisk(500);
    }

    @Override
    String newOwner(TestDatabase database, String user) {
      return database.newUser(user, "ALL ON " + database.name() + ".*");
    }

    @Override
    String sessionsOf(String user) {
      return "information_schema.processlist WHERE user = '" + user + "'";
    }

    @Override
    void killSessions(Statement administrator, String user) throws SQLException {
      String ids = TestServer.query(
          administrator.getConnection(), "SELECT GROUP_CONCAT(id) FROM " + sessionsOf(user));
      for (String id : ids == null ? new String[0] : ids.split(",")) {
        try {
          administrator.execute("KILL " + id);
        } catch (SQLException ex) {
          // The session has already ended.
        }
      }
    }

    @Override
    String[] trigger(String name, String event, String action) {
      return new String[] {"CREATE TRIGGER %s %s FOR EACH ROW %s".formatted(name, event, action)};
    }

    @Override
    String replace(String columns, String values) {
      return "REPLACE INTO leader_election (service_id, %s) VALUES ('%s', %s)"
          .formatted(columns, Cluster.SERVICE, values);
    }

    @Override
    String lockOfTables() {
      return "FLUSH TABLES WITH READ LOCK";
    }

    @Override
    String readOnly(String user, boolean begins) {
      return "SET GLOBAL read_only = " + (begins ? "ON" : "OFF");
    }

    @Override
    String lockAccount(String user, boolean begins) {
      return "ALTER USER '%s'@'%%' ACCOUNT %s".formatted(user, begins ? "LOCK" : "UNLOCK");
    }

    @Override
    String waitsASecond() {
      return "SET SESSION lock_wait_timeout = 1, SESSION innodb_lock_wait_timeout = 1";
    }

    @Override
    String impatient() {
      return "&connectTimeout=2000&socketTimeout=2000";
    }
  },
  POSTGRESQL {
    @Override
    TestServer shared() {
      return TestServer.shared(RELEASE);
    }

    @Override
    PostgresqlServer startOwn() {
      return PostgresqlServer.launch(RELEASE);
    }

    @Override
    TestServer startOnDisk() {
      Assumptions.assumeTrue(
          "root".equals(System.getProperty("user.name")), "only root can mount a small disk");
      return PostgresqlServer.startOnDisk(RELEASE, 50);
    }

    @Override
    String newOwner(TestDatabase database, String user) {
      return database.newUser(user, database.username());
    }

    @Override
    String sessionsOf(String user) {
      return "pg_stat_activity WHERE usename = '" + user + "'";
    }

    @Override
    void killSessions(Statement administrator, String user) throws SQLException {
      administrator.execute("SELECT pg_terminate_backend(pid) FROM " + sessionsOf(user));
    }

    @Override
    String[] trigger(String name, String event, String action) {
      return new String[] {
        "CREATE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN %s; RETURN NEW; END $$"
            .formatted(name, action),
        "CREATE TRIGGER %1$s %2$s FOR EACH ROW EXECUTE FUNCTION %1$s()".formatted(name, event)
      };
    }

    /** Several statements at once are one transaction. */
    @Override
    String replace(String columns, String values) {
      return """
          DELETE FROM leader_election WHERE service_id = '%1$s';
          INSERT INTO leader_election (service_id, %2$s) VALUES ('%1$s', %3$s)
          """.formatted(Cluster.SERVICE, columns, values);
    }

    @Override
    String lockOfTables() {
      return "LOCK TABLE leader_election";
    }

    /** A default of the user, whom it must not stop. */
    @Override
    String readOnly(String user, boolean begins) {
      return "ALTER USER %s SET default_transaction_read_only = %s"
          .formatted(user, begins ? "on" : "off");
    }

    @Override
    String lockAccount(String user, boolean begins) {
      return "ALTER USER " + user + (begins ? " NOLOGIN" : " LOGIN");
    }

    @Override
    String waitsASecond() {
      return "SET lock_timeout = '1s'";
    }

    @Override
    String impatient() {
      return "&connectTimeout=2&socketTimeout=2";
    }
  };

  private static final PostgresqlPrograms RELEASE =
      PostgresqlPrograms.valueOf(System.getProperty("faults.postgresql", "V18"));

  static Engine of(TestServer server) {
    return server.product() == Product.POSTGRESQL ? POSTGRESQL : MYSQL;
  }

  /** The server for all tests of this JVM, which must not be broken. */
  abstract TestServer shared();

  abstract TestServer startOwn();

  /** Starts a server that can fill its disk. */
  abstract TestServer startOnDisk();

  TestDatabase newDatabase() {
    return shared().newDatabase();
  }

  /** As messages and properties name it. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** For tests that measure waits for answers: the wait for a signal is long on purpose. */
  Node withoutSignals(Node node) {
    return node.with("as.election." + this + ".hand-back-signals=false");
  }

  /** Creates a user with all rights in a database; returns the name. */
  abstract String newOwner(TestDatabase database, String user);

  /** Where the sessions of a user are listed. */
  abstract String sessionsOf(String user);

  /** Ends all sessions of a user, who may connect again at once. */
  abstract void killSessions(Statement administrator, String user) throws SQLException;

  static void killSessions(TestServer server, String user) {
    try (Connection connection = server.connectAsRoot();
        Statement administrator = connection.createStatement()) {
      of(server).killSessions(administrator, user);
    } catch (SQLException ex) {
      throw new IllegalStateException(ex);
    }
  }

  /** A trigger that runs a statement, such as {@code AFTER UPDATE ON register}. */
  abstract String[] trigger(String name, String event, String action);

  /** Replaces the record of the election by one with some values, and the defaults of all others. */
  abstract String replace(String columns, String values);

  /** Locks the table of leases, or all, until its transaction or session ends. */
  abstract String lockOfTables();

  /** Begins or ends that writes are refused. */
  abstract String readOnly(String user, boolean begins);

  /** Begins or ends that a user may not log in. */
  abstract String lockAccount(String user, boolean begins);

  /** Limits for how long a session waits for a lock. */
  abstract String waitsASecond();

  /** Short time-outs for attempts to reach a server that a test may have paused itself. */
  abstract String impatient();
}
