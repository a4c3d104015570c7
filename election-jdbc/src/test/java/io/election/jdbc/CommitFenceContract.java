package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.ElectionService;
import io.election.LeadershipLostException;
import io.election.store.LeaseRow;
import io.election.store.LeaseStoreException;
import io.election.support.Proxies;
import io.election.support.TestServer;
import io.election.test.Leases;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.UnaryOperator;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the fence permits and refuses on every product. */
abstract class CommitFenceContract extends ServerDatabase {

  final CommitFence fence = new CommitFence(Duration.ofMillis(500), null);
  JdbcLeaseStore store;
  Connection worker;
  long term;

  /** What the server says about a lock for which a statement has waited. */
  String lockTimeout;

  @BeforeEach
  void lead() throws Exception {
    this.database.execute("CREATE TABLE work (n int)");
    this.store = closing(Database.store(this.database));
    this.term = Database.led(this.store, "billing", "a").term();
    this.lockTimeout =
        isPostgresql() ? "canceling statement due to lock timeout" : "Lock wait timeout exceeded";
    connect();
  }

  final void connect() throws SQLException {
    this.worker = closing(this.database.dataSource().getConnection());
    this.worker.setAutoCommit(false);
  }

  @ParameterizedTest
  @ValueSource(
      ints = {Connection.TRANSACTION_READ_COMMITTED, Connection.TRANSACTION_REPEATABLE_READ})
  void workOfATermThatHasEndedIsNotCommitted(int isolation) throws Exception {
    this.worker.setTransactionIsolation(isolation);
    seeTheTermOpen();
    work();
    assertThat(takeOver()).hasValue(this.term + 1);
    assertThatThrownBy(this::commit)
        .isInstanceOfSatisfying(LeadershipLostException.class, (lost) -> {
          assertThat(lost.serviceId()).isEqualTo("billing");
          assertThat(lost.term()).isEqualTo(this.term);
        });
    assertThat(committed()).isZero();
  }

  /**
   * Once a take-over has been confirmed, nothing of the former term is committed any more. {@code
   * -Dcommit-fence.races=400} plays more of them.
   */
  @ParameterizedTest
  @ValueSource(
      ints = {
        Connection.TRANSACTION_READ_COMMITTED,
        Connection.TRANSACTION_REPEATABLE_READ,
        Connection.TRANSACTION_SERIALIZABLE
      })
  void noCommitIsLateHoweverItRacesWithATakeOver(int isolation) throws Exception {
    int rounds = Integer.getInteger("commit-fence.races", 30);
    this.worker.setTransactionIsolation(isolation);
    Connection counter = closing(this.database.connect());
    String count = "SELECT COUNT(*) FROM work";
    ExecutorService executor = Executors.newSingleThreadExecutor();
    closing(executor::shutdownNow);
    List<String> nodes = List.of("a", "b");
    int refusals = 0;
    int headStart = 0;
    for (int round = 0; round < rounds; round++) {
      String taker = nodes.get((round + 1) % 2);
      LeaseRow led = Database.row(this.store, "billing");
      CyclicBarrier start = new CyclicBarrier(2);
      Future<String> takeOver = executor.submit(() -> {
        start.await();
        assertThat(Leases.acquire(this.store, "billing", led, taker, 10_000, 0, "EXPIRED"))
            .isPresent();
        return String.valueOf(TestServer.query(counter, count));
      });
      work();
      start.await();
      for (int i = 0; i < headStart; i++) {
        query("SELECT 1");
      }
      try {
        this.fence.commit(this.worker, new Election(nodes.get(round % 2)), led.term());
        headStart = headStart * 2 + 1; // both outcomes come, however busy the machine is
      } catch (LeadershipLostException ex) {
        refusals++;
        headStart /= 2;
      }
      String committed = takeOver.get();
      assertThat(TestServer.query(counter, count)).isEqualTo(committed);
    }
    assertThat(refusals).isBetween(1, rounds - 1);
  }

