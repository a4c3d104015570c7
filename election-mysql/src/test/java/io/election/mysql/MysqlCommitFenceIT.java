package io.election.mysql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.election.ElectionService;
import io.election.LeadershipLostException;
import io.election.lease.LeaseRow;
import io.election.lease.LeaseStoreException;
import io.election.test.Leases;
import io.election.test.TestDataSource;
import io.election.test.TestDatabase;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.BiPredicate;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests what the fence permits, what it refuses, and what it does not touch. */
@OnEveryServer
class MysqlCommitFenceIT extends ServerDatabase {

  private final CommitFence fence = new CommitFence(Duration.ofMillis(500));
  private MysqlLeaseStore store;
  private Connection worker;
  private long term;

  @BeforeEach
  void lead() throws Exception {
    this.database.execute("CREATE TABLE work (n int AUTO_INCREMENT PRIMARY KEY)");
    this.store = Database.store(this.database);
    LeaseRow created = Leases.create(this.store, "billing", "a", 10_000, 0).orElseThrow();
    assertThat(Leases.lead(this.store, "billing", created, 10_000)).isTrue();
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
      // The rows that it read stay locked: the other node takes over only when this work is over.
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
        assertThat(Leases.renew(this.store, "a", Map.of("billing", this.term)))
            .containsExactly("billing");
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
    // The client sends nothing more. The server ends the session after two renew intervals.
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
      assertThat(timeouts()).isEqualTo("1/17");
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
  void two_holds_in_one_transaction_leave_the_session_its_own_time_outs() throws Exception {
    execute("SET SESSION wait_timeout = 4711, SESSION innodb_lock_wait_timeout = 17");
    work();
    try (CommitFence.Held outer = hold();
        CommitFence.Held inner = hold()) {
      assertThat(outer).isNotSameAs(inner);
      this.worker.commit();
    }
    assertThat(timeouts()).isEqualTo("4711/17");
    work();
    this.fence.commit(this.worker, new Election("a"), this.term);
    assertThat(timeouts()).isEqualTo("4711/17");
  }

  @Test
  void a_confirmation_leaves_the_session_alone() throws Exception {
    execute("SET SESSION wait_timeout = 4711, SESSION innodb_lock_wait_timeout = 17");
    work();
    this.fence.confirm(this.worker, "a", Map.of("billing", this.term));
    assertThat(timeouts()).isEqualTo("4711/17");
    assertThatThrownBy(this::takeOver).hasMessageContaining("Lock wait timeout exceeded");
    this.worker.commit();
    assertThat(takeOver()).hasValue(this.term + 1);
  }

  @Test
  void a_session_that_does_not_take_its_time_out_back_is_ended() throws Exception {
    work();
    String id = id();
    Connection stubborn = failing((method, sql) ->
        method.equals("execute") && sql.contains("SESSION wait_timeout") && sql.contains("= NULL"));
    this.fence.commit(stubborn, new Election("a"), this.term);
    assertThat(committed()).isEqualTo(1);
    Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .until(() ->
            this.database.query("SELECT id FROM information_schema.processlist WHERE id = " + id)
                == null);
  }

  @Test
  void a_statement_that_fails_to_close_leaves_the_session_its_own_time_outs() throws Exception {
    execute("SET SESSION wait_timeout = 4711");
    work();
    Connection awkward = failing((method, sql) -> method.equals("close") && sql.contains("= 1"));
    assertThatThrownBy(() -> this.fence.commit(awkward, new Election("a"), this.term))
        .isInstanceOf(SQLException.class)
        .hasMessage("Failed on purpose");
    assertThat(timeouts()).startsWith("4711/");
  }

  @Test
  void a_read_that_is_cut_short_refuses() throws Exception {
    boolean mariaDb = String.valueOf(this.database.query("SELECT VERSION()")).contains("Maria");
    execute(
        mariaDb
            ? "SET SESSION max_statement_time = 0.2"
            : "SET SESSION max_execution_time = 200, SESSION innodb_lock_wait_timeout = 17");
    work();
    try (Connection taker = this.database.connect()) {
      taker.setAutoCommit(false);
      try (Statement statement = taker.createStatement()) {
        statement.executeUpdate("UPDATE leader_election_history SET ended_at = now(6)");
      }
      assertThatThrownBy(() -> this.fence.commit(this.worker, new Election("a"), this.term))
          .isInstanceOf(LeadershipLostException.class)
          .hasMessageContaining("could not be confirmed (");
      taker.rollback();
    }
    assertThat(committed()).isZero();
    assertThat(timeouts()).isEqualTo(mariaDb ? timeoutsOfOthers() : "28800/17");
  }

  @Test
  void a_locked_table_holds_up_a_commit_for_a_moment_only() throws Exception {
    execute("SET SESSION lock_wait_timeout = 1000");
    work();
    try (Connection other = this.database.connect();
        Statement statement = other.createStatement()) {
      statement.execute("LOCK TABLES leader_election_history WRITE");
      assertTimeoutPreemptively(
          Duration.ofSeconds(60),
          () -> assertThatThrownBy(
                  () -> this.fence.commit(this.worker, new Election("a"), this.term))
              .isInstanceOf(LeadershipLostException.class)
              .hasMessageContaining("Lock wait timeout exceeded"));
      statement.execute("UNLOCK TABLES");
    }
    assertThat(committed()).isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {"mysql", "mariadb"})
  void a_session_that_uses_another_database_is_fenced_too(String driver) throws Exception {
    TestDatabase tenant = server().newDatabase();
    ElectionDatabase election =
        new ElectionDatabase(this.database.dataSource(), this.database.jdbcUrl());
    CommitFence knowing = new CommitFence(Duration.ofMillis(500), election);
    try (MysqlLeaseStore own = new MysqlLeaseStore(
            election,
            MysqlLeaseStore.SchemaMode.NONE,
            Database.OPERATION_TIMEOUT,
            Database.RENEW_INTERVAL,
            true);
        Connection other = DriverManager.getConnection(
            this.database.jdbcUrl(driver, ""), "root", this.database.password())) {
      own.read(Set.of("billing"));
      other.setAutoCommit(false);
      try (Statement statement = other.createStatement()) {
        statement.execute("USE " + tenant.name());
        statement.executeUpdate("INSERT INTO " + this.database.name() + ".work () VALUES ()");
        knowing.commit(other, new Election("a"), this.term);
        assertThat(committed()).isEqualTo(1);
        assertThat(knowing.reaches(other, "a", Map.of("billing", this.term))).isTrue();
        other.rollback();
        statement.executeUpdate("INSERT INTO " + this.database.name() + ".work () VALUES ()");
        assertThat(takeOver()).isPresent();
        assertThatThrownBy(() -> knowing.commit(other, new Election("a"), this.term))
            .isInstanceOf(LeadershipLostException.class)
            .hasMessageContaining("has ended");
      }
    }
    assertThat(committed()).isEqualTo(1);
  }

  @Test
  void a_proxy_may_bear_the_version_of_another_product() throws Exception {
    ClassLoader loader = getClass().getClassLoader();
    Connection proxied = (Connection) Proxy.newProxyInstance(
        loader, new Class<?>[] {Connection.class}, (connection, method, arguments) -> {
          Object result = invoke(this.worker, method, arguments);
          return method.getName().equals("getMetaData")
              ? Proxy.newProxyInstance(
                  loader,
                  new Class<?>[] {DatabaseMetaData.class},
                  (metaData, called, values) -> called.getName().equals("getDatabaseProductVersion")
                      ? "8.0.11"
                      : invoke(result, called, values))
              : result;
        });
    work();
    this.fence.commit(proxied, new Election("a"), this.term);
    assertThat(committed()).isEqualTo(1);
    work();
    assertThat(takeOver()).isPresent();
    assertThatThrownBy(() -> this.fence.commit(proxied, new Election("a"), this.term))
        .isInstanceOf(LeadershipLostException.class);
    assertThat(committed()).isEqualTo(1);
  }

  @Test
  void a_connection_to_elsewhere_does_not_reach_the_election() throws Exception {
    try (Connection elsewhere = server().newDatabase().dataSource().getConnection()) {
      elsewhere.setAutoCommit(false);
      assertThat(this.fence.reaches(elsewhere, "a", Map.of("billing", this.term)))
          .isFalse();
    }
    assertThat(this.fence.reaches(this.worker, "a", Map.of("billing", this.term)))
        .isTrue();
    assertThat(this.fence.reaches(this.worker, "b", Map.of("billing", this.term)))
        .isFalse();
  }

  @ParameterizedTest
  @ValueSource(strings = {"mysql", "mariadb"})
  void what_is_committed_already_is_not_taken_for_fenced(String driver) throws Exception {
    try (Connection connection = DriverManager.getConnection(
        this.database.jdbcUrl(driver, ""), this.database.username(), this.database.password())) {
      assertThatThrownBy(() -> this.fence.commit(connection, new Election("a"), this.term))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("setAutoCommit(false)");
    }
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
    return Leases.take(this.store, "billing", row, "b", 10_000, 0, "EXPIRED");
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

  private String id() throws SQLException {
    try (Statement statement = this.worker.createStatement();
        ResultSet rows = statement.executeQuery("SELECT CONNECTION_ID()")) {
      rows.next();
      return rows.getString(1);
    }
  }

  private String timeoutsOfOthers() {
    return String.valueOf(this.database.query(
        "SELECT CONCAT(@@SESSION.wait_timeout, '/', @@SESSION.innodb_lock_wait_timeout)"));
  }

  /**
   * The worker's connection; calls of its statements fail depending on the SQL that they last ran.
   */
  private Connection failing(BiPredicate<String, String> fails) {
    ClassLoader loader = getClass().getClassLoader();
    return (Connection) Proxy.newProxyInstance(
        loader, new Class<?>[] {Connection.class}, (connection, method, arguments) -> {
          Object result = invoke(this.worker, method, arguments);
          if (!method.getName().equals("createStatement")) {
            return result;
          }
          String[] last = {""};
          return Proxy.newProxyInstance(
              loader, new Class<?>[] {Statement.class}, (statement, called, values) -> {
                if (values != null && values[0] instanceof String sql) {
                  last[0] = sql;
                }
                if (fails.test(called.getName(), last[0])) {
                  throw new SQLException("Failed on purpose", "HY000", 1105);
                }
                return invoke(result, called, values);
              });
        });
  }

  private static @Nullable Object invoke(Object target, Method method, Object[] arguments)
      throws Throwable {
    try {
      return method.invoke(target, arguments);
    } catch (InvocationTargetException ex) {
      throw ex.getCause();
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

  /** The election service of a node, with only the ids that the fence reads. */
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
