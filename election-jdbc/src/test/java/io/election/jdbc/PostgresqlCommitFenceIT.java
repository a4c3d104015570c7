package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.LeadershipLostException;
import io.election.support.PgBouncer;
import io.election.support.PostgresqlServer;
import io.election.support.TestDataSource;
import io.election.support.TestDatabase;
import io.election.support.TestServer;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the fence does in a transaction of PostgreSQL, and that it leaves the session alone. */
@OnEveryServer(mysql = false, postgresql = true)
class PostgresqlCommitFenceIT extends CommitFenceContract {

  private static final String SETTINGS =
      "SELECT string_agg(name || '=' || setting, E'\\n' ORDER BY name) FROM pg_settings WHERE name NOT LIKE 'transaction\\_%'";

  @Test
  void aSerializableTransactionIsRefusedToo() throws Exception {
    workOfATermThatHasEndedIsNotCommitted(Connection.TRANSACTION_SERIALIZABLE);
  }

  /** The application repeats such a transaction, other than one of a leadership that is lost. */
  @Test
  void aConflictOfTheApplicationIsNoLostLeadership() throws Exception {
    this.worker.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
    query("SELECT COUNT(*) FROM work");
    work();
    try (Connection other = this.database.connect()) {
      other.setAutoCommit(false);
      other.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
      TestServer.query(other, "SELECT COUNT(*) FROM work");
      other.createStatement().execute("INSERT INTO work VALUES (2)");
      other.commit();
    }
    assertThatThrownBy(this::commit)
        .isInstanceOfSatisfying(
            SQLException.class, (ex) -> assertThat(ex.getSQLState()).isEqualTo("40001"));
    this.worker.rollback();
    assertThat(committed()).isEqualTo(1);
    work();
    commit();
    assertThat(committed()).isEqualTo(2);
  }

  @Test
  void aReadOnlyTransactionHasNothingToFenceAndStaysUsable() throws Exception {
    this.worker.setReadOnly(true);
    seeTheTermOpen();
    assertThat(takeOver()).isPresent();
    assertThat(reaches(this.worker, "a")).as("otherwise the log denies it").isTrue();
    assertThat(reaches(this.worker, "b")).isFalse();
    this.fence.confirm(this.worker, "a", Map.of("billing", this.term));
    this.fence.confirm(this.worker, "a", Map.of("unknown", this.term));
    assertThat(query("SELECT COUNT(*) FROM work")).isEqualTo("0");
    commit();
  }

  @Test
  void whatTheDriverTakesForReadOnlyIsFencedIfTheServerDoesNot() throws Exception {
    this.worker.setReadOnly(true);
    execute("SET TRANSACTION READ WRITE");
    work();
    assertThat(takeOver()).isPresent();
    assertRefused("has ended");
    assertThat(committed()).isZero();
  }

  /** The server allows that, other than MySQL. */
  @Test
  void aTransactionThatBecomesReadOnlyAfterItsWritesIsRefused() throws Exception {
    work();
    execute("SET TRANSACTION READ ONLY");
    assertThat(takeOver()).isPresent();
    assertThatThrownBy(this::commit)
        .isInstanceOfSatisfying(
            SQLException.class, (ex) -> assertThat(ex.getSQLState()).isEqualTo("25006"));
    this.worker.rollback();
    assertThat(committed()).isZero();
  }

  @Test
  void savepointsOfTheApplicationStay() throws Exception {
    work();
    Savepoint before = this.worker.setSavepoint("election_fence");
    work();
    this.fence.confirm(this.worker, "a", Map.of("billing", this.term));
    this.worker.rollback(before);
    commit();
    assertThat(committed()).isEqualTo(1);
  }

  @Test
  void aRefusalLeavesTheTransactionUsable() throws Exception {
    work();
    try (Connection locker =
        this.database.begin("LOCK TABLE leader_election_history IN ACCESS EXCLUSIVE MODE")) {
      assertThatThrownBy(() -> this.fence.confirm(this.worker, "a", Map.of("billing", this.term)))
          .isInstanceOf(LeadershipLostException.class)
          .hasMessageContaining(this.lockTimeout);
      locker.rollback();
    }
    commit();
    assertThat(committed()).isEqualTo(1);
  }

  @Test
  void aClientThatVanishesBeforeItsCommitHoldsNobodyUpForLong() throws Exception {
    execute("SET idle_in_transaction_session_timeout = 0");
    this.worker.commit();
    work();
    assertVanishesAfterHolding();
  }

