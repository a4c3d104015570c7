package io.election.jdbc;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.NANOSECONDS;

import io.election.jdbc.ElectionDatabase.Login;
import io.election.jdbc.ElectionDatabase.Settings;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Opens a new connection at each call with the current login. If the URL names several hosts, it
 * connects to the first one that accepts writes.
 */
public final class UnpooledConnections {

  /** The name under which messages about the election's database are found. */
  private static final Logger log = LoggerFactory.getLogger(ElectionDatabase.class);

  private final Supplier<Login> logins;

  private final ConnectBackoff backoff;

  private final int timeoutMillis;

  /** Where the next attempt begins: after the host with which the time of the last one ended. */
  private volatile int first;

  private UnpooledConnections(Supplier<Login> logins, Duration timeout, ConnectBackoff backoff) {
    this.logins = logins;
    this.backoff = backoff;
    this.timeoutMillis = Math.toIntExact(timeout.toMillis());
  }

  /**
   * Creates a database whose connections are opened by a driver, without a pool.
   *
   * @param logins supplies the login for each new connection
   * @param login the current login
   * @param timeout how long a new connection may wait for the network
   * @return the database
   */
  public static ElectionDatabase database(Supplier<Login> logins, Login login, Duration timeout) {
    return database(logins, login, timeout, System::nanoTime);
  }

  /** Creates it with a monotonic clock, in nanoseconds, by which refused logins are delayed. */
  static ElectionDatabase database(
      Supplier<Login> logins, Login login, Duration timeout, LongSupplier ticker) {
    JdbcUrl url = new JdbcUrl(login.url());
    if (url.writesToFirstAlone()) {
      log.warn(
          "The JDBC URL names several hosts ({}), but its driver writes only to the first: if each may become the primary, add failOverReadOnly=false to the URL, and the election uses the first that accepts writes",
          url.describe());
    }
    ConnectBackoff backoff = new ConnectBackoff(ticker);
    return new ElectionDatabase(
        new UnpooledConnections(logins, timeout, backoff)::open, backoff, login);
  }

  /** Opens a connection with the current login. */
  private Connection open() throws SQLException {
    Login login = this.logins.get();
    Connection connection = open(login);
    try {
      prepare(connection, login.settings(), Dialects.ofUrl(login.url()));
      return connection;
    } catch (SQLException | RuntimeException | Error ex) {
      ElectionDatabase.discard(connection);
      throw ex;
    }
  }

  private Connection open(Login login) throws SQLException {
    List<JdbcUrl> urls = new JdbcUrl(login.url()).split();
    if (urls.size() == 1) {
      return open(login, urls.get(0), this.timeoutMillis);
    }
    List<String> problems = new ArrayList<>();
    SQLException failure = null;
    boolean readOnly = false;
    long deadline = System.nanoTime() + MILLISECONDS.toNanos(this.timeoutMillis);
    int begin = this.first;
    int end = begin + urls.size();
    this.first = 0;
    for (int i = begin; i < end; i++) {
      JdbcUrl url = urls.get(i % urls.size());
      // An unreachable host leaves time for the others, unless the driver rounds its share up.
      int left = (int) NANOSECONDS.toMillis(deadline - System.nanoTime());
      if (i > begin && left <= 1) {
        this.first = i % urls.size();
        break;
      }
      try {
        int share = i < end - 1 ? left / 2 : left;
        Connection connection = open(login, url, share);
        if (takesWrites(connection, share)) {
          connection.setNetworkTimeout(Runnable::run, this.timeoutMillis);
          return connection;
        }
        readOnly = true;
        problems.add(url.host() + " is read-only");
      } catch (SQLException ex) {
        if (failure == null) {
          failure = ex;
        } else {
          failure.addSuppressed(ex);
        }
        problems.add(url.host() + " provides no connection");
      }
    }
    if (failure == null || readOnly) {
      throw new SQLException(String.join(", ", problems), SqlError.READ_ONLY_SERVER, failure);
    }
    throw failure;
  }

