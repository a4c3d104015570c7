package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static org.junit.jupiter.params.provider.Arguments.argumentSet;

import io.election.AuditNote;
import io.election.LeadershipLostEvent;
import io.election.jdbc.JdbcLeaseStore.SchemaMode;
import io.election.jdbc.OnEveryServer.Server;
import io.election.store.ElectionDirectory.Announcement;
import io.election.store.LeaseRow;
import io.election.store.TermEnd;
import io.election.support.ConnectionSource;
import io.election.support.TestDatabase;
import io.election.support.TestServer.Product;
import io.election.test.Leases;
import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.Stream;
import org.assertj.core.api.Assertions;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** The store works and has lost nothing after any call of the driver failed, in one of three ways. */
@ParameterizedClass(name = "{0}")
@EnumSource(names = {"DEFAULT", "NEWEST_POSTGRESQL"})
class FailingCallsIT {

  private static final AuditNote ALICE = new AuditNote("alice", "canary");

  private static final TermEnd ENDING = new TermEnd(LeadershipLostEvent.Reason.RESIGNED, ALICE);

  private static final List<Function<String, Throwable>> KINDS =
      List.of(SQLException::new, IllegalStateException::new, StackOverflowError::new);

  private static final Map<String, Long> BOTH = Map.of("billing", 1L, "mailing", 1L);

  private static final Call READ = (store) -> store.read(BOTH.keySet());

  private static final Call SIGNAL =
      (store) -> store.releaseWatch().orElseThrow().await("nobody", () -> {});

  private static final String THREADS = "connecting-for-failing-calls";

  private final TestDatabase database;
  private final Statement administrator;
  private final ElectionDatabase watched;
  private final JdbcLeaseStore store;

  private final Set<Connection> open = ConcurrentHashMap.newKeySet();

  private final AtomicInteger calls = new AtomicInteger();
  private volatile boolean inValues;
  private volatile int failing;
  private volatile Function<String, Throwable> kind = SQLException::new;

  FailingCallsIT(Server server) throws SQLException {
    this.database = server.running().newDatabase().withTables();
    this.watched = new ElectionDatabase(
        ConnectionSource.of(this::connect),
        this.database.jdbcUrl(),
        "a test",
        (work) -> new Thread(work, THREADS));
    this.store = new JdbcLeaseStore(
        this.watched, SchemaMode.NONE, Database.OPERATION_TIMEOUT, Database.RENEW_INTERVAL, true);
    this.administrator = this.database.connect().createStatement();
  }

  @FunctionalInterface
  private interface Call {

    void on(JdbcLeaseStore store) throws Exception;
  }

  /** The operations of a store that has led two elections in their first terms. */
  static Stream<Arguments> whateverCallOfTheDriverFailsInWhateverWayNothingIsLost() {
    return Stream.of(
        call("read", READ),
        call("create", (store) -> Leases.create(store, "new", "a", 10_000, 0)),
        call("renew one", (store) -> Leases.renew(store, "a", Map.of("billing", 1L))),
        call(
            "renew two, of which one is lost",
            (store) -> Leases.renew(store, "a", Map.of("billing", 1L, "mailing", 2L))),
        call("take and lead", (store) -> {
          LeaseRow seen = Database.row(store, "billing");
          store.touch("billing", seen);
          Leases.acquire(store, "billing", seen, "b", 10_000, 0, "EXPIRED");
          Leases.begin(store, "billing", seen, 10_000);
        }),
        call("release", (store) -> store.release("billing", "a", 1, "", ENDING)),
        call("cede", (store) -> {
          store.designate("billing", "b", null, ALICE);
          Leases.cede(store, "billing", "a", 1, ENDING);
        }),
        call("history", (store) -> {
          store.history(BOTH.keySet());
          store.prune(BOTH, Duration.ofDays(1));
        }),
        call("members", (store) -> {
          store.announce(new Announcement(
              "a", BOTH.keySet(), Set.of(), true, Duration.ofDays(1), "", "", Map.of(), ""));
          store.members(BOTH.keySet());
          store.announce(new Announcement(
              "a", Set.of(), Set.of(), true, Duration.ofDays(1), "", "", Map.of(), ""));
        }),
        call("signal", SIGNAL));
  }

  private static Arguments call(String name, Call call) {
    return argumentSet(name, call);
  }

  @AfterEach
  void close() throws SQLException {
    this.store.close();
    this.administrator.getConnection().close();
  }

