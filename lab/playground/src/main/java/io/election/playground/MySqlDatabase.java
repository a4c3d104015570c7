package io.election.playground;

import io.election.embedded.MariaDbPrograms;
import io.election.support.TestDatabase;
import io.election.support.TestServer;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** An embedded MariaDB, or a MySQL or MariaDB that runs already. */
final class MySqlDatabase implements Database {

  private final @Nullable TestServer server;
  private final String description;
  private final String url;
  private final String username;
  private final String password;
  private final boolean encrypted;

  private MySqlDatabase(
      @Nullable TestServer server,
      String description,
      String url,
      String username,
      String password,
      boolean encrypted) {
    this.server = server;
    this.description = description;
    this.url = url;
    this.username = username;
    this.password = password;
    this.encrypted = encrypted;
  }

  /** Starts an embedded MariaDB with its data in a folder. */
  static MySqlDatabase embedded(Path programs, Path folder) {
    TestServer server = TestServer.startEmbedded(programs, folder);
    TestDatabase database = server.newDatabase();
    String password = MariaDbPrograms.newPassword(); // not that of root
    server.execute(
        "ALTER USER '%s'@'%%' IDENTIFIED BY '%s'".formatted(database.username(), password));
    return new MySqlDatabase(
        server,
        "MariaDB " + server.version().replaceFirst("-.*", "") + ", embedded",
        database.jdbcUrl(),
        database.username(),
        password,
        false);
  }

  /** Uses a server that runs already, with the URL as it is: nothing in it is made less safe. */
  static MySqlDatabase running(String url, String username, String password) throws SQLException {
    try (Connection connection = DriverManager.getConnection(url, username, password)) {
      String description = connection.getMetaData().getDatabaseProductName() + " "
          + connection.getMetaData().getDatabaseProductVersion();
      boolean encrypted = isEncrypted(connection);
      return new MySqlDatabase(
          null,
          encrypted ? description + " (encrypted, so requests are not counted)" : description,
          url,
          username,
          password,
          encrypted);
    }
  }

  private static boolean isEncrypted(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery("SHOW SESSION STATUS LIKE 'Ssl_cipher'")) {
      return row.next() && !row.getString(2).isEmpty();
    }
  }

  @Override
  public boolean showsRequests() {
    return !encrypted;
  }

  @Override
  public String description() {
    return description;
  }

  @Override
  public String url() {
    return url;
  }

  @Override
  public String username() {
    return username;
  }

  @Override
  public String password() {
    return password;
  }

  @Override
  public @Nullable String withoutProcess() {
    return server != null
        ? null
        : "The playground did not start this database, so it does not pause or end it";
  }

  @Override
  public List<Long> processes() {
    return ProcessHandle.current()
        .children()
        .filter((child) -> child.info().command().orElse("").contains("mariadbd"))
        .map(ProcessHandle::pid)
        .toList();
  }

  private TestServer ownServer() {
    return Objects.requireNonNull(server);
  }

  @Override
  public void pause() {
    ownServer().pause();
  }

  @Override
  public void resume() {
    ownServer().resume();
  }

  @Override
  public void stop() {
    ownServer().stop();
  }

  @Override
  public void kill() {
    ownServer().kill();
  }

  @Override
  public void start() {
    ownServer().start();
  }

  @Override
  public Connection connect() throws SQLException {
    return DriverManager.getConnection(
        Address.with(url, "connectTimeout=1000&socketTimeout=2000"), username, password);
  }

  @Override
  public @Nullable List<Cell> record(Connection connection, String serviceId) throws SQLException {
    List<List<Cell>> rows =
        query(connection, "SELECT * FROM leader_election WHERE service_id = ?", serviceId);
    return rows.isEmpty() ? null : rows.get(0);
  }

  @Override
  public List<Past> history(Connection connection, String serviceId) throws SQLException {
    return query(connection, """
            SELECT term, leader_id, CAST(UNIX_TIMESTAMP(elected_at) * 1000 AS unsigned),
                concat_ws(', ', reason, end_reason, ended_by, end_note)
            FROM leader_election_history WHERE service_id = ? ORDER BY term DESC LIMIT 20
            """, serviceId).stream()
        .map((row) -> new Past(
            Long.parseLong(row.get(0).value()),
            row.get(1).value(),
            Instant.ofEpochMilli(Long.parseLong(row.get(2).value())).toString(),
            row.get(3).value()))
        .toList();
  }

  private static List<List<Cell>> query(Connection connection, String sql, String serviceId)
      throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      statement.setString(1, serviceId);
      List<List<Cell>> rows = new ArrayList<>();
      try (ResultSet result = statement.executeQuery()) {
        while (result.next()) {
          List<Cell> row = new ArrayList<>();
          for (int i = 1; i <= result.getMetaData().getColumnCount(); i++) {
            row.add(new Cell(
                result.getMetaData().getColumnLabel(i), String.valueOf(result.getString(i))));
          }
          rows.add(row);
        }
      }
      return rows;
    }
  }

  @Override
  public void delete(String serviceId) throws SQLException {
    update("DELETE FROM leader_election WHERE service_id = ?", serviceId);
  }

  @Override
  public void edit(String serviceId, String leaderId) throws SQLException {
    update("UPDATE leader_election SET leader_id = ? WHERE service_id = ?", leaderId, serviceId);
  }

  private void update(String sql, String... values) throws SQLException {
    try (Connection connection = connect();
        PreparedStatement statement = connection.prepareStatement(sql)) {
      for (int i = 0; i < values.length; i++) {
        statement.setString(i + 1, values[i]);
      }
      statement.executeUpdate();
    }
  }

  @Override
  public Connection lock(String serviceId) throws SQLException {
    Connection connection = connect();
    connection.setAutoCommit(false);
    query(connection, "SELECT * FROM leader_election WHERE service_id = ? FOR UPDATE", serviceId);
    return connection;
  }

  @Override
  public void close() {
    if (server != null) {
      server.close();
    }
  }
}
