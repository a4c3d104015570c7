package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import io.election.AuditNote;
import io.election.jdbc.JdbcLeaseStore.SchemaMode;
import io.election.store.ElectionDirectory.Announcement;
import io.election.store.LeaseRow;
import io.election.store.LeaseStore.Renewals;
import io.election.store.LeaseStoreException;
import io.election.store.RecordLockedException;
import io.election.support.ConnectionSource;
import io.election.test.Leases;
import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import javax.sql.DataSource;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.awaitility.Awaitility;
import org.flywaydb.core.internal.command.DbMigrate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** How a store on any product behaves when the database fails, and what it reports. */
abstract class StoreFaultsContract extends ServerDatabase {

  /** The time-out of calls that meet a lock. It is shorter than the server's own, of a second. */
  static final Duration TIMEOUT = Duration.ofMillis(900);

  /** The time that a call may take beyond its time-out on a busy machine. */
  private static final Duration GRACE = Duration.ofSeconds(2);

  final List<Connection> connections = new ArrayList<>();

  JdbcLeaseStore store;

  private final AtomicInteger executed = new AtomicInteger();

  @BeforeEach
  void prepare() {
    use(this.database.dataSource());
  }

  /** The record bears the term again, but a newer one has begun and may last. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aLateReleaseSeesTheTermThatBeganWhileItWaited(boolean cedes) throws Exception {
    String waiting = isPostgresql()
        ? "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        : "SELECT 1 FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'";
    Database.led(this.store, "jobs", "a");
    this.database.execute(
        "UPDATE leader_election SET leader_id = '%s'".formatted(cedes ? "b" : "a"));
    AtomicReference<Optional<Boolean>> outcome = new AtomicReference<>();
    Awaitility.await("the wait is shorter than a lock may be").until(() -> {
      this.database.execute("DELETE FROM leader_election_history WHERE term = 2");
      try (Connection editor = this.database.begin("SELECT * FROM leader_election FOR UPDATE")) {
        CompletableFuture<Boolean> late = CompletableFuture.supplyAsync(() -> {
          try {
            return this.store.release("jobs", "a", 1, cedes ? null : "", Database.RESIGNED);
          } catch (LeaseStoreException ex) {
            throw new IllegalStateException(ex);
          }
        });
        Awaitility.await()
            .pollInterval(Duration.ofMillis(10))
            .until(() -> late.isDone() || this.database.query(waiting) != null);
        try (Statement statement = editor.createStatement()) {
          statement.execute("UPDATE leader_election SET version = version + 1");
          statement.execute(
              "INSERT INTO leader_election_history (service_id, term, leader_id, lease_millis, elected_at, reason) SELECT service_id, 2, leader_id, lease_millis, elected_at, reason FROM leader_election_history");
        }
        editor.commit();
        outcome.set(late.handle((done, failure) -> Optional.ofNullable(done)).join());
        return outcome.get().isPresent();
      }
    });
    assertThat(outcome.get()).contains(false);
  }

  @Test
  void fiftyElectionsAreRenewedWatchedAndAnnouncedWithOneStatementEach() throws Exception {
    Map<String, Long> terms = led(50);
    Announcement self = new Announcement(
        "a", terms.keySet(), Set.of(), true, Duration.ofDays(1), "", "", Map.of(), "");
    Leases.renew(this.store, "a", terms);
    this.store.announce(self);

    assertThat(statements(() -> assertThat(Leases.renew(this.store, "a", terms)).hasSize(50)))
        .isEqualTo(1);
    assertThat(statements(() -> assertThat(this.store.read(terms.keySet())).hasSize(50)))
        .isEqualTo(1);
    assertThat(statements(() -> assertThat(this.store.members(terms.keySet())).hasSize(50)))
        .isEqualTo(1);
    assertThat(statements(() -> {
          this.store.announce(self);
          return self;
        }))
        .isEqualTo(1);
  }

  @Test
  void aLockedRowDoesNotHoldACallBeyondItsTime() throws Exception {
    use(this.database.dataSource(), TIMEOUT);
    LeaseRow row = led("billing");
    try (Connection locker = this.database.begin("SELECT * FROM leader_election FOR UPDATE")) {
      assertFails(
          () -> renew(row),
          isPostgresql() ? "holds a lock on a row" : "did not answer within 900 ms");
      assertThat(this.store.read(Set.of("billing"))).as("readers do not wait").hasSize(1);
      locker.rollback();
    }
    assertRenews(row);
  }

  @Test
  void aLockWaitThatTheServerEndsIsToldAsSuch() throws Exception {
    use(this.database.dataSource(), Duration.ofSeconds(5));
    LeaseRow row = led("billing");
    try (Connection locker = this.database.begin("SELECT * FROM leader_election FOR UPDATE")) {
      assertFails(
          () -> renew(row),
          "Another transaction in 127.0.0.1:" + server().port() + "/" + this.database.name(),
          isPostgresql() ? "due to lock timeout" : "Lock wait timeout exceeded");
      locker.rollback();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 50})
  void aLockedRowKeepsNoOtherLeaseFromBeingRenewed(int leases) throws Exception {
    use(this.database.dataSource(), TIMEOUT);
    Map<String, Long> terms = led(leases);
    terms.put("lost", led("lost").term() + 1);
    Set<String> free = new HashSet<>(terms.keySet());
    free.removeAll(Set.of("service-1", "lost"));
    try (Connection locker = this.database.begin(
        "SELECT * FROM leader_election WHERE service_id = 'service-1' FOR UPDATE")) {
      Map<String, LeaseRow> before = rows(terms.keySet());
      for (int i = 0; i < 3; i++) {
        assertThat(statements(() -> {
              Renewals outcome = this.store.renew("a", terms);
              assertThat(outcome.renewed()).isEqualTo(free);
              assertThat(outcome.unknown()).containsExactly("service-1");
              assertThat(outcome.problem())
                  .startsWith(
                      "1 of %d leases could not be renewed ('service-1')".formatted(leases + 1))
                  .contains(isPostgresql() ? "pg_prepared_xacts" : "information_schema.innodb_trx");
              return outcome;
            }))
            .as("however many leases")
            .isLessThan(10);
      }
      Map<String, LeaseRow> after = rows(terms.keySet());
      for (String service : terms.keySet()) {
        assertThat(after.get(service).equals(before.get(service)))
            .as(service)
            .isNotEqualTo(free.contains(service));
      }
      locker.rollback();
    }
    terms.remove("lost");
    assertThat(Leases.renew(this.store, "a", terms)).isEqualTo(terms.keySet());
    assertThat(this.connections).as("none was given up").hasSize(1);
  }

  @Test
  void aLockedRowIsToldToWhoeverWouldTakeItOverAndKeepsNoOtherFromBeingTaken() throws Exception {
    use(this.database.dataSource(), TIMEOUT);
    led("billing");
    led("mailing");
    try (Connection locker = this.database.begin(
        "SELECT * FROM leader_election WHERE service_id = 'billing' FOR UPDATE")) {
      assertThatThrownBy(this::take)
          .isInstanceOf(RecordLockedException.class)
          .hasMessageStartingWith("Taking election 'billing' over failed. Another transaction in ")
          .hasMessageContaining(
              isPostgresql() ? "pg_prepared_xacts" : "information_schema.innodb_trx");
      assertThat(Leases.acquire(this.store, "mailing", row("mailing"), "b", 1000, 0, "EXPIRED"))
          .isPresent();
      locker.rollback();
    }
    assertThat(take()).isPresent();
    assertThat(this.connections).as("none was given up").hasSize(1);
  }

  @ParameterizedTest
  @CsvSource({"1205, 40001", "1213, 40001", "0, 40001", "0, 40P01", "0, 55P03"})
  void aCommonRenewalThatTheServerHasUndoneRenewsNothingByItself(int error, String state)
      throws Exception {
    AtomicInteger undone = new AtomicInteger();
    DataSource source = this.database.dataSource();
    use(ConnectionSource.of(() -> Watched.of(source.getConnection(), (method, sql) -> {
      if (sql != null && sql.matches("(?s)(UPDATE \\(SELECT|SET STATEMENT|BEGIN.*WITH free).*")) {
        undone.incrementAndGet();
        throw new SQLException("injected", state, error);
      }
      return sql;
    })));
    Map<String, Long> terms = led(2);
    Map<String, LeaseRow> before = rows(terms.keySet());
    terms.put("lost", led("lost").term() + 1);

    assertThat(Leases.renew(this.store, "a", terms)).isEqualTo(before.keySet());

    assertThat(undone).hasValue(1);
    assertThat(rows(before.keySet()).values()).doesNotContainAnyElementsOf(before.values());
  }

  @Test
  void workThatIsBeingFencedDoesNotHoldUpARelease() throws Exception {
    use(this.database.dataSource(), TIMEOUT);
    LeaseRow row = led("billing");
    try (Connection worker = fenced()) {
      assertThat(release(row)).isTrue();
      assertThat(row("billing").leaderId()).isEmpty();
      assertFails(() -> take(), "Taking election");
      worker.rollback();
    }
    Awaitility.await().ignoreExceptions().until(() -> take().isPresent());
    assertThat(this.database.query(
            "SELECT ended_at IS NULL FROM leader_election_history WHERE term = 1"))
        .isEqualTo(isPostgresql() ? "f" : "0");
  }

  /** What the fence of work in the first term locks. */
  private Connection fenced() {
    return this.database.begin("SELECT * FROM leader_election_history WHERE term = 1 "
        + (isPostgresql() ? "FOR SHARE" : "LOCK IN SHARE MODE"));
  }