  @Test
  @Tag("long")
  void whateverCallOfTheDriverFailsInAReadNothingIsLost() throws Exception {
    failAtEach(READ, KINDS.subList(0, 1));
  }

  @ParameterizedTest
  @MethodSource
  @Tag("long")
  void whateverCallOfTheDriverFailsInWhateverWayNothingIsLost(Call call) throws Exception {
    assumeTrue(
        call != SIGNAL || this.database.server().product() != Product.POSTGRESQL,
        "nobody hands a lease back, for which PostgreSQL waits a minute");
    failAtEach(call, KINDS);
  }

  private void failAtEach(Call call, List<Function<String, Throwable>> kinds) throws Exception {
    lead();
    int made = 1;
    for (int i = 1; i <= made; i++) {
      restore();
      if (call == READ) {
        // Opens a session, too. Other calls have that of the read before.
        this.store.disconnect();
      }
      this.kind = kinds.get(i % kinds.size());
      made = failAt(i, () -> call.on(this.store));
      assertThat(this.store.read(BOTH.keySet())).hasSize(2);
      assertNothingIsLeft("call " + i, 1);
    }
    this.store.disconnect();
    assertNothingIsLeft("any call", 0);
  }

  /** Fails only some of the calls: there are thousands. */
  @Test
  @Tag("long")
  void whateverCallOfTheDriverFailsInAMigrationNothingIsLost() throws Exception {
    int made = 1;
    int attempt = 0;
    for (int i = 1; i <= made; i += ++attempt) {
      this.database.execute(
          "DROP TABLE IF EXISTS leader_election, leader_election_history, leader_election_member,"
              + " leader_election_schema_history");
      this.kind = KINDS.get(attempt % KINDS.size());
      LeaderElectionSchema schema =
          new LeaderElectionSchema(this.watched, true, true, Database.OPERATION_TIMEOUT);
      made = Math.max(made, failAt(i, schema::ensure));
      schema.ensure();
      assertNothingIsLeft("call %d of a migration".formatted(i), 0);
    }
  }

  /** Lets one call of the driver fail, and returns how many there were. */
  private int failAt(int number, ThrowingCallable work) {
    this.calls.set(0);
    this.failing = number;
    Throwable failure = Assertions.catchThrowable(work);
    this.failing = 0;
    if (failure != null) {
      assertThat(Stream.iterate(failure, Objects::nonNull, Throwable::getCause)
              .map(Throwable::toString))
          .as("causes of %s", failure)
          .anyMatch((text) -> text.contains("injected"));
    }
    return this.calls.get();
  }

  private void assertNothingIsLeft(String what, int inUse) {
    assertThat(this.open)
        .as("connections after a failure of %s", what)
        .hasSizeLessThanOrEqualTo(inUse);
    Awaitility.await("threads after a failure of " + what)
        .pollDelay(Duration.ZERO)
        .pollInterval(Duration.ofMillis(5))
        .until(() -> Thread.getAllStackTraces().keySet().stream()
            .noneMatch((thread) -> thread.getName().equals(THREADS)));
  }

  private void lead() throws Exception {
    for (String service : BOTH.keySet()) {
      Database.led(this.store, service, "a");
    }
    this.administrator.execute("CREATE TABLE saved AS SELECT * FROM leader_election");
    this.administrator.execute("CREATE TABLE saved_terms AS SELECT * FROM leader_election_history");
  }

  private void restore() throws SQLException {
    this.administrator.execute("DELETE FROM leader_election");
    this.administrator.execute("DELETE FROM leader_election_history");
    this.administrator.execute("INSERT INTO leader_election SELECT * FROM saved");
    this.administrator.execute("INSERT INTO leader_election_history SELECT * FROM saved_terms");
  }

  private Connection connect() throws SQLException {
    Connection connection = this.database.dataSource().getConnection();
    this.open.add(connection);
    return Watched.of(connection, (method, sql) -> {
      boolean follows = this.inValues;
      this.inValues = isValue(method);
      if (!(follows && this.inValues) && this.calls.incrementAndGet() == this.failing) {
        throw this.kind.apply("injected into " + method.getName());
      }
      if (Set.of("abort", "close").contains(method.getName())
          && method.getDeclaringClass() == Connection.class) {
        this.open.remove(connection);
      }
      return sql;
    });
  }

  /** Whether it reads or sets a value; several of these one after the other count as one call. */
  private static boolean isValue(Method method) {
    return Set.of(ResultSet.class, PreparedStatement.class).contains(method.getDeclaringClass())
        && method.getName().matches("(get|set|was).*");
  }
}
