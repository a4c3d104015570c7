package io.election.mysql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipLostEvent;
import io.election.lease.Elector;
import io.election.lease.Ending;
import io.election.lease.LeaseElectionService;
import io.election.lease.LeaseRow;
import io.election.lease.LeaseSettings;
import io.election.lease.LeaseStoreException;
import io.election.mysql.MysqlLeaseStore.SchemaMode;
import io.election.test.ConnectionSource;
import io.election.test.Leases;
import io.election.test.TestDataSource;
import io.election.test.TestDatabase;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** How followers learn that a lease was handed back. */
@OnEveryServer
class ReleaseWatchIT extends ServerDatabase {

  private static final Ending STOPPED = new Ending(LeadershipLostEvent.Reason.STOPPED, null);

  private static final Executor THREADS = (task) -> {
    Thread thread = new Thread(task, "waits-for-a-signal");
    thread.setDaemon(true);
    thread.start();
  };

  private final List<AutoCloseable> open = new ArrayList<>();

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable closeable : this.open) {
      closeable.close();
    }
  }

  @Test
  void who_waits_looks_when_a_lease_is_handed_back() throws Exception {
    MysqlLeaseStore holder = store();
    long term = led(holder, "holder");
    CompletableFuture<Boolean> heard = await(signal(), "holder", () -> {});
    awaitWaiting(1);
    assertThat(heard).isNotDone();

    assertThat(holder.release("jobs", "holder", term, "", STOPPED)).isTrue();

    assertThat(heard.join()).isTrue();
  }

  /** With a threshold of 0 every statement counts as slow, so the test does not wait long. */
  @Test
  void waiting_for_a_signal_is_no_slow_query() throws Exception {
    String settings = "SET GLOBAL log_output = '%s', slow_query_log = %s, long_query_time = %s";
    String former = server()
        .query(
            "SELECT CONCAT_WS(' ', @@GLOBAL.log_output, @@GLOBAL.slow_query_log, @@GLOBAL.long_query_time)");
    server().execute(settings.formatted("TABLE", 1, 0));
    try {
      for (int round = 1; round <= 3; round++) {
        MysqlLeaseStore holder = store();
        led(holder, "jobs" + round, "holder");
        CompletableFuture<Boolean> heard = await(signal(), "holder", () -> {});
        awaitWaiting(1);
        holder.close();
        assertThat(heard.join()).isTrue();
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
  void who_waits_looks_when_a_designated_node_is_given_way_to() throws Exception {
    MysqlLeaseStore holder = store();
    long term = led(holder, "holder");
    CompletableFuture<Boolean> heard = await(signal(), "holder", () -> {});
    awaitWaiting(1);
    this.database.execute("UPDATE leader_election SET leader_id = 'other'");

    assertThat(Leases.giveWay(holder, "jobs", "holder", term, STOPPED)).isTrue();

    assertThat(heard.join()).isTrue();
  }

  @Test
  void who_waits_looks_when_the_holder_is_gone() throws Exception {
    MysqlLeaseStore holder = store();
    led(holder, "holder");
    CompletableFuture<Boolean> heard = await(signal(), "holder", () -> {});
    awaitWaiting(1);

    holder.close();

    assertThat(heard.join()).isTrue();
  }

  @Test
  void one_looks_after_the_other() throws Exception {
    MysqlLeaseStore holder = store();
    long term = led(holder, "holder");
    CountDownLatch looking = new CountDownLatch(1);
    CountDownLatch seen = new CountDownLatch(1);
    Runnable look = () -> {
      looking.countDown();
      Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> seen.getCount() == 0);
    };
    CompletableFuture<Boolean> first = await(signal(), "holder", look);
    awaitWaiting(1);
    CompletableFuture<Boolean> second = await(signal(), "holder", () -> {});
    awaitWaiting(2);

    holder.release("jobs", "holder", term, "", STOPPED);

    looking.await();
    awaitWaiting(1);
    assertThat(second).isNotDone();
    seen.countDown();
    assertThat(first.join()).isTrue();
    assertThat(second.join()).isTrue();
  }

  @Test
  void renewing_prepares_the_next_signal_on_each_connection() throws Exception {
    MysqlLeaseStore holder = store();
    long term = led(holder, "holder");
    holder.disconnect();
    assertThat(Leases.renew(holder, "holder", Map.of("jobs", term))).containsExactly("jobs");
    CompletableFuture<Boolean> heard = await(signal(), "holder", () -> {});
    awaitWaiting(1);
    assertThat(heard).isNotDone();

    assertThat(holder.release("jobs", "holder", term, "", STOPPED)).isTrue();

    assertThat(heard.join()).isTrue();
  }

  @Test
  void nobody_waits_for_the_namesake_in_another_database() throws Exception {
    MysqlLeaseStore holder = store();
    led(holder, "holder");
    TestDatabase other = Database.withTables(server().newDatabase());
    ReleaseWatch elsewhere = signal(other.dataSource(), other.jdbcUrl());

    assertThat(await(elsewhere, "holder", () -> {}).join())
        .as("there it is free")
        .isTrue();
  }

  @Test
  void closing_ends_the_waiting_for_good() throws Exception {
    led(store(), "holder");
    ReleaseWatch signal = signal();
    CompletableFuture<Boolean> heard = await(signal, "holder", () -> {});
    awaitWaiting(1);

    signal.close();

    assertThatThrownBy(heard::join).hasCauseInstanceOf(LeaseStoreException.class);
    assertThatThrownBy(() -> signal.await("holder", () -> {}))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("closed");
  }

  @ParameterizedTest
  @CsvSource({
    "1227, Access denied",
    "1235, GET_LOCK is not supported here",
    "1305, FUNCTION GET_LOCK does not exist",
    "1105, Percona-XtraDB-Cluster prohibits use of GET_LOCK with pxc_strict_mode = ENFORCING"
  })
  void a_database_that_refuses_the_locks_costs_nothing_but_the_signal(int code, String refusal)
      throws Exception {
    ListAppender<ILoggingEvent> logged = new ListAppender<>();
    logged.start();
    Logger logger = (Logger) LoggerFactory.getLogger(ReleaseSignal.class);
    logger.addAppender(logged);
    MysqlLeaseStore store = Database.store(
        beforeLocks(this.database.dataSource(), (connection) -> {
          throw new SQLException(refusal, "42000", code);
        }),
        this.database.jdbcUrl());
    this.open.add(store);
    try {
      long term = led(store, "holder");
      assertThat(Leases.renew(store, "holder", Map.of("jobs", term))).containsExactly("jobs");
      assertThat(Leases.renew(store, "holder", Map.of("jobs", term))).containsExactly("jobs");
      assertThat(store.release("jobs", "holder", term, "", STOPPED)).isTrue();
    } finally {
      logger.detachAppender(logged);
    }
    assertThat(logged.list)
        .extracting(ILoggingEvent::getFormattedMessage)
        .filteredOn((line) -> line.contains("GET_LOCK"))
        .singleElement()
        .asString()
        .contains(refusal, "within a renew interval");
    assertThat(store.releaseWatch()).as("for followers of this node's kind").isEmpty();
  }

  @ParameterizedTest
  @ValueSource(ints = {1040, 1053, 1105, 1203, 1226, 1317, 1927, 2013})
  void an_error_that_passes_does_not_end_the_signals(int code) throws Exception {
    AtomicBoolean fails = new AtomicBoolean(true);
    MysqlLeaseStore holder = Database.store(
        beforeLocks(this.database.dataSource(), (connection) -> {
          if (fails.get()) {
            throw new SQLException("It will pass", "HY000", code);
          }
        }),
        this.database.jdbcUrl());
    this.open.add(holder);
    long term = led(holder, "holder");
    assertThat(holder.releaseWatch()).isPresent();

    fails.set(false);
    holder.disconnect();

    assertSignals(holder, term);
  }

  @ParameterizedTest
  @ValueSource(strings = {"mysql", "mariadb"})
  void a_connection_that_breaks_does_not_end_the_signals(String driver) throws Exception {
    AtomicInteger kills = new AtomicInteger(1);
    String url = this.database.jdbcUrl(driver, "");
    MysqlLeaseStore holder = Database.store(
        beforeLocks(
            new TestDataSource(url, this.database.username(), this.database.password()),
            (connection) -> {
              if (kills.getAndDecrement() > 0) {
                kill(connection);
              }
            }),
        url);
    this.open.add(holder);
    long term = led(holder, "holder");
    assertThat(kills).hasValueLessThanOrEqualTo(0);
    assertThat(holder.releaseWatch()).isPresent();

    assertSignals(holder, term);
  }

  private void assertSignals(MysqlLeaseStore holder, long term) throws Exception {
    assertThat(Leases.renew(holder, "holder", Map.of("jobs", term))).containsExactly("jobs");
    CompletableFuture<Boolean> heard = await(signal(), "holder", () -> {});
    awaitWaiting(1);
    assertThat(heard).isNotDone();
    assertThat(holder.release("jobs", "holder", term, "", STOPPED)).isTrue();
    assertThat(heard.join()).isTrue();
  }

  private void kill(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SELECT CONNECTION_ID()")) {
      rows.next();
      String id = rows.getString(1);
      server().execute("KILL " + id);
      within()
          .until(() -> "0"
              .equals(server()
                  .query("SELECT COUNT(*) FROM information_schema.processlist WHERE id = " + id)));
    }
  }

  @Test
  void where_connections_are_few_who_cannot_connect_comes_before_who_waits_for_a_signal()
      throws Exception {
    led(patientStore(this.database.dataSource()), "holder");
    String user = this.database.newUser(
        "few_" + this.database.name(), "ALL ON " + this.database.name() + ".*");
    server().execute("ALTER USER '" + user + "'@'%' WITH MAX_USER_CONNECTIONS 2");
    AtomicInteger attempts = new AtomicInteger();
    TestDataSource few =
        new TestDataSource(this.database.jdbcUrl(), user, this.database.password());
    ReleaseWatch signal = new ReleaseWatch(
        new ElectionDatabase(
            ConnectionSource.of(() -> {
              attempts.incrementAndGet();
              return few.getConnection();
            }),
            this.database.jdbcUrl()),
        Database.OPERATION_TIMEOUT,
        2,
        Duration.ofSeconds(1));
    this.open.add(signal);
    MysqlLeaseStore follower = patientStore(few);
    assertThat(follower.read(Set.of("jobs"))).hasSize(1);
    CompletableFuture<Boolean> listens = new CompletableFuture<>();
    THREADS.execute(() -> {
      try {
        while (!signal.await("holder", () -> {})) {}
        listens.complete(true);
      } catch (LeaseStoreException | RuntimeException ex) {
        listens.completeExceptionally(ex);
      }
    });
    awaitWaiting(1);
    MysqlLeaseStore another = patientStore(few);

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
    assertThatThrownBy(listens::join).hasCauseInstanceOf(LeaseStoreException.class);
    int before = attempts.get();
    assertThatThrownBy(() -> signal.await("holder", () -> {}))
        .hasMessageContaining("as.election.mysql.hand-back-signals=false");
    assertThat(attempts).as("attempts to connect").hasValue(before);
  }

  /** The next regular poll is far away. */
  @Test
  void a_leader_that_stops_is_followed_at_once() {
    LeaseSettings settings = new LeaseSettings(
        Duration.ofMinutes(5), Duration.ofMinutes(1), Duration.ofSeconds(10), Duration.ZERO, true);
    this.database.execute(
        "INSERT INTO leader_election (service_id, leader_id, lease_millis) VALUES ('jobs', '', 0)");
    List<LeadershipAcquiredEvent> acquired = new ArrayList<>();
    Elector first = elector("first", settings, acquired);
    first.start(List.of(new LeaseElectionService("jobs", first)));
    within().until(() -> acquired.size() == 1);
    Elector second = elector("second", settings, acquired);
    second.start(List.of(new LeaseElectionService("jobs", second)));
    awaitWaiting(1);

    first.stop();

    Awaitility.await().atMost(Duration.ofSeconds(30)).until(() -> acquired.size() == 2);
    assertThat(acquired.get(1).nodeId()).isEqualTo("second");
  }

  private Elector elector(
      String node, LeaseSettings settings, List<LeadershipAcquiredEvent> acquired) {
    Elector elector = new Elector(
        store(),
        settings,
        () -> node,
        (serviceId) -> false,
        (event) -> {
          if (event instanceof LeadershipAcquiredEvent begin) {
            acquired.add(begin);
          }
        },
        System::nanoTime,
        InstantSource.system());
    this.open.add(elector::stop);
    return elector;
  }

  private MysqlLeaseStore store() {
    MysqlLeaseStore store = Database.store(this.database);
    this.open.add(store);
    return store;
  }

  /** A store whose connection outlives the test. */
  private MysqlLeaseStore patientStore(DataSource dataSource) {
    ElectionDatabase database = new ElectionDatabase(dataSource, this.database.jdbcUrl());
    MysqlLeaseStore store = new MysqlLeaseStore(
        database, SchemaMode.NONE, Database.OPERATION_TIMEOUT, Duration.ofMinutes(10), true);
    this.open.add(store);
    return store;
  }

  private static long led(MysqlLeaseStore store, String node) throws LeaseStoreException {
    return led(store, "jobs", node);
  }

  private static long led(MysqlLeaseStore store, String election, String node)
      throws LeaseStoreException {
    LeaseRow row = Leases.create(store, election, node, 60_000, 0).orElseThrow();
    assertThat(Leases.lead(store, election, row, 60_000)).isTrue();
    assertThat(store.read(Set.of(election))).hasSize(1);
    return row.term();
  }

  private ReleaseWatch signal() {
    return signal(this.database.dataSource(), this.database.jdbcUrl());
  }

  private ReleaseWatch signal(DataSource dataSource, String url) {
    ReleaseWatch signal = Database.store(dataSource, url).releaseWatch().orElseThrow();
    this.open.add(signal);
    return signal;
  }

  private static CompletableFuture<Boolean> await(
      ReleaseWatch signal, String holder, Runnable look) {
    CompletableFuture<Boolean> heard = new CompletableFuture<>();
    THREADS.execute(() -> {
      try {
        heard.complete(signal.await(holder, look));
      } catch (LeaseStoreException | RuntimeException ex) {
        heard.completeExceptionally(ex);
      }
    });
    return heard;
  }

  /** Waits until a number of connections wait for the lock of a holder in this test's database. */
  private void awaitWaiting(int count) {
    String waiting =
        "SELECT COUNT(*) FROM information_schema.processlist WHERE db = '%s' AND state = 'User lock'"
            .formatted(this.database.name());
    within().until(() -> String.valueOf(count).equals(server().query(waiting)));
  }

  @FunctionalInterface
  private interface BeforeLock {

    void run(Connection connection) throws SQLException;
  }

  private static ConditionFactory within() {
    return Awaitility.await().atMost(Duration.ofMinutes(1)).pollInterval(Duration.ofMillis(20));
  }

  /** Runs an action before each statement about a user-level lock. */
  private static DataSource beforeLocks(DataSource dataSource, BeforeLock before) {
    return ConnectionSource.of(() -> {
      Connection connection = dataSource.getConnection();
      return (Connection) Proxy.newProxyInstance(
          ReleaseWatchIT.class.getClassLoader(),
          new Class<?>[] {Connection.class},
          (proxy, method, arguments) -> {
            if (method.getName().equals("prepareStatement")
                && String.valueOf(arguments[0]).contains("_LOCK(")) {
              before.run(connection);
            }
            try {
              return method.invoke(connection, arguments);
            } catch (InvocationTargetException ex) {
              throw ex.getCause();
            }
          });
    });
  }
}