  @Test
  void workThatIsBeingFencedDoesNotHoldUpADesignation() throws Exception {
    use(this.database.dataSource(), TIMEOUT);
    led("billing");
    AuditNote alice = new AuditNote("alice", "canary");
    try (Connection worker = fenced()) {
      assertThat(this.store.designate("billing", "b", null, alice)).isTrue();
      assertThat(row("billing").leaderId()).isEqualTo("b");
      worker.rollback();
    }
    assertThat(this.store.designate("billing", "c", null, alice)).isTrue();
    assertThat(this.database.query("SELECT ended_by FROM leader_election_history"))
        .isEqualTo("alice");
  }

  /** As after Flyway's clean(), in a context that stays. */
  @Test
  void tablesThatAreAllGoneAreMadeAgain() throws Exception {
    useMigrating();
    LeaseRow row = led("billing");
    String drop = "DROP TABLE leader_election, leader_election_history, leader_election_member";
    this.database.execute(drop);
    assertFails(() -> renew(row), "A table is missing");
    assertThat(this.store.read(Set.of("billing"))).isEmpty();
    assertThat(Leases.create(this.store, "billing", "a", 1000, 0)).isPresent();

    if (isPostgresql()) {
      return; // it has no history of migrations
    }
    // clean() drops the history of the migrations too. Whoever keeps it wants no other tables.
    this.database.execute(drop);
    assertFails(() -> this.store.read(Set.of("billing")), "A table is missing");
    ThrowingCallable refused = () -> assertThatThrownBy(() -> this.store.read(Set.of("billing")))
        .hasMessageContaining("they were dropped or changed");
    assertThat(Database.logged(DbMigrate.class, Level.INFO, refused)).isNotEmpty();
    assertThat(Database.logged(DbMigrate.class, Level.INFO, refused)).isEmpty();
  }

