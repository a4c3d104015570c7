package io.election.test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.testcontainers.DockerClientFactory;

/**
 * A database server for tests: a container where there is Docker, otherwise an embedded MariaDB.
 *
 * <p>All tests of a JVM use {@link #shared()} and must leave it running. Tests that pause, stop or
 * kill a server start one of their own; its port stays the same across stop and start.
 */
public abstract class TestServer implements AutoCloseable {

  static final String ROOT_PASSWORD = "test";

  private final int port;

  TestServer(int port) {
    this.port = port;
  }

  /**
   * Whether containers can be started.
   *
   * @return whether there is a Docker engine, and {@code -Delection.test.docker=false} does not
   *     hide it
   */
  public static boolean hasDocker() {
    return !"false".equals(System.getProperty("election.test.docker"))
        && DockerClientFactory.instance().isDockerAvailable();
  }

  /**
   * The server for all tests of this JVM: MySQL where there is Docker, otherwise the embedded
   * MariaDB.
   *
   * @return the running server; must not be closed
   */
  public static TestServer shared() {
    return Shared.DEFAULT;
  }

  /**
   * The MariaDB server for all tests of this JVM: a container where there is Docker, otherwise the
   * same as {@link #shared()}.
   *
   * @return the running server; must not be closed
   */
  public static TestServer sharedMariaDb() {
    return SharedMariaDb.SERVER;
  }

  /**
   * The server of a product and version for all tests of this JVM. The test is aborted, that is
   * skipped with a reason, without Docker or without the image.
   *
   * @param image the product and version
   * @return the running server; must not be closed
   */
  public static TestServer shared(DatabaseImage image) {
    return SharedImages.SERVERS.computeIfAbsent(image, TestServer::start);
  }

  /**
   * Starts a server of the same kind as {@link #shared()}.
   *
   * @return the running server; must be closed
   */
  public static TestServer startOwn() {
    return hasDocker()
        ? start(DatabaseImage.MYSQL_9_7)
        : EmbeddedServer.launch().told("embedded");
  }

  /**
   * Starts a server in a container. The test is aborted, that is skipped with a reason, without
   * Docker or without the image.
   *
   * @param image the product and version
   * @return the running server; must be closed
   */
  public static TestServer start(DatabaseImage image) {
    return ContainerServer.launch(image).told("Testcontainers " + image.imageName());
  }

  /**
   * Starts MySQL in a container whose data are on a small disk, in memory. The test is skipped
   * without Docker. The data are lost when the server stops.
   *
   * @param megabytes the size of the disk, of which a new server takes 200
   * @return the running server; must be closed
   */
  public static TestServer startOnDisk(int megabytes) {
    return ContainerServer.launch(DatabaseImage.MYSQL_9_7, megabytes)
        .told("Testcontainers " + DatabaseImage.MYSQL_9_7.imageName() + " on a small disk");
  }

  /**
   * Starts MySQL in a container with a wall clock that can be moved. The test is aborted, that is
   * skipped with a reason, without Docker or without the image.
   *
   * @param clock its clock
   * @param timeZone its system time zone, for example {@code America/New_York}
   * @return the running server; must be closed
   */
  public static TestServer start(FakeClock clock, String timeZone) {
    return ContainerServer.launch(DatabaseImage.MYSQL_9_7, clock, timeZone)
        .told("Testcontainers " + DatabaseImage.MYSQL_9_7.imageName() + " with libfaketime");
  }

  /**
   * Creates an empty database.
   *
   * @return the database
   */
  public TestDatabase newDatabase() {
    return TestDatabase.create(this);
  }

  /**
   * The port of the server on 127.0.0.1.
   *
   * @return the port, which never changes
   */
  public int port() {
    return this.port;
  }

  /**
   * Connects as root without a database.
   *
   * @return a connection, which the caller closes
   * @throws SQLException if the connection fails
   */
  public Connection connectAsRoot() throws SQLException {
    return DriverManager.getConnection(url(""), "root", ROOT_PASSWORD);
  }

