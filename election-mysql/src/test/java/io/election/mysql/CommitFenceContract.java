package io.election.mysql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.election.ElectionService;
import io.election.LeadershipLostException;
import io.election.lease.LeaseRow;
import io.election.lease.LeaseStoreException;
import io.election.test.TestDataSource;
import io.election.test.TestDatabase;
import io.election.test.TestServer;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the fence lets through, what it refuses, and what it leaves alone. */
abstract class CommitFenceContract {

  private final CommitFence fence = new CommitFence(Duration.ofMillis(500));
  private TestDatabase database;
  private MysqlLeaseStore store;
  private Connection worker;
  private long term;

  abstract TestServer server();

  @BeforeEach
  void lead() throws Exception {
    this.database = Database.withTables(server().newDatabase());
    this.database.execute("CREATE TABLE work (n int AUTO_INCREMENT PRIMARY KEY)");
    this.store = Database.store(this.database);
    LeaseRow created = this.store.create("billing", "a", 10_000, 0).orElseThrow();
    assertThat(this.store.lead("billing", created, 10_000)).isTrue();
    this.term = created.term();
    this.worker = this.database.dataSource().getConnection();
    this.worker.setAutoCommit(false);
  }

  @AfterEach
  void close() throws Exception {
    this.worker.close();
    this.store.close();
  }

  @Test
  void work_of_a_term_that_lasts_is_committed() throws Exception {
    work();
    this.fence.commit(this.worker, new Election("a"), this.term);
    assertThat(committed()).isEqualTo(1);
  }

  @ParameterizedTest
  @ValueSource(
      ints = {
        Connection.TRANSACTION_READ_COMMITTED,
        Connection.TRANSACTION_REPEATABLE_READ,
        Connection.TRANSACTION_SERIALIZABLE
      })
  void work_of_a_term_that_has_ended_is_not_committed(int isolation) throws Exception {
    this.worker.setTransactionIsolation(isolation);
    seeTheTermOpen();
    work();
    if (isolation == Connection.TRANSACTION_SERIALIZABLE) {
      // What it has read stays locked: the other node takes over only when this work is over.
      assertThatThrownBy(this::takeOver).hasMessageContaining("Lock wait timeout exceeded");
      return;
    }
    assertThat(takeOver()).hasValue(this.term + 1);
    assertRefused("a", this.term, isolation);
  }

  @ParameterizedTest
  @ValueSource(strings = {"ON", "OFF"})
  void snapshot_isolation_makes_no_difference(String setting) throws Exception {
    assumeTrue(
        this.database.query("SHOW VARIABLES LIKE 'innodb_snapshot_isolation'") != null,
        "only MariaDB has innodb_snapshot_isolation");
    execute("SET SESSION innodb_snapshot_isolation = " + setting);
    this.worker.commit();
    this.worker.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
    seeTheTermOpen();
    work();
    assertThat(takeOver()).isPresent();
    assertRefused("a", this.term, Connection.TRANSACTION_REPEATABLE_READ);

    seeTheTermOpen();
    work();
    this.fence.commit(this.worker, new Election("b"), this.term + 1);
    assertThat(committed()).isEqualTo(1);
  }

  @Test
  void a_term_of_another_node_or_of_nobody_is_refused() throws Exception {
    work();
    assertThatThrownBy(() -> this.fence.commit(this.worker, new Election("A"), this.term))
        .isInstanceOf(LeadershipLostException.class)
        .hasMessage(
            "Term 1 of node 'A' in election 'billing' belongs to node 'a', so that its work is not committed");
    work();
    assertThatThrownBy(() -> this.fence.commit(this.worker, new Election("a"), this.term + 1))
        .isInstanceOf(LeadershipLostException.class)
        .hasMessageContaining("is not in leader_election_history");
    assertThat(committed()).isZero();
  }

  @Test
  void neither_renewals_nor_readers_wait_for_a_fence() throws Exception {
    work();
    try (CommitFence.Held held = hold()) {
      assertThat(held).isNotNull();
      for (int i = 0; i < 10; i++) {
        assertThat(this.store.renew("a", Map.of("billing", this.term))).containsExactly("billing");
        assertThat(this.store.read(Set.of("billing"))).hasSize(1);
      }
      this.worker.commit();
    }
    assertThat(committed()).isEqualTo(1);
  }

  @Test
  void who_takes_over_waits_for_the_commit_that_is_under_way() throws Exception {
    work();
    CommitFence patient = new CommitFence(Duration.ofSeconds(10));
    try (CommitFence.Held held = patient.hold(this.worker, "a", Map.of("billing", this.term))) {
      assertThat(held).isNotNull();
      assertThatThrownBy(this::takeOver)
          .isInstanceOf(LeaseStoreException.class)
          .hasMessageContaining("Lock wait timeout exceeded");
      this.worker.commit();
    }
    assertThat(takeOver()).hasValue(this.term + 1);
    assertThat(committed()).isEqualTo(1);
  }

  @Test
  void who_commits_does_not_wait_long_for_who_is_taking_over() throws Exception {
    work();
    try (Connection taker = this.database.connect()) {
      taker.setAutoCommit(false);
      try (Statement statement = taker.createStatement()) {
        statement.executeUpdate("UPDATE leader_election_history SET ended_at = now(6)");
      }
      execute("SET SESSION innodb_lock_wait_timeout = 1000");
      assertThatThrownBy(() -> this.fence.commit(this.worker, new Election("a"), this.term))
          .isInstanceOf(LeadershipLostException.class)
          .hasMessageContaining("could not be confirmed while another node was taking over")
          .hasMessageContaining("Lock wait timeout exceeded");
      taker.rollback();
    }
    assertThat(committed()).isZero();
  }