  /**
   * Returns whether a server accepts writes and is not a replica, and closes the connection if not.
   * The election uses no other server, because the rows of a replica may be old. A server to which
   * only administrators may write counts as read-only.
   */
  private static boolean takesWrites(Connection connection, int millis) throws SQLException {
    boolean takesWrites = false;
    try {
      Dialect dialect = Dialects.of(connection.getMetaData());
      takesWrites = new Statements(connection, Deadline.in(Duration.ofMillis(millis)), dialect)
          .query("SELECT " + dialect.readOnly(), (row) -> Columns.string(row, 1))
          .equals(List.of(""));
      return takesWrites;
    } finally {
      if (!takesWrites) {
        connection.close();
      }
    }
  }

  private Connection open(Login login, JdbcUrl url, int millis) throws SQLException {
    List<@Nullable String> sent = Arrays.asList(login.username(), login.password());
    return this.backoff.connect(url.text(), sent, () -> connect(login, url, millis));
  }

  private static Connection connect(Login login, JdbcUrl url, int timeoutMillis)
      throws SQLException {
    Properties properties = new Properties();
    properties.putAll(login.settings().driverProperties());
    // A driver may bound the handshake only by socketTimeout. Values in the URL may win.
    Dialect dialect = Dialects.ofUrl(url.text());
    String timeout = dialect.driverTimeout(timeoutMillis);
    properties.setProperty("connectTimeout", timeout);
    properties.setProperty("socketTimeout", timeout);
    properties.remove("targetServerType"); // as in the URL
    Map.Entry<String, String> label = dialect.driverLabel();
    if (url.parameter(label.getKey()) == null && !properties.containsKey(label.getKey())) {
      properties.setProperty(label.getKey(), label.getValue());
    }
    if (login.username() != null) {
      properties.setProperty("user", login.username());
    }
    if (login.password() != null) {
      properties.setProperty("password", login.password());
    }
    Driver driver = login.driver();
    Connection connection;
    try {
      connection = driver != null ? driver.connect(url.ofAnyServer(), properties) : null;
    } catch (SQLException ex) {
      throw ex.getErrorCode() == 0 && repeatsSecrets(ex, login) ? withoutSecrets(ex) : ex;
    } catch (RuntimeException ex) {
      throw repeatsSecrets(ex, login) ? withoutSecrets(ex) : new SQLException(ex);
    }
    if (connection == null) {
      throw new SQLException("No JDBC driver accepts the URL");
    }
    return connection;
  }

  /** Does what the pool does, in its order, as far as the election or a later statement needs it. */
  private static void prepare(Connection connection, Settings settings, Dialect dialect)
      throws SQLException {
    if (settings.catalog() != null) {
      connection.setCatalog(settings.catalog());
    }
    if (settings.schema() != null && (dialect.keepsSettings() || settings.initSql() != null)) {
      connection.setSchema(settings.schema());
    }
    if (settings.initSql() == null) {
      return;
    }
    try (Statement statement = connection.createStatement()) {
      statement.execute(settings.initSql());
    } catch (SQLException ex) {
      throw new SQLException(
          "connection-init-sql of the pool failed: " + ex.getMessage(),
          ex.getSQLState(),
          ex.getErrorCode(),
          ex);
    }
  }

  /** A driver that cannot parse a URL repeats the part that it could not parse. */
  private static SQLException withoutSecrets(Exception ex) {
    return new SQLException(
        "The driver cannot use the JDBC URL (%s; its message is not shown because it repeats a part of the URL that may be secret). Write special characters of user and password in percent notation, or set spring.datasource.username and spring.datasource.password"
            .formatted(SqlError.root(ex).getClass().getSimpleName()),
        "HY000");
  }

  private static boolean repeatsSecrets(Throwable failure, Login login) {
    Set<String> secrets = new JdbcUrl(login.url()).secrets();
    login.settings().driverProperties().forEach((name, value) -> {
      if (JdbcUrl.isSecret(name) && !value.isEmpty()) {
        secrets.add(value);
      }
    });
    return SqlError.causes(failure, Throwable.class)
        .map(Throwable::getMessage)
        .filter(Objects::nonNull)
        .anyMatch((message) -> secrets.stream().anyMatch(message::contains));
  }
}