  @Test
  void aTermOfAnotherNodeOrOfNobodyIsRefused() throws Exception {
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
  void theSameTermOfAnotherElectionIsRefused() throws Exception {
    Database.led(this.store, "mailing", "b");
    work();
    assertThatThrownBy(() -> this.fence.confirm(this.worker, "a", Map.of("mailing", this.term)))
        .isInstanceOf(LeadershipLostException.class)
        .hasMessageContaining("belongs to node 'b'");
  }

  @Test
  void aRefusalStaysOneThoughItsRollbackFails() throws Exception {
    Connection broken = Watched.of(this.worker, (method, sql) -> {
      if (method.getName().equals("rollback")) {
        throw failure();
      }
      return sql;
    });
    assertThatThrownBy(() -> this.fence.commit(broken, new Election("b"), this.term))
        .isInstanceOf(LeadershipLostException.class)
        .satisfies((lost) -> assertThat(lost.getSuppressed()).hasSize(1));
  }

  @Test
  void theLocaleOfTheProcessMakesNoDifference() throws Exception {
    Locale before = Locale.getDefault();
    Locale.setDefault(Locale.forLanguageTag("ar-EG"));
    try {
      work();
      commit();
    } finally {
      Locale.setDefault(before);
    }
    assertThat(committed()).isEqualTo(1);
  }

  @Test
  void aTakeOverWaitsForTheCommitThatIsUnderWayAndNoRenewalOrReaderDoes() throws Exception {
    work();
    CommitFence patient = new CommitFence(Duration.ofSeconds(10), null);
    try (CommitFence.Held held = patient.hold(this.worker, "a", Map.of("billing", this.term))) {
      assertThat(held).isNotNull();
      assertThat(Leases.renew(this.store, "a", Map.of("billing", this.term)))
          .containsExactly("billing");
      assertThat(this.store.read(Set.of("billing"))).hasSize(1);
      assertThatThrownBy(this::takeOver)
          .isInstanceOf(LeaseStoreException.class)
          .hasMessageContaining(this.lockTimeout);
      this.worker.commit();
    }
    assertThat(takeOver()).hasValue(this.term + 1);
    assertThat(committed()).isEqualTo(1);
  }

  @Test
  void aCommitDoesNotWaitLongForATakeOver() throws Exception {
    String waitsLong = isPostgresql()
        ? "SET lock_timeout = '1000s'"
        : "SET SESSION innodb_lock_wait_timeout = 1000";
    work();
    try (Connection taker =
        this.database.begin("UPDATE leader_election_history SET ended_at = CURRENT_TIMESTAMP(6)")) {
      execute(waitsLong);
      assertRefused("could not be confirmed because its entry is locked", this.lockTimeout);
      taker.rollback();
    }
    assertThat(committed()).isZero();
  }

  @Test
  void aConnectionToElsewhereDoesNotReachTheElection() throws Exception {
    try (Connection elsewhere = server().newDatabase().dataSource().getConnection()) {
      elsewhere.setAutoCommit(false);
      assertThat(reaches(elsewhere, "a")).isFalse();
    }
    assertThat(reaches(this.worker, "a")).isTrue();
    assertThat(reaches(this.worker, "b")).isFalse();
    Connection ofAnotherProduct = proxy(
        Connection.class,
        this.worker,
        "getMetaData",
        (metaData) ->
            proxy(DatabaseMetaData.class, metaData, "getDatabaseProductName", (name) -> "H2"));
    assertThat(reaches(ofAnotherProduct, "a")).isFalse();
  }

  /** The connection is known by its server, also if its user or its URL is another one. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "DELETE FROM leader_election_history",
        "UPDATE leader_election_history SET leader_id = 'b'",
        "SELECT 1" // the user may not read the history
      })
  void aTermThatIsGoneOrHiddenIsRefusedInTheElectionsDatabase(String edit) throws Exception {
    String user = edit.startsWith("SELECT")
        ? Database.newUser(this.database, isPostgresql() ? "INSERT ON work" : "INSERT ON %s.work")
        : this.database.username();
    CommitFence knowing = knowing();
    try (Connection connection = this.database.dataSourceOf(user).getConnection();
        Connection elsewhere = server().newDatabase().withTables().dataSource().getConnection()) {
      for (Connection each : List.of(connection, elsewhere)) {
        each.setAutoCommit(false);
      }
      connection.createStatement().executeUpdate("INSERT INTO work VALUES (1)");
      this.database.execute(edit);
      Map<String, Long> terms = Map.of("billing", this.term);
      assertThat(knowing.reaches(elsewhere, "a", terms)).isFalse();
      assertThat(knowing.reaches(connection, "a", terms)).isTrue();
      assertThatThrownBy(() -> knowing.commit(connection, new Election("a"), this.term))
          .isInstanceOf(LeadershipLostException.class)
          .hasMessageContaining(
              edit.startsWith("UPDATE")
                  ? "belongs to node 'b'"
                  : edit.startsWith("SELECT")
                      ? "GRANT SELECT, UPDATE ON"
                      : "is not in leader_election_history");
    }
    assertThat(committed()).isZero();
  }

  /** A fence that knows the database of a store. */
  final CommitFence knowing() throws LeaseStoreException {
    ElectionDatabase election =
        new ElectionDatabase(this.database.dataSource(), this.database.jdbcUrl());
    closing(new JdbcLeaseStore(
            election,
            JdbcLeaseStore.SchemaMode.NONE,
            Database.OPERATION_TIMEOUT,
            Database.RENEW_INTERVAL,
            true))
        .read(Set.of("billing"));
    return new CommitFence(Duration.ofMillis(500), election);
  }

  @Test
  void whatIsCommittedAlreadyIsNotTakenForFenced() throws Exception {
    for (String driver : isPostgresql() ? List.of("postgresql") : List.of("mysql", "mariadb")) {
      try (Connection connection = this.database.dataSource(driver, "").getConnection()) {
        assertThatThrownBy(() -> commit(connection))
            .isInstanceOf(IllegalStateException.class)
            .hasMessageContaining("setAutoCommit(false)");
        assertThatThrownBy(() -> this.fence.confirm(connection, "a", Map.of("billing", this.term)))
            .isInstanceOf(IllegalStateException.class);
      }
    }
  }

  @Test
  void aMissingHistoryRefusesAndSaysWhatToDo() throws Exception {
    this.database.execute("DROP TABLE leader_election_history");
    work();
    assertRefused("could not be confirmed (", "leader_election_history", "; create it again");
  }

  final void commit() throws SQLException {
    commit(this.worker);
  }

  final void commit(Connection connection) throws SQLException {
    this.fence.commit(connection, new Election("a"), this.term);
  }

  final boolean reaches(Connection connection, String node) throws SQLException {
    return this.fence.reaches(connection, node, Map.of("billing", this.term));
  }

  final void assertRefused(String... words) {
    assertThatThrownBy(this::commit)
        .isInstanceOf(LeadershipLostException.class)
        .satisfies((lost) -> assertThat(lost.getMessage()).contains(words));
  }

  final CommitFence.Held hold() throws SQLException {
    return this.fence.hold(this.worker, "a", Map.of("billing", this.term));
  }

  final OptionalLong takeOver() throws LeaseStoreException {
    return Leases.acquire(
        this.store, "billing", Database.row(this.store, "billing"), "b", 10_000, 0, "EXPIRED");
  }

  final void seeTheTermOpen() throws SQLException {
    assertThat(query("SELECT COUNT(*) FROM leader_election_history WHERE ended_at IS NULL"))
        .isEqualTo("1");
  }

  final void work() throws SQLException {
    execute("INSERT INTO work VALUES (1)");
  }

  final void execute(String sql) throws SQLException {
    try (Statement statement = this.worker.createStatement()) {
      statement.execute(sql);
    }
  }

  final String query(String sql) throws SQLException {
    return TestServer.query(this.worker, sql);
  }

  static SQLException failure() {
    return new SQLException("Failed on purpose", "HY000", 1105);
  }

  static <T> T proxy(Class<T> type, Object target, String changed, UnaryOperator<Object> change) {
    return Proxies.of(type, (method, arguments) -> {
      Object result = method.invoke(target, arguments);
      return method.getName().equals(changed) ? change.apply(result) : result;
    });
  }

  final int committed() {
    return Integer.parseInt(String.valueOf(this.database.query("SELECT COUNT(*) FROM work")));
  }

  /** The election service of a node, with only the ids that the fence reads. */
  record Election(String nodeId) implements ElectionService {

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

  /** Holds the fence, and sends nothing more: the server ends the session and lets others lead. */
  final void assertVanishesAfterHolding() throws Exception {
    assertThat(hold()).isNotNull();
    // The server ends the session after two renew intervals.
    Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .ignoreExceptionsInstanceOf(LeaseStoreException.class)
        .until(() -> takeOver().isPresent());
    assertThatThrownBy(this.worker::commit).isInstanceOf(SQLException.class);
    assertThat(committed()).isZero();
  }
}
