package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import ch.qos.logback.classic.Level;
import io.election.jdbc.ElectionDatabase.Login;
import io.election.jdbc.ElectionDatabase.Settings;
import io.election.jdbc.JdbcLeaseStore.SchemaMode;
import io.election.store.LeaseRow;
import io.election.store.LeaseStore.Renewals;
import io.election.store.LeaseStoreException;
import io.election.support.PgBouncer;
import io.election.support.PostgresqlPrograms;
import io.election.support.PostgresqlServer;
import io.election.support.TestDataSource;
import io.election.support.TestDatabase;
import io.election.support.TestServer;
import io.election.test.Leases;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What happens to a server of PostgreSQL, its sessions, and a PgBouncer before it: nothing is
 * confirmed that does not last, and no record counts on another server than the one that was
 * watched.
 */
@Tag("faults")
@ParameterizedClass(name = "{0}")
@MethodSource("io.election.jdbc.PostgresqlSettingsIT#releases")
class PostgresqlServersIT {

  private static final Duration SHORT = Duration.ofMillis(1500);

  @Parameter
  PostgresqlPrograms release;

  private final Deque<AutoCloseable> open = new ArrayDeque<>();
  private PostgresqlServer server;
  private TestDatabase database;

  @BeforeEach
  void launch() {
    this.server = closing(PostgresqlServer.launch(this.release));
    this.database = this.server.newDatabase().withTables();
  }

  private <T extends AutoCloseable> T closing(T opened) {
    this.open.push(opened);
    return opened;
  }

  @AfterEach
  void closeAll() throws Exception {
    while (!this.open.isEmpty()) {
      this.open.pop().close();
    }
  }

  private JdbcLeaseStore store() {
    return closing(Database.store(this.database));
  }

  private JdbcLeaseStore store(Duration timeout) {
    return closing(Database.store(
        this.database.dataSource(), this.database.jdbcUrl(), SchemaMode.NONE, timeout));
  }

  private TestDatabase on(PostgresqlServer other) {
    return new TestDatabase(other, this.database.name(), this.database.username());
  }

  private static boolean renews(JdbcLeaseStore store, String id, long term)
      throws LeaseStoreException {
    return !Leases.renew(store, "me", Map.of(id, term)).isEmpty();
  }

  @Test
  void anAcknowledgedTermSurvivesAKillWhateverTheRoleSays() throws Exception {
    this.database.execute(
        "ALTER ROLE " + this.database.username() + " SET synchronous_commit = off");
    // The process that writes what others have not awaited.
    this.server.execute("ALTER SYSTEM SET wal_writer_delay = '10s'", "SELECT pg_reload_conf()");
    for (int i = 1; i <= 3; i++) {
      JdbcLeaseStore store = store();
      LeaseRow led = Database.led(store, "job" + i, "me");
      this.server.kill();
      this.server.start();
      assertThat(Database.row(store(), "job" + i).term()).isEqualTo(led.term());
      assertThat(this.database.query("SELECT count(*) FROM leader_election_history"))
          .isEqualTo("" + i);
    }
  }

