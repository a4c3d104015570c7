package io.election.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.support.process.NodeProcess;
import java.net.ConnectException;
import java.net.Socket;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.concurrent.CountDownLatch;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests the servers that tests on PostgreSQL use. */
@Tag("long")
class PostgresqlServerIT {

  private static final String BACKEND = "SELECT pg_backend_pid()";

  private static final String PORT = "port ";

  @ParameterizedTest
  @EnumSource
  void anOwnerMayDoAllInItsDatabaseAndALeastPrivilegedUserOnlyWrite(PostgresqlPrograms release)
      throws SQLException {
    TestDatabase database = TestServer.shared(release).newDatabase();
    TestDatabase other = database.server().newDatabase();
    String least = database.newLeastPrivilegedUser();
    database.execute("CREATE TABLE of_root (x INT)");
    try (Connection owner = database.dataSource().getConnection();
        Connection writer = database.dataSourceOf(least).getConnection()) {
      run(owner, "CREATE TABLE own (x INT)");
      run(owner, "INSERT INTO of_root VALUES (1)");
      run(writer, "INSERT INTO own VALUES (2)");
      run(writer, "UPDATE of_root SET x = 3");
      assertThat(TestServer.query(owner, "SELECT SUM(of_root.x + own.x) FROM of_root, own"))
          .isEqualTo("5");
      assertThatThrownBy(() -> run(writer, "DELETE FROM own")).hasMessageContaining("denied");
      assertThatThrownBy(() -> run(writer, "CREATE TABLE z (x INT)"))
          .hasMessageContaining("denied");
      run(owner, "DROP TABLE own");
    }
    assertThat(other.query("SELECT to_regclass('of_root')")).isNull();
    assertThatThrownBy(
            () -> DriverManager.getConnection(database.jdbcUrl(), database.username(), "")
                .close())
        .isInstanceOf(SQLException.class);
  }

  private static void run(Connection connection, String sql) throws SQLException {
    connection.createStatement().execute(sql);
  }

  @Test
  void aPauseFreezesOpenConnectionsToo() throws Exception {
    try (TestServer server = PostgresqlServer.launch(PostgresqlPrograms.V18);
        Connection open = server.connectAsRoot()) {
      open.setNetworkTimeout(Runnable::run, 300);
      server.pause();
      assertThatThrownBy(() -> TestServer.query(open, "SELECT 1"))
          .hasMessageContaining("I/O error");
      server.resume();
      assertThat(server.query("SELECT 1")).isEqualTo("1");
    }
  }

  @Test
  void aKilledServerComesBackOnItsPortWithItsData() throws SQLException {
    try (TestServer server = PostgresqlServer.launch(PostgresqlPrograms.V18);
        Connection open = server.connectAsRoot()) {
      TestDatabase database = server.newDatabase();
      database.execute("CREATE TABLE kept AS SELECT 1 AS x");
      server.pause();
      server.kill();
      assertThatThrownBy(() -> TestServer.query(open, "SELECT 1")).isInstanceOf(SQLException.class);
      assertThatThrownBy(server::connectAsRoot).hasMessageContaining("refused");
      server.start();
      assertThat(database.query("SELECT x FROM kept")).isEqualTo("1");
      server.stop();
      server.start();
      assertThat(database.query("SELECT x FROM kept")).isEqualTo("1");
    }
  }

  @ParameterizedTest
  @EnumSource
  void aPromotedStandbyTakesWritesOnAnotherTimelineOfTheSameSystem(PostgresqlPrograms release) {
    try (PostgresqlServer primary = PostgresqlServer.launch(release)) {
      TestDatabase database = primary.newDatabase();
      database.execute("CREATE TABLE kept AS SELECT 1 AS x");
      try (PostgresqlServer standby = primary.startStandby()) {
        database.execute("INSERT INTO kept VALUES (2)");
        standby.awaitDataOf(primary);
        TestDatabase there = new TestDatabase(standby, database.name(), database.username());
        assertThat(there.query("SELECT SUM(x) FROM kept")).isEqualTo("3");
        assertThatThrownBy(() -> there.execute("INSERT INTO kept VALUES (3)"))
            .hasMessageContaining("read-only");
        primary.pause();
        standby.promote();
        primary.resume();
        there.execute("INSERT INTO kept VALUES (4)");
        database.execute("INSERT INTO kept VALUES (5)");
        assertThat(there.query("SELECT SUM(x) FROM kept")).isEqualTo("7");
        assertThat(timeline(primary)).isEqualTo("00000001");
        assertThat(timeline(standby)).isEqualTo("00000002");
        assertThat(system(standby)).isEqualTo(system(primary));
      }
    }
  }

