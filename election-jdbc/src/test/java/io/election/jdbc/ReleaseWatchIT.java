package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import io.election.store.LeaseStoreException;
import io.election.support.ConnectionSource;
import io.election.support.TestDatabase;
import io.election.support.TestServer;
import io.election.test.Leases;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.assertj.core.api.ThrowingConsumer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** How followers on MySQL and MariaDB learn that a lease was handed back. */
@OnEveryServer
@Tag("faults")
class ReleaseWatchIT extends SignalContract {

  @Test
  void aFollowerThatWaitsHearsThatTheHolderIsGone() throws Exception {
    assertSignals(this.holder::close);
  }

  /** With a threshold of 0 every statement counts as slow, so the test does not wait long. */
  @Test
  void waitingForASignalIsNoSlowQuery() throws Exception {
    String settings = "SET GLOBAL log_output = '%s', slow_query_log = %s, long_query_time = %s";
    String former = server()
        .query(
            "SELECT CONCAT_WS(' ', @@GLOBAL.log_output, @@GLOBAL.slow_query_log, @@GLOBAL.long_query_time)");
    server().execute(settings.formatted("TABLE", 1, 0));
    try {
      for (int round = 1; round <= 3; round++) {
        Database.led(this.holder, "jobs" + round, "holder");
        assertSignals(this.holder::close);
      }
      // A statement is logged after its answer and before its connection ends.
      String connections = "SELECT COUNT(*) FROM information_schema.processlist WHERE db = '%s'"
          .formatted(this.database.name());
      within().until(() -> "0".equals(server().query(connections)));
    } finally {
      server().execute(settings.formatted((Object[]) former.split(" ")));
    }
    String slow =
        "SELECT COUNT(*) FROM mysql.slow_log WHERE db = '%s' AND CONVERT(sql_text USING utf8mb4) LIKE '%%GET_LOCK(%%, %s)%%'";
    assertThat(server().query(slow.formatted(this.database.name(), "0")))
        .as("the holder's, which does not wait")
        .isNotEqualTo("0");
    assertThat(server().query(slow.formatted(this.database.name(), "60")))
        .as("the follower's")
        .isEqualTo("0");
  }

  @Test
  void oneLooksAfterTheOther() throws Exception {
    CountDownLatch looking = new CountDownLatch(1);
    CountDownLatch seen = new CountDownLatch(1);
    Runnable look = () -> {
      looking.countDown();
      Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> seen.getCount() == 0);
    };
    Future<Boolean> first = await(signal(), look);
    awaitWaiting(1);
    Future<Boolean> second = await(signal(), () -> {});
    awaitWaiting(2);

    release(this.holder, this.term);

