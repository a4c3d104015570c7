package io.election.test;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * An empty database on a test server, with a user of its own who has all privileges in it.
 * Databases are never dropped: the server ends with the JVM.
 */
public final class TestDatabase {

  private static final AtomicInteger COUNT = new AtomicInteger();

  private final TestServer server;
  private final String name;
  private final String username;

  private TestDatabase(TestServer server, String name, String username) {
    this.server = server;
    this.name = name;
    this.username = username;
  }

  /**
   * Creates an empty database on the server that all tests of this JVM share.
   *
   * @return the database
   */
  public static TestDatabase newDatabase() {
    return create(TestServer.shared());
  }

  static TestDatabase create(TestServer server) {
    // The name must not start with test_: a new MariaDB server grants everybody all privileges in
    // such databases.
    String name = "election_" + COUNT.incrementAndGet();
    server.execute("CREATE DATABASE " + name + " CHARACTER SET utf8mb4");
    TestDatabase database = new TestDatabase(server, name, "owner_" + name);
    database.newUser(database.username, "ALL ON " + name + ".*");
    return database;
  }

  /**
   * The server that holds this database.
   *
   * @return the server
   */
  public TestServer server() {
    return this.server;
  }

  /**
   * The database's name.
   *
   * @return the name
   */
  public String name() {
    return this.name;
  }

  /**
   * The URL for the driver of the server's product.
   *
   * @return the URL, without credentials but with parameters
   */
  public String jdbcUrl() {
    return this.server.url(this.name);
  }

  /**
   * The URL for a given driver.
   *
   * @param driver {@code mysql} or {@code mariadb}
   * @param parameters further parameters, for example {@code useAffectedRows=true}; may be empty
   * @return the URL, without credentials
   */
  public String jdbcUrl(String driver, String parameters) {
    String url = "jdbc:"
        + driver
        + "://127.0.0.1:"
        + this.server.port()
        + "/"
        + this.name
        + TestServer.parameters(driver.equals("mariadb"));
    return parameters.isEmpty() ? url : url + "&" + parameters;
  }

  /**
   * The Connector/J URL of this database on several servers, each of which may be the one that
   * accepts writes.
   *
   * @param servers the servers, in the order of the URL
   * @return the URL, without credentials
   */
  public String jdbcUrl(List<? extends TestServer> servers) {
    return "jdbc:mysql://"
        + servers.stream()
            .map(server -> "127.0.0.1:" + server.port())
            .collect(Collectors.joining(","))
        + "/"
        + this.name
        + TestServer.parameters(false)
        + "&failOverReadOnly=false";
  }

  /**
   * The user who owns the database.
   *
   * @return the user name
   */
  public String username() {
    return this.username;
  }

  /**
   * The password of all test users.
   *
   * @return the password
   */
  public String password() {
    return TestServer.ROOT_PASSWORD;
  }

  /**
   * The source of the owner's connections.
   *
   * @return a source that opens a new connection each time
   */
  public DataSource dataSource() {
    return new TestDataSource(jdbcUrl(), this.username, password());
  }

  /**
   * Connects to the database as root.
   *
   * @return a connection, which the caller closes
   */
  public Connection connect() {
    try {
      return DriverManager.getConnection(jdbcUrl(), "root", password());
    } catch (SQLException ex) {
      throw new IllegalStateException(ex);
    }
  }

  /**
   * Runs statements in the database as root, one at a time.
   *
   * @param statements the statements
   */
  public void execute(String... statements) {
    try (Connection connection = connect();
        Statement statement = connection.createStatement()) {
      for (String sql : statements) {
        statement.execute(sql);
      }
    } catch (SQLException ex) {
      throw new IllegalStateException(ex);
    }
  }

  /**
   * Queries the database for one value as root.
   *
   * @param sql a query
   * @return the first column of the first row as text; {@code null} if there is no row or no value
   */
  public @Nullable String query(String sql) {
    try (Connection connection = connect();
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(sql)) {
      return rows.next() ? rows.getString(1) : null;
    } catch (SQLException ex) {
      throw new IllegalStateException(ex);
    }
  }

  /**
   * Creates a user who may only read, insert and update in this database.
   *
   * @return the user name
   */
  public String newLeastPrivilegedUser() {
    return newUser("least_" + this.name, "SELECT, INSERT, UPDATE ON " + this.name + ".*");
  }

  /**
   * Creates a user.
   *
   * @param username the name
   * @param grants its privileges, for example {@code SELECT ON election_1.*}; each is granted
   * @return the user name
   */
  public String newUser(String username, String... grants) {
    this.server.execute(
        "CREATE USER '" + username + "'@'%' IDENTIFIED BY '" + TestServer.ROOT_PASSWORD + "'");
    for (String grant : grants) {
      this.server.execute("GRANT " + grant + " TO '" + username + "'@'%'");
    }
    return username;
  }
}
