package io.election.mysql;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.Instruction;
import io.election.LeadershipLostEvent;
import io.election.lease.ElectionDirectory.Announcement;
import io.election.lease.Ending;
import io.election.lease.LeaseRow;
import io.election.mysql.MysqlLeaseStore.SchemaMode;
import io.election.test.ConnectionSource;
import io.election.test.Leases;
import io.election.test.TestDatabase;
import java.lang.reflect.Method;
import java.sql.Connection;
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
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.assertj.core.api.Assertions;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Shows that the store works and has lost nothing after any call of the driver failed in any way.
 */
class FailingCallsIT {

  private static final Ending ENDING =
      new Ending(LeadershipLostEvent.Reason.RESIGNED, new Instruction("alice", "canary"));

  private static final List<Function<String, Throwable>> KINDS =
      List.of(SQLException::new, IllegalStateException::new, StackOverflowError::new);

  private static final Map<String, Long> BOTH = Map.of("billing", 1L, "mailing", 1L);

  private static final String THREADS = "connecting-for-failing-calls";

  private final TestDatabase database = Database.withTables(TestDatabase.newDatabase());
  private final Statement administrator;
  private final ElectionDatabase watched = new ElectionDatabase(
      ConnectionSource.of(this::connect),
      this.database.jdbcUrl(),
      "a test",
      work -> new Thread(work, THREADS));
  private final MysqlLeaseStore store = new MysqlLeaseStore(
      this.watched, SchemaMode.NONE, Database.OPERATION_TIMEOUT, Database.RENEW_INTERVAL, true);

  private final Set<Connection> open = ConcurrentHashMap.newKeySet();

  private final AtomicInteger calls = new AtomicInteger();
  private volatile int failing;
  private volatile Function<String, Throwable> kind = SQLException::new;

  FailingCallsIT() throws SQLException {
    this.administrator = this.database.connect().createStatement();
  }

  /** The operations of the store, which has led two elections in their first terms. */
  private enum Call {
    READ {
      @Override
      void on(MysqlLeaseStore store) throws Exception {
        store.read(BOTH.keySet());
      }
    },
    CREATE {
      @Override
      void on(MysqlLeaseStore store) throws Exception {
        Leases.create(store, "new", "a", 10_000, 0);
      }
    },
    RENEW_ONE {
      @Override
      void on(MysqlLeaseStore store) throws Exception {
        Leases.renew(store, "a", Map.of("billing", 1L));
      }
    },
    RENEW_TWO_OF_WHICH_ONE_IS_LOST {
      @Override
      void on(MysqlLeaseStore store) throws Exception {
        Leases.renew(store, "a", Map.of("billing", 1L, "mailing", 2L));
      }
    },
    TAKE_AND_LEAD {
      @Override
      void on(MysqlLeaseStore store) throws Exception {
        LeaseRow seen = store.read(Set.of("billing")).get("billing").row();
        store.touch("billing", seen);
        Leases.take(store, "billing", seen, "b", 10_000, 0, "EXPIRED");
        Leases.lead(store, "billing", seen, 10_000);
      }
    },
    RELEASE {
      @Override
      void on(MysqlLeaseStore store) throws Exception {
        store.release("billing", "a", 1, "", ENDING);
      }
    },
    GIVE_WAY {
      @Override
      void on(MysqlLeaseStore store) throws Exception {
        store.designate("billing", "b", ENDING.instruction());
        Leases.giveWay(store, "billing", "a", 1, ENDING);
      }
    },
    HISTORY {
      @Override
      void on(MysqlLeaseStore store) throws Exception {
        store.history(BOTH.keySet());
        store.prune(BOTH, Duration.ofDays(1));
      }
    },
    MEMBERS {
      @Override
      void on(MysqlLeaseStore store) throws Exception {
        store.announce(
            new Announcement("a", BOTH.keySet(), Set.of(), true, Duration.ofDays(1), ""));
        store.members(BOTH.keySet());
        store.announce(new Announcement("a", Set.of(), Set.of(), true, Duration.ofDays(1), ""));
      }
    },
    SIGNAL {
      @Override
      void on(MysqlLeaseStore store) throws Exception {
        store.releaseWatch().orElseThrow().await("nobody", () -> {});
      }
    };

