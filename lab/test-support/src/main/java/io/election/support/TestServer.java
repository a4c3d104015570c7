package io.election.support;

import io.election.embedded.MariaDbPrograms;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Supplier;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;

/**
 * A database server for tests: a container, an embedded MariaDB where Docker does not work, or a
 * PostgreSQL. A test whose image or programs are not there is skipped with the reason. The tests of a JVM share {@link #shared()};
 * those that pause, stop or kill a server start their own, which keeps its port.
 */
public abstract class TestServer implements AutoCloseable {

  /** Drawn for each JVM, since other users of this machine reach its servers. */
  static final String ROOT_PASSWORD = MariaDbPrograms.newPassword();

  private static final Map<String, TestServer> SHARED = new ConcurrentHashMap<>();

  private final int port;

  TestServer(int port) {
    this.port = port;
  }

  /**
   * Whether Docker works and has or can pull the image of the default server, and is not hidden by
   * {@code -Delection.test.docker=false}.
   */
  public static boolean hasDocker() {
    return Docker.works();
  }

  /** The server for all tests of this JVM, which must not be closed. */
  public static TestServer shared() {
    return shared("default", TestServer::startOwn);
  }

  /** The same on MariaDB: a container where there is Docker. */
  public static TestServer sharedMariaDb() {
    return hasDocker() ? shared(DatabaseImage.MARIADB_11_8) : shared();
  }

  /** The server of a product and version for all tests of this JVM. Must not be closed. */
  public static TestServer shared(DatabaseImage image) {
    return shared(image.name(), () -> start(image));
  }

  private static TestServer shared(String name, Supplier<TestServer> start) {
    return SHARED.computeIfAbsent(name, (missing) -> start.get());
  }

  /** The PostgreSQL of a release for all tests of this JVM. Must not be closed. */
  public static TestServer shared(PostgresqlPrograms release) {
    return shared(release.toString(), () -> PostgresqlServer.launch(release).told("programs"));
  }

  /** Starts a server of the same kind as {@link #shared()}, which must be closed. */
  public static TestServer startOwn() {
    return hasDocker() ? start(Docker.DEFAULT_SERVER) : EmbeddedServer.launch().told("embedded");
  }

  /**
   * Starts an embedded MariaDB, which must be closed and then deletes its data. Servers may share
   * the folder of programs, to which missing ones are unpacked.
   */
  public static TestServer startEmbedded(Path programs, Path folder) {
    return EmbeddedServer.launch(programs, folder);
  }

  /** Starts a server in a container, which must be closed. */
  public static TestServer start(DatabaseImage image) {
    return ContainerServer.launch(image).told("Testcontainers " + image.imageName());
  }

  /** Starts MySQL in a container, with its data on a small disk in memory. */
  public static TestServer startOnDisk(int megabytes) {
    return ContainerServer.launch(DatabaseImage.MYSQL_9_7, megabytes)
        .told("Testcontainers " + DatabaseImage.MYSQL_9_7.imageName() + " on a small disk");
  }

  /**
   * Starts MySQL in a container with a wall clock that can be moved.
   *
   * @param clock its clock
   * @param timeZone its system time zone, for example {@code America/New_York}
   */
  public static TestServer start(FakeClock clock, String timeZone) {
    return ContainerServer.launch(DatabaseImage.MYSQL_9_7, clock, timeZone)
        .told("Testcontainers " + DatabaseImage.MYSQL_9_7.imageName() + " with libfaketime");
  }

  public TestDatabase newDatabase() {
    return TestDatabase.create(this);
  }

  public int port() {
    return this.port;
  }

  public Connection connectAsRoot() throws SQLException {
    return connectAsRoot(url(""));
  }

  private static Connection connectAsRoot(String url) throws SQLException {
    return DriverManager.getConnection(url, "root", ROOT_PASSWORD);
  }

  public void execute(String... statements) {
    executeAt(url(""), statements);
  }

