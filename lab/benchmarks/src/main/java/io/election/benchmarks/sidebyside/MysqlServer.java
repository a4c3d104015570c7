package io.election.benchmarks.sidebyside;

import io.election.support.TestDatabase;
import io.election.support.TestServer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** The tests' database server. */
final class MysqlServer implements Server {

  private final TestServer server;

  private final Optional<ProcessHandle> process;

  /** Kept open, since a server may refuse new connections during a connection storm. */
  private Connection connection;

  private MysqlServer(TestServer server) throws SQLException {
    this.server = server;
    String container = output("docker", "ps", "-q", "--filter", "publish=" + server.port());
    String pid = output("docker", "inspect", "-f", "{{.State.Pid}}", container);
    this.process = pid.isEmpty() ? Optional.empty() : ProcessHandle.of(Long.parseLong(pid));
    this.connection = server.connectAsRoot();
  }

  static Server launch() throws SQLException {
    TestServer server = TestServer.startOwn();
    server.execute("SET GLOBAL max_connections = 5000");
    return new MysqlServer(server);
  }

  private static String output(String... command) {
    try {
      Process process = new ProcessBuilder(command).start();
      return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
    } catch (IOException ex) {
      return "";
    }
  }

  @Override
  public String version() {
    return this.server.product() + " " + this.server.version();
  }

  @Override
  public Place newPlace() {
    TestDatabase database = this.server.newDatabase();
    return new Place(
        this.server.port(),
        database.jdbcUrl("mysql", ""),
        database.username(),
        database.password());
  }

  @Override
  public synchronized Map<String, Double> counters() {
    Map<String, Double> counters = new HashMap<>();
    try {
      if (!this.connection.isValid(5)) {
        this.connection = this.server.connectAsRoot();
      }
      try (Statement statement = this.connection.createStatement();
          ResultSet rows = statement.executeQuery("""
              SHOW GLOBAL STATUS
              WHERE Variable_name IN ('Questions', 'Connections', 'Innodb_row_lock_waits')
              """)) {
        while (rows.next()) {
          counters.put(rows.getString(1), rows.getDouble(2));
        }
      }
    } catch (SQLException ex) {
      throw new IllegalStateException(ex);
    }
    this.process
        .flatMap((process) -> process.info().totalCpuDuration())
        .map(Duration::toMillis)
        .ifPresent((millis) -> counters.put("cpu_seconds", millis / 1e3));
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