  /** The commit is then confirmed with a mere warning, or the session is gone. */
  @ParameterizedTest
  @CsvSource({
    "pg_cancel_backend, 'confirmed with a warning, and thus unknown: canceling wait'",
    "pg_terminate_backend, ''",
    "'', did not answer"
  })
  void aWriteThatWaitsForAMissingStandbyIsUnknown(String ended, String told) throws Exception {
    JdbcLeaseStore store = store(ended.isEmpty() ? SHORT : Database.OPERATION_TIMEOUT);
    Database.led(store, "one", "me");
    Database.led(store, "two", "me");
    this.database.execute(
        "ALTER ROLE " + this.database.username() + " SET client_min_messages = error");
    this.server.execute(
        "ALTER SYSTEM SET synchronous_standby_names = 'missing'", "SELECT pg_reload_conf()");
    store.disconnect();

    AtomicInteger created = new AtomicInteger();
    for (ThrowingCallable write : List.<ThrowingCallable>of(
        () -> renews(store, "one", 1),
        () -> Leases.renew(store, "me", Map.of("one", 1L, "two", 1L)),
        () -> Leases.create(store, "new" + created.incrementAndGet(), "me", 10_000, 0))) {
      AtomicBoolean waits = new AtomicBoolean();
      CompletableFuture<Throwable> failure =
          CompletableFuture.supplyAsync(() -> catchThrowable(() -> {
            while (true) {
              // The server may not have read its settings yet.
              write.call();
              assertThat(waits).isFalse();
            }
          }));
      awaitCommitsThatWait(true);
      waits.set(true);
      if (!ended.isEmpty()) {
        this.server.query(ofWaiting(ended));
      }
      assertThat(failure.join()).isInstanceOf(LeaseStoreException.class).hasMessageContaining(told);
      // The next connection finds it, or the lock that its commit holds.
      if (ended.isEmpty()) {
        Renewals[] outcome = new Renewals[1];
        Throwable next =
            catchThrowable(() -> outcome[0] = store.renew("me", Map.of("one", 1L, "two", 1L)));
        assertThat(next != null ? next.getMessage() : outcome[0].problem())
            .endsWith(
                " Commits wait for a standby. Bring back those of synchronous_standby_names: missing.");
      }
      this.server.query(ofWaiting("pg_terminate_backend"));
      awaitCommitsThatWait(false);
    }

    this.server.execute("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()");
    Awaitility.await().ignoreExceptions().until(() -> renews(store, "one", 1));
  }

  private void awaitCommitsThatWait(boolean any) {
    Awaitility.await("commits that wait for the standby: " + any)
        .pollInterval(Duration.ofMillis(10))
        .until(() -> any != "0".equals(this.server.query(ofWaiting("count"))));
  }