  @Test
  void tableThatIsRenamedIsNotMadeAgainAndMayComeBack() throws Exception {
    useMigrating();
    LeaseRow row = led("billing");
    this.database.execute("ALTER TABLE leader_election RENAME TO away");
    assertFails(() -> renew(row), "A table is missing");
    assertFails(() -> renew(row), "they were dropped or changed");
    this.database.execute("ALTER TABLE away RENAME TO leader_election");
    assertThat(renew(row)).containsExactly("billing");
  }

  @Test
  void aMissingTableIsToldWithWhatToRun() throws Exception {
    LeaseRow row = led("billing");
    this.database.execute("DROP TABLE leader_election");

    String in = isPostgresql() ? "\"public\"." : "";
    assertFails(
        () -> renew(row),
        "A table is missing in 127.0.0.1:",
        isPostgresql() ? "\"leader_election\" does not exist" : "leader_election' doesn't exist",
        "run:\nCREATE TABLE %sleader_election (".formatted(in),
        "CREATE TABLE %sleader_election_history (".formatted(in));

    this.database.execute(
        (isPostgresql() ? PostgresqlDialect.INSTANCE.ddl() : MysqlTables.DDL).leases());
    assertThat(Leases.create(this.store, "billing", "a", 1000, 0).orElseThrow().term())
        .isEqualTo(2);
  }