  @Test
  void nothingOfTheFenceIsLeftInTheSession() throws Exception {
    execute("SET lock_timeout = '17s'; SET idle_in_transaction_session_timeout = '4711s'");
    this.worker.commit();
    String own = query(SETTINGS);
    assertThat(own).contains("lock_timeout=17000");
    work();
    try (CommitFence.Held outer = hold();
        CommitFence.Held inner = hold()) {
      assertThat(outer).isNotSameAs(inner);
      assertThat(query(SETTINGS)).isNotEqualTo(own);
      this.worker.commit();
    }
    assertThat(query(SETTINGS)).as("after a commit").isEqualTo(own);
    this.worker.rollback();

    assertThat(takeOver()).isPresent();
    work();
    assertRefused("has ended");
    assertThat(query(SETTINGS)).as("after a refusal").isEqualTo(own);
    assertThat(query("SELECT string_agg(statement, ', ') FROM pg_prepared_statements"))
        .as("what the driver prepares for itself")
        .doesNotContain("leader_election", "set_config", "SAVEPOINT");
    assertThat(query("SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory'"))
        .isEqualTo("0");
  }

  /** What JPA flushes then may wait as long as the session lets it. */
  @Test
  void whatWaitsAfterTheFenceWaitsAsBefore() throws Exception {
    work();
    this.worker.commit();
    work();
    try (Connection locker = this.database.begin("SELECT * FROM work FOR UPDATE")) {
      this.fence.confirm(this.worker, "a", Map.of("billing", this.term));
      Future<Integer> waits = CompletableFuture.supplyAsync(() -> {
        try {
          return this.worker.createStatement().executeUpdate("UPDATE work SET n = 2");
        } catch (SQLException ex) {
          throw new IllegalStateException(ex);
        }
      });
      Awaitility.await()
          .until(() -> waits.isDone()
              || this.database.query(
                      "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'UPDATE work%' AND now() - query_start > '1.2 s'")
                  != null);
      assertThat(waits).isNotDone();
      locker.rollback();
      assertThat(waits.get()).isEqualTo(2);
      this.worker.commit();
    }
    assertThat(committed()).isEqualTo(2);
  }

