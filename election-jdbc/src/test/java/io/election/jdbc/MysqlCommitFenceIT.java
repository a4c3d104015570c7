package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ch.qos.logback.classic.Level;
import io.election.LeadershipLostException;
import io.election.support.TestDataSource;
import io.election.support.TestDatabase;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the fence does not touch in a session of MySQL or MariaDB. */
@OnEveryServer
@Tag("faults")
class MysqlCommitFenceIT extends CommitFenceContract {

  private static final String TIMEOUTS =
      "SELECT CONCAT(@@SESSION.wait_timeout, '/', @@SESSION.innodb_lock_wait_timeout)";

  @Test
  void aSerializableTransactionKeepsTheRowsLockedThatItHasRead() throws Exception {
    this.worker.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
    seeTheTermOpen();
    work();
    assertThatThrownBy(this::takeOver).hasMessageContaining("Lock wait timeout exceeded");
  }

  @ParameterizedTest
  @ValueSource(strings = {"ON", "OFF"})
  void snapshotIsolationMakesNoDifference(String setting) throws Exception {
    assumeTrue(
        this.database.query("SHOW VARIABLES LIKE 'innodb_snapshot_isolation'") != null,
        "only MariaDB has innodb_snapshot_isolation");
    execute("SET SESSION innodb_snapshot_isolation = " + setting);
    this.worker.commit();
    this.worker.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
    seeTheTermOpen();
    work();
    assertThat(takeOver()).isPresent();
    assertRefused("election 'billing'");

    seeTheTermOpen();
    work();
    this.fence.commit(this.worker, new Election("b"), this.term + 1);
    assertThat(committed()).isEqualTo(1);
  }

  @ParameterizedTest
  @CsvSource({
    "wait_timeout, true",
    "idle_transaction_timeout, true",
    "idle_transaction_timeout, false",
    "idle_write_transaction_timeout, true",
    "idle_readonly_transaction_timeout, false"
  })
  void aClientThatVanishesBeforeItsCommitHoldsNobodyUpForLong(String limit, boolean writes)
      throws Exception {
    assumeTrue(this.database.query("SHOW VARIABLES LIKE '" + limit + "'") != null, limit);
    execute("SET SESSION " + limit + " = 1000");
    if (writes) {
      work();
    }
    assertVanishesAfterHolding();
  }

  @Test
  void theSessionKeepsItsOwnTimeOuts() throws Exception {
    execute("SET SESSION wait_timeout = 4711, SESSION innodb_lock_wait_timeout = 17");
    work();
    try (CommitFence.Held held = hold()) {
      assertThat(held).isNotNull();
      assertThat(timeouts()).isEqualTo("1/17");
      this.worker.commit();
    }
    assertThat(timeouts()).isEqualTo("4711/17");

    work();
    try (CommitFence.Held outer = hold();
        CommitFence.Held inner = hold()) {
      assertThat(outer).isNotSameAs(inner);
      this.worker.commit();
    }
    assertThat(timeouts()).as("after two holds in one transaction").isEqualTo("4711/17");

    assertThat(takeOver()).isPresent();
    work();
    assertRefused("election 'billing'");
    assertThat(timeouts()).as("after a refusal").isEqualTo("4711/17");
  }

  @Test
  void theSessionKeepsItsOwnTimesToRestInATransaction() throws Exception {
    String limits =
        "SELECT GROUP_CONCAT(variable_value ORDER BY variable_name) FROM information_schema.session_variables WHERE variable_name LIKE 'idle%'";
    assumeTrue(isMariaDb(), "only MariaDB has them");
    execute(
        "SET SESSION idle_transaction_timeout = 4711, SESSION idle_write_transaction_timeout = 4712, SESSION idle_readonly_transaction_timeout = 4713");
    String own = query(limits);
    work();
    try (CommitFence.Held outer = hold();
        CommitFence.Held inner = hold()) {
      assertThat(outer).isNotSameAs(inner);
      this.worker.commit();
    }
    assertThat(query(limits)).isEqualTo(own).contains("4711", "4712", "4713");
  }