  @Test
  void aMissingColumnIsTold() throws Exception {
    led("billing");
    this.database.execute("ALTER TABLE leader_election DROP COLUMN term");

    assertFails(
        () -> this.store.read(Set.of("billing")),
        "lacks a column",
        isPostgresql() ? "column \"term\" does not exist" : "Unknown column 'term'");
  }

  @Test
  void theGreatestTermIsTold() throws Exception {
    led("billing");
    this.database.execute("UPDATE leader_election SET term = 9223372036854775807");

    assertFails(() -> take(), "is the greatest possible");
  }

  final void useMigrating() {
    this.store = closing(Database.store(
        this.database.dataSource(),
        this.database.jdbcUrl(),
        SchemaMode.MIGRATE,
        Database.OPERATION_TIMEOUT));
  }

  final LeaseRow led(String service) throws LeaseStoreException {
    return Database.led(this.store, service, "a");
  }

  final Map<String, Long> led(int elections) throws LeaseStoreException {
    Map<String, Long> terms = new HashMap<>();
    for (int i = 0; i < elections; i++) {
      terms.put("service-" + i, led("service-" + i).term());
    }
    return terms;
  }

  final LeaseRow row(String service) throws LeaseStoreException {
    return Database.row(this.store, service);
  }

  final Map<String, LeaseRow> rows(Set<String> services) throws LeaseStoreException {
    Map<String, LeaseRow> rows = new HashMap<>();
    this.store.read(services).forEach((service, reading) -> rows.put(service, reading.row()));
    return rows;
  }

  final Set<String> renew(LeaseRow row) throws LeaseStoreException {
    return Leases.renew(this.store, "a", Map.of("billing", row.term()));
  }

  final boolean release(LeaseRow row) throws LeaseStoreException {
    return this.store.release("billing", "a", row.term(), "", Database.RESIGNED);
  }

  final OptionalLong take() throws LeaseStoreException {
    return Leases.acquire(this.store, "billing", row("billing"), "b", 1000, 0, "RELEASED");
  }

  final void assertRenews(LeaseRow row) {
    Awaitility.await()
        .ignoreExceptionsInstanceOf(LeaseStoreException.class)
        .untilAsserted(() -> assertThat(renew(row)).containsExactly("billing"));
  }

  static void assertFails(ThrowingCallable call, String... words) {
    long start = System.nanoTime();
    assertThatThrownBy(call)
        .isInstanceOf(LeaseStoreException.class)
        .satisfies((failure) ->
            assertThat(failure.getMessage()).contains(words).doesNotContain("password="));
    assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(TIMEOUT.plus(GRACE));
  }

  /** The number of statements of the store's connection in a call; on PostgreSQL of round trips. */
  private long statements(Callable<?> call) throws Exception {
    long before = statements();
    call.call();
    return statements() - before - (isPostgresql() ? 0 : 1); // for the statement that counts
  }

  private long statements() throws SQLException {
    if (isPostgresql()) {
      return this.executed.get();
    }
    try (Statement statement = this.connections.get(0).createStatement();
        ResultSet rows = statement.executeQuery("SHOW SESSION STATUS LIKE 'Questions'")) {
      rows.next();
      return rows.getLong(2);
    }
  }

  final void use(DataSource dataSource) {
    use(dataSource, Database.OPERATION_TIMEOUT);
  }

  final void use(DataSource dataSource, Duration timeout) {
    this.store = closing(
        Database.store(remembering(dataSource), this.database.jdbcUrl(), SchemaMode.NONE, timeout));
  }

  final DataSource remembering(DataSource source) {
    return ConnectionSource.of(() -> {
      Connection connection = source.getConnection();
      this.connections.add(connection);
      return isPostgresql() ? Watched.of(connection, this::count) : connection;
    });
  }

  private @Nullable String count(Method method, @Nullable String sql) {
    if (method.getName().startsWith("execute")) {
      this.executed.incrementAndGet();
    }
    return sql;
  }
}
