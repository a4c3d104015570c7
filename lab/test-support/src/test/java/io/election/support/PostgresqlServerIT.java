package io.election.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests the servers that tests on PostgreSQL use. */
class PostgresqlServerIT {

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
}
