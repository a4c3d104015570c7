package io.election.jdbc;

import io.election.ElectionSetupException;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.sql.SQLTransientConnectionException;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The database that holds the leases: the source of connections, and the name of the database in
 * messages.
 *
 * <p>Every connection is requested from the {@link DataSource} separately. A source that reads the
 * credentials on each call therefore follows a change of password. The source may be a pool: a
 * connection taken from it is kept and never returned alive, because its session has settings of
 * the election. If the source waits for the network without bound, a call does not wait for it
 * longer than its own time allows, but each such attempt occupies a thread. Set {@code
 * connectTimeout} and {@code socketTimeout}, which drivers leave unset.
 *
 * <p>Thread-safe.
 */
public final class ElectionDatabase {

  private static final Logger log = LoggerFactory.getLogger(ElectionDatabase.class);
  private static final int MAX_PENDING = 16;
  private static final String SEARCH_PATH = "currentSchema";

  private final ConnectBackoff.Opening source;
  private final ConnectBackoff backoff;
  private final ThreadFactory threads;
  private final String credentials;
  private final AtomicInteger pending = new AtomicInteger();
  private final Set<String> warnings = ConcurrentHashMap.newKeySet();
  private volatile @Nullable String location;
  private volatile @Nullable String searchPath = "";
  private volatile @Nullable String schema;
  // The last Dialect#source() of a session; empty before the first.
  volatile String serverSource = "";
  private volatile Dialect dialect;

  /** Creates the database. Messages say that the source itself knows user and password. */
  public ElectionDatabase(DataSource dataSource, @Nullable String url) {
    this(dataSource, url, "the DataSource of the election");
  }

  /**
   * Creates the database.
   *
   * @param dataSource the source of connections; need not be a pool
   * @param url its JDBC URL, for messages, which show neither user nor password; {@code null} if
   *     unknown: then messages name no host until the first connection
   * @param credentials where the source reads user and password, for messages
   */
  public ElectionDatabase(DataSource dataSource, @Nullable String url, String credentials) {
    this(dataSource, url, credentials, ElectionDatabase::thread);
  }

  /** Creates a database whose connecting threads come from the given factory. */
  ElectionDatabase(
      DataSource dataSource, @Nullable String url, String credentials, ThreadFactory threads) {
    this.backoff = new ConnectBackoff(System::nanoTime);
    this.source = () -> this.backoff.connect("", null, dataSource::getConnection);
    this.credentials = credentials;
    this.dialect = Dialects.ofUrl(url);
    this.threads = threads;
    learn(url, this.dialect);
  }

  /** Creates a database whose source asks the back-off whether it may open a connection. */
  ElectionDatabase(ConnectBackoff.Opening source, ConnectBackoff backoff, Login login) {
    this.source = source;
    this.backoff = backoff;
    this.searchPath = login.searchPath();
    this.credentials = login.source();
    this.location = new JdbcUrl(login.url()).location();
    this.dialect = Dialects.ofUrl(login.url());
    this.threads = ElectionDatabase::thread;
  }

  private static Thread thread(Runnable work) {
    return new Thread(work, "election-connect");
  }

  /** Where user and password are read, for messages. */
  String credentials() {
    return this.credentials;
  }

  /** The schemas that pool or URL name; empty if none, {@code null} if a statement of the pool does. */
  @Nullable
  String searchPath() {
    return this.searchPath;
  }

  /** Host, port and database, for messages. */
  String location() {
    String location = this.location;
    return location != null ? location : JdbcUrl.UNKNOWN;
  }

  void learn(@Nullable String url, Dialect dialect) {
    this.dialect = dialect;
    if (this.location == null && url != null) {
      JdbcUrl known = new JdbcUrl(url);
      this.searchPath = Objects.requireNonNullElse(known.parameter(SEARCH_PATH), "");
      this.location = known.location();
    }
  }

  /** The dialect of the last connection; of the URL before the first. */
  Dialect dialect() {
    return this.dialect;
  }

  /** Logs a warning unless it was logged before. */
  void warnOnce(String warning) {
    if (this.warnings.add(warning)) {
      log.warn("{}", warning);
    }
  }

  /** Learns the schema. Where sessions choose it, it stays so: live ones would use another. */
  synchronized void learnSchema(String schema) {
    if (!this.dialect.keepsSettings() && !schema.equals(this.schema)) {
      if (this.schema != null) {
        throw new ElectionSetupException(
            "The tables of the election in %s were in %s, and new connections look for them in %s."
                .formatted(location(), this.schema, schema),
            "Undo what has changed (the URL, the user's settings, the schemas), or start all nodes again, none before all have stopped.");
      }
      log.info("the election uses the tables in schema {} of {}", schema, location());
    }
    this.schema = schema;
  }

