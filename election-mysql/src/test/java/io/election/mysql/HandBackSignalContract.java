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
import io.election.lease.HandBackSignal;
import io.election.lease.LeaseRow;
import io.election.lease.LeaseSettings;
import io.election.lease.LeaseStoreException;
import io.election.test.TestDatabase;
import io.election.test.TestServer;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import javax.sql.DataSource;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** How followers hear that a lease was handed back. */
abstract class HandBackSignalContract {

  private static final Ending STOPPED = new Ending(LeadershipLostEvent.Reason.STOPPED, null);

  private static final Executor THREADS = (task) -> {
    Thread thread = new Thread(task, "waits-for-a-signal");
    thread.setDaemon(true);
    thread.start();
  };

  private final List<AutoCloseable> open = new ArrayList<>();

  private TestDatabase database;

  abstract TestServer server();

  @BeforeEach
  void prepare() {
    this.database = Database.withTables(server().newDatabase());
  }

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

  @Test
  void who_waits_looks_when_a_designated_node_is_given_way_to() throws Exception {
    MysqlLeaseStore holder = store();
    long term = led(holder, "holder");
    CompletableFuture<Boolean> heard = await(signal(), "holder", () -> {});
    awaitWaiting(1);
    this.database.execute("UPDATE leader_election SET leader_id = 'other'");

    assertThat(holder.giveWay("jobs", "holder", term, STOPPED)).isTrue();

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
    holder.close();
    holder.renew("holder", Map.of("jobs", term));
    CompletableFuture<Boolean> heard = await(signal(), "holder", () -> {});
    awaitWaiting(1);
    assertThat(heard).isNotDone();

    holder.release("jobs", "holder", term, "", STOPPED);

    assertThat(heard.join()).isTrue();
  }

  @Test
  void nobody_waits_for_the_namesake_in_another_database() throws Exception {
    MysqlLeaseStore holder = store();
    led(holder, "holder");
    TestDatabase other = Database.withTables(server().newDatabase());
    HandBackSignal elsewhere = signal(other.dataSource(), other.jdbcUrl());

    assertThat(await(elsewhere, "holder", () -> {}).join())
        .as("there it is free")
        .isTrue();
  }

  @Test
  void closing_ends_the_waiting_for_good() throws Exception {
    led(store(), "holder");
    HandBackSignal signal = signal();
    CompletableFuture<Boolean> heard = await(signal, "holder", () -> {});
    awaitWaiting(1);

    signal.close();

    assertThatThrownBy(heard::join).hasCauseInstanceOf(LeaseStoreException.class);
    assertThatThrownBy(() -> signal.await("holder", () -> {}))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("closed");
  }

  @Test
  void a_database_that_refuses_the_locks_costs_nothing_but_the_signal() throws Exception {
    ListAppender<ILoggingEvent> logged = new ListAppender<>();
    logged.start();
    Logger logger = (Logger) LoggerFactory.getLogger(MysqlLeaseStore.class);
    logger.addAppender(logged);
    MysqlLeaseStore store =
        Database.store(withoutLocks(this.database.dataSource()), this.database.jdbcUrl());
    this.open.add(store);
    try {
      long term = led(store, "holder");
      assertThat(store.renew("holder", Map.of("jobs", term))).containsExactly("jobs");
      assertThat(store.renew("holder", Map.of("jobs", term))).containsExactly("jobs");
      assertThat(store.release("jobs", "holder", term, "", STOPPED)).isTrue();
    } finally {
      logger.detachAppender(logged);
    }
    assertThat(logged.list)
        .extracting(ILoggingEvent::getFormattedMessage)
        .filteredOn((line) -> line.contains("GET_LOCK"))
        .singleElement()
        .asString()
        .contains("not supported here", "within a renew interval");
    assertThat(store.handBackSignal()).as("for followers of this node's kind").isEmpty();
  }

  /** The next regular look is far away. */
  @Test
  void a_leader_that_stops_is_followed_at_once() {
    LeaseSettings settings = new LeaseSettings(
        Duration.ofMinutes(5), Duration.ofMinutes(1), Duration.ofSeconds(10), Duration.ZERO, true);
    this.database.execute(
        "INSERT INTO leader_election (service_id, leader_id, lease_millis) VALUES ('jobs', '', 0)");
    List<LeadershipAcquiredEvent> acquired = new ArrayList<>();
    Elector first = elector("first", settings, acquired);
    first.start(List.of(new MysqlElectionService("jobs", first)));
    within().until(() -> acquired.size() == 1);
    Elector second = elector("second", settings, acquired);
    second.start(List.of(new MysqlElectionService("jobs", second)));
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

  private static long led(MysqlLeaseStore store, String node) throws LeaseStoreException {
    LeaseRow row = store.create("jobs", node, 60_000, 0).orElseThrow();
    assertThat(store.lead("jobs", row, 60_000)).isTrue();
    assertThat(store.read(Set.of("jobs"))).hasSize(1);
    return row.term();
  }

  private HandBackSignal signal() {
    return signal(this.database.dataSource(), this.database.jdbcUrl());
  }

  private HandBackSignal signal(DataSource dataSource, String url) {
    HandBackSignal signal = Database.store(dataSource, url).handBackSignal().orElseThrow();
    this.open.add(signal);
    return signal;
  }

  private static CompletableFuture<Boolean> await(
      HandBackSignal signal, String holder, Runnable look) {
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

  /** Waits until so many connections wait for the lock of a holder in this test's database. */
  private void awaitWaiting(int count) {
    String waiting =
        "SELECT COUNT(*) FROM information_schema.processlist WHERE db = '%s' AND state = 'User lock'"
            .formatted(this.database.name());
    within().until(() -> String.valueOf(count).equals(server().query(waiting)));
  }

  private static ConditionFactory within() {
    return Awaitility.await().atMost(Duration.ofMinutes(1)).pollInterval(Duration.ofMillis(20));
  }

  private static DataSource withoutLocks(DataSource dataSource) {
    return Delegating.to(() -> {
      Connection connection = dataSource.getConnection();
      return (Connection) Proxy.newProxyInstance(
          HandBackSignalContract.class.getClassLoader(),
          new Class<?>[] {Connection.class},
          (proxy, method, arguments) -> {
            if (method.getName().equals("prepareStatement")
                && String.valueOf(arguments[0]).contains("_LOCK(")) {
              throw new SQLException("GET_LOCK is not supported here", "42000", 1235);
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
