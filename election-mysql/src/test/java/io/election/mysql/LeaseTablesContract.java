package io.election.mysql;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.lease.LeaseRow;
import io.election.lease.LeaseStore;
import io.election.test.Checkpoint;
import io.election.test.Leases;
import io.election.test.TestDatabase;
import io.election.test.TestServer;
import io.election.testing.OlderToolsContract;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** The contract on the two tables of one database, with one kind of connection. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class LeaseTablesContract extends OlderToolsContract {

  private TestDatabase database;
  private DataSource dataSource;
  private Connection root;
  private MysqlLeaseStore store;
  private MysqlLeaseStore another;

  /** The server that the tests use. */
  abstract TestServer server();

  /** The source of connections; closed after all tests if it is closeable. */
  abstract DataSource dataSource(TestDatabase database);

  @BeforeAll
  void connect() {
    this.database = Database.withTables(server().newDatabase());
    this.dataSource = dataSource(this.database);
    this.root = this.database.connect();
  }

  @AfterAll
  void disconnect() throws Exception {
    if (this.root != null) {
      this.root.close();
    }
    if (this.dataSource instanceof AutoCloseable pool) {
      pool.close();
    }
  }

  @BeforeEach
  void emptyTables() throws SQLException {
    run("DELETE FROM leader_election");
    run("DELETE FROM leader_election_history");
    this.store = Database.store(this.dataSource, this.database.jdbcUrl());
    this.another = Database.store(this.dataSource, this.database.jdbcUrl());
  }

  @AfterEach
  void closeStore() {
    this.store.close();
    this.another.close();
  }

  @Override
  protected LeaseStore store() {
    return this.store;
  }

  @Override
  protected LeaseStore another() {
    return this.another;
  }

  @Override
  protected ManualEdits edits() {
    return new SqlEdits();
  }

  /**
   * A checkpoint contains the state before the first use, and each process restored from it uses
   * that state.
   */
  @Test
  void a_record_is_own_to_one_of_the_stores_that_were_restored_from_one_checkpoint()
      throws Exception {
    MysqlLeaseStore restored = Database.store(this.dataSource, this.database.jdbcUrl());
    Checkpoint.restore(this.store, restored);
    LeaseRow led = led(SERVICE, A);
    assertThat(led.own()).isTrue();

    assertThat(restored.read(Set.of(SERVICE)).get(SERVICE).row().own()).isFalse();
    assertThat(Leases.renew(restored, A, Map.of(SERVICE, led.term()))).isEmpty();
    restored.close();
    assertThat(row(SERVICE)).isEqualTo(led);
  }

  private void run(String sql, Object... parameters) {
    try (PreparedStatement statement = this.root.prepareStatement(sql)) {
      for (int i = 0; i < parameters.length; i++) {
        statement.setObject(i + 1, parameters[i]);
      }
      statement.executeUpdate();
    } catch (SQLException ex) {
      throw new IllegalStateException(sql, ex);
    }
  }

  @Override
  protected void contend(String serviceId, String nodeId) {
    run("""
        INSERT INTO leader_election (service_id, leader_id, last_active_time) VALUES (?, ?, now())
        ON DUPLICATE KEY UPDATE
            leader_id = if(last_active_time <= now() - interval %d second, values(leader_id), leader_id),
            last_active_time = if(leader_id = values(leader_id), values(last_active_time), last_active_time)
        """.formatted(OLDER_TOOLS_INTERVAL.toSeconds()), serviceId, nodeId);
  }

  private final class SqlEdits implements ManualEdits {

    @Override
    public void replace(String serviceId, String leaderId, Long leaseMillis) {
      run(
          "REPLACE INTO leader_election (service_id, leader_id, last_active_time, lease_millis) VALUES (?, ?, '1970-01-02 00:00:00', ?)",
          serviceId,
          leaderId,
          leaseMillis);
    }

    @Override
    public void setLeader(String serviceId, String leaderId) {
      run("UPDATE leader_election SET leader_id = ? WHERE service_id = ?", leaderId, serviceId);
    }

    @Override
    public void setTerm(String serviceId, long term) {
      run("UPDATE leader_election SET term = ? WHERE service_id = ?", term, serviceId);
    }

    @Override
    public void setVersion(String serviceId, long version) {
      run("UPDATE leader_election SET version = ? WHERE service_id = ?", version, serviceId);
    }

    @Override
    public void setLease(String serviceId, Long leaseMillis) {
      run(
          "UPDATE leader_election SET lease_millis = ? WHERE service_id = ?",
          leaseMillis,
          serviceId);
    }

    @Override
    public void touch(String serviceId) {
      run(
          "UPDATE leader_election SET last_active_time = last_active_time + INTERVAL 1 MICROSECOND WHERE service_id = ?",
          serviceId);
    }

    @Override
    public void setBack(String serviceId, Duration by) {
      run(
          "UPDATE leader_election SET last_active_time = last_active_time - INTERVAL ? SECOND WHERE service_id = ?",
          by.toSeconds(),
          serviceId);
    }

    @Override
    public void delete(String serviceId) {
      run("DELETE FROM leader_election WHERE service_id = ?", serviceId);
    }

    @Override
    public void insertTerm(String serviceId, long term, String leaderId, long leaseMillis) {
      run(
          "INSERT INTO leader_election_history (service_id, term, leader_id, lease_millis, reason) VALUES (?, ?, ?, ?, 'by hand')",
          serviceId,
          term,
          leaderId,
          leaseMillis);
    }

    @Override
    public void endTerm(String serviceId, long term, Duration ago) {
      run(
          "UPDATE leader_election_history SET ended_at = CURRENT_TIMESTAMP(6) - INTERVAL ? SECOND WHERE service_id = ? AND term = ?",
          ago.toSeconds(),
          serviceId,
          term);
    }

    @Override
    public List<Term> history(String serviceId) {
      List<Term> terms = new ArrayList<>();
      try (PreparedStatement statement = LeaseTablesContract.this.root.prepareStatement(
          "SELECT term, leader_id, lease_millis, ended_at IS NULL, reason, end_reason, ended_by, end_note FROM leader_election_history WHERE service_id = ? ORDER BY term")) {
        statement.setString(1, serviceId);
        try (ResultSet rows = statement.executeQuery()) {
          while (rows.next()) {
            terms.add(new Term(
                rows.getLong(1),
                rows.getString(2),
                rows.getLong(3),
                rows.getBoolean(4),
                rows.getString(5),
                rows.getString(6),
                rows.getString(7),
                rows.getString(8)));
          }
        }
      } catch (SQLException ex) {
        throw new IllegalStateException(ex);
      }
      return terms;
    }
  }
}