  /** The figures in the docs. The first commit of a fence tries what the later ones do. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "wait_timeout = 61 | 4 | 3",
        "wait_timeout = 60 | 1 | 1",
        "idle_transaction_timeout = 60 | 1 | 1",
        "idle_write_transaction_timeout = 60, idle_readonly_transaction_timeout = 60 | 1 | 1",
        "wait_timeout = 60, idle_transaction_timeout = 61 | 4 | 3",
        "wait_timeout = 60, idle_write_transaction_timeout = 61 | 4 | 3",
        "wait_timeout = 60, idle_readonly_transaction_timeout = 61 | 4 | 3"
      })
  void aFenceCostsOneStatementIfItsSessionIsBoundedAndThreeOtherwise(
      String limits, int first, int later) throws Throwable {
    assumeTrue(isMariaDb() || !limits.contains("idle"), "only MariaDB has these limits");
    execute("SET " + limits);
    CommitFence patient = new CommitFence(Duration.ofSeconds(30), null);
    work();
    long plain = statements(this.worker::commit);
    for (int cost : List.of(first, later, later)) {
      work();
      assertThat(statements(() -> patient.commit(this.worker, new Election("a"), this.term)))
          .isEqualTo(plain + cost);
    }
  }

  @Test
  void aConfirmationLeavesTheSessionAlone() throws Throwable {
    execute("SET SESSION wait_timeout = 4711, SESSION innodb_lock_wait_timeout = 17");
    work();
    assertThat(statements(() -> this.fence.confirm(this.worker, "a", Map.of("billing", this.term))))
        .isEqualTo(1);
    assertThat(timeouts()).isEqualTo("4711/17");
    assertThatThrownBy(this::takeOver).hasMessageContaining("Lock wait timeout exceeded");
    this.worker.commit();
    assertThat(takeOver()).hasValue(this.term + 1);
  }

  @Test
  void aSessionThatDoesNotTakeItsTimeOutBackIsEndedAndToldOfOnce() throws Exception {
    for (int times : List.of(1, 0)) {
      work();
      List<String> calls = new ArrayList<>();
      Connection stubborn = Watched.of(this.worker, (method, sql) -> {
        calls.add(method.getName());
        if (sql != null && sql.contains("SESSION wait_timeout") && sql.contains("= NULL")) {
          throw failure();
        }
        return sql;
      });
      assertThat(Database.logged(CommitFence.class, Level.WARN, () -> commit(stubborn)))
          .hasSize(times);
      // The server would end it too, once it has rested for the shorter time.
      assertThat(this.worker.isClosed()).isTrue();
      assertThat(calls)
          .as("a pool notices a failed statement, but not an abort")
          .containsSubsequence("abort", "createStatement");
      connect();
    }
    assertThat(committed()).isEqualTo(2);
  }

  @Test
  void aStatementThatFailsToCloseLeavesTheSessionItsOwnTimeOuts() throws Exception {
    execute("SET SESSION wait_timeout = 4711");
    work();
    String[] last = {""};
    Connection awkward = Watched.of(this.worker, (method, sql) -> {
      if (sql != null) {
        last[0] = sql;
      } else if (method.getName().equals("close") && last[0].contains("= 1")) {
        throw failure();
      }
      return sql;
    });
    assertThatThrownBy(() -> commit(awkward))
        .isInstanceOf(SQLException.class)
        .hasMessage("Failed on purpose");
    assertThat(timeouts()).startsWith("4711/");
  }

  @Test
  void aReadThatIsCutShortRefuses() throws Exception {
    boolean mariaDb = isMariaDb();
    execute(
        mariaDb
            ? "SET SESSION max_statement_time = 0.2"
            : "SET SESSION max_execution_time = 200, SESSION innodb_lock_wait_timeout = 17");
    work();
    try (Connection taker =
        this.database.begin("UPDATE leader_election_history SET ended_at = CURRENT_TIMESTAMP(6)")) {
      assertRefused("could not be confirmed (");
      taker.rollback();
    }
    assertThat(committed()).isZero();
    assertThat(timeouts()).isEqualTo(mariaDb ? this.database.query(TIMEOUTS) : "28800/17");
  }

  @Test
  void aLockedTableHoldsUpACommitForAMomentOnly() throws Exception {
    execute("SET SESSION lock_wait_timeout = 1000");
    work();
    try (Connection other = this.database.connect();
        Statement statement = other.createStatement()) {
      statement.execute("LOCK TABLES leader_election_history WRITE");
      assertTimeoutPreemptively(
          Duration.ofSeconds(60), () -> assertRefused("Lock wait timeout exceeded"));
      statement.execute("UNLOCK TABLES");
    }
    assertThat(committed()).isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {"mysql", "mariadb"})
  void aSessionThatUsesAnotherDatabaseIsFencedToo(String driver) throws Exception {
    TestDatabase tenant = server().newDatabase();
    ElectionDatabase election =
        new ElectionDatabase(this.database.dataSource(), this.database.jdbcUrl());
    CommitFence knowing = new CommitFence(Duration.ofMillis(500), election);
    try (JdbcLeaseStore own = new JdbcLeaseStore(
            election,
            JdbcLeaseStore.SchemaMode.NONE,
            Database.OPERATION_TIMEOUT,
            Database.RENEW_INTERVAL,
            true);
        Connection other = new TestDataSource(
                this.database.jdbcUrl(driver, ""), "root", this.database.password())
            .getConnection()) {
      own.read(Set.of("billing"));
      other.setAutoCommit(false);
      try (Statement statement = other.createStatement()) {
        statement.execute("USE " + tenant.name());
        statement.executeUpdate("INSERT INTO " + this.database.name() + ".work VALUES (1)");
        knowing.commit(other, new Election("a"), this.term);
        assertThat(committed()).isEqualTo(1);
        assertThat(knowing.reaches(other, "a", Map.of("billing", this.term))).isTrue();
        other.rollback();
        statement.executeUpdate("INSERT INTO " + this.database.name() + ".work VALUES (1)");
        assertThat(takeOver()).isPresent();
        assertThatThrownBy(() -> knowing.commit(other, new Election("a"), this.term))
            .isInstanceOf(LeadershipLostException.class)
            .hasMessageContaining("has ended");
      }
    }
    assertThat(committed()).isEqualTo(1);
  }

  @Test
  void aProxyMayBearTheVersionOfAnotherProduct() throws Exception {
    Connection proxied = proxy(
        Connection.class,
        this.worker,
        "getMetaData",
        (metaData) -> proxy(
            DatabaseMetaData.class, metaData, "getDatabaseProductVersion", (version) -> "8.0.11"));
    work();
    commit(proxied);
    assertThat(committed()).isEqualTo(1);
    work();
    assertThat(takeOver()).isPresent();
    assertThatThrownBy(() -> commit(proxied)).isInstanceOf(LeadershipLostException.class);
    assertThat(committed()).isEqualTo(1);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "SELECT, INSERT, UPDATE ON %s.*|",
        "SELECT ON %s.leader_election_history | INSERT ON %s.work",
      })
  void readingTheHistoryIsTheOnlyRightThatItNeeds(String grant, @Nullable String another)
      throws Exception {
    String user = another == null
        ? Database.newUser(this.database, grant)
        : Database.newUser(this.database, grant, another);
    try (Connection connection = this.database.dataSourceOf(user).getConnection()) {
      connection.setAutoCommit(false);
      connection.createStatement().executeUpdate("INSERT INTO work VALUES (1)");
      commit(connection);
    }
    assertThat(committed()).isEqualTo(1);
  }

  /** Returns how many statements the worker's session executes. */
  private long statements(ThrowingCallable work) throws Throwable {
    long before = questions();
    work.call();
    return questions() - before - 1;
  }

  private long questions() throws SQLException {
    try (Statement statement = this.worker.createStatement();
        ResultSet row = statement.executeQuery("SHOW SESSION STATUS LIKE 'Questions'")) {
      row.next();
      return row.getLong(2);
    }
  }

  private boolean isMariaDb() {
    return String.valueOf(this.database.query("SELECT VERSION()")).contains("Maria");
  }

  private String timeouts() throws SQLException {
    return query(TIMEOUTS);
  }
}
