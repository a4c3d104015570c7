package io.election.jdbc;

import static io.election.LeadershipLostEvent.Reason.DISPLACED;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static org.junit.jupiter.params.provider.Arguments.argumentSet;

import ch.qos.logback.classic.Level;
import io.election.AuditNote;
import io.election.ElectionSetupException;
import io.election.PastTerm;
import io.election.jdbc.JdbcLeaseStore.SchemaMode;
import io.election.store.ElectionDirectory.Announcement;
import io.election.store.LeaseRow;
import io.election.store.LeaseStore.Reading;
import io.election.store.LeaseStoreException;
import io.election.store.TermEnd;
import io.election.support.ConnectionSource;
import io.election.support.PostgresqlPrograms;
import io.election.support.TestDataSource;
import io.election.support.TestDatabase;
import io.election.support.TestServer;
import io.election.test.Leases;
import java.sql.Connection;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What a role, its database or another user of its session has set on PostgreSQL, and what an
 * account may do there: a node leads all the same, or says what to do.
 *
 * <table>
 * <caption>What a node does</caption>
 * <tr><th>State<th>Owner who creates the tables<th>Account that may only write</tr>
 * <tr><td>read-only, isolation, commit, lock, messages, texts<td>leads<td>leads</tr>
 * <tr><td>time limits<td>leads, or names the limit<td>leads, or names the limit</tr>
 * <tr><td>search path with two tables<td>asks for one<td>asks for one</tr>
 * <tr><td>tables of another user<td>leads with a warning<td>leads with a warning</tr>
 * <tr><td>search path without a schema<td>asks for one<td>asks for one</tr>
 * <tr><td>temporary table of the same name<td>leads<td>leads</tr>
 * <tr><td>row security<td>asks to switch it off<td>asks to switch it off</tr>
 * <tr><td>a right is missing<td>asks to grant it<td>asks to grant it</tr>
 * <tr><td>a table of another kind<td>refuses it by name<td>refuses it by name</tr>
 * </table>
 */
@Tag("faults")
@ParameterizedClass(name = "{0}")
@MethodSource("releases")
class PostgresqlSettingsIT {

  @Parameter
  PostgresqlPrograms release;

  private TestDatabase database;
  private JdbcLeaseStore store;

  /** The newest and the oldest, of those on which this run plays the others. */
  static Stream<PostgresqlPrograms> releases() {
    return switch (System.getProperty("election.test.servers", "default")) {
      case "default", "postgresql" -> Stream.of(PostgresqlPrograms.V18);
      case "oldest" -> Stream.of(PostgresqlPrograms.V15);
      default -> Stream.of(PostgresqlPrograms.V18, PostgresqlPrograms.V15);
    };
  }

  enum Account {
    OWNER,
    LEAST
  }

  /** Where a default is set. */
  enum Place {
    ROLE,
    DATABASE
  }

  @BeforeEach
  void newDatabase() {
    this.database = TestServer.shared(this.release).newDatabase();
  }

  @AfterEach
  void close() {
    if (this.store != null) {
      this.store.close();
    }
  }

  static Stream<Arguments> defaults() {
    return Stream.of(
            "default_transaction_read_only = on",
            "default_transaction_isolation = serializable",
            "default_transaction_deferrable = on",
            "synchronous_commit = off",
            "synchronous_commit = local",
            "statement_timeout = 10",
            "lock_timeout = 10",
            "idle_in_transaction_session_timeout = 10",
            "idle_session_timeout = 1500",
            "client_min_messages = error",
            "client_min_messages = debug5",
            "standard_conforming_strings = off",
            "TimeZone = 'America/New_York'",
            "row_security = off")
        .flatMap((setting) -> Stream.of(Place.values())
            .flatMap((place) -> Stream.of(Account.values())
                .filter((account) -> (account == Account.LEAST) == (place == Place.DATABASE))
                .map((account) -> argumentSet(
                    setting + " of the " + place + " for " + account, setting, place, account))));
  }

