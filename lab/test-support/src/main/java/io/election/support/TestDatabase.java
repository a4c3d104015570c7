package io.election.support;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * An empty database on a test server, with a user of its own who has all privileges in it.
 * Databases are never dropped: the server ends with the JVM.
 */
public record TestDatabase(TestServer server, String name, String username) {

  private static final AtomicInteger COUNT = new AtomicInteger();

  /** Creates an empty database on the server that all tests of this JVM share. */
  public static TestDatabase newDatabase() {
    return create(TestServer.shared());
  }

  static TestDatabase create(TestServer server) {
    // The name must not start with test_: a new MariaDB server in a container grants every user all
    // privileges in such databases.
    String name = "election_" + COUNT.incrementAndGet();
    server.execute("CREATE DATABASE " + name + " CHARACTER SET utf8mb4");
    TestDatabase database = new TestDatabase(server, name, "owner_" + name);
    database.newUser(database.username, "ALL ON " + name + ".*");
    return database;
  }

  /** Creates the tables of the election as its jar describes them, which must be on the class path. */
  public TestDatabase withTables() {
    try (InputStream file = Objects.requireNonNull(
        TestDatabase.class.getResourceAsStream("/io/election/jdbc/leader-election.sql"))) {
      execute(new String(file.readAllBytes(), StandardCharsets.UTF_8).strip().split(";\\R|;$"));
      return this;
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  /** The URL for the driver of the server's product, without credentials but with parameters. */
  public String jdbcUrl() {
    return this.server.url(this.name);
  }

  /** The URL for {@code mysql} or {@code mariadb}, without credentials, with parameters or none. */
  public String jdbcUrl(String driver, String parameters) {
    String url = TestServer.url(driver, "127.0.0.1:" + this.server.port(), this.name);
    return parameters.isEmpty() ? url : url + "&" + parameters;
  }

  /** The Connector/J URL of this database on servers of which any may be the one to write to. */
  public String jdbcUrl(List<? extends TestServer> servers) {
    String hosts = servers.stream()
        .map((server) -> "127.0.0.1:" + server.port())
        .collect(Collectors.joining(","));
    return TestServer.url("mysql", hosts, this.name) + "&failOverReadOnly=false";
  }

  /** The password of all test users. */
  public String password() {
    return TestServer.ROOT_PASSWORD;
  }

  public DataSource dataSource() {
    return dataSourceOf(this.username);
  }

  /** The source of the owner's connections by a given driver; see {@link #jdbcUrl(String, String)}. */
  public TestDataSource dataSource(String driver, String parameters) {
    return new TestDataSource(jdbcUrl(driver, parameters), this.username, password());
  }

  public TestDataSource dataSourceOf(String user) {
    return new TestDataSource(jdbcUrl(), user, password());
  }

  public Connection connect() {
    try {
      return DriverManager.getConnection(jdbcUrl(), "root", password());
    } catch (SQLException ex) {
      throw new IllegalStateException(ex);
    }
  }

  /** Connects as root and begins a transaction with a statement, whose locks it keeps. */
  public Connection begin(String sql) {
    Connection connection = connect();
    try {
      connection.setAutoCommit(false);
      connection.createStatement().execute(sql);
      return connection;
    } catch (SQLException ex) {
      throw new IllegalStateException(sql, ex);
    }
  }

  /** Runs statements in the database as root, one at a time. */
  public void execute(String... statements) {
    TestServer.executeAt(jdbcUrl(), statements);
  }

  /** The first column of the first row of a query as text; {@code null} if there is none. */
  public @Nullable String query(String sql) {
    return TestServer.query(jdbcUrl(), sql);
  }

  /** Creates a user who may only read, insert and update in this database; returns the name. */
  public String newLeastPrivilegedUser() {
    return newUser("least_" + this.name, "SELECT, INSERT, UPDATE ON " + this.name + ".*");
  }

  /** Creates a user with grants such as {@code SELECT ON election_1.*}, and returns the name. */
  public String newUser(String username, String... grants) {
    this.server.execute(
        "CREATE USER '" + username + "'@'%' IDENTIFIED BY '" + TestServer.ROOT_PASSWORD + "'");
    for (String grant : grants) {
      this.server.execute("GRANT " + grant + " TO '" + username + "'@'%'");
    }
    return username;
  }
}
