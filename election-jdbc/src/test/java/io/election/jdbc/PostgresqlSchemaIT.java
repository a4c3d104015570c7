package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.params.provider.Arguments.argumentSet;

import io.election.AuditNote;
import io.election.ElectionSetupException;
import io.election.LeadershipLostEvent;
import io.election.PastTerm;
import io.election.jdbc.JdbcLeaseStore.SchemaMode;
import io.election.store.LeaseRow;
import io.election.store.LeaseStoreException;
import io.election.store.TermEnd;
import io.election.support.TestDatabase;
import io.election.test.Leases;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Constructor;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the schema, and the history that it keeps, on PostgreSQL. */
@OnEveryServer(mysql = false, postgresql = true)
class PostgresqlSchemaIT extends ServerDatabase {

  private static final Ddl DDL = PostgresqlDialect.INSTANCE.ddl();

  private static final List<String> TABLES =
      List.of("leader_election", "leader_election_history", "leader_election_member");

  private static final AuditNote ALICE = new AuditNote("alice", "canary");

  @Override
  @BeforeEach
  void newDatabase() {
    this.database = server().newDatabase();
  }

  @Test
  void anEmptyDatabaseGetsAllTablesOnceAndNoOther() throws Exception {
    migrate();
    migrate();
    Database.schema(this.database, SchemaMode.VALIDATE).ensure();
    assertThat(tables()).isEqualTo(String.join(",", TABLES));
    assertIsUsable();
  }

  @Test
  void anApplicationMayLeaveFlywayOut() throws Exception {
    Constructor<?> alone = new WithoutFlyway()
        .loadClass(Alone.class.getName())
        .getDeclaredConstructor(TestDatabase.class);
    alone.setAccessible(true);
    ((Callable<?>) alone.newInstance(this.database)).call();
    assertThat(tables()).isEqualTo(String.join(",", TABLES));
  }

  @Test
  void nodesThatStartAtOnceOnAnEmptySchemaAllSucceed() throws Exception {
    Database.atOnce(6, this::migrate);
    assertIsUsable();
  }

  @Test
  void validateRefusesMissingTablesAndPrintsThemAndNoneDoesNotLook() throws Exception {
    Database.schema(this.database, SchemaMode.NONE).ensure();
    ElectionSetupException refused = refused(SchemaMode.VALIDATE);
    assertThat(refused.found()).contains("as.election.postgresql.schema=validate does not change");
    assertThat(refused.remedy()).contains("or set as.election.postgresql.schema=migrate:");
    assertThat(tables()).isNull();
    run(refused);
    Database.schema(this.database, SchemaMode.VALIDATE).ensure();
    assertIsUsable();
  }

  @ParameterizedTest
  @ValueSource(strings = {"leader_election", "leader_election_history"})
  void aTableDroppedLaterIsNotMadeAgain(String table) throws Exception {
    migrate();
    this.database.execute("DROP TABLE " + table);
    ElectionSetupException refused = refused(SchemaMode.MIGRATE);
    assertThat(refused.found()).contains("they were dropped or changed");
    assertThat(refused.remedy()).contains("CREATE TABLE \"public\"." + table + " (");
    assertThat(tables()).doesNotContain(table + ",");
    refused = refused(SchemaMode.VALIDATE);
    assertThat(refused.remedy()).startsWith("Run this:\nCREATE TABLE \"public\"." + table + " (");
    run(refused);
    migrate();
    assertIsUsable();
  }

  @Test
  void noStartFailsForLackOfTheMembers() throws Exception {
    this.database.withTables().execute("DROP TABLE leader_election_member");
    Database.schema(this.database, SchemaMode.VALIDATE).ensure();
    String user = this.database.newLeastPrivilegedUser();
    Database.schema(this.database.dataSourceOf(user), this.database.jdbcUrl(), SchemaMode.MIGRATE)
        .ensure();
    assertThat(tables()).doesNotContain("leader_election_member");
    migrate();
    assertThat(tables()).contains("leader_election_member");
  }

  /** Whose session has another path than the node's. */
  @Test
  void anAdministratorRunsWhatIsPrintedAsItIs() throws Exception {
    String user = this.database.username();
    this.database.execute(
        "CREATE SCHEMA \"My \"\"App\"",
        "GRANT USAGE ON SCHEMA \"My \"\"App\" TO " + user,
        "ALTER ROLE " + user + " SET search_path = \"My \"\"App\"");
    LeaderElectionSchema schema = Database.schema(this.database, SchemaMode.VALIDATE);
    ElectionSetupException refused =
        Objects.requireNonNull(catchThrowableOfType(ElectionSetupException.class, schema::ensure));
    this.database.execute(statements(refused.getMessage()));
    schema.ensure();

    try (JdbcLeaseStore store = Database.store(this.database)) {
      use(store);
      for (String table : List.of("leader_election", "leader_election_history")) {
        this.database.execute("DROP TABLE \"My \"\"App\"." + table);
        LeaseStoreException missing = Objects.requireNonNull(
            catchThrowableOfType(LeaseStoreException.class, () -> use(store)));
        String printed = statements(missing.getMessage());
        int begin = printed.indexOf("CREATE TABLE \"My \"\"App\"." + table + " (");
        this.database.execute(printed.substring(begin, printed.indexOf(";", begin)));
      }
    }
    schema.recheck();
    schema.ensure();
    assertThat(tables()).isNull();
  }