  /** The settings are those that a write itself sees. */
  @ParameterizedTest
  @MethodSource("defaults")
  void aNodeLeadsWhateverTheDefaults(String setting, Place place, Account account)
      throws Exception {
    this.database.withTables();
    recordSettings();
    String user = user(account);
    this.database.execute(
        place == Place.ROLE
            ? "ALTER ROLE " + user + " SET " + setting
            : "ALTER DATABASE " + this.database.name() + " SET " + setting);
    this.store = store(user, SchemaMode.VALIDATE);

    leadAndHandBack();

    this.database.server().execute("ALTER DATABASE " + this.database.name() + " RESET ALL");
    assertThat(this.database.query("SELECT string_agg(DISTINCT settings, '; ') FROM seen"))
        .isEqualTo("on, read committed, off, 0, 400ms, 4s, error, off, public, pg_temp"
            + (this.release == PostgresqlPrograms.V15 ? "" : ", 0"));
  }

  @Test
  void aNodeLeadsWhateverTheLimitOfTransactions() throws Exception {
    assumeTrue(this.release != PostgresqlPrograms.V15, "it has no such limit");
    aNodeLeadsWhateverTheDefaults("transaction_timeout = 10", Place.ROLE, Account.OWNER);
  }

  private String user(Account account) {
    return account == Account.OWNER
        ? this.database.username()
        : this.database.newLeastPrivilegedUser();
  }

  private void recordSettings() {
    String settings = Stream.of(
                "synchronous_commit",
                "transaction_isolation",
                "transaction_read_only",
                "statement_timeout",
                "lock_timeout",
                "idle_in_transaction_session_timeout",
                "client_min_messages",
                "row_security",
                "search_path",
                "transaction_timeout")
            .map("current_setting('%s', true)"::formatted)
            .reduce("concat_ws(', '", (all, one) -> all + ", " + one)
        + ")";
    this.database.execute("CREATE TABLE public.seen (settings text)", """
        CREATE FUNCTION public.record_settings() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
        AS $$ BEGIN INSERT INTO public.seen VALUES (%s); RETURN NEW; END $$
        """.formatted(settings));
    for (String table : List.of("leader_election", "leader_election_history")) {
      this.database.execute("CREATE TRIGGER record BEFORE INSERT OR UPDATE ON public." + table
          + " FOR EACH ROW EXECUTE FUNCTION public.record_settings()");
    }
  }

  private JdbcLeaseStore store(String user, SchemaMode mode) {
    return store(this.database.dataSourceOf(user), mode);
  }

  private JdbcLeaseStore store(DataSource source, SchemaMode mode) {
    return Database.store(source, this.database.jdbcUrl(), mode, Database.OPERATION_TIMEOUT);
  }

  private interface Call<T> {
    T make() throws LeaseStoreException;
  }

  /** Repeats a call that ran into a limit before it could be lifted, if the failure tells how. */
  private static <T> T patiently(Call<T> call) throws LeaseStoreException {
    for (int attempt = 1; ; attempt++) {
      try {
        return call.make();
      } catch (LeaseStoreException ex) {
        assertThat(ex).hasMessageContaining("SET statement_timeout = 0");
        assertThat(attempt).isLessThan(100);
      }
    }
  }

  private void leadAndHandBack() throws LeaseStoreException {
    for (String id : List.of("a", "b")) {
      LeaseRow created = patiently(() -> {
        Leases.create(this.store, id, "me", 10_000, 0);
        return Database.row(this.store, id);
      });
      patiently(() -> Leases.begin(this.store, id, created, 10_000));
    }
    assertThat(patiently(() -> Leases.renew(this.store, "me", Map.of("a", 1L)))).hasSize(1);
    assertThat(patiently(() -> Leases.renew(this.store, "me", Map.of("a", 1L, "b", 1L))))
        .hasSize(2);
    patiently(() -> this.store.release("a", "me", 1, "", Database.RESIGNED));
    LeaseRow released = patiently(() -> Database.row(this.store, "a"));
    assertThat(released.leaseMillis()).isZero();
    patiently(() -> Leases.acquire(this.store, "a", released, "me", 10_000, 0, "RELEASED"));
    assertThat(patiently(() -> Database.row(this.store, "a")).term()).isEqualTo(2);
  }