  private static String ofWaiting(String function) {
    return "SELECT %s(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'".formatted(function);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aStandbyIsRefusedAsReadOnly(boolean readOnlyRole) throws Exception {
    if (readOnlyRole) {
      this.database.execute(
          "ALTER ROLE " + this.database.username() + " SET default_transaction_read_only = on");
    }
    PostgresqlServer standby = closing(this.server.startStandby());
    standby.awaitDataOf(this.server);
    JdbcLeaseStore store = closing(Database.store(on(standby)));

    assertThatThrownBy(() -> store.read(Set.of("jobs")))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("is read-only (it is a standby)")
        .hasMessageContaining("let the URL point to the primary");
    assertThatThrownBy(() -> store.releaseWatch().orElseThrow().await("a", () -> {}))
        .hasMessageContaining("is read-only (it is a standby)");
  }

  /** The old primary lives and is readable and writable. */
  @Test
  void aPromotedStandbyIsAnotherServerAtOnce() throws Exception {
    PostgresqlServer standby = closing(this.server.startStandby());
    JdbcLeaseStore old = store();
    Database.led(old, "jobs", "me");
    LeaseRow seen = Database.row(old, "jobs");
    standby.awaitDataOf(this.server);
    standby.promote();

    JdbcLeaseStore promoted = closing(Database.store(on(standby)));
    LeaseRow there = Database.row(promoted, "jobs");
    assertThat(there.version()).isNotEqualTo(seen.version());
    assertThat(there.own()).isFalse();
    String id = this.server.query("SELECT system_identifier FROM pg_control_system()");
    assertThat(LeaseRows.Version.of(seen).source()).startsWith(id + ".00000001.");
    assertThat(LeaseRows.Version.of(there).source()).startsWith(id + ".00000002.");
    assertNothingIsTaken(promoted, seen);
    assertNothingIsTaken(old, there);
    assertThat(renews(old, "jobs", 1)).isTrue();
  }

  private static void assertNothingIsTaken(JdbcLeaseStore store, LeaseRow seenElsewhere)
      throws LeaseStoreException {
    assertThat(Leases.acquire(store, "jobs", seenElsewhere, "other", 10_000, 0, "EXPIRED"))
        .isEmpty();
    assertThat(store.touch("jobs", seenElsewhere)).isEmpty();
  }

  @Test
  void aCopyAndARestartAreOtherServers() throws Exception {
    JdbcLeaseStore first = store();
    Database.led(first, "jobs", "me");
    LeaseRow seen = Database.row(first, "jobs");
    this.server.stop();
    PostgresqlServer copy = closing(this.server.startCopy());
    this.server.start();

    JdbcLeaseStore ofCopy = closing(Database.store(on(copy)));
    JdbcLeaseStore restarted = store();
    LeaseRow inCopy = Database.row(ofCopy, "jobs");
    LeaseRow again = Database.row(restarted, "jobs");
    assertThat(Set.of(seen.version(), inCopy.version(), again.version())).hasSize(3);
    assertNothingIsTaken(ofCopy, seen);
    assertNothingIsTaken(ofCopy, again);
    assertNothingIsTaken(restarted, seen);
  }

  /** The row is as it was when the first node led in it, with the stamp of that node. */
  @Test
  void aBackupThatIsPutBackMakesNobodyTheLeader() throws Exception {
    JdbcLeaseStore first = store();
    Database.led(first, "jobs", "me");
    LeaseRow atBackup = Database.row(first, "jobs");
    this.server.stop();
    PostgresqlServer backup = closing(this.server.startCopy());
    backup.stop();
    this.server.start();
    first.disconnect();
    assertThat(renews(first, "jobs", 1)).isTrue();
    JdbcLeaseStore second = store();
    LeaseRow seen = Database.row(second, "jobs");
    assertThat(Leases.acquire(second, "jobs", seen, "other", 10_000, 1, "EXPIRED"))
        .hasValue(2);

    this.server.putBack(backup);
    first.disconnect();
    second.disconnect();
    LeaseRow back = Database.row(first, "jobs");
    assertThat(back.term()).isEqualTo(1);
    assertThat(back.own()).isFalse();
    assertThat(Set.of(atBackup.version(), seen.version(), back.version())).hasSize(3);
    assertThat(Leases.renew(second, "other", Map.of("jobs", 2L))).isEmpty();
    assertNothingIsTaken(second, atBackup);
    assertNothingIsTaken(first, seen);
    assertThat(Leases.acquire(first, "jobs", back, "me", 10_000, 2, "EXPIRED")).hasValue(3);
  }

  /** Aurora, which this setting tells, shows no position in its log unless that is a logical one. */
  @Test
  void aServerThatShowsNoPositionInItsLogIsKnownByItsStart() throws Exception {
    this.database.execute("ALTER DATABASE %s SET rds.extensions = 'aurora_stat_utils, plpgsql'"
        .formatted(this.database.name()));
    JdbcLeaseStore store = store();
    Database.led(store, "jobs", "me");
    String id = this.server.query("SELECT system_identifier FROM pg_control_system()");
    LeaseRow seen = Database.row(store, "jobs");
    assertThat(LeaseRows.Version.of(seen).source()).startsWith(id + "..");
    this.server.stop();
    this.server.start();
    store.disconnect();
    assertThat(Database.row(store, "jobs").own()).isFalse();
    assertThat(renews(store, "jobs", 1)).isTrue();
  }

  @Test
  void aCopyInAnotherDatabaseOrSchemaIsAnother() throws Exception {
    JdbcLeaseStore store = store();
    Database.led(store, "jobs", "me");
    LeaseRow seen = Database.row(store, "jobs");
    store.disconnect();
    this.server.execute("CREATE DATABASE copy TEMPLATE " + this.database.name());
    String user = this.database.username();
    this.database.execute("CREATE SCHEMA copy AUTHORIZATION " + user);
    for (String table : List.of("leader_election", "leader_election_history")) {
      this.database.execute(
          "CREATE TABLE copy.%1$s AS SELECT * FROM public.%1$s".formatted(table),
          "GRANT ALL ON copy.%s TO %s".formatted(table, user));
    }
    TestDatabase other = new TestDatabase(this.server, "copy", user);
    for (JdbcLeaseStore ofCopy : List.of(
        closing(Database.store(other)),
        unpooled(this.database.jdbcUrl() + "&currentSchema=copy"))) {
      LeaseRow copied = Database.row(ofCopy, "jobs");
      assertThat(copied.version()).isNotEqualTo(seen.version());
      assertNothingIsTaken(ofCopy, seen);
      ofCopy.disconnect();
    }
    String name = this.database.name();
    this.server.execute("DROP DATABASE %s WITH (FORCE)".formatted(name));
    this.server.execute("ALTER DATABASE copy RENAME TO " + name);
    LeaseRow renamed = Database.row(store, "jobs");
    assertThat(renamed.version()).isNotEqualTo(seen.version());
    assertThat(renamed.own()).isFalse();
  }

  @ParameterizedTest
  @CsvSource({"any", "primary", "secondary", "preferSecondary"})
  @Tag("long")
  void ofSeveralHostsThePrimaryIsUsed(String type) throws Exception {
    PostgresqlServer standby = closing(this.server.startStandby());
    standby.awaitDataOf(this.server);
    String url = "jdbc:postgresql://127.0.0.1:%s,127.0.0.1:%s/%s?targetServerType=%s"
        .formatted(standby.port(), this.server.port(), this.database.name(), type);
    Map<String, String> ofPool = Map.of("targetServerType", type);
    JdbcLeaseStore store = unpooled(url, ofPool);
    Database.led(store, "jobs", "me");
    assertThat(renews(store, "jobs", 1)).isTrue();

    standby.awaitDataOf(this.server);
    this.server.stop();
    standby.promote();
    Awaitility.await()
        .ignoreExceptions()
        .until(() -> Database.row(store, "jobs").term() == 1);
    assertThat(Database.row(store, "jobs").own())
        .as("watched for a whole lease")
        .isFalse();
  }

  /** A URL for reading looks for standbys. The election asks which server it got. */
  @Test
  void whichKindOfServerTheUrlLooksForDoesNotCount() throws Exception {
    String url = "%s&targetServerType=secondary".formatted(this.database.jdbcUrl());
    Database.led(unpooled(url, Map.of("targetServerType", "secondary")), "jobs", "me");
  }

  /** The driver then names its statements at once, and other clients get its sessions. */
  @ParameterizedTest
  @ValueSource(strings = {"prepareThreshold=1", "preferQueryMode=extendedCacheEverything"})
  @Tag("long")
  void theElectionNamesNoStatementBehindAPooler(String parameter) throws Exception {
    try (PgBouncer bouncer = PgBouncer.to(this.server)) {
      String url = bouncer.jdbcUrl(this.database) + "&" + parameter;
      List<JdbcLeaseStore> stores =
          List.of(unpooled(url), unpooled(url.replace("//", "//127.0.0.1:1,")));
      Database.led(stores.get(0), "jobs", "me");
      for (int i = 0; i < 10; i++) {
        for (JdbcLeaseStore store : stores) {
          assertThat(renews(stores.get(0), "jobs", 1)).isTrue();
          assertThat(Database.row(store, "jobs").term()).isEqualTo(1);
        }
      }
    }
  }

  /** Such a transaction waits for those that write, if it may not. */
  @Test
  void noSessionWaitsForTheTransactionsOfOthers() throws Exception {
    this.database.execute("CREATE TABLE other (n int)");
    for (String setting :
        List.of("isolation = serializable", "read_only = on", "deferrable = on")) {
      this.database.execute(
          "ALTER ROLE %s SET default_transaction_%s".formatted(this.database.username(), setting));
    }
    try (Connection writer = this.database.begin(
        "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; INSERT INTO other VALUES (1)")) {
      String url = this.database.jdbcUrl();
      for (JdbcLeaseStore store :
          List.of(store(SHORT), unpooled(url.replace("//", "//127.0.0.1:1,"), Map.of()))) {
        assertThat(store.read(Set.of("jobs"))).isEmpty();
      }
      writer.rollback();
    }
  }

  private JdbcLeaseStore unpooled(String url) {
    return unpooled(url, null, null);
  }

  private JdbcLeaseStore unpooled(String url, Map<String, String> driverProperties) {
    return unpooled(url, new Settings(driverProperties, null, null, null));
  }

  private JdbcLeaseStore unpooled(String url, @Nullable String schema, @Nullable String initSql) {
    return unpooled(url, new Settings(Map.of(), null, schema, initSql));
  }

  private JdbcLeaseStore unpooled(String url, Settings settings) {
    Login login = new Login(
        url,
        this.database.username(),
        this.database.password(),
        new org.postgresql.Driver(),
        "the test",
        settings);
    ElectionDatabase database =
        UnpooledConnections.database(() -> login, login, Database.OPERATION_TIMEOUT);
    return closing(new JdbcLeaseStore(
        database, SchemaMode.NONE, Database.OPERATION_TIMEOUT, Database.RENEW_INTERVAL, false));
  }

  @Test
  void aServerWithoutConnectionsIsCrowded() throws Exception {
    this.server.execute("ALTER SYSTEM SET max_connections = 8");
    this.server.stop();
    this.server.start();
    JdbcLeaseStore store = store();
    try {
      while (true) {
        closing(this.database.dataSource().getConnection());
      }
    } catch (SQLException ex) {
      assertThat(ex.getSQLState()).isEqualTo("53300");
    }
    assertThatThrownBy(() -> store.read(Set.of("jobs")))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("has no connection left")
        .hasMessageContaining("as.election.postgresql.hand-back-signals=false");
  }

  /** A node with ten leases keeps what it was told, and renews all again afterwards. */
  @ParameterizedTest
  @ValueSource(strings = {"pg_cancel_backend", "pg_terminate_backend"})
  void noRenewalIsConfirmedWronglyWhileSessionsAreEnded(String end) throws Exception {
    JdbcLeaseStore store = store();
    Map<String, Long> terms = new HashMap<>();
    for (int i = 0; i < 10; i++) {
      terms.put("job" + i, Database.led(store, "job" + i, "me").term());
    }
    String versions = "SELECT sum(version) FROM leader_election";
    int failed = 0;
    try (Connection admin = this.server.connectAsRoot();
        Connection reader = this.database.connect()) {
      for (int i = 0; i < 100; i++) {
        long before = Long.parseLong(TestServer.query(reader, versions));
        CompletableFuture<Void> ended = i % 2 == 0
            ? CompletableFuture.runAsync(() -> {
              try {
                TestServer.query(
                    admin,
                    "SELECT count(%s(pid)) FROM pg_stat_activity WHERE usename = '%s'"
                        .formatted(end, this.database.username()));
              } catch (SQLException ex) {
                throw new IllegalStateException(ex);
              }
            })
            : CompletableFuture.completedFuture(null);
        try {
          int renewed = Leases.renew(store, "me", terms).size();
          ended.join();
          assertThat(Long.parseLong(TestServer.query(reader, versions)) - before)
              .isEqualTo(renewed);
          assertThat(renewed).isEqualTo(10);
        } catch (LeaseStoreException ex) {
          failed++;
          ended.join();
        }
      }
    }
    assertThat(failed).isLessThan(100);
    Awaitility.await()
        .ignoreExceptions()
        .until(() -> Leases.renew(store, "me", terms).size() == 10);
  }

  /** The lock of a prepared transaction has no session and outlasts the server. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aLockedRowHoldsUpItsLeaseAlone(boolean prepared) throws Exception {
    JdbcLeaseStore store = store();
    Database.led(store, "locked", "me");
    Database.led(store, "free", "me");
    try (Connection other = this.database.begin(
        "SELECT 1 FROM leader_election WHERE service_id = 'locked' FOR UPDATE")) {
      if (prepared) {
        other.createStatement().execute("PREPARE TRANSACTION 'holder'");
      }
      assertThat(Database.logged(LeaseRenewal.class, Level.DEBUG, () -> {
            Renewals outcome = store.renew("me", Map.of("locked", 1L, "free", 1L));
            assertThat(outcome.renewed()).containsExactly("free");
            assertThat(outcome.unknown()).containsExactly("locked");
          }))
          .as("that a wait for the lock was given up")
          .isEmpty();
      assertThatThrownBy(() -> renews(store, "locked", 1))
          .isInstanceOf(LeaseStoreException.class)
          .hasMessageContaining("holds a lock on a row of the election")
          .hasMessageContaining("pg_prepared_xacts");
      if (prepared) {
        other.setAutoCommit(true);
        other.createStatement().execute("ROLLBACK PREPARED 'holder'");
      } else {
        other.rollback();
      }
    }
    assertThat(store.renew("me", Map.of("locked", 1L, "free", 1L)).renewed()).hasSize(2);
  }

  /** Those of the commit fence are there. */
  @Test
  void locksOnTheHistoryAreAmongThoseThatOperatorsAreTold() throws Exception {
    Database.led(store(), "jobs", "me");
    try (Connection fence =
        this.database.begin("SELECT 1 FROM leader_election_history FOR SHARE")) {
      String query = PostgresqlDialect.INSTANCE.blockers().split(";")[0];
      assertThat(TestServer.query(
              fence, "SELECT string_agg(mode, ',') FROM (%s) found".formatted(query)))
          .contains("RowShareLock");
      fence.rollback();
    }
  }

  @Test
  void droppedTablesAreNamedAndNothingIsConfirmed() throws Exception {
    JdbcLeaseStore store = store();
    Database.led(store, "jobs", "me");
    this.database.execute("ALTER TABLE leader_election RENAME TO gone");
    assertThatThrownBy(() -> renews(store, "jobs", 1))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("A table is missing")
        .hasMessageContaining("CREATE TABLE \"public\".leader_election ");
    this.database.execute("ALTER TABLE gone RENAME TO leader_election");
    assertThat(renews(store, "jobs", 1)).isTrue();
  }

  private static final String LEFT = """
      SELECT concat((SELECT string_agg(name || '=' || setting, ' ' ORDER BY name) FROM pg_settings
              WHERE name NOT IN ('application_name', 'transaction_timeout')), ';',
          (SELECT count(*) FROM pg_prepared_statements WHERE name <> ''), ';',
          (SELECT count(*) FROM pg_listening_channels()), ';',
          (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'))
      """;

  /** The pooler gives one session of the server to both clients in turn. */
  @Test
  void nothingIsLeftToOtherClientsOfAPooler() throws Exception {
    PgBouncer bouncer = closing(PgBouncer.to(this.server));
    String user = this.database.username();
    try (Connection other = DriverManager.getConnection(
        bouncer.jdbcUrl(this.database) + "&prepareThreshold=0", user, this.database.password())) {
      String pid = TestServer.query(other, "SELECT pg_backend_pid()");
      String before = TestServer.query(other, LEFT);
      JdbcLeaseStore store = closing(Database.store(
          bouncer.dataSourceOf(this.database, user), bouncer.jdbcUrl(this.database)));
      LeaseRow led = Database.led(store, "one", "me");
      Database.led(store, "two", "me");
      for (int i = 0; i < 12; i++) {
        assertThat(renews(store, "one", 1)).isTrue();
        assertThat(Leases.renew(store, "me", Map.of("one", 1L, "two", 1L))).hasSize(2);
        assertThat(TestServer.query(other, LEFT)).isEqualTo(before);
      }
      assertThat(Leases.create(store, "one", "other", 10_000, 0)).as("exists").isEmpty();
      assertThat(TestServer.query(other, LEFT)).isEqualTo(before);
      assertThat(store.release("one", "me", led.term(), "", Database.RESIGNED)).isTrue();
      LeaseRow released = Database.row(store, "one");
      assertThat(Leases.acquire(store, "one", released, "me", 10_000, 0, "RELEASED"))
          .isPresent();
      assertThat(TestServer.query(other, LEFT)).isEqualTo(before);
      assertThat(TestServer.query(other, "SELECT pg_backend_pid()")).isEqualTo(pid);

      ReleaseWatch watch = closing(store.releaseWatch().orElseThrow());
      assertThatThrownBy(() -> watch.await("me", () -> {}))
          .isInstanceOf(LeaseStoreException.class)
          .hasMessageContaining("a pooler in between delivers no notifications");
      assertThat(TestServer.query(other, LEFT)).isEqualTo(before);
    }
  }

  /** The pooler drops the schema of the URL, and another client leaves a path in the session. */
  @ParameterizedTest
  @CsvSource({"public, '', app", "app, &currentSchema=app, public"})
  void theSchemaIsThatOfTheUrlAlsoBehindAPooler(String schema, String parameter, String left)
      throws Exception {
    this.database.execute("CREATE SCHEMA app AUTHORIZATION " + this.database.username());
    for (String table : List.of("", "_history", "_member")) {
      this.database.execute(
          "CREATE TABLE app.leader_election%1$s (LIKE public.leader_election%1$s INCLUDING ALL)"
              .formatted(table));
    }
    if (parameter.isEmpty()) { // otherwise both could be meant
      this.database.execute(
          "REVOKE UPDATE ON ALL TABLES IN SCHEMA app FROM " + this.database.username());
    }
    PgBouncer bouncer = closing(PgBouncer.to(this.server));
    String url = bouncer.jdbcUrl(this.database);
    try (Connection other =
            DriverManager.getConnection(url, this.database.username(), this.database.password());
        Statement statement = other.createStatement()) {
      statement.execute("SET search_path = " + left);
    }

    Database.led(unpooled(url + parameter), "jobs", "me");

    assertThat(this.database.query("SELECT count(*) FROM " + schema + ".leader_election"))
        .isEqualTo("1");

    String named = url + parameter;
    DataSource source =
        new TestDataSource(named, this.database.username(), this.database.password());
    for (JdbcLeaseStore other : List.of(
        unpooled(named, null, "SELECT count(*) FROM information_schema.tables"),
        closing(Database.store(source, named)),
        closing(Database.store(source, null)))) {
      assertThat(Database.row(other, "jobs").term()).isEqualTo(1);
    }
  }

  @Test
  void theSchemaOfThePoolIsUsedAndNotLeftInASession() throws Exception {
    this.database.execute("CREATE SCHEMA app AUTHORIZATION " + this.database.username());
    for (String table : List.of("", "_history", "_member")) {
      this.database.execute("ALTER TABLE leader_election%s SET SCHEMA app".formatted(table));
    }
    PgBouncer bouncer = closing(PgBouncer.to(this.server));
    String url = bouncer.jdbcUrl(this.database);
    try (Connection other = DriverManager.getConnection(
        url + "&prepareThreshold=0", this.database.username(), this.database.password())) {
      String before = TestServer.query(other, LEFT);
      String pid = TestServer.query(other, "SELECT pg_backend_pid()");

      Database.led(unpooled(url, "app", null), "jobs", "me");

      assertThat(TestServer.query(other, "SELECT pg_backend_pid()")).isEqualTo(pid);
      assertThat(TestServer.query(other, LEFT)).isEqualTo(before);
      Database.led(unpooled(url, "app", "SELECT FROM leader_election"), "more", "me");
    }
    assertThat(this.database.query("SELECT count(*) FROM app.leader_election")).isEqualTo("2");
  }

  @ParameterizedTest
  @ValueSource(strings = {"SET search_path = app", "set session schema 'app'"})
  @Tag("long")
  void aStatementOfThePoolMayNameTheSchema(String sql) throws Exception {
    this.database.execute("CREATE SCHEMA app");
    for (String table : List.of("", "_history", "_member")) {
      this.database.execute("ALTER TABLE leader_election%s SET SCHEMA app".formatted(table));
    }
    this.database.execute("GRANT USAGE ON SCHEMA app TO " + this.database.username());

    Database.led(unpooled(this.database.jdbcUrl(), null, sql), "jobs", "me");

    assertThat(this.database.query("SELECT count(*) FROM app.leader_election")).isEqualTo("1");
  }

  @Test
  void aPoolerThatIsRestartedOrFrozenIsSurvived() throws Exception {
    PgBouncer bouncer = closing(PgBouncer.to(this.server));
    JdbcLeaseStore store = closing(Database.store(
        bouncer.dataSourceOf(this.database, this.database.username()),
        bouncer.jdbcUrl(this.database),
        SchemaMode.NONE,
        SHORT));
    Database.led(store, "jobs", "me");

    bouncer.stop();
    assertThatThrownBy(() -> renews(store, "jobs", 1)).isInstanceOf(LeaseStoreException.class);
    bouncer.start();
    assertThat(renews(store, "jobs", 1)).isTrue();

    for (List<Runnable> freeze : List.<List<Runnable>>of(
        List.of(bouncer::pause, bouncer::resume), List.of(bouncer::hold, bouncer::release))) {
      freeze.get(0).run();
      try {
        // A signal may come later.
        Awaitility.await()
            .atMost(Duration.ofSeconds(30))
            .untilAsserted(() -> assertThatThrownBy(() -> renews(store, "jobs", 1))
                .isInstanceOf(LeaseStoreException.class)
                .hasMessageContaining("did not answer within 1500 ms"));
      } finally {
        freeze.get(1).run();
      }
      assertThat(renews(store, "jobs", 1)).isTrue();
    }
  }
}