    abstract void on(MysqlLeaseStore store) throws Exception;
  }

  @AfterEach
  void close() throws SQLException {
    this.store.close();
    this.administrator.getConnection().close();
  }

  @Test
  void whatever_call_of_the_driver_fails_in_a_read_nothing_is_lost() throws Exception {
    failAtEach(Call.READ, KINDS.subList(0, 1));
  }

  @ParameterizedTest
  @EnumSource
  @Tag("faults")
  void whatever_call_of_the_driver_fails_in_whatever_way_nothing_is_lost(Call call)
      throws Exception {
    failAtEach(call, KINDS);
  }

  private void failAtEach(Call call, List<Function<String, Throwable>> kinds) throws Exception {
    lead();
    for (Function<String, Throwable> each : kinds) {
      this.kind = each;
      int made = 1;
      for (int i = 1; i <= made; i++) {
        restore();
        this.store.disconnect();
        made = failAt(i, () -> call.on(this.store));
        assertThat(this.store.read(BOTH.keySet())).hasSize(2);
        this.store.disconnect();
        assertNothingIsLeft("call %d of %s".formatted(i, call));
      }
    }
  }

  /** Fails only some of the calls: there are thousands. */
  @Test
  @Tag("faults")
  void whatever_call_of_the_driver_fails_in_a_migration_nothing_is_lost() throws Exception {
    int made = 1;
    int attempt = 0;
    for (int i = 1; i <= made; i += ++attempt) {
      this.database.execute(
          "DROP TABLE IF EXISTS leader_election, leader_election_history, leader_election_member,"
              + " leader_election_schema_history");
      this.kind = KINDS.get(attempt % KINDS.size());
      LeaderElectionSchema schema =
          new LeaderElectionSchema(this.watched, SchemaMode.MIGRATE, Database.OPERATION_TIMEOUT);
      made = Math.max(made, failAt(i, schema::ensure));
      schema.ensure();
      assertNothingIsLeft("call %d of a migration".formatted(i));
    }
  }

  /**
   * Lets one call of the driver fail.
   *
   * @return how many calls there were
   */
  private int failAt(int number, ThrowingCallable work) {
    this.calls.set(0);
    this.failing = number;
    Throwable failure = Assertions.catchThrowable(work);
    this.failing = 0;
    if (failure != null) {
      assertThat(Stream.iterate(failure, Objects::nonNull, Throwable::getCause)
              .map(Throwable::toString))
          .as("causes of %s", failure)
          .anyMatch(text -> text.contains("injected"));
    }
    return this.calls.get();
  }

  private void assertNothingIsLeft(String what) {
    assertThat(this.open).as("connections after a failure of %s", what).isEmpty();
    Awaitility.await("threads after a failure of " + what)
        .pollDelay(Duration.ZERO)
        .pollInterval(Duration.ofMillis(5))
        .until(() -> Thread.getAllStackTraces().keySet().stream()
            .noneMatch(thread -> thread.getName().equals(THREADS)));
  }

  private void lead() throws Exception {
    for (String service : BOTH.keySet()) {
      LeaseRow created = Leases.create(this.store, service, "a", 10_000, 0).orElseThrow();
      assertThat(Leases.lead(this.store, service, created, 10_000)).isTrue();
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
    return Watched.of(connection, method -> before(connection, method), UnaryOperator.identity());
  }

  private void before(Connection connection, Method method) {
    if (this.calls.incrementAndGet() == this.failing) {
      throwIt(this.kind.apply("injected into " + method.getName()));
    }
    if (Set.of("abort", "close").contains(method.getName())
        && method.getDeclaringClass() == Connection.class) {
      this.open.remove(connection);
    }
  }

  @SuppressWarnings("unchecked")
  private static <T extends Throwable> void throwIt(Throwable failure) throws T {
    throw (T) failure;
  }
}