  /** A text with a character that an encoding lacks concerns neither other elections nor commands. */
  @ParameterizedTest
  @CsvSource({
    "LATIN1, Zürich, 東京 1, Zü ??",
    "WIN1251, Москва, Zürich, Z? ??",
    "EUC_KR, 서울 1, Zürich, Z? 東京",
    "EUC_JP, plain, a〜, Z? ??",
    "EUC_TW, plain, 㐀, Z? ??",
    "LATIN8, plain, Zürich, Z? ??",
    "SQL_ASCII, Zürich, '', Zü 東京"
  })
  @Tag("long")
  void anEncodingHoldsUpNoElectionWithANameOfItsOwn(
      String encoding, String held, String lacking, String noted) throws Exception {
    this.database = Database.withTables(TestServer.shared(this.release), encoding);
    this.store = store(this.database.username(), SchemaMode.VALIDATE);
    Set<String> ids = lacking.isEmpty() ? Set.of(held) : Set.of(held, lacking);
    this.store.announce(new Announcement(
        "me", ids, Set.of(), true, Duration.ofSeconds(10), "", "", Map.of(), lacking));
    assertThat(this.store.members(ids).get(held)).hasSize(1);

    assertThat(this.store.read(ids)).isEmpty();
    Database.led(this.store, held, "me");
    assertThat(this.store.read(ids)).containsOnlyKeys(held);
    assertThat(this.store.history(ids)).containsOnlyKeys(held);
    LeaseRow row = Database.row(this.store, held);
    if (!lacking.isEmpty()) {
      for (Call<?> refused : List.<Call<?>>of(
          () -> Leases.create(this.store, lacking, "me", 10_000, 0),
          () -> Leases.create(this.store, "b", lacking, 10_000, 0),
          () -> Leases.acquire(this.store, held, row, lacking, 10_000, 0, "EXPIRED"),
          () -> this.store.designate(held, lacking, null, null),
          () -> this.store.designate(lacking, held, null, null))) {
        assertThatThrownBy(refused::make)
            .isInstanceOf(LeaseStoreException.class)
            .hasMessageContaining("lacks a character of '" + lacking + "'")
            .hasMessageContaining("as.election.node-id, or a database with ENCODING 'UTF8'");
      }
    }
    assertThat(Leases.renew(this.store, "me", Map.of(held, 1L))).hasSize(1);
    this.store.designate(held, "you", null, new AuditNote("Zü", "東京"));
    assertThat(this.store.release(held, "me", 1, null, new TermEnd(DISPLACED, null)))
        .isTrue();
    PastTerm term = this.store.history(ids).get(held).get(0);
    assertThat(term.endedBy() + " " + term.note()).isEqualTo(noted);
    assertThat(term.endReason()).isEqualTo("DISPLACED");
  }

  /** A session that rested too long is replaced before the next call. */
  @Test
  void aSessionRestsNoLongerThanTheServerLetsIt() throws Exception {
    this.database.withTables();
    this.database.execute(
        "ALTER ROLE " + this.database.username() + " SET idle_session_timeout = 1500");
    try (Connection connection = this.database.dataSource().getConnection()) {
      JdbcLeaseStore ofOne = store(ConnectionSource.of(() -> connection), SchemaMode.NONE);
      ofOne.read(Set.of("a"));
      Session session = Session.open(
          new ElectionDatabase(this.database.dataSource(), this.database.jdbcUrl()),
          Deadline.in(Database.OPERATION_TIMEOUT),
          60);
      assertThat(session.facts.restMillis()).isEqualTo(1500);
      session.close();
      ofOne.close();
    }
  }

  @ParameterizedTest
  @EnumSource
  void ofTwoTablesOnTheSearchPathNoneIsUsed(Account account) throws Exception {
    this.database.withTables();
    String user = user(account);
    this.database.execute(
        "CREATE SCHEMA other",
        "CREATE TABLE other.leader_election (LIKE public.leader_election INCLUDING ALL)",
        "GRANT USAGE ON SCHEMA other TO " + user,
        "ALTER ROLE " + user + " SET search_path = absent, public, other");
    for (String parameter : List.of("", "&currentSchema=public,other")) {
      this.store = named(user, parameter, SchemaMode.NONE);

      assertThatThrownBy(() -> Database.led(this.store, "a", "me"))
          .hasMessageContaining(": public, other. ")
          .hasMessageContaining("in the URL of all nodes: ?currentSchema=");
    }
    for (String parameter : List.of("&currentSchema=public", "&currentSchema=public,absent")) {
      Database.led(named(user, parameter, SchemaMode.NONE), parameter, "me");
    }
    assertThat(this.database.query("SELECT count(*) FROM public.leader_election"))
        .isEqualTo("2");
  }