  private static String statements(String message) {
    return message.substring(message.indexOf("CREATE TABLE"));
  }

  @Test
  void aUserWithoutDdlRightsIsToldWhatToRun() throws Exception {
    String user = this.database.newLeastPrivilegedUser();
    LeaderElectionSchema schema = Database.schema(
        this.database.dataSourceOf(user), this.database.jdbcUrl(), SchemaMode.MIGRATE);
    ElectionSetupException refused =
        Objects.requireNonNull(catchThrowableOfType(ElectionSetupException.class, schema::ensure));
    assertThat(refused.found())
        .contains("the database user may not create them", "permission denied for schema public");
    assertThat(refused.remedy())
        .contains("Grant it USAGE and CREATE", "as.election.postgresql.schema=validate");
    run(refused);
    schema.ensure();
  }

  @ParameterizedTest
  @MethodSource
  void aTableThatAnElectionCannotUseIsRefused(String tables, String found, String remedy) {
    this.database.execute(tables);
    ElectionSetupException refused = refused(SchemaMode.MIGRATE);
    assertThat(refused.found()).contains(found);
    assertThat(refused.remedy()).contains(remedy);
    assertThat(tables()).doesNotContain("leader_election_member");
  }

  static Stream<Arguments> aTableThatAnElectionCannotUseIsRefused() {
    String leases = "CREATE TABLE \"public\".leader_election (";
    String inexact =
        "CREATE COLLATION inexact (provider = icu, locale = 'und-u-ks-level2', deterministic = false); ";
    return Stream.of(
        argumentSet(
            "any other table",
            "CREATE TABLE leader_election (a int PRIMARY KEY, b varchar(10))",
            "its primary key is (a), not (service_id); it has no service_id; it has no leader_id",
            "ALTER TABLE \"public\".leader_election RENAME TO leader_election_old;"),
        argumentSet(
            "a view",
            "CREATE VIEW leader_election AS SELECT 'a' AS service_id, 'b' AS leader_id",
            "it is a view",
            leases),
        argumentSet(
            "without a primary key",
            DDL.leases().replace("PRIMARY KEY", "UNIQUE"),
            "it has no primary key; add one by ALTER TABLE leader_election ADD PRIMARY KEY (service_id)",
            leases),
        argumentSet(
            "a table that a crash empties",
            DDL.leases().replace("CREATE TABLE", "CREATE UNLOGGED TABLE"),
            "its engine is unlogged, not permanent",
            leases),
        argumentSet(
            "a time without a zone",
            DDL.leases().replace("timestamptz(6)", "timestamp(6)"),
            "last_active_time is timestamp(6) without time zone",
            leases),
        argumentSet(
            "a time of whole seconds",
            DDL.leases().replace("timestamptz(6)", "timestamptz(0)"),
            "last_active_time is timestamp(0) with time zone",
            leases),
        argumentSet(
            "a foreign column that every insert must name",
            DDL.leases().replace("PRIMARY KEY", "remark text NOT NULL, PRIMARY KEY"),
            "remark is unknown and has no default",
            leases),
        argumentSet(
            "a history that lacks columns",
            DDL.leases() + ";" + DDL.history()
                + "; ALTER TABLE leader_election_history DROP end_reason, DROP ended_by, DROP end_note",
            "it has no end_reason; it has no ended_by; it has no end_note",
            "ALTER TABLE \"public\".leader_election_history RENAME TO leader_election_history_old;"),
        argumentSet(
            "names that are not distinguished",
            inexact + DDL.leases() + ";" + DDL.history().replace("\"C\"", "inexact"),
            "The names in the table leader_election_history",
            "ALTER COLUMN service_id TYPE varchar(128) COLLATE \"C\""));
  }

  /** The rights in the docs: each is needed, and no other. */
  @Test
  void eachRightIsNeeded() throws Exception {
    List<String> rights = List.of("SELECT", "INSERT", "UPDATE");
    assertThat(problem(rights, rights)).isNull();
    for (String right : rights) {
      List<String> fewer =
          rights.stream().filter((other) -> !other.equals(right)).toList();
      assertThat(problem(fewer, rights)).as(right).contains("denied");
      assertThat(problem(rights, fewer)).as(right).contains("denied");
    }
  }

