package io.election.support;

import io.election.support.TestServer.Product;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.Stream;
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
    TestDatabase database = new TestDatabase(server, name, "owner_" + name);
    if (database.isPostgresql()) {
      // Each connection is a process. The copy of files is a quarter of the default's work.
      server.execute(
          database.create(database.username),
          "CREATE DATABASE " + name + " OWNER " + database.username + " STRATEGY FILE_COPY");
      database.execute(
          "ALTER DEFAULT PRIVILEGES FOR ROLE root GRANT ALL ON TABLES TO " + database.username,
          "ALTER DEFAULT PRIVILEGES FOR ROLE root GRANT ALL ON SEQUENCES TO " + database.username);
    } else {
      server.execute("CREATE DATABASE " + name + " CHARACTER SET utf8mb4");
      database.newUser(database.username, "ALL ON " + name + ".*");
    }
    return database;
  }

  /** Creates the tables of the election as its jar describes them, which must be on the class path. */
  public TestDatabase withTables() {
    String resource = "/io/election/jdbc/leader-election" + (isPostgresql() ? "-postgresql" : "");
    try (InputStream file = Objects.requireNonNull(
            TestDatabase.class.getResourceAsStream(resource + ".sql"), resource);
        // On PostgreSQL only the owner of a table may change it.
        Connection connection = dataSource().getConnection();
        Statement statement = connection.createStatement()) {
      String script = new String(file.readAllBytes(), StandardCharsets.UTF_8);
      for (String sql : script.strip().split(";\\R|;$", 0)) {
        statement.execute(sql);
      }
      return this;
    } catch (IOException | SQLException ex) {
      throw new IllegalStateException(resource, ex);
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
    String user = "least_" + this.name;
    String rights = "SELECT, INSERT, UPDATE ON ";
    if (!isPostgresql()) {
      return newUser(user, rights + this.name + ".*");
    }
    execute(
        create(user),
        "GRANT USAGE ON SCHEMA public TO " + user,
        "GRANT " + rights + "ALL TABLES IN SCHEMA public TO " + user,
        "ALTER DEFAULT PRIVILEGES FOR ROLE root, " + this.username + " GRANT " + rights
            + "TABLES TO " + user);
    return user;
  }

  /**
   * Creates a user with grants such as {@code SELECT ON election_1.*}, or on PostgreSQL {@code
   * SELECT ON ALL TABLES IN SCHEMA public}, which are those of this database; returns the name.
   */
  public String newUser(String username, String... grants) {
    String user = isPostgresql() ? username : "'" + username + "'@'%'";
    Stream<String> rights = Stream.of(grants).map((grant) -> "GRANT " + grant + " TO " + user);
    execute(Stream.concat(Stream.of(create(user)), rights).toArray(String[]::new));
    return username;
  }

  private String create(String user) {
    return "CREATE USER " + user + (isPostgresql() ? " PASSWORD '" : " IDENTIFIED BY '")
        + password() + "'";
  }

  private boolean isPostgresql() {
    return this.server.product() == Product.POSTGRESQL;
  }
}