  private JdbcLeaseStore named(String user, String parameter, SchemaMode mode) {
    String url = this.database.jdbcUrl() + parameter;
    return Database.store(
        new TestDataSource(url, user, this.database.password()),
        url,
        mode,
        Database.OPERATION_TIMEOUT);
  }

  static Stream<Arguments> moves() {
    return Stream.of(
        argumentSet("another path", "ALTER ROLE %1$s SET search_path = %1$s", "0"),
        argumentSet(
            "tables earlier on the path",
            Stream.of("", "_history", "_member")
                .map((table) ->
                    "CREATE TABLE %1$s.leader_election%2$s (LIKE public.leader_election%2$s INCLUDING ALL)"
                        .formatted("%1$s", table))
                .collect(Collectors.joining("; ")),
            "3"));
  }

  /** Who was started before keeps its session, and leads on. */
  @ParameterizedTest
  @MethodSource("moves")
  void whoStartsLaterNeverUsesOtherTables(String change, String tables) throws Exception {
    String user = this.database.username();
    this.store = store(user, SchemaMode.MIGRATE);
    Database.led(this.store, "jobs", "me");
    this.database.execute(
        "CREATE SCHEMA %1$s AUTHORIZATION %1$s".formatted(user), change.formatted(user));

    try (JdbcLeaseStore later = store(user, SchemaMode.MIGRATE)) {
      assertThatThrownBy(() -> {
            later.ensureTables();
            Database.led(later, "jobs", "you");
          })
          .isInstanceOf(ElectionSetupException.class)
          .hasMessageContaining(": " + user + ", public. ");
    }
    assertThat(this.database.query(
            "SELECT count(*) FROM pg_tables WHERE schemaname = '%s'".formatted(user)))
        .isEqualTo(tables);
    assertThat(Leases.renew(this.store, "me", Map.of("jobs", 1L))).containsExactly("jobs");
    this.store.disconnect();
    assertThatThrownBy(() -> Leases.renew(this.store, "me", Map.of("jobs", 1L)))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining(": " + user + ", public. ");

    this.store = named(user, "&currentSchema=public", SchemaMode.MIGRATE);
    assertThat(Database.row(this.store, "jobs").term()).isEqualTo(1);
  }

  @Test
  void aProcessNeverGoesToAnotherSchema() throws Exception {
    String user = this.database.username();
    this.store = store(user, SchemaMode.MIGRATE);
    Database.led(this.store, "jobs", "me");
    this.database.execute("CREATE SCHEMA %1$s AUTHORIZATION %1$s".formatted(user));
    for (String table : List.of("", "_history", "_member")) {
      this.database.execute("ALTER TABLE leader_election%s SET SCHEMA %s".formatted(table, user));
    }
    this.store.disconnect();

    assertThatThrownBy(() -> this.store.read(Set.of("jobs")))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("were in public, and new connections look for them in " + user);
    assertThat(Database.row(store(user, SchemaMode.MIGRATE), "jobs").term()).isEqualTo(1);
  }

  /** Each has tables that the others may not change. */
  @Test
  void applicationsWithUsersAndSchemasOfTheirOwnAreNotConfused() throws Exception {
    this.database.withTables();
    for (String path : List.of("%s", "\"$user\", public")) {
      String user = Database.newUser(this.database);
      this.database.execute(
          "CREATE SCHEMA %1$s AUTHORIZATION %1$s".formatted(user),
          ("ALTER ROLE %s SET search_path = " + path).formatted(user, user));
      // Otherwise those in public would be the first.
      try (JdbcLeaseStore first = named(user, "&currentSchema=" + user, SchemaMode.MIGRATE)) {
        Database.led(first, "jobs", "me");
      }
      this.store = store(user, SchemaMode.VALIDATE);
      assertThat(Database.row(this.store, "jobs").term()).isEqualTo(1);
    }
    assertThat(this.database.query("SELECT count(*) FROM public.leader_election"))
        .isEqualTo("0");
  }