  static void executeAt(String url, String... statements) {
    try (Connection connection = connectAsRoot(url);
        Statement statement = connection.createStatement()) {
      for (String sql : statements) {
        statement.execute(sql);
      }
    } catch (SQLException ex) {
      throw new IllegalStateException(String.join("; ", statements) + ": " + ex.getMessage(), ex);
    }
  }

  /** The first column of the first row of a query as text; {@code null} if there is none. */
  public @Nullable String query(String sql) {
    return query(url(""), sql);
  }

  static @Nullable String query(String url, String sql) {
    try (Connection connection = connectAsRoot(url)) {
      return query(connection, sql);
    } catch (SQLException ex) {
      throw new IllegalStateException(sql + ": " + ex.getMessage(), ex);
    }
  }

  public static @Nullable String query(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(sql)) {
      return rows.next() ? rows.getString(1) : null;
    }
  }

  public String version() {
    return Objects.requireNonNull(
        query(product() == Product.POSTGRESQL ? "SHOW server_version" : "SELECT VERSION()"));
  }

  public abstract Product product();

  public final boolean isMariaDb() {
    return product() == Product.MARIADB;
  }

  /** Freezes the server: it accepts connections but never answers. */
  public abstract void pause();

  public abstract void resume();

  public abstract void stop();

  /** Kills the server, as {@code kill -9} does. */
  public abstract void kill();

  /** Starts the server after {@link #stop()} or {@link #kill()}, on the same port and data. */
  public abstract void start();

  /** Fills its small disk to the last byte. */
  public void fillDisk() {
    throw new UnsupportedOperationException("This server has no disk of its own");
  }

  public void freeDisk() {
    throw new UnsupportedOperationException("This server has no disk of its own");
  }

  @Override
  public abstract void close();

  /** The URL of a database for the driver of the server's product, without credentials. */
  String url(String database) {
    return url(product().driver(), "127.0.0.1:" + this.port, database);
  }

  static String url(String driver, String hosts, String database) {
    if (driver.equals(Product.POSTGRESQL.driver())) {
      String some = database.isEmpty() ? "postgres" : database; // a connection is to one database
      return "jdbc:postgresql://" + hosts + "/" + some + "?sslmode=disable";
    }
    // MySQL sends its public key for caching_sha2_password only to clients that request it.
    return "jdbc:" + driver + "://" + hosts + "/" + database + "?allowPublicKeyRetrieval=true"
        + (driver.equals("mysql") ? "&sslMode=DISABLED" : "");
  }

  void awaitAnswer() {
    Awaitility.await("the server answers")
        .atMost(Duration.ofSeconds(60))
        .pollInterval(Duration.ofMillis(100))
        .ignoreExceptions()
        .until(() -> !version().isEmpty());
  }

  /**
   * A port on which nothing listens. It is not one of those that the system assigns to connections,
   * which could take it before the server listens there.
   */
  public static int freePort() {
    while (true) {
      int port = ThreadLocalRandom.current().nextInt(10_000, 32_768);
      try {
        new ServerSocket(port, 1, InetAddress.getLoopbackAddress()).close();
        return port;
      } catch (BindException ex) {
        // Another process listens there.
      } catch (IOException ex) {
        throw new UncheckedIOException(ex);
      }
    }
  }

  /** Reports the server that the tests use; build reports are searched for this line. */
  TestServer told(String how) {
    String number = version().replaceFirst("[^0-9.].*", "");
    System.out.println("Test database: " + product() + " " + number + " (" + how + ")");
    return this;
  }

  /** What a server is. */
  public enum Product {
    MYSQL("MySQL"),
    MARIADB("MariaDB"),
    POSTGRESQL("PostgreSQL");

    private final String label;

    Product(String label) {
      this.label = label;
    }

    /** The name of its driver in URLs. */
    public String driver() {
      return name().toLowerCase(Locale.ROOT);
    }

    @Override
    public String toString() {
      return this.label;
    }
  }
}