  /**
   * Runs a statement as root.
   *
   * @param sql the statement
   */
  public void execute(String sql) {
    try (Connection connection = connectAsRoot();
        Statement statement = connection.createStatement()) {
      statement.execute(sql);
    } catch (SQLException ex) {
      throw new IllegalStateException(sql + ": " + ex.getMessage(), ex);
    }
  }

  /**
   * Queries the server for one value as root.
   *
   * @param sql a query
   * @return the first column of the first row as text; {@code null} if there is no row or no value
   */
  public @Nullable String query(String sql) {
    try (Connection connection = connectAsRoot();
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(sql)) {
      return rows.next() ? rows.getString(1) : null;
    } catch (SQLException ex) {
      throw new IllegalStateException(sql + ": " + ex.getMessage(), ex);
    }
  }

  /**
   * Queries the server for its version.
   *
   * @return for example {@code 11.4.5-MariaDB}
   */
  public String version() {
    try (Connection connection = connectAsRoot();
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SELECT VERSION()")) {
      rows.next();
      return rows.getString(1);
    } catch (SQLException ex) {
      throw new IllegalStateException(ex);
    }
  }

  /**
   * The product of the server.
   *
   * @return whether this is MariaDB rather than MySQL
   */
  public abstract boolean isMariaDb();

  /** Freezes the server: it accepts connections but never answers. */
  public abstract void pause();

  /** Resumes a paused server. */
  public abstract void resume();

  /** Stops the server cleanly. */
  public abstract void stop();

  /** Kills the server, as {@code kill -9} does. */
  public abstract void kill();

  /** Starts the server after {@link #stop()} or {@link #kill()}, on the same port and data. */
  public abstract void start();

  /**
   * Fills the disk of {@link #startOnDisk} to the last byte.
   *
   * @throws UnsupportedOperationException if the server has no disk of its own
   */
  public void fillDisk() {
    throw new UnsupportedOperationException("This server has no disk of its own");
  }

  /** Frees the space that {@link #fillDisk()} took. */
  public void freeDisk() {
    throw new UnsupportedOperationException("This server has no disk of its own");
  }

  /** Stops the server and deletes its data. */
  @Override
  public abstract void close();

  /**
   * The JDBC URL of a database, for the driver of the server's product.
   *
   * @param database the database; may be empty
   * @return the URL, without credentials
   */
  String url(String database) {
    String product = isMariaDb() ? "mariadb" : "mysql";
    return "jdbc:" + product + "://127.0.0.1:" + port() + "/" + database + parameters(isMariaDb());
  }

  static String parameters(boolean mariaDbDriver) {
    // MySQL sends its public key for caching_sha2_password only to clients that request it.
    return mariaDbDriver
        ? "?allowPublicKeyRetrieval=true"
        : "?allowPublicKeyRetrieval=true&sslMode=DISABLED";
  }

  void awaitAnswer() {
    Awaitility.await("the server answers")
        .atMost(Duration.ofSeconds(60))
        .pollInterval(Duration.ofMillis(100))
        .ignoreExceptions()
        .until(() -> !version().isEmpty());
  }

  static int freePort() {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  private static final class Shared {

    static final TestServer DEFAULT = startOwn();
  }

  private static final class SharedImages {

    static final Map<DatabaseImage, TestServer> SERVERS = new ConcurrentHashMap<>();
  }

  private static final class SharedMariaDb {

    static final TestServer SERVER =
        hasDocker() ? shared(DatabaseImage.MARIADB_11_8) : Shared.DEFAULT;
  }

  /** Reports the server that the tests use; build reports are searched for this line. */
  private TestServer told(String how) {
    String number = version().replaceFirst("[^0-9.].*", "");
    System.out.println(
        "Test database: " + (isMariaDb() ? "MariaDB " : "MySQL ") + number + " (" + how + ")");
    return this;
  }
}
