package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.store.LeaseRow;
import io.election.support.Checkpoint;
import io.election.support.DatabaseImage;
import io.election.support.HandWrittenLease;
import io.election.support.PostgresqlPrograms;
import io.election.support.PostgresqlServer;
import io.election.support.TestDataSource;
import io.election.support.TestDatabase;
import io.election.support.TestServer;
import io.election.support.TestServer.Product;
import io.election.test.Leases;
import io.election.test.ManualEdits;
import io.election.test.OlderToolsContract;
import io.election.test.StoreFaults;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** The contract on the two tables of one database, with one kind of connection. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class SqlContract extends OlderToolsContract {

  /** How a store connects. */
  @FunctionalInterface
  interface Connecting {

    /** Returns connections to a database through a port of this machine. */
    DataSource to(TestDatabase database, int port);

    /** By the driver of the server's product. */
    static Connecting by(String parameters) {
      return (database, port) ->
          by(database.server().product().driver(), parameters).to(database, port);
    }

    static Connecting by(String driver, String parameters) {
      return (database, port) -> new TestDataSource(
          at(port, database.jdbcUrl(driver, parameters)), database.username(), database.password());
    }

    static String at(int port, String url) {
      return url.replaceFirst("//[^/]*/", "//127.0.0.1:" + port + "/");
    }
  }

  /** A second server of the same product for each server, which all contracts of this JVM share. */
  static final class Second {

    private static final Map<TestServer, TestServer> SERVERS = new ConcurrentHashMap<>();

    private Second() {}

    static TestServer of(TestServer first) {
      return SERVERS.computeIfAbsent(first, (server) -> switch (server.product()) {
        case POSTGRESQL -> PostgresqlServer.launch(PostgresqlPrograms.V17);
        case MARIADB ->
          TestServer.hasDocker()
              ? TestServer.start(DatabaseImage.MARIADB_11_8)
              : TestServer.startOwn();
        case MYSQL -> TestServer.start(DatabaseImage.MYSQL_9_7);
      });
    }
  }

  private final Supplier<TestServer> server;
  private final Connecting connecting;

  private TestDatabase database;
  private DataSource dataSource;
  private Connection root;

  SqlContract(Supplier<TestServer> server, Connecting connecting) {
    this.server = server;
    this.connecting = connecting;
  }

  /** Wraps the connections of the stores. */
  DataSource wrapped(DataSource connections) {
    return connections;
  }

  @BeforeAll
  void connect() {
    this.database = this.server.get().newDatabase().withTables();
    this.dataSource = this.connecting.to(this.database, this.database.server().port());
    this.root = this.database.connect();
  }

  @AfterAll
  void disconnect() throws Exception {
    this.root.close();
    if (this.dataSource instanceof AutoCloseable pool) {
      pool.close();
    }
  }

  @BeforeEach
  void emptyTables() {
    run("DELETE FROM leader_election");
    run("DELETE FROM leader_election_history");
  }

  @Override
  protected JdbcLeaseStore open() {
    return Database.store(wrapped(this.dataSource), this.database.jdbcUrl());
  }

  @Override
  protected StoreFaults faults() {
    return new SqlFaults(this.database, this.connecting, this::wrapped);
  }

  @Override
  protected ManualEdits edits() {
    return new SqlEdits(this);
  }

  @Override
  protected void contend(String serviceId, String nodeId) {
    long lease = OLDER_TOOLS_INTERVAL.toSeconds();
    if (isPostgresql()) {
      run(HandWrittenLease.POSTGRESQL_ATTEMPT, serviceId, nodeId, lease, lease);
    } else {
      run(HandWrittenLease.ATTEMPT, serviceId, nodeId, lease);
    }
  }

  /**
   * Each process that is restored from a checkpoint begins with the state before the first use.
   */
  @Test
  void aRecordIsOwnToOneOfTheStoresThatWereRestoredFromOneCheckpoint() throws Exception {
    JdbcLeaseStore restored = open();
    Checkpoint.restore((JdbcLeaseStore) store(), restored);
    LeaseRow led = led(SERVICE, A);
    assertThat(led.own()).isTrue();

    assertThat(restored.read(Set.of(SERVICE)).get(SERVICE).row().own()).isFalse();
    assertThat(Leases.renew(restored, A, Map.of(SERVICE, led.term()))).isEmpty();
    restored.close();
    assertThat(row(SERVICE)).isEqualTo(led);
  }

  private boolean isPostgresql() {
    return this.database.server().product() == Product.POSTGRESQL;
  }

  private void run(String sql, Object... parameters) {
    try (PreparedStatement statement = prepare(sql, parameters)) {
      statement.executeUpdate();
    } catch (SQLException ex) {
      throw new IllegalStateException(sql, ex);
    }
  }

  private PreparedStatement prepare(String sql, Object... parameters) throws SQLException {
    PreparedStatement statement = this.root.prepareStatement(sql);
    for (int i = 0; i < parameters.length; i++) {
      statement.setObject(i + 1, parameters[i]);
    }
    return statement;
  }

  private record SqlEdits(SqlContract on) implements ManualEdits {

    /** The interval of a number of units. */
    private String interval(String unit) {
      return this.on.isPostgresql() ? "? * INTERVAL '1 " + unit + "'" : "INTERVAL ? " + unit;
    }

    private void edit(String serviceId, String change, Object value) {
      this.on.run(
          "UPDATE leader_election SET " + change + " WHERE service_id = ?", value, serviceId);
    }

    @Override
    public void replace(String serviceId, String leaderId, Long leaseMillis) {
      delete(serviceId);
      this.on.run(
          "INSERT INTO leader_election (service_id, leader_id, last_active_time, lease_millis) VALUES (?, ?, TIMESTAMP '1970-01-02 00:00:00', ?)",
          serviceId,
          leaderId,
          leaseMillis);
    }

    @Override
    public void copy(String from, String to) {
      delete(to);
      this.on.run(
          "INSERT INTO leader_election SELECT ?, leader_id, last_active_time, term, version, lease_millis, seal"
              + " FROM leader_election WHERE service_id = ?",
          to,
          from);
    }

    @Override
    public void setLeader(String serviceId, String leaderId) {
      edit(serviceId, "leader_id = ?", leaderId);
    }

    @Override
    public void setTerm(String serviceId, long term) {
      edit(serviceId, "term = ?", term);
    }

    @Override
    public void setVersion(String serviceId, long version) {
      edit(serviceId, "version = ?", version);
    }

    @Override
    public void setLease(String serviceId, Long leaseMillis) {
      edit(serviceId, "lease_millis = ?", leaseMillis);
    }

    @Override
    public void touch(String serviceId) {
      edit(serviceId, "last_active_time = last_active_time + " + interval("microsecond"), 1);
    }

    @Override
    public void setBack(String serviceId, Duration by) {
      edit(
          serviceId, "last_active_time = last_active_time - " + interval("second"), by.toSeconds());
    }

    @Override
    public void delete(String serviceId) {
      this.on.run("DELETE FROM leader_election WHERE service_id = ?", serviceId);
    }

    @Override
    public void insertTerm(String serviceId, long term, String leaderId, long leaseMillis) {
      this.on.run(
          "INSERT INTO leader_election_history (service_id, term, leader_id, lease_millis, reason) VALUES (?, ?, ?, ?, 'by hand')",
          serviceId,
          term,
          leaderId,
          leaseMillis);
    }

    @Override
    public void endTerm(String serviceId, long term, Duration ago) {
      this.on.run(
          "UPDATE leader_election_history SET ended_at = CURRENT_TIMESTAMP(6) - "
              + interval("second") + " WHERE service_id = ? AND term = ?",
          ago.toSeconds(),
          serviceId,
          term);
    }

    @Override
    public void deleteHistory(String serviceId) {
      this.on.run("DELETE FROM leader_election_history WHERE service_id = ?", serviceId);
    }

    @Override
    public List<ManualEdits.Term> history(String serviceId) {
      List<ManualEdits.Term> terms = new ArrayList<>();
      try (PreparedStatement statement = this.on.prepare(
              "SELECT term, leader_id, lease_millis, ended_at IS NULL, reason, end_reason, ended_by, end_note FROM leader_election_history WHERE service_id = ? ORDER BY term",
              serviceId);
          ResultSet rows = statement.executeQuery()) {
        while (rows.next()) {
          terms.add(new ManualEdits.Term(
              rows.getLong(1),
              rows.getString(2),
              rows.getLong(3),
              rows.getBoolean(4),
              rows.getString(5),
              rows.getString(6),
              rows.getString(7),
              rows.getString(8)));
        }
      } catch (SQLException ex) {
        throw new IllegalStateException(ex);
      }
      return terms;
    }
  }
}