  /** Unless the URL names the schema: then somebody has decided it for all nodes. */
  @ParameterizedTest
  @ValueSource(strings = {"\"$user\", public", "public"})
  void theTablesOfAnotherUsersSchemaAreTold(String path) throws Exception {
    String user = this.database.username();
    this.database.execute(
        "CREATE SCHEMA other",
        "CREATE TABLE other.leader_election ()",
        "ALTER ROLE %s SET search_path = %s".formatted(user, path));
    this.store = store(user, SchemaMode.MIGRATE);

    assertThat(Database.logged(ElectionDatabase.class, Level.WARN, this.store::ensureTables))
        .singleElement()
        .asString()
        .contains("have tables of the election (other)", "This node uses public");
    try (JdbcLeaseStore named = named(user, "&currentSchema=public", SchemaMode.VALIDATE)) {
      assertThat(Database.logged(ElectionDatabase.class, Level.INFO, named::ensureTables))
          .singleElement()
          .asString()
          .startsWith("the election uses the tables in schema public of ");
    }
  }

  /** Nodes that name none, or another one, may lead in those. */
  @Test
  void theTablesThatTheUserCouldUseInOtherSchemasAreToldThoughTheUrlNamesOne() throws Exception {
    String user = this.database.username();
    this.database.execute(
        "CREATE SCHEMA other", "CREATE TABLE other.leader_election (service_id text)");
    this.database.execute(
        "GRANT USAGE ON SCHEMA other TO " + user,
        "GRANT UPDATE ON other.leader_election TO " + user);
    this.store = named(user, "&currentSchema=public", SchemaMode.MIGRATE);
    assertThat(Database.logged(ElectionDatabase.class, Level.WARN, this.store::ensureTables))
        .singleElement()
        .asString()
        .contains("have tables of the election (other)", "This node uses public");
  }

  /** PostgreSQL warns with each write of the nearing wraparound of its transaction ids. */
  @Test
  void aWarningThatIsNotOfTheCommitIsNoReasonToDoubtAWrite() throws Exception {
    this.database.withTables();
    this.database.execute(
        "CREATE FUNCTION worry() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'expected'; RETURN NULL; END $$",
        "CREATE TRIGGER worry AFTER INSERT OR UPDATE ON leader_election FOR EACH ROW EXECUTE FUNCTION worry()");
    this.store = store(this.database.username(), SchemaMode.NONE);

    leadAndHandBack();
  }

  @Test
  void ofSeveralRowsOfAnElectionNoneIsUsed() throws Exception {
    this.database.withTables();
    this.store = store(this.database.username(), SchemaMode.NONE);
    Database.led(this.store, "jobs", "me");
    this.database.execute(
        "CREATE TABLE archive () INHERITS (leader_election)",
        "INSERT INTO archive (service_id, leader_id) VALUES ('jobs', 'ghost')");

    assertThatThrownBy(() -> this.store.read(Set.of("jobs")))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("several rows of leader_election name election 'jobs'");
  }

