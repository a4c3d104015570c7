package io.election.benchmarks.servers;

import io.election.test.TestDatabase;
import io.election.test.TestServer;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.Map;

/** The tests' database server. */
final class MysqlServer implements Server {

  private final TestServer server;

  private final ProcessorTime processorTime;

  /** Kept open, since a server may refuse new connections during a connection storm. */
  private Connection connection;

  private MysqlServer(TestServer server) {
    this.server = server;
    this.processorTime = ProcessorTime.ofContainer(server.port());
    try {
      this.connection = server.connectAsRoot();
    } catch (SQLException ex) {
      throw new IllegalStateException(ex);
    }
  }

  static Server launch() {
    TestServer server = TestServer.startOwn();
    server.execute("SET GLOBAL max_connections = 5000");
    return new MysqlServer(server);
  }

  @Override
  public String version() {
    return (this.server.isMariaDb() ? "MariaDB " : "MySQL ") + this.server.version();
  }

  @Override
  public Place newPlace() {
    TestDatabase database = this.server.newDatabase();
    return new Place() {
      @Override
      public int port() {
        return MysqlServer.this.server.port();
      }

      @Override
      public String address(int port) {
        return database.jdbcUrl("mysql", "").replaceFirst("//[^/]*/", "//127.0.0.1:" + port + "/");
      }

      @Override
      public String username() {
        return database.username();
      }

      @Override
      public String password() {
        return database.password();
      }
    };
  }

  @Override
  public synchronized Map<String, Double> counters() {
    Map<String, Double> counters = new HashMap<>();
    try {
      if (!this.connection.isValid(5)) {
        this.connection = this.server.connectAsRoot();
      }
    } catch (SQLException ex) {
      throw new IllegalStateException(ex);
    }
    try (Statement statement = this.connection.createStatement();
        ResultSet rows = statement.executeQuery("""
            SHOW GLOBAL STATUS
            WHERE Variable_name IN ('Questions', 'Connections', 'Innodb_row_lock_waits')
            """)) {
      while (rows.next()) {
        counters.put(rows.getString(1), rows.getDouble(2));
      }
    } catch (SQLException ex) {
      throw new IllegalStateException(ex);
    }
    this.processorTime.seconds().ifPresent((seconds) -> counters.put("cpu_seconds", seconds));
    return counters;
  }

  @Override
  public void pause() {
    this.server.pause();
  }

  @Override
  public void resume() {
    this.server.resume();
  }

  @Override
  public void close() {
    this.server.close();
  }
}