  @Test
  void aCopyOfAStoppedServerHasItsDataAndIdentity() {
    try (PostgresqlServer server = PostgresqlServer.launch(PostgresqlPrograms.V18)) {
      TestDatabase database = server.newDatabase();
      database.execute("CREATE TABLE kept AS SELECT 1 AS x");
      server.stop();
      try (PostgresqlServer copy = server.startCopy()) {
        server.start();
        database.execute("INSERT INTO kept VALUES (2)");
        TestDatabase there = new TestDatabase(copy, database.name(), database.username());
        assertThat(there.query("SELECT SUM(x) FROM kept")).isEqualTo("1");
        assertThat(system(copy)).isEqualTo(system(server));
        assertThat(timeline(copy)).isEqualTo(timeline(server));
      }
    }
  }

  private static @Nullable String timeline(TestServer server) {
    return server.query("SELECT left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)");
  }

  private static @Nullable String system(TestServer server) {
    return server.query("SELECT system_identifier FROM pg_control_system()");
  }

  @Test
  void pgBouncerHandsAConnectionToAnotherClientBetweenTransactions() throws SQLException {
    TestServer server = TestServer.shared(PostgresqlPrograms.V18);
    TestDatabase database = server.newDatabase();
    try (PgBouncer bouncer = PgBouncer.to((PostgresqlServer) server)) {
      TestDataSource clients = bouncer.dataSourceOf(database, database.username());
      try (Connection one = clients.getConnection();
          Connection other = clients.getConnection()) {
        String backend = TestServer.query(one, BACKEND);
        assertThat(TestServer.query(other, BACKEND)).isEqualTo(backend);
        one.setAutoCommit(false);
        assertThat(TestServer.query(one, BACKEND)).isEqualTo(backend);
        assertThat(TestServer.query(other, BACKEND)).isNotEqualTo(backend);

        bouncer.pause();
        other.setNetworkTimeout(Runnable::run, 300);
        assertThatThrownBy(() -> TestServer.query(other, BACKEND))
            .hasMessageContaining("I/O error");
        bouncer.resume();
        assertThat(TestServer.query(one, BACKEND)).isEqualTo(backend);
        bouncer.kill();
        assertThatThrownBy(() -> TestServer.query(one, BACKEND)).isInstanceOf(SQLException.class);
        bouncer.start();
        bouncer.stop();
        bouncer.start();
      }
      try (Connection again =
          bouncer.dataSourceOf(database, database.newLeastPrivilegedUser()).getConnection()) {
        assertThat(TestServer.query(again, "SELECT current_user"))
            .isEqualTo("least_" + database.name());
      }
    }
  }

  @Test
  void aServerEndsWithItsJvmEvenIfBothAreStoppedByForce() throws Exception {
    TestServer.shared(PostgresqlPrograms.V18); // or is skipped here
    Process jvm = new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-cp",
            NodeProcess.classPath(),
            PostgresqlServerIT.class.getName())
        .redirectErrorStream(true)
        .start();
    try {
      String line = jvm.inputReader()
          .lines()
          .filter((said) -> said.startsWith(PORT))
          .findFirst()
          .orElseThrow();
      int port = Integer.parseInt(line.substring(PORT.length()));
      new Socket("127.0.0.1", port).close();
      jvm.destroyForcibly();
      Awaitility.await("nothing listens on the port")
          .untilAsserted(() -> assertThatThrownBy(() -> new Socket("127.0.0.1", port).close())
              .isInstanceOf(ConnectException.class));
    } finally {
      jvm.destroyForcibly();
    }
  }

  /** Starts and freezes a server, says its port, and waits to be killed. */
  public static void main(String... arguments) throws Exception {
    TestServer server = PostgresqlServer.launch(PostgresqlPrograms.V18);
    server.pause();
    System.out.println(PORT + server.port());
    new CountDownLatch(1).await();
  }
}