    looking.await();
    awaitWaiting(1);
    assertThat(second).isNotDone();
    seen.countDown();
    assertThat(first.get()).isTrue();
    assertThat(second.get()).isTrue();
  }

  @Test
  void nobodyWaitsForTheNamesakeInAnotherDatabase() throws Exception {
    TestDatabase other = server().newDatabase().withTables();

    assertThat(await(signal(other), () -> {}).get()).as("there it is free").isTrue();
  }

  @ParameterizedTest
  @CsvSource({
    "1227, Access denied",
    "1235, GET_LOCK is not supported here",
    "1305, FUNCTION GET_LOCK does not exist",
    "1105, Percona-XtraDB-Cluster prohibits use of GET_LOCK with pxc_strict_mode = ENFORCING"
  })
  void aDatabaseThatRefusesTheLocksCostsNothingButTheSignal(int code, String refusal)
      throws Exception {
    JdbcLeaseStore store = store("mysql", (connection) -> {
      throw new SQLException(refusal, "42000", code);
    });

    List<String> logged = Database.logged(ReleaseSignal.class, Level.INFO, () -> {
      long term = led(store);
      assertThat(Leases.renew(store, "holder", Map.of("jobs", term))).containsExactly("jobs");
      assertThat(Leases.renew(store, "holder", Map.of("jobs", term))).containsExactly("jobs");
      release(store, term);
    });

    assertThat(logged)
        .filteredOn((line) -> line.contains("does not let leaders signal"))
        .singleElement()
        .asString()
        .contains(refusal, "within a renew interval");
    assertThat(store.releaseWatch()).as("for followers of this node's kind").isEmpty();
  }

  @ParameterizedTest
  @ValueSource(ints = {1040, 1053, 1105, 1203, 1226, 1317, 1927, 2013})
  void anErrorThatPassesDoesNotEndTheSignals(int code) throws Exception {
    AtomicBoolean fails = new AtomicBoolean(true);
    JdbcLeaseStore store = store("mysql", (connection) -> {
      if (fails.get()) {
        throw new SQLException("It will pass", "HY000", code);
      }
    });
    long term = led(store);

    fails.set(false);
    store.disconnect();

    assertSignalsYet(store, term);
  }

  @ParameterizedTest
  @ValueSource(strings = {"mysql", "mariadb"})
  void aConnectionThatBreaksDoesNotEndTheSignals(String driver) throws Exception {
    AtomicInteger kills = new AtomicInteger(1);
    JdbcLeaseStore store = store(driver, (connection) -> {
      if (kills.getAndDecrement() > 0) {
        kill(connection);
      }
    });
    long term = led(store);
    assertThat(kills).hasValueLessThanOrEqualTo(0);

    assertSignalsYet(store, term);
  }

  private void assertSignalsYet(JdbcLeaseStore store, long term) throws Exception {
    assertThat(store.releaseWatch()).isPresent();
    assertThat(Leases.renew(store, "holder", Map.of("jobs", term))).containsExactly("jobs");
    assertSignals(() -> release(store, term));
  }

  private void kill(Connection connection) throws SQLException {
    String id = TestServer.query(connection, "SELECT CONNECTION_ID()");
    server().execute("KILL " + id);
    within().until(() -> !isConnected(id));
  }

  @Test
  void whereConnectionsAreFewWhoCannotConnectComesBeforeWhoWaitsForASignal() throws Exception {
    this.holder.close();
    Database.led(patientStore(this.database.dataSource()), "mail", "holder");
    String user = Database.newUser(this.database, "ALL ON %s.*");
    server().execute("ALTER USER '" + user + "'@'%' WITH MAX_USER_CONNECTIONS 2");
    AtomicInteger attempts = new AtomicInteger();
    DataSource few = this.database.dataSourceOf(user);
    ReleaseWatch signal = closing(new ReleaseWatch(
        new ElectionDatabase(
            ConnectionSource.of(() -> {
              attempts.incrementAndGet();
              return few.getConnection();
            }),
            this.database.jdbcUrl()),
        Database.OPERATION_TIMEOUT,
        2,
        Duration.ofSeconds(1)));
    JdbcLeaseStore follower = patientStore(few);
    assertThat(follower.read(Set.of("jobs"))).hasSize(1);
    Future<Boolean> listens = inBackground(() -> {
      while (!signal.await("holder", () -> {})) {}
      return true;
    });
    awaitWaiting(1);
    JdbcLeaseStore another = patientStore(few);

    within()
        .pollInterval(Duration.ofSeconds(1))
        .ignoreExceptionsMatching((ex) -> String.valueOf(ex.getMessage()).contains("no connection"))
        .until(() -> {
          assertThat(follower.read(Set.of("jobs"))).hasSize(1);
          return another.read(Set.of("jobs")).size() == 1;
        });
    assertThat(attempts).as("waits before its turn").hasValueLessThanOrEqualTo(4);

    within().until(() -> {
      follower.read(Set.of("jobs"));
      another.read(Set.of("jobs"));
      return listens.isDone();
    });
    assertThatThrownBy(listens::get).hasCauseInstanceOf(LeaseStoreException.class);
    int before = attempts.get();
    assertThatThrownBy(() -> signal.await("holder", () -> {}))
        .hasMessageContaining("as.election.mysql.hand-back-signals=false");
    assertThat(attempts).as("attempts to connect").hasValue(before);
  }

  private JdbcLeaseStore store(String driver, ThrowingConsumer<Connection> beforeLock) {
    this.holder.close();
    this.database.execute("DELETE FROM leader_election", "DELETE FROM leader_election_history");
    DataSource source = this.database.dataSource(driver, "");
    DataSource watched = ConnectionSource.of(() -> {
      Connection connection = source.getConnection();
      return Watched.of(connection, (method, sql) -> {
        if (sql != null && sql.contains("_LOCK(")) {
          beforeLock.acceptThrows(connection);
        }
        return sql;
      });
    });
    return closing(Database.store(watched, this.database.jdbcUrl(driver, "")));
  }

  /** A store whose connection outlives the test. */
  private JdbcLeaseStore patientStore(DataSource dataSource) {
    return closing(Database.store(dataSource, this.database.jdbcUrl(), Duration.ofMinutes(10)));
  }
}