  @ParameterizedTest
  @ValueSource(strings = {"infinity", "-infinity", "294276-12-31", "4713-01-01 BC"})
  void aTimeBeyondAllNumbersConcernsNoElection(String time) throws Exception {
    this.database.withTables();
    this.store = store(this.database.username(), SchemaMode.NONE);
    Database.led(this.store, "edited", "me");
    Database.led(this.store, "jobs", "me");
    this.database.execute(
        "UPDATE leader_election SET last_active_time = '" + time + "' WHERE service_id = 'edited'");

    Map<String, Reading> read = this.store.read(Set.of("edited", "jobs"));
    assertThat(read).containsOnlyKeys("edited", "jobs");
    assertThat(Leases.acquire(
            this.store, "edited", read.get("edited").row(), "you", 10_000, 0, "EXPIRED"))
        .hasValue(2);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "absent|currentSchema=public",
        "absent, missing|currentSchema=public",
        "pg_catalog|currentSchema=public"
      })
  void aSearchPathWithoutASchemaIsRefused(String path, String advice) {
    this.database.execute("ALTER ROLE " + this.database.username() + " SET search_path = " + path);
    this.store = store(this.database.username(), SchemaMode.MIGRATE);

    assertThatThrownBy(() -> this.store.ensureTables()).hasMessageContaining(advice);
  }

  @Test
  void aSchemaOfAnyNameIsUsed() throws Exception {
    String name = "\"My \"\"Schema\"";
    this.database.execute(
        "CREATE SCHEMA " + name + " AUTHORIZATION " + this.database.username(),
        "ALTER ROLE " + this.database.username() + " SET search_path = " + name);
    this.store = store(this.database.username(), SchemaMode.MIGRATE);

    leadAndHandBack();

    assertThat(this.database.query("SELECT count(*) FROM " + name + ".leader_election"))
        .isEqualTo("2");
  }

  /** A pooled session may have temporary tables, and the others are not in the first schema. */
  @Test
  void temporaryTablesOfTheSessionAreNotUsed() throws Exception {
    this.database.withTables();
    this.database.execute(
        "CREATE SCHEMA first AUTHORIZATION " + this.database.username(),
        "ALTER ROLE " + this.database.username() + " SET search_path = first, public");
    DataSource pooled = ConnectionSource.of(() -> {
      Connection connection = this.database.dataSource().getConnection();
      try (Statement statement = connection.createStatement()) {
        for (String table : List.of("leader_election", "leader_election_history")) {
          statement.execute(
              "CREATE TEMPORARY TABLE %1$s (LIKE public.%1$s INCLUDING ALL)".formatted(table));
        }
      }
      return connection;
    });
    this.store = store(pooled, SchemaMode.MIGRATE);

    leadAndHandBack();

    assertThat(this.database.query("SELECT count(*) FROM public.leader_election"))
        .isEqualTo("2");
    assertThat(this.database.query("SELECT to_regclass('first.leader_election')"))
        .isNull();
  }

  /** With this option the driver does not tell how many rows a write has changed. */
  @Test
  void aWriteThatTheDriverCountsNotIsUnknown() throws Exception {
    this.database.withTables();
    String url = this.database.jdbcUrl() + "&prepareThreshold=-1";
    this.store = store(
        new TestDataSource(url, this.database.username(), this.database.password()),
        SchemaMode.VALIDATE);
    Throwable failure = catchThrowable(() -> {
      Database.led(this.store, "a", "me");
      assertThat(Leases.renew(this.store, "me", Map.of("a", 1L))).hasSize(1);
    });
    if (failure != null) { // not with each release
      assertThat(failure)
          .isInstanceOf(LeaseStoreException.class)
          .hasMessageContaining("remove prepareThreshold=-1 from the URL");
    }
  }

  /** Hidden rows would look like elections without a record. */
  @ParameterizedTest
  @EnumSource
  void rowSecurityIsRefused(Account account) throws Exception {
    this.database.withTables();
    String user = user(account);
    this.database.execute(
        "ALTER TABLE leader_election ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE leader_election FORCE ROW LEVEL SECURITY",
        "CREATE POLICY mine ON leader_election USING (service_id = 'mine')");
    this.store = store(user, SchemaMode.NONE);

    assertThatThrownBy(() -> this.store.read(Set.of("theirs")))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("ALTER TABLE")
        .hasMessageContaining("DISABLE ROW LEVEL SECURITY");
  }

  @Test
  void whoMayNotCreateTablesIsToldHow() {
    String user = Database.newUser(this.database);
    this.store = store(user, SchemaMode.MIGRATE);

    assertThatThrownBy(() -> this.store.ensureTables())
        .hasMessageContaining("may not create them")
        .hasMessageContaining("Grant it USAGE and CREATE on the schema")
        .hasMessageContaining("CREATE TABLE \"public\".leader_election_history");
  }

  @Test
  void whoMayNotUseTheSchemaIsToldSo() {
    this.database.withTables();
    this.database.execute("REVOKE ALL ON SCHEMA public FROM PUBLIC");
    String user = Database.newUser(this.database);
    this.store = store(user, SchemaMode.NONE);

    assertThatThrownBy(() -> this.store.read(Set.of("a"))).hasMessageContaining("GRANT USAGE");
  }

  static Stream<Arguments> rights() {
    return Stream.of(
        argumentSet("only reads", "SELECT ON ALL TABLES IN SCHEMA public", true),
        argumentSet("no history", "SELECT, INSERT, UPDATE ON leader_election", true),
        argumentSet("nothing", "USAGE ON SCHEMA public", false));
  }

  @ParameterizedTest
  @MethodSource("rights")
  void whoLacksARightIsToldTheGrants(String grant, boolean reads) throws Exception {
    this.database.withTables();
    String user = Database.newUser(this.database, grant);
    this.store = store(user, SchemaMode.NONE);

    assertThatThrownBy(() -> Leases.create(this.store, "a", "me", 10_000, 0))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("lacks a right")
        .hasMessageContaining("permission denied for table leader_election")
        .hasMessageContaining("GRANT SELECT, INSERT, UPDATE, DELETE ON \"public\".leader_election")
        .hasMessageContaining("TO \"" + user + "\"");
    assertThat(this.database.query("SELECT count(*) FROM leader_election")).isEqualTo("0");
  }

  static Stream<Arguments> logins() {
    return Stream.of(
        argumentSet("wrong password", "ALTER ROLE %s PASSWORD 'other'", "refuses the user"),
        argumentSet("no login", "ALTER ROLE %s NOLOGIN", "refuses the user"),
        argumentSet("expired", "ALTER ROLE %s VALID UNTIL '2020-01-01'", "refuses the user"),
        argumentSet(
            "no connection of the role", "ALTER ROLE %s CONNECTION LIMIT 0", "no connection left"),
        argumentSet(
            "no connection of the database",
            "ALTER DATABASE %2$s CONNECTION LIMIT 0",
            "no connection left"),
        argumentSet(
            "no right to connect",
            "REVOKE CONNECT ON DATABASE %2$s FROM PUBLIC",
            "GRANT CONNECT ON DATABASE"),
        argumentSet(
            "no such database", "ALTER DATABASE %2$s RENAME TO renamed_%2$s", "does not exist"));
  }

  @ParameterizedTest
  @MethodSource("logins")
  void whoIsNotLetInIsToldWhy(String change, String message) {
    String user = this.database.newLeastPrivilegedUser();
    TestServer.shared(this.release).execute(change.formatted(user, this.database.name()));
    this.store = store(user, SchemaMode.NONE);

    assertThatThrownBy(() -> this.store.read(Set.of("a")))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining(message);
  }

  static Stream<Arguments> shapes() {
    return Stream.of(
        argumentSet("unlogged", "ALTER TABLE %s SET UNLOGGED", "its engine is unlogged"),
        argumentSet(
            "a view",
            "ALTER TABLE %1$s RENAME TO real; CREATE VIEW %1$s AS SELECT * FROM real",
            "it is a view"),
        argumentSet("no name", "ALTER TABLE %s DROP COLUMN leader_id", "leader_id"),
        argumentSet("no term", "ALTER TABLE %s DROP COLUMN term CASCADE", "term"),
        argumentSet("no lease", "ALTER TABLE %s DROP COLUMN lease_millis", "lease_millis"),
        argumentSet(
            "short names",
            "ALTER TABLE %s ALTER COLUMN service_id TYPE varchar(20)",
            "varchar(128)"),
        argumentSet(
            "no key", "ALTER TABLE %1$s DROP CONSTRAINT %1$s_pkey", "it has no primary key"),
        argumentSet(
            "other collation",
            "ALTER TABLE %s ALTER COLUMN service_id TYPE varchar(128) COLLATE inexact",
            "deterministic collation. Found the columns service_id character varying(128) inexact"));
  }

  @ParameterizedTest
  @MethodSource("shapes")
  void aTableOfAnotherKindIsRefused(String change, String message) {
    for (String table : List.of("leader_election", "leader_election_history")) {
      this.database = TestServer.shared(this.release).newDatabase().withTables();
      if (change.contains("inexact")) {
        Icu.assumeIn(this.database);
      }
      this.database.execute(change.formatted(table));
      for (SchemaMode mode : List.of(SchemaMode.VALIDATE, SchemaMode.MIGRATE)) {
        assertThatThrownBy(() -> store(this.database.username(), mode).ensureTables())
            .as(table + " " + mode)
            .isInstanceOf(ElectionSetupException.class)
            .hasMessageContaining(table)
            .hasMessageContaining(message);
      }
    }
  }

  private static final class Icu {

    static void assumeIn(TestDatabase database) {
      assumeTrue(
          "1".equals(database.query("SELECT 1 FROM pg_collation WHERE collprovider = 'i' LIMIT 1")),
          "this PostgreSQL has no ICU");
      database.execute(
          "CREATE COLLATION inexact (provider = icu, locale = 'und-u-ks-level2', deterministic = false)");
    }
  }
}
