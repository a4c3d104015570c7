package io.election.jdbc;

import io.election.jdbc.JdbcLeaseStore.SchemaMode;
import io.election.store.LeaseStore;
import io.election.support.ConnectionSource;
import io.election.support.MovingDataSource;
import io.election.support.TestDatabase;
import io.election.support.TestServer;
import io.election.support.TestServer.Product;
import io.election.support.process.TcpProxy;
import io.election.test.StoreFaults;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import javax.sql.DataSource;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;

/** Breaks the connections of a store to a real server, and moves them to another one. */
final class SqlFaults implements StoreFaults {

  /** Shorter than the server waits for a lock. */
  private static final Duration TIMEOUT = Duration.ofMillis(500);

  private static final List<String> TABLES = List.of("leader_election", "leader_election_history");

  private final TestDatabase database;
  private final SqlContract.Connecting connecting;
  private final UnaryOperator<DataSource> breaking;
  private final TcpProxy proxy;
  private final DataSource here;
  private final List<AutoCloseable> open = new ArrayList<>();
  private final JdbcLeaseStore store;

  private volatile @Nullable DataSource elsewhere;
  private volatile boolean moved;
  private volatile boolean unsuitable;
  private volatile boolean losesAnswer;
  private volatile boolean undoes;
  private boolean holds;
  private @Nullable Connection locker;

  /**
   * Opens a store.
   *
   * @param breaking what the connections of all stores are wrapped in
   */
  SqlFaults(
      TestDatabase database,
      SqlContract.Connecting connecting,
      UnaryOperator<DataSource> breaking) {
    this.database = database;
    this.connecting = connecting;
    this.breaking = breaking;
    this.proxy = TcpProxy.to(database);
    this.here = closing(connecting.to(database, this.proxy.port()));
    DataSource moving = new MovingDataSource(this::place);
    this.store = Database.store(
        breaking.apply(ConnectionSource.of(() -> new Line(moving.getConnection()).watched())),
        database.jdbcUrl(),
        SchemaMode.NONE,
        TIMEOUT);
  }

  private DataSource place() {
    DataSource other = this.elsewhere;
    return this.moved && other != null ? other : this.here;
  }

  private <T> T closing(T opened) {
    if (opened instanceof AutoCloseable closeable) {
      this.open.add(0, closeable);
    }
    return opened;
  }

  @Override
  public LeaseStore store() {
    return this.store;
  }

  @Override
  public void lock(Set<String> serviceIds) {
    this.locker = this.database.begin(serviceIds.stream()
        .collect(Collectors.joining(
            "', '", "SELECT * FROM leader_election WHERE service_id IN ('", "') FOR UPDATE")));
  }

  @Override
  public void holdRequests() {
    this.holds = true;
    this.proxy.loseRequests();
  }

  @Override
  public void holdAnswers() {
    this.holds = true;
    this.losesAnswer = true;
  }

  @Override
  public void undoCommits() {
    this.undoes = true;
  }

  @Override
  public void useUnsuitableSettings() {
    this.unsuitable = true;
  }

  @Override
  public LeaseStore copyToAnotherServer() throws SQLException {
    TestDatabase other = otherServer().newDatabase().withTables();
    for (String table : TABLES) {
      copy(other, table);
    }
    DataSource connections = closing(this.connecting.to(other, other.server().port()));
    this.elsewhere = connections;
    return closing(Database.store(this.breaking.apply(connections), other.jdbcUrl()));
  }

  /** A server of the same product, which the tests of this JVM share. */
  private TestServer otherServer() {
    return SqlContract.Second.of(this.database.server());
  }

  private void copy(TestDatabase to, String table) throws SQLException {
    try (Connection source = this.database.connect();
        Connection target = to.connect();
        Statement reading = source.createStatement();
        ResultSet rows = reading.executeQuery("SELECT * FROM " + table)) {
      int columns = rows.getMetaData().getColumnCount();
      try (PreparedStatement writing = target.prepareStatement("INSERT INTO " + table + " VALUES ("
          + String.join(", ", Collections.nCopies(columns, "?")) + ")")) {
        while (rows.next()) {
          for (int i = 1; i <= columns; i++) {
            writing.setObject(i, rows.getObject(i));
          }
          writing.executeUpdate();
        }
      }
    }
  }

  @Override
  public void moveToAnotherServer() {
    this.moved = true;
  }

  @Override
  public void end() throws SQLException {
    this.moved = false;
    this.undoes = false;
    this.losesAnswer = false;
    Connection locking = this.locker;
    if (locking != null) {
      locking.rollback();
      locking.close();
      this.locker = null;
    }
    this.proxy.heal();
    if (!this.holds) {
      return;
    }
    this.holds = false;
    // The server ends a connection after what has arrived on it.
    this.store.disconnect();
    Awaitility.await("the server has ended the connections")
        .until(() -> this.proxy.connectionCount() == 0);
  }

  @Override
  public void close() throws Exception {
    end();
    this.store.close();
    for (AutoCloseable closeable : this.open) {
      closeable.close();
    }
    this.proxy.close();
  }

  /** A connection of the store. */
  private final class Line {

    private final Connection connection;
    private boolean inTransaction;

    Line(Connection connection) throws SQLException {
      this.connection = connection;
      if (SqlFaults.this.unsuitable) {
        try (Statement statement = connection.createStatement()) {
          if (SqlFaults.this.database.server().product() == Product.POSTGRESQL) {
            statement.execute(
                "SET synchronous_commit = off; SET default_transaction_isolation = serializable; SET default_transaction_read_only = on; SET default_transaction_deferrable = on; SET statement_timeout = '50ms'; SET lock_timeout = '30s'; SET client_min_messages = error; SET TIME ZONE -8; SET standard_conforming_strings = off; SET quote_all_identifiers = on");
            return;
          }
          statement.execute(
              "SET SESSION autocommit = 0, completion_type = 1, time_zone = '-08:00', sql_mode = '', sql_safe_updates = 1, sql_select_limit = 1, innodb_lock_wait_timeout = 30");
          statement.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
        }
      }
    }

    Connection watched() {
      return Watched.of(this.connection, (method, sql) -> {
        if (sql != null) {
          before(sql);
        }
        return sql;
      });
    }

    /** The statement without the two that begin its transaction. */
    private static String own(String sql) {
      return sql.replaceFirst("(?s)^BEGIN.*?;\\s*SELECT.*?;\\s", "").strip();
    }

    /** Loses the answer to a statement, or undoes it, if it is one that decides. */
    private void before(String sql) throws SQLException {
      boolean alone = sql.startsWith("BEGIN") && sql.endsWith("COMMIT");
      boolean commits = sql.endsWith("COMMIT") && !alone;
      boolean decides = commits || alone || !this.inTransaction;
      if (!alone && (sql.equals("START TRANSACTION") || sql.startsWith("BEGIN"))) {
        this.inTransaction = true;
        return;
      }
      if (commits || sql.equals("ROLLBACK")) {
        this.inTransaction = false;
      }
      if (!decides || sql.startsWith("SET SESSION")) {
        return;
      }
      if (SqlFaults.this.losesAnswer) {
        SqlFaults.this.losesAnswer = false;
        SqlFaults.this.proxy.loseAnswers();
      }
      if (SqlFaults.this.undoes && (commits || !own(sql).startsWith("SELECT"))) {
        if (commits) {
          try (Statement statement = this.connection.createStatement()) {
            statement.execute("ROLLBACK");
          }
        }
        throw new SQLException(
            "Error on observer while running replication hook 'before_commit'.", "HY000", 3100);
      }
    }
  }
}