  /** The name of the database on its server; {@code null} before the first connection. */
  @Nullable
  String schema() {
    return this.schema;
  }

  /**
   * Connects on a separate thread, because nothing bounds the time that a {@link DataSource} takes.
   * A connection that arrives after the deadline is closed.
   */
  Connection connect(Deadline deadline) throws SQLException {
    if (this.pending.get() >= MAX_PENDING) {
      throw new SQLTransientConnectionException(
          "%s attempts to connect have not returned; set connectTimeout and socketTimeout"
              .formatted(MAX_PENDING));
    }
    CompletableFuture<Connection> connected = new CompletableFuture<>();
    begin(connected);
    boolean handedOver = false;
    try {
      Connection connection = connected.get(deadline.remainingMillis(), TimeUnit.MILLISECONDS);
      handedOver = true;
      return connection;
    } catch (TimeoutException ex) {
      throw new SQLTimeoutException("No connection in time", ex);
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
      throw new SQLTransientConnectionException("Interrupted while connecting", ex);
    } catch (ExecutionException ex) {
      if (ex.getCause() instanceof SQLException cause) {
        throw cause;
      }
      throw new SQLException("The DataSource failed: " + ex.getCause(), ex.getCause());
    } finally {
      if (!handedOver) {
        var unused = connected.thenAccept(ElectionDatabase::discard);
      }
    }
  }

  /** Starts the connecting thread. An attempt without one is not pending. */
  private void begin(CompletableFuture<Connection> connected) throws SQLException {
    this.pending.incrementAndGet();
    try {
      Thread thread = this.threads.newThread(() -> connect(connected));
      thread.setDaemon(true);
      thread.start();
    } catch (OutOfMemoryError ex) {
      this.pending.decrementAndGet();
      throw new SQLTransientConnectionException(
          "No thread is available to connect (%s). Raise the limit of processes, or let the application use fewer threads"
              .formatted(ex.getMessage()),
          ex);
    }
  }

  /** See {@link ConnectBackoff#isCrowded}. */
  boolean isCrowded() {
    return this.backoff.isCrowded();
  }

  private void connect(CompletableFuture<Connection> connected) {
    try {
      connected.complete(this.source.open());
    } catch (Throwable ex) { // the waiting thread must get it
      connected.completeExceptionally(ex);
    } finally {
      this.pending.decrementAndGet();
    }
  }

  /**
   * Closes a connection hard: sends nothing to a server that may not answer, and does not return
   * the connection to a pool.
   */
  static void discard(Connection connection) {
    try {
      connection.abort(Runnable::run);
    } catch (SQLException | RuntimeException | Error ex) {
      log.debug("The connection could not be aborted", ex);
    }
    try {
      connection.close();
    } catch (SQLException | RuntimeException | Error ex) {
      log.debug("The connection could not be closed", ex);
    }
  }

  /**
   * What a connection is opened with.
   *
   * @param url the JDBC URL
   * @param username the user; {@code null} if the URL names it
   * @param password the password; {@code null} if there is none, or if the URL contains it
   * @param driver the driver; {@code null} if its class is missing
   * @param source where user and password come from, for messages
   * @param settings what else a pool does to its connections
   */
  public record Login(
      String url,
      @Nullable String username,
      @Nullable String password,
      @Nullable Driver driver,
      String source,
      Settings settings) {

    /** The schemas that pool or URL name; {@code null} if a statement of the pool does. */
    private @Nullable String searchPath() {
      String sql = this.settings.initSql();
      if (sql != null && sql.matches("(?is).*(search_path|set\\s+(session\\s+)?schema\\s).*")) {
        return null;
      }
      if (this.settings.schema() != null) {
        return '"' + this.settings.schema().replace("\"", "\"\"") + '"';
      }
      String named = new JdbcUrl(this.url).parameter(SEARCH_PATH);
      return named != null ? named : this.settings.driverProperties().getOrDefault(SEARCH_PATH, "");
    }

    /** Shows no secrets. */
    @Override
    public String toString() {
      return "Login[...]";
    }
  }

  /**
   * What a pool does to its connections, so that the election's are neither weaker nor other ones.
   *
   * @param driverProperties the properties that the driver gets, for instance {@code sslMode}
   * @param catalog the catalog that is chosen after connecting; {@code null} for the URL's
   * @param schema the schema that is chosen after connecting; {@code null} for the URL's
   * @param initSql the statement that is run after connecting; {@code null} for none
   */
  public record Settings(
      Map<String, String> driverProperties,
      @Nullable String catalog,
      @Nullable String schema,
      @Nullable String initSql) {

    /** No settings. */
    public static final Settings NONE = new Settings(Map.of(), null, null, null);

    /** Shows no secrets. */
    @Override
    public String toString() {
      return "Settings[...]";
    }
  }
}