  /** The problem of a user with these rights; {@code null} if all works that the election does. */
  private @Nullable String problem(List<String> leases, List<String> history) throws Exception {
    TestDatabase database = server().newDatabase().withTables();
    String user = Database.newUser(
        database,
        String.join(", ", leases) + " ON leader_election",
        String.join(", ", history) + " ON leader_election_history");
    try (JdbcLeaseStore store = Database.store(
        database.dataSourceOf(user),
        database.jdbcUrl(),
        SchemaMode.VALIDATE,
        Database.OPERATION_TIMEOUT)) {
      useAll(store);
      return null;
    } catch (LeaseStoreException | ElectionSetupException ex) {
      return ex.getMessage();
    }
  }

  private static void useAll(JdbcLeaseStore store) throws Exception {
    use(store);
    assertThat(Leases.renew(store, "other", Map.of("case", 2L, "lost", 1L)))
        .containsExactly("case");
    assertThat(store.history(Set.of("case")).get("case"))
        .extracting(PastTerm::leaderId)
        .containsExactly("other", "node");
    assertThat(store.designate("case", "third", null, ALICE)).isTrue();
    assertThat(store.designate("case", "other", null, null)).isTrue();
    TermEnd asked = new TermEnd(LeadershipLostEvent.Reason.HANDED_OVER, ALICE);
    assertThat(store.release("case", "other", 2, "", asked)).isTrue();
  }

  @Test
  void theHistoryNamesWhoAskedAndIsPrunedByWhoMay() throws Exception {
    this.database.withTables();
    try (JdbcLeaseStore store = Database.store(this.database)) {
      useAll(store);
      assertThat(store.history(Set.of("case")).get("case").get(0))
          .extracting(PastTerm::endedBy, PastTerm::note)
          .containsExactly("alice", "canary");
      this.database.execute(
          "UPDATE leader_election_history SET ended_at = ended_at - INTERVAL '2' DAY WHERE term = 1");
      store.prune(Map.of("case", 2L), Duration.ofDays(1));
    }
    assertThat(
            this.database.query(
                "SELECT string_agg(CAST(term AS text), ',' ORDER BY term) FROM leader_election_history WHERE service_id = 'case'"))
        .isEqualTo("2");
  }

  private void migrate() throws LeaseStoreException {
    Database.schema(this.database, SchemaMode.MIGRATE).ensure();
  }

  /** Runs what a refusal prints, as the owner. */
  private void run(ElectionSetupException refused) throws Exception {
    try (var connection = this.database.dataSource().getConnection();
        var statement = connection.createStatement()) {
      statement.execute(refused.remedy().substring(refused.remedy().indexOf("CREATE TABLE")));
    }
  }

  private ElectionSetupException refused(SchemaMode mode) {
    return Objects.requireNonNull(catchThrowableOfType(
        ElectionSetupException.class, () -> Database.schema(this.database, mode).ensure()));
  }

  private void assertIsUsable() throws Exception {
    try (JdbcLeaseStore store = Database.store(
        this.database.dataSource(),
        this.database.jdbcUrl(),
        SchemaMode.VALIDATE,
        Database.OPERATION_TIMEOUT)) {
      use(store);
    }
  }

  private static void use(JdbcLeaseStore store) throws Exception {
    LeaseRow lower = Leases.create(store, "case", "node", 1000, 0).orElseThrow();
    assertThat(Leases.create(store, "CASE", "node", 1000, 0)).isPresent();
    assertThat(Leases.begin(store, "case", lower, 1000)).isPresent();
    LeaseRow led = Database.row(store, "case");
    assertThat(Leases.acquire(store, "case", led, "other", 1000, 0, "EXPIRED")).hasValue(2);
  }

  private @Nullable String tables() {
    return this.database.query(
        "SELECT string_agg(table_name, ',' ORDER BY table_name) FROM information_schema.tables WHERE table_schema = 'public'");
  }

  private record Alone(TestDatabase database) implements Callable<Boolean> {

    @Override
    public Boolean call() throws LeaseStoreException {
      Database.schema(this.database, SchemaMode.MIGRATE).ensure();
      return true;
    }
  }

  /** Defines the classes of the store anew, which find no Flyway. */
  private static final class WithoutFlyway extends ClassLoader {

    WithoutFlyway() {
      super(PostgresqlSchemaIT.class.getClassLoader());
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (name.startsWith("org.flywaydb.")) {
        throw new ClassNotFoundException(name);
      }
      Class<?> loaded = findLoadedClass(name);
      if (loaded != null || !name.startsWith("io.election.jdbc.")) {
        return loaded != null ? loaded : super.loadClass(name, resolve);
      }
      try (InputStream file = getResourceAsStream(name.replace('.', '/') + ".class")) {
        byte[] bytes = file.readAllBytes();
        return defineClass(name, bytes, 0, bytes.length);
      } catch (IOException ex) {
        throw new ClassNotFoundException(name, ex);
      }
    }
  }
}
