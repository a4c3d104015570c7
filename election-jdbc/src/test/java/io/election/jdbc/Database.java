package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.election.LeadershipLostEvent;
import io.election.jdbc.JdbcLeaseStore.SchemaMode;
import io.election.store.LeaseRow;
import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;
import io.election.store.TermEnd;
import io.election.support.TestDatabase;
import io.election.support.TestServer;
import io.election.support.TestServer.Product;
import io.election.test.Leases;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/** Creates the objects under test on a test database, and observes them. */
final class Database {

  /** Longer than a statement can take on a busy machine. */
  static final Duration OPERATION_TIMEOUT = Duration.ofSeconds(10);

  static final Duration RENEW_INTERVAL = Duration.ofSeconds(2);

  static final TermEnd RESIGNED = new TermEnd(LeadershipLostEvent.Reason.RESIGNED, null);

  private static final AtomicInteger USERS = new AtomicInteger();

  private Database() {}

  /**
   * Creates a user; {@code %s} in its grants is the name of the database, or on PostgreSQL of the
   * schema.
   */
  static String newUser(TestDatabase database, String... grants) {
    String place = database.server().product() == Product.POSTGRESQL ? "public" : database.name();
    return database.newUser(
        "user_%d_of_%s".formatted(USERS.incrementAndGet(), database.name()),
        Arrays.stream(grants).map((grant) -> grant.formatted(place)).toArray(String[]::new));
  }

  /** Creates a database of PostgreSQL with tables and another encoding than UTF8. */
  static TestDatabase withTables(TestServer server, String encoding) {
    TestDatabase database = server.newDatabase();
    server.execute(
        "DROP DATABASE " + database.name(),
        "CREATE DATABASE %s OWNER %s TEMPLATE template0 ENCODING '%s'"
            .formatted(database.name(), database.username(), encoding));
    return database.withTables();
  }

  static JdbcLeaseStore store(TestDatabase database) {
    return store(database.dataSource(), database.jdbcUrl());
  }

  static JdbcLeaseStore store(DataSource dataSource, @Nullable String url) {
    return store(dataSource, url, SchemaMode.NONE, OPERATION_TIMEOUT);
  }

  static JdbcLeaseStore store(
      DataSource dataSource, @Nullable String url, SchemaMode mode, Duration timeout) {
    ElectionDatabase database = new ElectionDatabase(dataSource, url);
    return new JdbcLeaseStore(database, mode, timeout, RENEW_INTERVAL, true);
  }

  /** A store that is called as rarely or often as an interval says. */
  static JdbcLeaseStore store(DataSource dataSource, String url, Duration renewInterval) {
    ElectionDatabase database = new ElectionDatabase(dataSource, url);
    return new JdbcLeaseStore(database, SchemaMode.NONE, OPERATION_TIMEOUT, renewInterval, true);
  }

  /** Lets a node lead an election that has no record. */
  static LeaseRow led(LeaseStore store, String serviceId, String nodeId)
      throws LeaseStoreException {
    LeaseRow created = Leases.create(store, serviceId, nodeId, 10_000, 0).orElseThrow();
    assertThat(Leases.begin(store, serviceId, created, 10_000)).isPresent();
    return row(store, serviceId);
  }

  static LeaseRow row(LeaseStore store, String serviceId) throws LeaseStoreException {
    return store.read(Set.of(serviceId)).get(serviceId).row();
  }

  static LeaderElectionSchema schema(TestDatabase database, SchemaMode mode) {
    return schema(database.dataSource(), database.jdbcUrl(), mode);
  }

  static LeaderElectionSchema schema(DataSource dataSource, String url, SchemaMode mode) {
    return new LeaderElectionSchema(
        new ElectionDatabase(dataSource, url),
        mode != SchemaMode.NONE,
        mode == SchemaMode.MIGRATE,
        OPERATION_TIMEOUT);
  }

  /** Runs work in several threads at once, which must all succeed. */
  static void atOnce(int threads, ThrowingCallable work) throws Exception {
    CyclicBarrier start = new CyclicBarrier(threads);
    Callable<String> one = () -> {
      start.await();
      try {
        work.call();
      } catch (Exception | Error ex) {
        throw ex;
      } catch (Throwable ex) {
        throw new IllegalStateException(ex);
      }
      return "done";
    };
    ExecutorService executor = Executors.newFixedThreadPool(threads);
    try {
      assertThat(executor.invokeAll(Collections.nCopies(threads, one), 1, TimeUnit.MINUTES))
          .allSatisfy((done) -> assertThat(done.get()).isEqualTo("done"));
    } finally {
      executor.shutdownNow();
    }
  }

  /** Runs a call and returns what a class has logged meanwhile, from a level on. */
  static List<String> logged(Class<?> type, Level level, ThrowingCallable call) throws Exception {
    ListAppender<ILoggingEvent> logged = new ListAppender<>();
    logged.start();
    Logger logger = (Logger) LoggerFactory.getLogger(type);
    Level before = logger.getLevel();
    logger.setLevel(level);
    logger.addAppender(logged);
    try {
      call.call();
    } catch (Exception | Error ex) {
      throw ex;
    } catch (Throwable ex) {
      throw new IllegalStateException(ex);
    } finally {
      logger.detachAppender(logged);
      logger.setLevel(before);
    }
    return logged.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
  }
}