  @Test
  void aFenceCostsOneStatementForEachElection() throws Exception {
    Database.led(this.store, "mailing", "a");
    AtomicInteger statements = new AtomicInteger();
    Connection counted = Watched.of(this.worker, (method, sql) -> {
      if (method.getName().startsWith("execute") || method.getName().startsWith("prepare")) {
        statements.incrementAndGet();
      }
      return sql;
    });
    work();
    this.fence.hold(counted, "a", Map.of("billing", this.term)).close();
    assertThat(statements).hasValue(1);
    this.fence.hold(counted, "a", Map.of("billing", this.term, "mailing", 1L)).close();
    assertThat(statements).hasValue(3);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "&prepareThreshold=1", "&preferQueryMode=extendedCacheEverything"})
  void clientsOfAPoolerAreFencedToo(String parameters) throws Exception {
    try (PgBouncer bouncer = PgBouncer.to((PostgresqlServer) server());
        Connection pooled = new TestDataSource(
                bouncer.jdbcUrl(this.database) + parameters,
                this.database.username(),
                this.database.password())
            .getConnection()) {
      pooled.setAutoCommit(false);
      for (int i = 1; i <= 10; i++) {
        pooled.createStatement().executeUpdate("INSERT INTO work VALUES (1)");
        commit(pooled);
        assertThat(committed()).isEqualTo(i);
      }
      assertThat(
              TestServer.query(
                  pooled,
                  "SELECT string_agg(statement, ', ') FROM pg_prepared_statements WHERE statement ~ '^(SAVEPOINT|SELECT (set_config|leader_id))'"))
          .isNull();
      assertThat(reaches(pooled, "a")).isTrue();
      pooled.rollback();
      assertThat(takeOver()).isPresent();
      pooled.createStatement().executeUpdate("INSERT INTO work VALUES (1)");
      assertThatThrownBy(() -> commit(pooled))
          .isInstanceOf(LeadershipLostException.class)
          .hasMessageContaining("has ended");
    }
    assertThat(committed()).isEqualTo(10);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "SELECT 1",
        "DROP TABLE leader_election_history",
        "REVOKE ALL ON leader_election_history FROM %1$s; GRANT SELECT ON leader_election_history TO %1$s",
        "REVOKE ALL ON leader_election_history FROM %1$s; GRANT UPDATE ON leader_election_history TO %1$s",
        "REVOKE USAGE ON SCHEMA elections FROM %1$s"
      })
  void toLookForTheElectionLeavesTheTransactionUsable(String edit) throws Exception {
    String user = Database.newUser(this.database, "SELECT, INSERT ON work");
    this.database.execute(
        "CREATE SCHEMA elections",
        "GRANT USAGE ON SCHEMA elections TO " + user,
        "ALTER TABLE leader_election SET SCHEMA elections",
        "ALTER TABLE leader_election_history SET SCHEMA elections",
        "GRANT SELECT, UPDATE ON elections.leader_election_history TO " + user,
        "SET search_path = elections, public; " + edit.formatted(user));
    ElectionDatabase election = new ElectionDatabase(
        this.database.dataSource(), this.database.jdbcUrl() + "&currentSchema=elections,public");
    election.learnSchema("elections");
    CommitFence knowing = new CommitFence(Duration.ofMillis(500), election);
    try (Connection connection = this.database.dataSourceOf(user).getConnection()) {
      connection.setAutoCommit(false);
      connection.createStatement().executeUpdate("INSERT INTO work VALUES (1)");
      assertThat(knowing.reaches(connection, "a", Map.of("billing", this.term)))
          .isEqualTo(edit.equals("SELECT 1"));
      connection.createStatement().executeUpdate("INSERT INTO work VALUES (1)");
      connection.commit();
    }
    assertThat(committed()).isEqualTo(2);
  }

  /** Another user of the URL had them, or they were revoked. */
  @ParameterizedTest
  @CsvSource({"SELECT ON leader_election_history, table", "INSERT ON work, table", "'', schema"})
  void aUserWithoutTheRightsIsToldThem(String grant, String denied) throws Exception {
    this.database.execute("REVOKE USAGE ON SCHEMA public FROM PUBLIC");
    String user = grant.isEmpty()
        ? Database.newUser(this.database)
        : Database.newUser(this.database, "USAGE ON SCHEMA public", grant);
    ElectionDatabase election =
        new ElectionDatabase(this.database.dataSource(), this.database.jdbcUrl());
    election.learnSchema("public");
    CommitFence knowing = new CommitFence(Duration.ofMillis(500), election);
    try (Connection connection = this.database.dataSourceOf(user).getConnection()) {
      connection.setAutoCommit(false);
      assertThatThrownBy(() -> knowing.confirm(connection, "a", Map.of("billing", this.term)))
          .isInstanceOf(LeadershipLostException.class)
          .hasMessageContaining(
              "could not be confirmed (ERROR: permission denied for %s ".formatted(denied))
          .hasMessageContaining(
              "; user '%s' needs the use of the schema, and: GRANT SELECT, UPDATE ON \"public\".leader_election_history TO …; as.election.postgresql.commit-fence=false switches this check off)"
                  .formatted(user));
    }
  }

  @Test
  void anUpdateOfOneColumnIsTheOnlyRightToWriteThatItNeeds() throws Exception {
    String user = Database.newUser(
        this.database, "SELECT, UPDATE (end_note) ON leader_election_history", "INSERT ON work");
    try (Connection connection = this.database.dataSourceOf(user).getConnection()) {
      connection.setAutoCommit(false);
      connection.createStatement().executeUpdate("INSERT INTO work VALUES (1)");
      assertThat(reaches(connection, "a")).isTrue();
      commit(connection);
    }
    assertThat(committed()).isEqualTo(1);
  }

  @ParameterizedTest
  @CsvSource({"UTF8, billing", "LATIN1, billing", "LATIN1, 订单", "LATIN1, 订单 1"})
  void anotherDatabaseOfTheServerDoesNotReachTheElection(String encoding, String serviceId)
      throws Exception {
    TestDatabase other = Database.withTables(server(), encoding);
    try (Connection elsewhere = other.dataSource().getConnection()) {
      elsewhere.setAutoCommit(false);
      assertThat(this.fence.reaches(elsewhere, "a", Map.of(serviceId, this.term)))
          .isFalse();
      assertThat(TestServer.query(elsewhere, "SELECT 1")).as("it goes on").isEqualTo("1");
    }
  }
}