  @Test
  void a_client_that_vanishes_before_its_commit_holds_nobody_up_for_long() throws Exception {
    work();
    assertThat(hold()).isNotNull();
    // It says no more. The server ends the session after two renew intervals.
    Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .ignoreExceptionsInstanceOf(LeaseStoreException.class)
        .until(() -> takeOver().isPresent());
    assertThatThrownBy(this.worker::commit).isInstanceOf(SQLException.class);
    assertThat(committed()).isZero();
  }

  @Test
  void the_session_keeps_its_own_time_outs() throws Exception {
    execute("SET SESSION wait_timeout = 4711, SESSION innodb_lock_wait_timeout = 17");
    work();
    try (CommitFence.Held held = hold()) {
      assertThat(held).isNotNull();
      assertThat(timeouts()).isEqualTo("1/1");
      this.worker.commit();
    }
    assertThat(timeouts()).isEqualTo("4711/17");

    assertThat(takeOver()).isPresent();
    work();
    assertThatThrownBy(() -> this.fence.commit(this.worker, new Election("a"), this.term))
        .isInstanceOf(LeadershipLostException.class);
    assertThat(timeouts()).isEqualTo("4711/17");
  }

  @Test
  void a_missing_history_refuses_and_says_how_to_do_without() throws Exception {
    this.database.execute("DROP TABLE leader_election_history");
    work();
    assertThatThrownBy(() -> this.fence.commit(this.worker, new Election("a"), this.term))
        .isInstanceOf(LeadershipLostException.class)
        .hasMessageContaining("as.election.mysql.commit-fence=false");
  }

  @Test
  void reading_inserting_and_updating_are_all_the_rights_it_needs() throws Exception {
    String user = this.database.newLeastPrivilegedUser();
    try (Connection least = new TestDataSource(
            this.database.jdbcUrl(), user, this.database.password())
        .getConnection()) {
      least.setAutoCommit(false);
      try (Statement statement = least.createStatement()) {
        statement.executeUpdate("INSERT INTO work () VALUES ()");
      }
      this.fence.commit(least, new Election("a"), this.term);
    }
    assertThat(committed()).isEqualTo(1);
  }

  @Test
  void a_user_of_the_applications_own_needs_to_read_the_history_alone() throws Exception {
    String user = this.database.newUser(
        "app_of_" + this.database.name(),
        "INSERT ON " + this.database.name() + ".work",
        "SELECT ON " + this.database.name() + ".leader_election_history");
    try (Connection connection = new TestDataSource(
            this.database.jdbcUrl(), user, this.database.password())
        .getConnection()) {
      connection.setAutoCommit(false);
      try (Statement statement = connection.createStatement()) {
        statement.executeUpdate("INSERT INTO work () VALUES ()");
      }
      this.fence.commit(connection, new Election("a"), this.term);
    }
    assertThat(committed()).isEqualTo(1);
  }

  private CommitFence.Held hold() throws SQLException {
    return this.fence.hold(this.worker, "a", Map.of("billing", this.term));
  }

  private OptionalLong takeOver() throws LeaseStoreException {
    LeaseRow row = this.store.read(Set.of("billing")).get("billing").row();
    return this.store.take("billing", row, "b", 10_000, 0, "EXPIRED");
  }

  private void seeTheTermOpen() throws SQLException {
    try (Statement statement = this.worker.createStatement();
        ResultSet rows = statement.executeQuery(
            "SELECT COUNT(*) FROM leader_election_history WHERE ended_at IS NULL")) {
      rows.next();
      assertThat(rows.getInt(1)).isEqualTo(1);
    }
  }

  private void work() throws SQLException {
    execute("INSERT INTO work () VALUES ()");
  }

  private void execute(String sql) throws SQLException {
    try (Statement statement = this.worker.createStatement()) {
      statement.execute(sql);
    }
  }

  private String timeouts() throws SQLException {
    try (Statement statement = this.worker.createStatement();
        ResultSet rows = statement.executeQuery(
            "SELECT CONCAT(@@SESSION.wait_timeout, '/', @@SESSION.innodb_lock_wait_timeout)")) {
      rows.next();
      return rows.getString(1);
    }
  }

  private int committed() {
    return Integer.parseInt(String.valueOf(this.database.query("SELECT COUNT(*) FROM work")));
  }

  private void assertRefused(String nodeId, long term, int isolation) {
    assertThatThrownBy(() -> this.fence.commit(this.worker, new Election(nodeId), term))
        .as("isolation %d", isolation)
        .isInstanceOfSatisfying(LeadershipLostException.class, (lost) -> {
          assertThat(lost.serviceId()).isEqualTo("billing");
          assertThat(lost.term()).isEqualTo(term);
        });
    assertThat(committed()).isZero();
  }

  /** Names a node and its election. */
  private record Election(String nodeId) implements ElectionService {

    @Override
    public String serviceId() {
      return "billing";
    }

    @Override
    public boolean isLeader() {
      return true;
    }

    @Override
    public void becomeLeader() {}

    @Override
    public void lostLeader() {}
  }
}
